"""The promises of the coordinator, checked on the real memory after a row. A broken promise is a
finding about Kafka, not about the model.

Rows that write a group record are executed once more with an append that fails at once (`probe`),
which the model knows only in part.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from attrs import frozen

from groupcheck.oracles.kafka.commands import (
    Command,
    FailAppends,
    FailOver,
    Heartbeat,
    JoinGroup,
    LeaveGroup,
    OffsetCommit,
    Request,
    SyncGroup,
)
from groupcheck.oracles.kafka.memory import ClassicMemory, Memory
from groupcheck.oracles.kafka.records import GroupRecord, Record
from groupcheck.oracles.kafka.schedule import Step, Transcript

PROMISES = {
    "answered": (
        "Every JoinGroup and SyncGroup that waits will be answered: somebody in memory waits for"
        " each."
    ),
    "leader": "The leader of a group with members is one of them.",
    "member_timer": "A member that waits for nothing has a session timer, which would remove it.",
    "round_timer": "A round that waits for members has a timer that ends it.",
    "leaving": (
        "A LeaveGroup that is answered with an error of the coordinator's (15, 16, -1) has removed"
        " nobody."
    ),
    "log": (
        "A group at rest is in the log as it is in memory: who takes over loads the same members."
    ),
    "refused_plan": (
        "An assignment whose SyncGroup was answered with an error is not what the next coordinator"
        " loads."
    ),
    "one_generation": "A generation is told to one set of members, and never again to another.",
    "unchanged": (
        "A follower that joins a Stable group again with the protocols that it joined with starts"
        " no round."
    ),
    "common_protocol": (
        "A newcomer that lists a protocol which every member listed when it joined is let in."
    ),
    "five_minutes": (
        "A new member whose JoinGroup is parked is removed after five minutes, not after its"
        " session timeout."
    ),
    "delay": "The initial delay is extended only for members that were added while it ran.",
}
NEW_MEMBER_MS = 300_000  # GroupMetadataManager.classicGroupNewMemberJoinTimeoutMs
OF_THE_COORDINATOR = (-1, 15, 16)


@frozen
class Finding:
    """A promise that the real coordinator breaks. `kind` distinguishes the ways in which it
    can be broken; the transcript is the shortest one met.
    """

    promise: str
    kind: str
    transcript: Transcript


def broken(
    steps: Sequence[Step],
    last: Command,
    memory: Memory | None,
    log: tuple[Record, ...],
    in_flight: bool,
) -> Iterator[tuple[str, str]]:
    """(promise, kind) of those that are broken after these steps, the last of which carried out
    `last`.

    `in_flight`: an append is not replicated yet, and answers wait for it.
    """
    if not isinstance(memory, ClassicMemory):
        return
    names = {m.member for m in memory.members}
    if names and memory.leader not in names:
        yield "leader", name(last)
    for m in memory.members:
        if (
            not m.awaiting_join
            and not m.awaiting_sync
            and memory.due(f"heartbeat-g-{m.member}") is None
        ):
            yield "member_timer", name(last)
        due = memory.due(f"heartbeat-g-{m.member}")
        hurries = isinstance(last, Heartbeat | OffsetCommit) and last.member == m.member
        if m.new and hurries and due != steps[-1].now_ms + NEW_MEMBER_MS:
            yield "five_minutes", name(last)
    if memory.state == "PreparingRebalance" and memory.due("join-g") is None:
        yield "round_timer", name(last)
    yield from _left_in_spite(steps, last, names)
    if not in_flight:
        yield from _unanswered(steps, memory)
        yield from _log_differs(steps, last, memory, log)


def name(command: Command) -> str:
    """The name of a command in a finding: its API or timer."""
    return (
        f"Fire {command.timer.split('-')[0]}"
        if hasattr(command, "timer")
        else type(command).__name__
    )


def _unanswered(steps: Sequence[Step], memory: ClassicMemory) -> Iterator[tuple[str, str]]:
    moved = max((k for k, s in enumerate(steps) if isinstance(s.command, FailOver)), default=-1)
    answered = {number for s in steps for number, _ in s.answered}
    asked = [
        (s.number, s.command)
        for s in steps[moved + 1 :]
        if isinstance(s.command, JoinGroup | SyncGroup)
    ]
    latest = {(type(command), command.member): number for number, command in asked}
    joining = {m.member for m in memory.members if m.awaiting_join}
    syncing = {m.member for m in memory.members if m.awaiting_sync}
    there = {m.member for m in memory.members}
    for number, command in asked:
        if number in answered or not command.member:
            continue
        waits = joining if isinstance(command, JoinGroup) else syncing
        if number < latest[type(command), command.member]:
            yield "answered", f"{name(command)} of a member that asks again"
        elif command.member not in waits:
            yield (
                "answered",
                (
                    f"{name(command)} of a member that is"
                    f" {'there' if command.member in there else 'gone'}"
                ),
            )


def _left_in_spite(
    steps: Sequence[Step], last: Command, names: set[str]
) -> Iterator[tuple[str, str]]:
    if not isinstance(last, LeaveGroup) or last.member in names:
        return
    number = max(s.number for s in steps if s.command is last)
    if any(n == number and a.error in OF_THE_COORDINATOR for s in steps for n, a in s.answered):
        yield "leaving", name(last)


def _log_differs(
    steps: Sequence[Step], last: Command, memory: ClassicMemory, log: tuple[Record, ...]
) -> Iterator[tuple[str, str]]:
    groups = [r for r in log if isinstance(r, GroupRecord)]
    if not groups:
        return
    loaded = {m.member for m in groups[-1].members}
    if memory.state in ("Empty", "Stable") and loaded != {m.member for m in memory.members}:
        yield "log", f"{memory.state}, after {name(last)}"
    plans = {
        s.number: s.command
        for s in steps
        if isinstance(s.command, SyncGroup) and s.command.assignments
    }
    of_now = (
        loaded
        and memory.generation == groups[-1].generation
        and memory.state == "PreparingRebalance"
    )
    answers = [a for s in steps for a in s.answered]
    given = any(
        number in plans and not answer.error and plans[number].generation == memory.generation
        for number, answer in answers
    )
    for number, answer in answers:
        if (
            of_now
            and not given
            and number in plans
            and answer.error
            and plans[number].generation == memory.generation
        ):
            yield "refused_plan", f"answered {answer.error}"


def probe(first: tuple[Command, ...]) -> tuple[Command, ...]:
    """The same row with its first append failing."""
    return (FailAppends(), *(c for c in first if isinstance(c, Request) or hasattr(c, "timer")))
