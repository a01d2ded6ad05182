"""What the real coordinator did beside what the model says: answers, memory, timers, records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from attrs import frozen

from groupcheck.model.protocol import messages
from groupcheck.model.protocol.classic.group import Core, Phase, Seat, leader_of
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.oracles.conform.rows import Input, Memory, Outcome, Told
from groupcheck.oracles.conform.standing import Move, Standing, empties, leads_with, partitions_of
from groupcheck.oracles.kafka.answers import Answer, JoinAnswer, LeaveAnswer, SyncAnswer
from groupcheck.oracles.kafka.memory import ClassicMember, ClassicMemory
from groupcheck.oracles.kafka.memory import Memory as Real
from groupcheck.oracles.kafka.records import GroupRecord, OffsetRecord, Record
from groupcheck.oracles.kafka.schedule import Step

OF_THE_GROUP = ("join-g", "sync-g", "heartbeat-g-")
States = {
    Phase.EMPTY: "Empty",
    Phase.PREPARING: "PreparingRebalance",
    Phase.COMPLETING: "CompletingRebalance",
    Phase.STABLE: "Stable",
}


@frozen
class Observed:
    """What was seen of a row: its steps, the memory after it, the records from its place in the log
    on, and what was answered at the very end.
    """

    steps: tuple[Step, ...]
    memory: Real | None
    log: tuple[Record, ...]
    released: tuple[tuple[int, Answer], ...]

    def answers(self, asked: int, late: bool) -> dict[int, Answer]:
        """The answers of the row by number of the request; `late`: also the one to `asked` that an
        append held back.
        """
        given = {number: answer for step in self.steps for number, answer in step.answered}
        return given | {
            number: answer for number, answer in self.released if late and number == asked
        }

    @property
    def records(self) -> tuple[Record, ...]:
        until = max((step.end for step in self.steps), default=0)
        return tuple(r for r in self.log if r.offset < until)


def differences(
    before: Memory,
    given: Input,
    outcome: Outcome,
    moved: Move,
    at: Standing,
    now: Standing,
    real: Observed,
    scope: Scope,
) -> Iterator[str]:
    """All that is not as the outcome says; `at` and `now` are where the real coordinator stands
    before and after.
    """
    # A SyncGroup that stays parked is answered when the plan is replicated, which is another row.
    late = not outcome.after.core.appending or any(not told.parked for told in outcome.told)
    yield from answers_differ(at, moved, outcome, now, real.answers(moved.asked, late))
    yield from memory_differs(outcome.after, now, real.memory, scope)
    yield from records_differ(before, given, outcome, now, real.records)


def answers_differ(
    at: Standing, moved: Move, outcome: Outcome, now: Standing, real: Mapping[int, Answer]
) -> Iterator[str]:
    """Who was answered, and what. `at` before and `now` after the step; `real`: the answers of the
    step by number of the request.
    """
    waited = dict(at.parked)
    expected: dict[int, Told] = {
        waited.get(t.member, -1) if t.parked else moved.asked: t for t in outcome.told
    }
    for number in sorted(set(expected) - set(real)):
        yield f"request {number} gets no answer, in the model {_code(expected[number])}"
    for number in sorted(set(real) - set(expected) - set(at.owed)):
        yield f"request {number} is answered {real[number].error}, in the model not at all"
    for number in sorted(set(real) & set(expected)):
        for what, model, seen in _answer(expected[number], outcome.after, now, real[number]):
            if model != seen:
                yield f"request {number}: {what} is {_shown(seen)}, in the model {_shown(model)}"


def _code(told: Told) -> int:
    return told.answer.code


def _answer(
    told: Told, memory: Memory, now: Standing, real: Answer
) -> Iterator[tuple[str, Any, Any]]:
    answer = told.answer
    error = (
        real.members[0]
        if isinstance(real, LeaveAnswer) and not real.error and real.members
        else real.error
    )
    yield "error", answer.code, error
    if isinstance(real, JoinAnswer) and isinstance(answer.request, messages.JoinGroup):
        if answer.code == 79:
            yield "id", f"m{now.made}", real.member
        if answer.code == 0 and error == 0:
            member = now.name(told.member, answer.id)
            leader = _leader(memory, now) or ""
            everybody = {
                now.name(me, id)
                for me, seats in enumerate(memory.seats)
                for id, seat in seats
                if seat.member
            }
            yield "member", member, real.member
            yield "generation", answer.generation, real.generation
            yield "leader", leader, real.leader
            yield (
                "members listed",
                everybody if member == leader else set(),
                {m.member for m in real.members},
            )
    if isinstance(real, SyncAnswer) and answer.code == 0 and error == 0:
        yield "assignment", partitions_of(answer.share), real.assigned


def memory_differs(memory: Memory, at: Standing, real: Real | None, scope: Scope) -> Iterator[str]:
    """The dump beside the model's memory."""
    if not isinstance(real, ClassicMemory):
        yield f"there is no classic group, but {type(real).__name__}"
        return
    for what, model, seen in _memory(memory, at, real, scope):
        if model != seen:
            yield f"{what} is {_shown(seen)}, in the model {_shown(model)}"


def _memory(
    memory: Memory, at: Standing, real: ClassicMemory, scope: Scope
) -> Iterator[tuple[str, Any, Any]]:
    core = memory.core
    known = {at.name(me, id): seat for me, seats in enumerate(memory.seats) for id, seat in seats}
    yield "state", States[core.phase], real.state
    yield "generation", core.generation, real.generation
    yield "leader", _leader(memory, at), real.leader
    yield (
        "ids handed out",
        {name for name, seat in known.items() if not seat.member},
        set(real.pending_join),
    )
    yield (
        "members",
        {name for name, seat in known.items() if seat.member},
        {m.member for m in real.members},
    )
    yield "awaiting join", core.parked, real.awaiting_join
    due = {name for name, seat in known.items() if seat.due}
    if core.phase != Phase.STABLE or scope.has("sync_timeout"):
        yield "members that owe SyncGroup", due, set(real.pending_sync)
    for m in real.members:
        if m.member in known:
            for what, model, seen in _member(known[m.member], m, core, scope):
                yield f"{what} of {m.member}", model, seen
    yield "timers", _timers(core, known, scope), _armed(real, core, known, scope)


def _member(
    seat: Seat, real: ClassicMember, core: Core, scope: Scope
) -> Iterator[tuple[str, Any, Any]]:
    yield "parked JoinGroup", seat.join, real.awaiting_join
    yield "parked SyncGroup", seat.sync, real.awaiting_sync
    if scope.has("new_member_timeout"):
        yield "newness", seat.new, real.new
    if core.phase == Phase.STABLE:
        yield "assignment", partitions_of(seat.share), real.assigned or frozenset()
    if seat.join or core.phase != Phase.PREPARING:
        yield "claimed generation", seat.claimed, real.protocols[0][1].owned_generation


def _timers(core: Core, known: Mapping[str, Seat], scope: Scope) -> set[str]:
    timers = {f"heartbeat-g-{name}" for name, seat in known.items() if seat.armed}
    if core.phase == Phase.PREPARING:
        timers.add("join-g")
    if core.deadline:
        timers.add("sync-g")
    return timers


def _armed(real: ClassicMemory, core: Core, known: Mapping[str, Seat], scope: Scope) -> set[str]:
    keys = {t.key for t in real.timers if t.key.startswith(OF_THE_GROUP)}
    # A dead value of the model: nothing in the scope reads it.
    forgotten = core.phase == Phase.STABLE and not scope.has("sync_timeout")
    # The timer of an id that was rejected for the size stays; when it fires, nobody is removed.
    if scope.max_size is not None:
        keys -= {
            key
            for key in keys
            if key.startswith("heartbeat-g-") and key.removeprefix("heartbeat-g-") not in known
        }
    return keys - {"sync-g"} if forgotten else keys


def records_differ(
    before: Memory, given: Input, outcome: Outcome, now: Standing, records: tuple[Record, ...]
) -> Iterator[str]:
    """What the step appended: a group record with the leader's SyncGroup and when the group becomes
    Empty, an offset with an accepted commit.
    """
    expected = _appended(before, given, outcome, now)
    seen = [_seen(r) for r in records]
    if expected != seen:
        yield f"appended is {_shown(seen)}, in the model {_shown(expected)}"


def _appended(before: Memory, given: Input, outcome: Outcome, now: Standing) -> list[Any]:
    core = outcome.after.core
    if outcome.stored:
        return [("offset", 1)]
    if leads_with(before, given):
        return [
            (
                "group",
                core.generation,
                _leader(outcome.after, now),
                sorted(_members(outcome.after, now)),
            )
        ]
    if empties(before, outcome):
        return [("group", core.generation, None, [])]
    return []


def _leader(memory: Memory, at: Standing) -> str | None:
    leader = leader_of(memory.seats)
    return None if leader is None else at.name(*leader)


def _members(memory: Memory, now: Standing) -> Iterator[str]:
    for me, seats in enumerate(memory.seats):
        for id, seat in seats:
            if seat.member:
                yield now.name(me, id)


def _seen(record: Record) -> Any:
    if isinstance(record, GroupRecord):
        return ("group", record.generation, record.leader, sorted(m.member for m in record.members))
    return (
        ("offset", record.committed)
        if isinstance(record, OffsetRecord)
        else ("other", type(record).__name__)
    )


def _shown(value: Any) -> str:
    if isinstance(value, (set, frozenset)):
        return "{" + ", ".join(sorted(str(v) for v in value)) + "}" if value else "nothing"
    return "nothing" if value in (None, "", ()) else str(value)
