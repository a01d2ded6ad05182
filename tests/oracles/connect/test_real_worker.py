"""What Kafka Connect's own WorkerCoordinator does as a member of its group, schedule by schedule:
the facts on which groupcheck's workers rest.
"""

from __future__ import annotations

import pytest
from real_worker import RealWorker, told, work_of

from groupcheck.model.assignors.connect import (
    NOTHING,
    Config,
    ConnectProtocol,
    Memory,
    Round,
    Work,
    Worker,
    listed,
    perform_assignment,
    running,
    work,
)
from groupcheck.oracles.connect.driver import Leaders

A0, A1 = ("a", 0), ("a", 1)
ALL = work("a", [A0, A1])
MISMATCH = 1
REBALANCE_IN_PROGRESS, UNKNOWN_MEMBER_ID = 27, 25


def joined(leaders: Leaders, has: Work = ALL, **options: ConnectProtocol) -> RealWorker:
    worker = RealWorker(leaders, **options)
    worker.round(told(has))
    assert worker.has == has and not worker.last["rejoin"]
    return worker


@pytest.mark.parametrize("protocol", ConnectProtocol)
def test_it_lists_its_protocol_and_all_lower_ones_the_highest_first(newest, protocol):
    worker = RealWorker(newest, protocol)
    worker.poll()
    (join,) = worker.last["sent"]
    names = ["default", "compatible", "sessioned"]
    assert list(join[1]["protocols"]) == names[: protocol + 1][::-1]


def test_a_worker_that_starts_reports_its_offset_and_no_assignment(newest):
    worker = RealWorker(newest)
    worker.poll()
    assert worker.sent == ["JoinGroup"]
    assert worker.state() == ["http://w1", 1, None]


@pytest.mark.parametrize("protocol", [ConnectProtocol.COMPATIBLE, ConnectProtocol.SESSIONED])
def test_before_it_joins_it_gives_up_nothing_and_reports_what_it_has(newest, protocol):
    worker = joined(newest, protocol=protocol)
    worker.do("requestRejoin")
    worker.poll()
    assert worker.sent == ["JoinGroup"] and worker.calls == []
    assert work_of(worker.state("compatible")[2]) == ALL


def test_under_the_eager_protocol_it_stops_everything_before_it_joins(newest):
    worker = joined(newest, protocol=ConnectProtocol.EAGER)
    worker.do("requestRejoin")
    worker.poll()
    assert worker.calls == ["onRevoked"] and worker.sent == ["JoinGroup"]
    assert worker.last["calls"][0][1:] == [["a"], [["a", 0], ["a", 1]]]
    assert worker.state("default")[2] is None


def test_what_is_revoked_stops_before_what_is_new_starts(newest):
    worker = joined(newest, Work(("a",), (A0,)))
    worker.do("requestRejoin")
    worker.round(told(work((), [A1]), work((), [A0])))
    assert worker.calls == ["onRevoked", "onAssigned"]
    assert worker.last["calls"][0][1:] == [[], [["a", 0]]]
    assert worker.has == running(Work(("a",), (A0,)), work((), [A0]), work((), [A1]))


def test_what_is_new_stands_before_what_it_keeps_and_a_leader_reads_it_so(newest):
    worker = joined(newest, Work(("a",), (A0,)))
    worker.do("requestRejoin")
    worker.round(told(Work(("b",), (("b", 0), A1))))
    has = running(Work(("a",), (A0,)), NOTHING, Work(("b",), (("b", 0), A1)))
    assert worker.has == has == Work(("b", "a"), (("b", 0), A1, A0))
    worker.do("requestRejoin")
    worker.poll()
    assert work_of(worker.state()[2]) == listed(has) == Work(("a", "b"), (A1, A0, ("b", 0)))


def test_its_report_holds_the_delay_and_the_revocation_that_it_was_told_last(newest):
    """So a JoinGroup after another answer differs, and the coordinator starts a round. (The herder
    clears the revocation when it has stopped the work: DistributedHerder.handleRebalanceCompleted.)
    """
    worker = joined(newest)
    worker.do("requestRejoin")
    worker.round(told(revoked=work((), [A0]), delay=700))
    worker.do("requestRejoin")
    worker.poll()
    reported = worker.state()[2]
    assert work_of(reported) == work("a", [A1]) and reported[9] == 700
    assert reported[8] == [["a", 0]]


def test_after_a_revocation_it_does_not_join_again_by_itself(newest):
    """The herder asks for that (DistributedHerder.handleRebalanceCompleted)."""
    worker = joined(newest)
    worker.do("requestRejoin")
    worker.round(told(revoked=work((), [A0])))
    assert not worker.last["rejoin"]
    worker.poll()
    assert worker.sent == []


def test_after_a_mismatch_of_configurations_it_keeps_its_work_and_joins_again(newest):
    """In the same poll: its herder hears of it, but cannot do anything before."""
    worker = joined(newest)
    worker.do("requestRejoin")
    worker.round(told(error=MISMATCH, offset=5))
    assert worker.calls == ["onAssigned"] and worker.has == ALL and worker.last["rejoin"]
    assert worker.sent == ["JoinGroup", "SyncGroup", "JoinGroup"]
    assert work_of(worker.state()[2]) == ALL


def test_a_round_that_begins_while_it_syncs_makes_it_report_the_same_again(newest):
    worker = joined(newest)
    worker.do("requestRejoin")
    failed = ["SyncGroup", {"errorCode": REBALANCE_IN_PROGRESS}]
    worker.poll(worker.join_answer(), failed)
    assert worker.sent == ["JoinGroup", "SyncGroup", "JoinGroup"] and worker.calls == []
    assert worker.has == ALL and worker.last["completed"] == 1


@pytest.mark.parametrize(("away_ms", "stops"), [(2_000, False), (4_000, True)])
def test_without_its_coordinator_it_stops_everything_after_a_heartbeat_interval(
    newest, away_ms, stops
):
    """heartbeat.interval.ms, 3 s here. Then it joins again with nothing."""
    worker = joined(newest)
    worker.do("lose")
    worker.poll(away_ms=away_ms)
    assert worker.calls == (["onRevoked"] if stops else [])
    assert worker.has == (NOTHING if stops else ALL)
    assert worker.sent == (["JoinGroup"] if stops else [])
    assert not stops or worker.state()[2] is None


def test_a_heartbeat_that_finds_a_round_makes_it_join_and_keep_its_work(newest):
    worker = joined(newest)
    worker.do("heartbeat", answers=[["Heartbeat", {"errorCode": REBALANCE_IN_PROGRESS}]])
    assert worker.last["rejoin"] and worker.calls == []
    worker.poll()
    assert worker.last["sent"][0][1]["memberId"] == "w1"
    assert work_of(worker.state()[2]) == ALL


def test_a_worker_that_lost_its_membership_comes_back_with_its_old_work_and_no_id(newest):
    worker = joined(newest)
    worker.do("heartbeat", answers=[["Heartbeat", {"errorCode": UNKNOWN_MEMBER_ID}]])
    assert worker.calls == [] and worker.has == ALL
    worker.poll()
    assert worker.last["sent"][0][1]["memberId"] == ""
    assert work_of(worker.state()[2]) == ALL


def test_one_that_did_not_poll_in_time_leaves_and_only_tells_its_herder(newest):
    worker = joined(newest)
    worker.do("expire")
    assert worker.calls == ["onPollTimeoutExpiry"] and worker.has == ALL
    worker.poll()
    assert worker.sent[-1] == "JoinGroup" and work_of(worker.state()[2]) == ALL


MEMBERS = [
    {"memberId": "w0", "metadata": ["w0", 1, [], []]},
    {"memberId": "w1", "metadata": ["w1", 1, ["a"], [["a", 0], ["a", 1]]]},
]


def leads(worker: RealWorker) -> list[object]:
    return worker.join_answer(leader="w1", members=MEMBERS)


def plan(worker: RealWorker) -> dict[str, list[object]]:
    (sync,) = [data for api, data in worker.last["sent"] if api == "SyncGroup"]
    return dict(sync["assignments"])


def test_as_a_leader_it_sends_the_plan_of_groupchecks_function(newest):
    worker = joined(newest)
    worker.do("requestRejoin")
    worker.poll(leads(worker), worker.sync_answer(told(revoked=work((), [A0]))))
    asked = Round(
        "w1",
        (Worker("w0", 1), Worker("w1", 1, ALL)),
        Config(1, ALL),
        last_completed_generation_id=1,
        generation_id=2,
        now=worker.last["now"],
    )
    mine = perform_assignment(Memory(), asked)
    for name, answer in plan(worker).items():
        assert work_of(answer) == mine.answer(name).assigned
        assert tuple(answer[8]) == tuple(map(list, mine.answer(name).revoked.tasks))
    assert mine.answer("w1").revoked.tasks == (A0,)


def test_a_leader_whose_plan_was_not_answered_plans_as_if_it_remembered_nothing(newest):
    """What it had assigned then counts as new, and is not waited for (KAFKA-9848)."""
    worker = joined(newest, NOTHING)
    alone = [{"memberId": "w1", "metadata": ["w1", 1, [], []]}]
    worker.do("requestRejoin")
    answer = worker.join_answer(leader="w1", members=alone)
    worker.poll(answer, ["SyncGroup", {"errorCode": REBALANCE_IN_PROGRESS}])
    assert work_of(plan(worker)["w1"]) == ALL and worker.last["completed"] == 1
    again = worker.join_answer(leader="w1", members=alone)
    worker.poll(again, worker.sync_answer(told(ALL)))
    assert work_of(plan(worker)["w1"]) == ALL and plan(worker)["w1"][9] == 0


def test_a_leader_that_is_behind_tells_everybody_to_come_again(newest):
    worker = joined(newest)
    worker.do("requestRejoin")
    ahead = [{**MEMBERS[0], "metadata": ["w0", 9, [], []]}, MEMBERS[1]]
    worker.poll(worker.join_answer(leader="w1", members=ahead))
    assert {name: answer[:2] for name, answer in plan(worker).items()} == {
        "w0": [MISMATCH, 9],
        "w1": [MISMATCH, 9],
    }


def test_a_leader_that_can_read_more_uses_it_at_once(newest):
    worker = joined(newest)
    worker.do("requestRejoin")
    worker.poll()  # joins with what it has read
    worker.do("config", config=[9, [], []])
    ahead = [{**MEMBERS[0], "metadata": ["w0", 9, [], []]}, MEMBERS[1]]
    worker.poll(worker.join_answer(leader="w1", members=ahead))
    assert {answer[1] for answer in plan(worker).values()} == {9}
    assert {answer[0] for answer in plan(worker).values()} == {0}


def test_it_knows_no_static_membership(newest):
    worker = RealWorker(newest)
    answer = worker.join_answer(leader="w1", members=MEMBERS, skipAssignment=True)
    assert worker.poll(answer)["thrown"] == "IllegalStateException"


# -- workers of several versions in one group


def eager_round(worker: RealWorker, assigned: Work) -> None:
    """A round for which the group has voted for eager rebalancing."""
    answer = told(assigned)
    answer[4] = 0  # the version of the answer's format
    joins = worker.join_answer(protocolName="default")
    worker.poll(joins, worker.sync_answer(answer, protocolName="default"))


def test_where_the_group_falls_back_to_eager_nothing_that_is_lost_is_revoked(newest):
    """FINDINGS 41: the herder starts what is new, and stops nothing."""
    worker = joined(newest)
    worker.do("requestRejoin")
    eager_round(worker, work((), [A0]))
    assert worker.calls == ["onAssigned"]
    assert worker.has == work((), [A0])
    # The next round stops its share alone: nobody mentions the connector and the other task.
    worker.do("requestRejoin")
    worker.poll()
    assert worker.calls == ["onRevoked"] and worker.last["calls"][0][1:] == [[], [["a", 0]]]


def test_after_an_eager_round_it_reports_what_it_has_stopped(newest):
    worker = joined(newest, NOTHING)
    worker.do("requestRejoin")
    eager_round(worker, ALL)
    worker.do("requestRejoin")
    worker.poll()
    assert worker.calls == ["onRevoked"]
    assert work_of(worker.state("compatible")[2]) == ALL


def test_after_the_upgrade_it_has_what_it_reported_unless_that_is_revoked(newest):
    worker = joined(newest, NOTHING)
    worker.do("requestRejoin")
    eager_round(worker, ALL)
    worker.do("requestRejoin")
    worker.round(told(revoked=work((), [A1])))
    # It has stopped all of it before; what is left is started again.
    assert worker.calls == ["onRevoked", "onRevoked", "onAssigned"]
    assert worker.has == work("a", [A0])


def test_an_eager_mismatch_leaves_it_with_nothing(newest):
    worker = joined(newest)
    worker.do("requestRejoin")
    answer = told(error=MISMATCH, offset=5)
    answer[4] = 0
    joins = worker.join_answer(protocolName="default")
    worker.poll(joins, worker.sync_answer(answer, protocolName="default"))
    assert "onRevoked" not in worker.calls and worker.has == NOTHING
