"""The driver of the real member: each command once, on the newest and on the oldest version, and
that it repeats itself.
"""

from __future__ import annotations

import pytest

from groupcheck.oracles.kafka.client import (
    Call,
    Look,
    Schedule,
    Step,
    Transcript,
    committed,
    coordinator_found,
    failed,
    joined,
    synced,
)
from groupcheck.oracles.kafka.client_commands import (
    Advance,
    Answer,
    Beat,
    Callback,
    Close,
    Command,
    CommitAsync,
    CommitSync,
    Connections,
    Disconnect,
    FetchOffsets,
    Leave,
    Network,
    Poll,
    Position,
    Rejoin,
    Reset,
    SetTopics,
    Subscribe,
    Unsubscribe,
)
from groupcheck.oracles.kafka.driver import Driver, shared

ASKING = (Poll(), coordinator_found(), Poll())
JOINING = (*ASKING, failed("JoinGroup", 79, memberId="m1"), Poll())
SYNCING = (*JOINING, joined(1, "m1", "m1", {"m1": ["t"]}), Poll(), Network())
STABLE = (*SYNCING, synced({"t": [0, 1]}), Poll())
BEATING = (*STABLE, Advance(ms=3000), Beat(), Network())
BOTH = frozenset({("t", 0), ("t", 1)})


@pytest.fixture(scope="module", params=["4.3.0", "4.0.0"])
def member(request: pytest.FixtureRequest) -> Driver:
    return shared(request.param)


def told(driver: Driver, *commands: Command, **setup: object) -> Transcript:
    """The transcript of a schedule that must not be lost."""
    result = driver.run(Schedule(commands, Reset(**setup)))  # type: ignore[arg-type]
    assert isinstance(result, Transcript), result
    assert not result.refused, result.refused
    return result


def last(driver: Driver, *commands: Command, **setup: object) -> Look:
    return told(driver, *commands, **setup).last


def final(driver: Driver, *commands: Command, **setup: object) -> Step:
    return told(driver, *commands, **setup).steps[-1]


def test_equal_schedules_have_equal_transcripts(member: Driver):
    assert told(member, *BEATING) == told(member, *BEATING) != told(member, *BEATING[:-1])


def test_a_new_member_asks_for_the_coordinator_then_joins_without_an_id(member: Driver):
    asking, joining = last(member, Poll()), last(member, *ASKING)
    assert [(s.api, s.to) for s in asking.sent] == [("FindCoordinator", "any")]
    (join,) = joining.sent
    assert (join.api, join.to, join.timeout) == ("JoinGroup", "coordinator", 305_000)
    assert (join.data["memberId"], join.data["sessionTimeoutMs"]) == ("", 10_000)
    assert join.data["protocols"][0]["metadata"]["topics"] == ["t"]
    assert (joining.state, joining.heart) == ("PREPARING_REBALANCE", "off")


def test_79_gives_an_id_that_the_next_join_gives_back_with_a_reason(member: Driver):
    (join,) = last(member, *JOINING).sent
    assert join.data["memberId"] == "m1"
    assert "need to re-join with the given member-id" in join.data["reason"]


def test_a_leader_sends_the_plan_and_owns_its_share(member: Driver):
    syncing, stable = last(member, *SYNCING), last(member, *STABLE)
    (sync,) = syncing.sent
    assert sync.data["assignments"] == [{"memberId": "m1", "assignment": {"t": [0, 1]}}]
    assert (syncing.state, syncing.leader, syncing.heart) == ("COMPLETING_REBALANCE", True, "on")
    assert (stable.state, stable.generation, stable.protocol) == ("STABLE", 1, "range")
    assert (stable.owned, stable.sent) == (BOTH, ())
    assert stable.calls == (Call("assigned", BOTH),)
    assert stable.timers == {
        "session": 10_000,
        "heartbeat": 3000,
        "poll": 300_000,
        "autoCommit": 5000,
    }


def test_a_heartbeat_goes_out_when_it_is_due_and_27_asks_for_a_rejoin(member: Driver):
    assert last(member, *STABLE, Advance(ms=2999), Beat(), Network()).sent == ()
    beating = last(member, *BEATING)
    assert ([s.api for s in beating.sent], beating.beating) == (["Heartbeat"], True)
    told_so = last(member, *BEATING, failed("Heartbeat", 27), Beat())
    assert (told_so.rejoin, told_so.reason) == (True, "group is already rebalancing")
    assert (told_so.beating, told_so.timers["session"]) == (False, 10_000)


def test_a_heartbeat_that_fails_is_tried_again_after_a_backoff_without_jitter(member: Driver):
    after = last(member, *BEATING, failed("Heartbeat", 14), Network())
    assert (after.beating, after.timers["heartbeat"]) == (False, 100)


def test_a_round_that_has_to_wait_takes_no_time_and_does_not_fail_the_thread(member: Driver):
    before, after = last(member, *STABLE), last(member, *STABLE, Beat(), Beat())
    assert after.heart == "on"
    assert (after.now, after.timers) == (before.now, before.timers)


def test_the_thread_does_what_its_timers_say(member: Driver):
    silent = last(member, *STABLE, Advance(ms=10_000), Beat())
    assert (silent.coordinator, silent.state) == (False, "STABLE")
    away = last(member, *STABLE, Advance(ms=6000), Beat(), rebalance_ms=6000)
    assert (away.state, away.member) == ("UNJOINED", "")
    (leave,) = away.sent
    assert leave.data["members"][0]["reason"] == "consumer poll timeout has expired."


def test_a_member_that_must_rejoin_commits_then_revokes_then_joins(member: Driver):
    rejoining = (*BEATING, Position(partition=0, offset=7), failed("Heartbeat", 27), Beat(), Poll())
    waiting = last(member, *rejoining)
    (commit,) = waiting.sent
    assert commit.data["topics"][0]["partitions"][0]["committedOffset"] == 7
    assert (waiting.committing, waiting.pending_revocation) == ("sent", BOTH)
    assert waiting.positions == (("t", 0, 7),)
    after = last(member, *rejoining, committed(0), Poll())
    assert after.calls == (Call("committed", offsets=(("t", 0, 7),)), Call("revoked", BOTH))
    assert ([s.api for s in after.sent], after.owned) == (["JoinGroup"], frozenset())


def test_what_poll_throws_is_noted_with_its_code(member: Driver):
    step = final(member, *ASKING, failed("JoinGroup", 23), Poll())
    assert step.thrown is not None
    assert (step.thrown.type, step.thrown.error) == ("InconsistentGroupProtocolException", 23)


def test_a_broken_connection_leaves_its_requests_without_an_answer(member: Driver):
    still = last(member, *BEATING, Disconnect(node="any"), Network())
    assert ([s.api for s in still.sent], still.coordinator) == (["Heartbeat"], True)
    broken = last(member, *BEATING, Disconnect(node="coordinator"), Network())
    assert (broken.sent, broken.coordinator, broken.state) == ((), False, "STABLE")
    refused = last(member, Connections(up=False), Poll(), Network())
    assert refused.sent == ()


def test_offsets_are_fetched_with_the_answer_that_comes_meanwhile(member: Driver):
    partition = {"partitionIndex": 0, "committedOffset": 5, "committedLeaderEpoch": -1}
    partition |= {"metadata": "", "errorCode": 0}
    topics = [{"name": "t", "partitions": [partition]}]
    given = {"groupId": "g", "topics": topics, "errorCode": 0}
    answer = Answer(api="OffsetFetch", data={"groups": [given]})
    assert last(member, *STABLE, FetchOffsets()).waiting("OffsetFetch") is not None
    step = final(member, *STABLE, FetchOffsets(ms=1000, waits=(answer,)))
    assert step.ready is True
    assert step.look is not None and step.look.positions == (("t", 0, 5),)


def test_the_application_commits_and_waits_or_does_not(member: Driver):
    moved = (*STABLE, Position(partition=0, offset=3))
    done = final(member, *moved, CommitSync(ms=1000, waits=(committed(0),)))
    assert (done.ready, done.look and done.look.calls) == (
        True,
        (Call("committed", offsets=(("t", 0, 3),)),),
    )
    late = final(member, *moved, CommitSync(ms=1000))
    assert late.ready is False
    assert late.look is not None and late.look.now == 1_001_000
    answered = last(member, *moved, CommitAsync(), committed(27), Network())
    assert answered.rejoin
    calls = told(member, *moved, CommitAsync(), committed(14), Network(), Poll()).last.calls
    assert [(c.call, c.thrown) for c in calls] == [
        ("commitCallback", "RetriableCommitFailedException")
    ]


def test_a_callback_commits_takes_long_and_throws(member: Driver):
    long = Callback(
        on="revoked",
        during=(CommitSync(ms=500, waits=(committed(0, 1),)), Advance(ms=4000), Beat(), Network()),
        throws=True,
    )
    commands = (*BEATING, long, Position(partition=1, offset=2), failed("Heartbeat", 27), Beat())
    step = final(member, *commands, Poll(), auto_commit=False)
    assert step.thrown is not None and step.thrown.type == "KafkaException"
    assert step.look is not None
    assert [c.call for c in step.look.calls] == ["revoked", "committed"]
    assert step.look.now == 1_007_000
    assert [s.api for s in step.look.sent] == ["Heartbeat"]


def test_leaving_closing_and_unsubscribing_send_leave_group_with_their_reasons(member: Driver):
    reasons = {
        command: [s.data["members"][0]["reason"] for s in look.sent if s.api == "LeaveGroup"]
        for command in (Leave(reason="why"), Close(), Unsubscribe())
        for look in [last(member, *STABLE, command)]
    }
    assert reasons == {
        Leave(reason="why"): ["why"],
        Close(): ["the consumer is being closed"],
        Unsubscribe(): ["the consumer unsubscribed from all topics"],
    }
    closed = last(member, *STABLE, Close(ms=200))
    assert (closed.heart, closed.now) == ("none", 1_000_200)
    assert closed.calls == (Call("revoked", BOTH),)


def test_what_changes_makes_the_leader_rejoin(member: Driver):
    more = last(member, *STABLE, SetTopics(topics={"t": 3}), Network(), Poll())
    assert (more.rejoin, more.reason) == (True, "cached metadata has changed")
    other = last(member, *STABLE, Subscribe(topics=("u",)), Poll())
    assert (other.rejoin, other.reason) == (True, "subscription has changed")
    assert last(member, *STABLE, Rejoin(reason="told")).rejoin


def test_the_options_reach_the_member(member: Driver):
    look = last(
        member,
        *ASKING,
        session_ms=7000,
        rebalance_ms=50_000,
        assignors=("cooperative-sticky", "range"),
        instance="i1",
    )
    data = look.sent[0].data
    assert (data["sessionTimeoutMs"], data["rebalanceTimeoutMs"]) == (7000, 50_000)
    assert [p["name"] for p in data["protocols"]] == ["cooperative-sticky", "range"]
    assert data["groupInstanceId"] == "i1"


def test_what_cannot_be_carried_out_is_refused_with_a_reason(member: Driver):
    for command, why in (
        (Answer(api="SyncGroup"), "no request waits that is SyncGroup"),
        (failed("JoinGroup", 0, nothing=1), "has no field nothing"),
    ):
        result = member.run(Schedule([*ASKING, command]))
        assert isinstance(result, Transcript)
        assert why in result.refused
