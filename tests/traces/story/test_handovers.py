"""Who held which partitions back in a consumer group (KIP-848), by three kinds of logs."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from groupcheck.oracles.replay.answers import Answer
from groupcheck.oracles.replay.handovers import handover_documents
from groupcheck.oracles.replay.report import replay
from groupcheck.traces.broker.assignments import held, shares
from groupcheck.traces.findings.report import GroupReport
from groupcheck.traces.replay import replay_file
from groupcheck.traces.story.handovers import Handovers, together
from groupcheck.traces.story.moments import Moment

DATA = Path(__file__).parents[2] / "data"
A, B, C = "SaABtXclRrmKRRT1P+VApw", "Z7QpNdpeQ7e4G5GQkVGhHw", "DQkrv/imSrKSYoAwmphNIQ"
"""The members of the recording, in the order in which they joined."""


def moves(g: GroupReport) -> list[tuple[int | None, str, str, list[str]]]:
    return [
        (x.to_generation, h.source, h.heir, sorted(p.rpartition("-")[2] for p in h.partitions))
        for x in g.timeline.rounds
        for h in together(x.handovers)
    ]


@pytest.mark.parametrize("log", ["replay/live-kip848.log", "requests/live-kip848.log.gz"])
def test_broker_and_requests_tell_alike_who_gave_what_to_whom(log: str) -> None:
    (g,) = replay_file(str(DATA / log)).groups
    told = moves(g)
    assert told[0] == (3, A, B, ["3", "4", "5"])
    assert sorted(told[1:]) == sorted([(4, B, C, ["5"]), (4, A, C, ["2"])])
    assert [x.held_up_by for x in g.timeline.rounds[1:3]] == [(A,), (B,)]


def test_a_handover_has_the_times_of_the_coordinators_lines() -> None:
    (g,) = replay_file(str(DATA / "replay/live-kip848.log")).groups
    (first,) = together(g.timeline.rounds[1].handovers)
    assert first.how == "acknowledged" and first.held_ms is not None and not first.waits
    assert first.asked and first.released and first.taken
    assert first.since.line < first.asked.line < first.released.line < first.taken.line


def test_a_dump_shows_a_member_that_held_partitions_back() -> None:
    found = replay_file(str(DATA / "dumps/dump-4.3.0.log.gz")).groups
    (g,) = [g for g in found if g.group == "modern"]
    (back,) = [a for a in g.anomalies if a.kind == "partitions_held_back"]
    assert "held 2 partitions" in back.text and "for 20.0 s" in back.text
    assert g.timeline.rounds[1].waited_for == "gave its partitions up last"


def test_requests_tell_who_owned_a_partition_in_turn() -> None:
    (g,) = replay_file(str(DATA / "requests/live-kip848.log.gz")).groups
    assert g.requests is not None
    owned = [s for s in g.requests.spans.kept if any(p.endswith("-5") for p in s.partitions)]
    assert [s.client for s in owned] == ["a", "b", "c", "c", "c"]
    assert owned[0].until is not None and owned[0].until <= owned[1].since
    assert g.timeline.members[B].gone == "gone"  # it was killed
    (away,) = g.findings.absences
    assert (away.member, away.kind) == (B, "dead")


def test_clients_logs_tell_what_members_gave_up_when() -> None:
    logs = [DATA / f"clients/live-java_kip848.{name}.log.gz" for name in "abc"]
    (found,) = replay(logs).answers
    told = [
        (x.to_generation, h.source, h.heir, h.partitions)
        for x in found.story.timeline.rounds
        for h in together(x.handovers)
    ]
    assert told[0] == (3, "a", "b", ("orders-3", "orders-4", "orders-5"))
    assert sorted(told[1:]) == [(4, "a", "c", ("orders-2",)), (4, "b", "c", ("orders-5",))]
    (first,) = together(found.story.timeline.rounds[1].handovers)
    # By the recording's own notes: revoked at ...541,219, assigned at ...541,550.
    assert first.released is not None and abs((first.released.time or 0) - 1795247541219) < 50
    assert first.taken is not None and abs((first.taken.time or 0) - 1795247541550) < 50


def test_one_clients_log_does_not_tell_who_took_what_it_gave_up() -> None:
    (found,) = replay([DATA / "clients/live-java_kip848.a.log.gz"]).answers
    (first,) = together(found.story.timeline.rounds[1].handovers)
    assert (first.heir, first.taken) == ("", None)
    assert handover_documents(found.story.timeline.rounds[1])[0].waits is False


def line(time: str, text: str) -> str:
    return (
        f"[2026-11-21 07:{time}] DEBUG [GroupCoordinator id=1 topic=__consumer_offsets"
        f" partition=2] [GroupId g] {text} (org.apache.kafka.coordinator.group."
        "GroupMetadataManager)\n"
    )


STATE = "new assignment state: epoch={}, previousEpoch=0, state={}, assignedPartitions={} and"
SCALE_UP = (
    line("00:00,000", "Member a joins the consumer group using the consumer protocol.")
    + line("00:00,000", "Bumped group epoch to 2 with metadata hash 7.")
    + line("00:00,001", f"Member a {STATE.format(2, 'STABLE', '[T-0, T-1]')}"
                        " revokedPartitions=[].")
    + line("00:10,000", "Member b joins the consumer group using the consumer protocol.")
    + line("00:10,000", "Bumped group epoch to 3 with metadata hash 7.")
    + line("00:10,000", "Computed a new target assignment for epoch 3 with 'range' assignor in"
                        " 1ms: {a=Assignment(partitions={T=RangeSet(from=0 (inclusive), to=1"
                        " (exclusive))}), b=Assignment(partitions={T=[1]})}.")
    + line("00:10,001", f"Member b {STATE.format(3, 'UNRELEASED_PARTITIONS', '[]')}"
                        " revokedPartitions=[].")
    + line("00:12,000", f"Member a {STATE.format(2, 'UNREVOKED_PARTITIONS', '[T-0]')}"
                        " revokedPartitions=[T-1].")
)  # fmt: skip
"""b joins; a is told to give one of its partitions up."""


def answer(path: Path, text: str) -> tuple[Answer, GroupReport]:
    path.write_text(text)
    (found,) = replay([path]).answers
    return found, found.seen[0].group


def test_partitions_that_are_held_when_the_log_ends_are_told(tmp_path: Path) -> None:
    late = line("00:50,000", "Member b updated its subscribed topics to: [t].")
    found, g = answer(tmp_path / "server.log", SCALE_UP + late)
    (back,) = [a for a in g.anomalies if a.kind == "partitions_held_back"]
    assert back.text.startswith("a held 1 partition (T-1) back for 40.0 s, and still did")
    assert "it was told after 2.0 s" in back.text and "b waited" in back.text
    assert back.lines == (6, 8)
    assert g.timeline.rounds[1].outcome == "open"
    assert found.health == "troubled"
    assert [c.cause.kind for c in found.diagnosis.causes] == ["kip848_held_back"]


def test_partitions_that_arrive_soon_are_the_reason_for_calm(tmp_path: Path) -> None:
    done = line("00:12,500", f"Member a {STATE.format(3, 'STABLE', '[T-0]')} revokedPartitions=[].")
    done += line(
        "00:14,000", f"Member b {STATE.format(3, 'STABLE', '[T-1]')} revokedPartitions=[]."
    )
    found, g = answer(tmp_path / "server.log", SCALE_UP + done)
    assert found.health == "calm" and "A partition went from one member" in found.reason
    assert "held back for 2.5 s" in found.reason
    assigned = g.timeline.rounds[1].assigned
    assert assigned is not None and assigned.line == 10
    assert g.timeline.rounds[1].held_up_by == ("a",)


def test_a_coordinator_that_is_loaded_anew_leaves_no_partition_on_its_way(tmp_path: Path) -> None:
    loaded = line("00:20,000", "x").replace(
        "[GroupId g] x", "Loaded consumer group g with 2 members."
    )
    late = line("00:50,000", "Member b updated its subscribed topics to: [t].")
    _, g = answer(tmp_path / "server.log", SCALE_UP + loaded + late)
    (moved,) = g.timeline.rounds[1].handovers
    assert moved.how == "unseen" and not moved.waits
    assert not [a for a in g.anomalies if a.kind == "partitions_held_back"]


def test_a_log_without_debug_lines_does_not_tell_how_rebalances_end(tmp_path: Path) -> None:
    lines = (DATA / "replay/live-kip848.log").read_text().splitlines(keepends=True)
    (tmp_path / "info.log").write_text("".join(x for x in lines if " INFO " in x))
    (g,) = replay_file(str(tmp_path / "info.log")).groups
    assert [x.outcome for x in g.timeline.rounds[:3]] == ["unseen"] * 3
    assert not any(x.handovers for x in g.timeline.rounds)


def at(n: int) -> Moment:
    return Moment(n, n * 1000)


def test_a_partition_of_a_member_that_left_is_held_back_by_nobody() -> None:
    t = Handovers()
    assert not [*t.assigned(at(1), "a", {"p"}, set())]
    t.gone(at(2), "a", "left")
    assert not [*t.planned(at(3), {"b": {"p"}})]
    assert not [*t.assigned(at(4), "b", {"p"}, set())]
    assert not t.twice and not t.open


def test_a_later_target_that_leaves_a_partition_where_it_is_ends_the_handover() -> None:
    t = Handovers()
    [*t.assigned(at(1), "a", {"p"}, set())]
    (begun,) = t.planned(at(2), {"b": {"p"}})
    assert not [*t.planned(at(3), {"a": {"p"}})]
    assert begun.how == "kept" and not begun.waits


def test_a_member_that_is_given_back_what_it_was_to_give_up_held_nothing_back() -> None:
    """A request log tells no target: the same partition is asked for anew, later."""
    t = Handovers()
    [*t.assigned(at(1), "a", {"p"}, set())]
    (begun,) = t.assigned(at(2), "a", set(), {"p"})
    assert not [*t.assigned(at(3), "a", {"p"}, set())]
    assert begun.how == "kept" and not begun.waits
    (again,) = t.assigned(at(5), "a", set(), {"p"})
    [*t.assigned(at(7), "a", set(), set())]
    assert again.asked == at(5) and again.released == at(7)


def test_two_holders_at_once_are_noticed() -> None:
    t = Handovers()
    [*t.assigned(at(1), "a", {"p"}, set())]
    [*t.assigned(at(2), "b", {"p"}, set())]
    assert [(p, one, other) for p, one, other, _ in t.twice] == [("p", "a", "b")]


def test_what_was_given_up_before_a_load_waits_for_no_line() -> None:
    t = Handovers()
    [*t.assigned(at(1), "a", {"p"}, set())]
    (begun,) = t.planned(at(2), {"b": {"p"}})
    [*t.assigned(at(3), "a", set(), {"p"})]
    [*t.assigned(at(4), "a", set(), set())]
    assert begun.waits
    t.forget()
    assert (begun.how, begun.taken, begun.waits) == ("acknowledged", None, False)


def test_what_a_member_has_to_give_up_when_it_is_first_seen_is_not_given_to_it() -> None:
    t = Handovers()
    (begun,) = t.assigned(at(1), "a", {"q"}, {"p"})
    assert (begun.source, begun.taken, begun.waits) == ("a", None, True)
    [*t.assigned(at(2), "a", {"q"}, set())]
    [*t.assigned(at(3), "b", {"p"}, set())]
    assert (begun.heir, begun.how, begun.waits) == ("b", "acknowledged", False)


def test_a_static_member_that_goes_away_frees_what_it_was_to_give_up() -> None:
    """GroupMetadataManager.consumerGroupStaticMemberGroupLeave."""
    t = Handovers()
    [*t.assigned(at(1), "a", {"p", "q"}, set())]
    (begun,) = t.assigned(at(2), "a", {"q"}, {"p"})
    t.parked(at(3), "a")
    [*t.assigned(at(4), "b", {"p"}, set())]
    assert not t.twice and t.has == {"a": {"q"}, "b": {"p"}}
    assert (begun.how, begun.released, begun.heir) == ("left", at(3), "b")


def test_a_static_member_that_comes_back_has_what_its_old_id_had() -> None:
    t = Handovers()
    [*t.assigned(at(1), "old", {"p"}, set())]
    t.renamed("old", "new")
    assert not [*t.assigned(at(2), "new", {"p"}, set())] and not t.twice


@pytest.mark.parametrize("before", [set(), {"q"}])
def test_a_member_that_came_back_twice_keeps_what_it_has(before: set[str]) -> None:
    t = Handovers()
    [*t.assigned(at(1), "old", {"p"}, set())]
    [*t.assigned(at(1), "new", before, set())]
    t.renamed("old", "new")
    t.renamed("old", "new")
    assert t.has == {"new": {"p"} | before}
    t.gone(at(2), "new", "left")
    [*t.assigned(at(3), "b", {"p"} | before, set())]
    assert t.has == {"b": {"p"} | before} and not t.twice


def test_assignments_are_read_as_each_version_prints_them() -> None:
    assert held("[T-0@2, T-1@3]") == held("[T-0, T-1]") == {"T-0", "T-1"}
    assert held("[]") == frozenset()
    told = "{a-1=MemberAssignment(partitions={T=[0, 1], U=[]}), b=Assignment(partitions={})}."
    assert shares(told) == {"a-1": {"T-0", "T-1"}, "b": frozenset()}
    assert shares("{a=MemberAssignment(partitions={T=[0, 1") is None  # the line was cut


@pytest.mark.parametrize(
    ("read", "line"),
    [
        (held, "-1" * 100_000),
        (shares, "a" * 100_000 + "}"),
        (shares, "{a=Assignment(partitions={" + "T=RangeSet(from=0 (i)" * 10_000 + "})}"),
    ],
)
def test_a_long_line_takes_time_in_proportion_to_its_length(
    read: Callable[[str], object], line: str
) -> None:
    began = time.process_time()
    read(line)
    assert time.process_time() - began < 0.1
