"""A situation: a schedule for the real coordinator, and what is expected of it, step by step.

The expectation is strict: it is a difference if a request is answered where the situation states no
answer, or not answered where it states one. Of memory and log, only what a step names is compared.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from attrs import field, frozen

from groupcheck.oracles.kafka.answers import Answer
from groupcheck.oracles.kafka.commands import Command, Request, Reset
from groupcheck.oracles.kafka.memory import ClassicMemory, Memory
from groupcheck.oracles.kafka.records import GroupRecord, MarkerRecord, OffsetRecord, Record
from groupcheck.oracles.kafka.schedule import Looks, Schedule, Step, Transcript
from groupcheck.oracles.kafka.versions import VERSIONS

OF_THE_GROUP = ("join-g", "sync-g", "heartbeat-g-")


@frozen
class ExpectedAnswer:
    """An answer: its error code, and those of its other fields that matter."""

    error: int
    fields: Mapping[str, Any] = field(factory=dict)


@frozen
class Does:
    """One step."""

    command: Command
    # How later steps call this request.
    name: str = ""
    # What this request is answered at once; None: nothing yet.
    answer: ExpectedAnswer | None = None
    # What earlier requests are answered in this step, by their names.
    releases: Mapping[str, ExpectedAnswer] = field(factory=dict)
    # Fields of the group's memory after the step. `members` are their names, `timers` are those of
    # the group with the ms that they have left, `assigned` is by member.
    group: Mapping[str, Any] = field(factory=dict)
    # What the step appends to the log; None: whatever it is.
    log: tuple[Any, ...] | None = None


def _in_order(steps: Iterable[Does]) -> tuple[Does, ...]:
    return tuple(steps)


@frozen
class Situation:
    """A schedule with its expectations."""

    name: str
    # Where the expectation comes from: a class of Kafka's, a KIP, the Javadoc of an error.
    source: str
    steps: tuple[Does, ...] = field(converter=_in_order)
    setup: Reset = field(factory=Reset)
    # The first version of Kafka that behaves so.
    since: str = VERSIONS[-1]

    def schedule(self) -> Schedule:
        return Schedule([step.command for step in self.steps], self.setup, Looks.EACH)

    def differs(self, result: Transcript) -> Iterator[str]:
        """The differences from what is expected."""
        if result.refused:
            yield f"step {len(result.steps)} is refused: {result.refused}"
            return
        numbers = {step.name: number for number, step in enumerate(self.steps, 1) if step.name}
        for number, (expected, seen) in enumerate(zip(self.steps, result.steps), 1):
            due = {numbers[name]: told for name, told in expected.releases.items()}
            if expected.answer is not None:
                due[number] = expected.answer
            for what in (*_answers(due, dict(seen.answered)), *_rest(expected, seen)):
                yield f"step {number}, {type(expected.command).__name__}: {what}"


def answer_of(error: int, **fields: Any) -> ExpectedAnswer:
    return ExpectedAnswer(error, fields)


def does(
    command: Command,
    error: int | None = None,
    *,
    name: str = "",
    releases: Mapping[str, ExpectedAnswer] | None = None,
    group: Mapping[str, Any] | None = None,
    log: tuple[Any, ...] | None = None,
    **fields: Any,
) -> Does:
    """A step. `error`, `fields`: the request's own answer; without `error` it is not answered in
    this step.
    """
    assert error is None or isinstance(command, Request), command
    own = None if error is None else ExpectedAnswer(error, fields)
    return Does(command, name, own, releases or {}, group or {}, log)


def _answers(due: Mapping[int, ExpectedAnswer], given: Mapping[int, Answer]) -> Iterator[str]:
    for number in sorted(due.keys() | given.keys()):
        if number not in given:
            yield f"request {number} gets no answer, expected {due[number].error}"
        elif number not in due:
            yield f"request {number} is answered {given[number].error}, expected no answer"
        else:
            wanted, answer = due[number], given[number]
            if wanted.error != answer.error:
                yield f"request {number} is answered {answer.error}, expected {wanted.error}"
            for name, value in wanted.fields.items():
                if (seen := _field(answer, name)) != value:
                    yield f"request {number}: {name} is {seen!r}, expected {value!r}"


def _field(answer: Answer, name: str) -> Any:
    if name == "claims":  # what the leader is told: member -> (owned, its generation)
        told = {m.member: m.subscription for m in answer.members}  # type: ignore[attr-defined]
        return {member: (s.owned, s.owned_generation) for member, s in told.items()}
    value = getattr(answer, name)
    if name == "members" and value and hasattr(value[0], "member"):
        return tuple(sorted(m.member for m in value))
    return value


def _rest(expected: Does, seen: Step) -> Iterator[str]:
    for name, value in expected.group.items():
        if (real := _remembered(seen, name)) != value:
            yield f"{name} is {real!r}, expected {value!r}"
    if expected.log is not None:
        appended = tuple(map(_logged, seen.records or ()))
        if appended != expected.log:
            yield f"appended is {appended!r}, expected {expected.log!r}"


def _remembered(seen: Step, name: str) -> Any:
    memory: Memory | None = seen.memory
    if name == "timers":
        assert memory is not None
        return {
            t.key: t.due_ms - seen.now_ms for t in memory.timers if t.key.startswith(OF_THE_GROUP)
        }
    if not isinstance(memory, ClassicMemory):
        return getattr(memory, name, None)
    if name == "kind":
        return "classic"
    if name == "members":
        return tuple(m.member for m in memory.members)
    if name == "assigned":
        return {m.member: m.assigned or frozenset() for m in memory.members}
    return getattr(memory, name)


def _logged(record: Record) -> Any:
    """A record as the situations write it: ("group", generation, leader, members), ("deleted
    group",), ("offset", topic, partition, offset or None), ("end", is committed).
    """
    if isinstance(record, GroupRecord):
        if record.tombstone:
            return ("deleted group",)
        members = tuple(m.member for m in record.members)
        return ("group", record.generation, record.leader, members)
    if isinstance(record, OffsetRecord):
        return ("offset", record.topic, record.partition, record.committed)
    if isinstance(record, MarkerRecord):
        return ("end", record.commit)
    return (type(record).__name__,)
