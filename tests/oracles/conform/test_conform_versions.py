"""Two Kafka versions side by side, and a question that only the real code could decide."""

from __future__ import annotations

import json

import attrs
import pytest

from groupcheck.oracles.command_line.cli import run
from groupcheck.oracles.conform.versions_differ import Change, difference
from groupcheck.oracles.kafka.commands import (
    Fire,
    Heartbeat,
    JoinGroup,
    LeaveGroup,
    OffsetCommit,
    Reset,
    SyncGroup,
)
from groupcheck.oracles.kafka.driver import Conversation, Driver
from groupcheck.oracles.kafka.schedule import LostSchedule, Schedule, Transcript


def of(coordinator: Driver, *commands, **setup) -> Transcript:
    result = coordinator.run(Schedule(commands, Reset(**setup)))
    assert isinstance(result, Transcript)
    return result


def test_equal_transcripts_differ_in_nothing_and_different_ones_in_what_is_named(
    coordinator: Driver,
):
    joined = of(coordinator, JoinGroup(), Heartbeat(member="m1", generation=0))
    assert difference(joined, joined) is None
    (first, last) = joined.steps
    other = attrs.evolve(
        joined,
        steps=(
            first,
            attrs.evolve(last, memory=attrs.evolve(last.memory, state="Stable", generation=4)),
        ),
    )
    assert difference(joined, other) == ("Heartbeat", ("memory: state", "memory: generation"))
    told = Change("Heartbeat", (), joined, other).values()
    assert [attrs.astuple(one) for one in told] == [
        ("memory, state", last.memory.state, "Stable"),
        ("memory, generation", str(last.memory.generation), "4"),
    ]
    silent = attrs.evolve(joined, steps=(attrs.evolve(first, answered=()), last))
    assert difference(joined, silent) == ("JoinGroup", ("answers",))
    told = list(Change("", (), joined, silent).values())
    assert ("answered, 1, error", "79") in {(one.what, one.old) for one in told}
    assert {one.new for one in told} == {"nothing"}
    refused = attrs.evolve(joined, steps=(first,))
    assert difference(joined, refused) == ("JoinGroup", ("one version refuses the next command",))


def test_values_that_no_line_of_a_transcript_shows_are_told(coordinator: Driver):
    joined = of(coordinator, JoinGroup(), JoinGroup(member="m1"))
    (*_, last) = joined.steps
    timers = tuple(
        attrs.evolve(timer, due_ms=timer.due_ms + (timer.key == "join-g"))
        for timer in last.memory.timers
    )
    later = attrs.evolve(last, memory=attrs.evolve(last.memory, timers=timers))
    other = attrs.evolve(joined, steps=(joined.steps[0], later))
    (old,) = (timer.due_ms for timer in last.memory.timers if timer.key == "join-g")
    (told,) = Change("", (), joined, other).shown(("1", "2")).values
    assert attrs.asdict(told) == {
        "what": "memory, timers, join-g, due ms",
        "old": str(old),
        "new": str(old + 1),
    }


def test_a_version_that_breaks_differs_from_one_that_does_not(coordinator: Driver):
    joined = of(coordinator, JoinGroup())
    lost = LostSchedule(joined.schedule, "died", None)
    assert difference(lost, joined) == ("the driver", ("one version broke",))
    assert difference(lost, lost) is None


@pytest.mark.parametrize(
    ("old", "new"),
    [pytest.param("4.0.0", "4.3.0", marks=pytest.mark.night), ("4.3.0", "4.4.0")],
)
def test_the_first_rounds_of_a_group_are_the_same_in_two_versions(
    old: str, new: str, capsys: pytest.CaptureFixture[str], misfits
):
    code = run(
        [
            "conform",
            "--members",
            "1",
            "--generations",
            "1",
            "--fault",
            "append_failure",
            "--diff",
            old,
            new,
            "--json",
        ]
    )
    document = json.loads(capsys.readouterr().out)
    assert (code, document["versions"], document["changes"], document["executed"]) == (
        0,
        [old, new],
        [],
        document["rows"],
    )
    assert misfits(document) == []


def test_a_late_join_completes_a_round_for_a_member_that_has_not_revoked(coordinator: Driver):
    talk = Conversation(coordinator, Reset())

    def do(command):
        return talk.do(command, look=True)

    for command in (JoinGroup(), JoinGroup(member="m1"), JoinGroup(), JoinGroup(member="m2")):
        do(command)
    do(Fire(timer="join-g"))
    joined = do(Fire(timer="join-g"))
    leader, follower = ("m1", "m2") if joined.memory.leader == "m1" else ("m2", "m1")
    do(
        SyncGroup(
            member=leader, generation=1, assignments={leader: {"t": [0]}, follower: {"t": [1]}}
        )
    )
    assert dict(do(SyncGroup(member=follower, generation=1)).answered)[8].assigned == {("t", 1)}

    late = do(
        JoinGroup(member=follower, owned_generation=0)
    )  # held up since before it had what it has now; it has revoked nothing
    assert (late.memory.state, late.answered) == ("PreparingRebalance", ())
    assert dict(do(OffsetCommit(member=follower, generation=1)).answered)[10].error == 0
    round_ = do(JoinGroup(member=leader, owned_generation=1))
    assert round_.memory.state == "CompletingRebalance" and len(round_.memory.members) == 2
    given = do(SyncGroup(member=leader, generation=2, assignments={leader: {"t": [0, 1]}}))
    assert dict(given.answered)[12].assigned == {("t", 0), ("t", 1)}, "what the follower still owns"
    assert dict(do(Heartbeat(member=follower, generation=1)).answered)[13].error == 22
    assert dict(do(LeaveGroup(member=follower)).answered)[14].error == 0
