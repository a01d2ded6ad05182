"""Compares what the real coordinator did with what the model says: answers, memory, timers,
records.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import attrs
from attrs import frozen

from groupcheck.model.protocol import messages
from groupcheck.model.protocol.classic.features.full_offsets.kept import Fetched
from groupcheck.model.protocol.classic.group import Core, Phase, Seat
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.model.protocol.codes import (
    COORDINATOR_NOT_AVAILABLE,
    MEMBER_ID_REQUIRED,
    NONE,
)
from groupcheck.oracles.conform import full_offsets, phases, takeovers
from groupcheck.oracles.conform.logged import (
    leader_name,
    loads_differ,
    protocol_of,
    records_differ,
    shown,
)
from groupcheck.oracles.conform.real_position import (
    Move,
    Standing,
    append_fails,
    kept_until,
    late_codes,
    log_after,
)
from groupcheck.oracles.conform.row import Input, Memory, ModelAnswer, Outcome
from groupcheck.oracles.conform.schedule_memory import Key, join_of
from groupcheck.oracles.conform.sending import move, written_user_data
from groupcheck.oracles.conform.topics import partitions_of, topics_of
from groupcheck.oracles.kafka.answers import (
    Answer,
    DeleteAnswer,
    DescribeAnswer,
    FetchAnswer,
    JoinAnswer,
    LeaveAnswer,
    Subscription,
    SyncAnswer,
)
from groupcheck.oracles.kafka.commands import FailOver, Fire, JoinGroup, Reset
from groupcheck.oracles.kafka.memory import HOUSEKEEPING, ClassicMember, ClassicMemory
from groupcheck.oracles.kafka.memory import Memory as Real
from groupcheck.oracles.kafka.records import GroupRecord, Record
from groupcheck.oracles.kafka.schedule import Step

NOW_MS = Reset().now
States = {
    Phase.EMPTY: "Empty",
    Phase.PREPARING: "PreparingRebalance",
    Phase.COMPLETING: "CompletingRebalance",
    Phase.STABLE: "Stable",
}


@frozen
class Observation:
    """The observations of a row: its steps, the memory after it, the records from its place in the
    log on, and what was answered at the very end.
    """

    steps: tuple[Step, ...]
    memory: Real | None
    log: tuple[Record, ...]
    released: tuple[tuple[int, Answer], ...]
    # All group records of the log after the row.
    groups: tuple[GroupRecord, ...] = ()

    @property
    def answers(self) -> dict[int, Answer]:
        """The answers of the row by number of the request."""
        return {number: answer for step in self.steps for number, answer in step.answered}

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
    real: Observation,
    scope: Scope,
) -> Iterator[str]:
    """All that is not as the outcome says; `at` and `now` are where the real coordinator stands
    before and after.
    """
    log = log_after(at, before, given, moved, outcome, moved.first)
    look = attrs.evolve(now, log=log)
    yield from answers_differ(at, before, given, moved, outcome, look, real, scope)
    yield from memory_differs(outcome.after, look, real.memory, scope)
    yield from forgotten_differ(at, moved, outcome, real)
    yield from records_differ(before, given, outcome, look, real.records, scope)
    if scope.has("fail_over"):
        own = move(at, before, given, outcome, scope)
        log = log_after(at, before, given, own, outcome, own.commands)
        kept = kept_until(attrs.evolve(now, log=log), outcome.after)
        found = next((r for r in reversed(real.groups) if r.offset < kept), None)
        yield from loads_differ(outcome.after, now, found, scope)


def answers_differ(
    at: Standing,
    before: Memory,
    given: Input,
    moved: Move,
    outcome: Outcome,
    now: Standing,
    real: Observation,
    scope: Scope,
) -> Iterator[str]:
    """Who was answered, and what; `at` before and `now` after the step."""
    waited, answers = dict(at.parked), real.answers
    expected: dict[int, ModelAnswer] = {
        waited.get(t.member, -1) if t.parked else moved.asked: t for t in outcome.told
    }
    if append_fails(before, outcome) and moved.asked in expected:  # the last member leaves
        own = expected[moved.asked]
        failed = attrs.evolve(own.answer, code=COORDINATOR_NOT_AVAILABLE)
        expected[moved.asked] = attrs.evolve(own, answer=failed)
    memory = outcome.after
    outside = full_offsets.code(outcome)
    if given.former and before.former is not None and at.former:
        memory, now = Memory(before.former, before.former_seats), at.former
        if held_for_good(at, outcome):
            expected.pop(moved.asked, None)
            outside = None
    late = late_codes(at, before, given, moved, outcome)
    codes = {number: told.answer.code for number, told in expected.items() if number not in late}
    if outside is not None and moved.asked not in late:
        codes[moved.asked] = outside
    codes |= codes_from_log(at, moved, now, set(codes))
    for number in sorted(set(codes) - set(answers)):
        yield f"request {number} gets no answer, in the model {codes[number]}"
    for number in sorted(set(answers) - set(codes)):
        yield f"request {number} is answered {_error(answers[number])}, in the model not at all"
    for number in sorted(set(codes) & set(answers) - set(expected)):
        if codes[number] != _error(answers[number]):
            yield (
                f"request {number}: error is {_error(answers[number])}, in the model"
                f" {codes[number]}"
            )
    at_last = answers | {n: answer for n, answer in real.released if n in late}
    for number in sorted(set(late) - set(at_last)):
        yield f"request {number} is not answered once all is replicated"
    for number in sorted(set(at_last) & set(late) - set(expected)):
        if late[number] != (error := _error(at_last[number])):
            yield f"request {number}: error is {error}, in the model {late[number]}"
    there = at_last.get(moved.asked)
    if isinstance(there, DeleteAnswer):
        other = full_offsets.code_of_other(before, outcome)
        if dict(there.codes).get(full_offsets.OTHER) != other:
            yield f"the other group's codes are {shown(there.codes)}, in the model {other}"
    if isinstance(there, DescribeAnswer) and outside == there.error == NONE:
        for what, model, seen in _described(memory, now, there, scope):
            if model != seen:
                yield f"{what} described is {shown(seen)}, in the model {shown(model)}"
    for number in sorted(set(at_last) & set(expected)):
        told = expected[number]
        skips = takeovers.ends(given) is not None
        for what, model, seen in _answer(told, memory, now, at_last[number], scope, skips):
            if model != seen:
                yield f"request {number}: {what} is {shown(seen)}, in the model {shown(model)}"


def forgotten_differ(
    at: Standing, moved: Move, outcome: Outcome, real: Observation
) -> Iterator[str]:
    """Requests without an answer that the coordinator has forgotten. A fail-over ends what waits,
    because the connection breaks.
    """
    before = dict(at.parked)
    expected = {before.get(w.member, 0) if w.parked else moved.asked for w in outcome.forgotten}
    asked = set(before.values()) | {moved.asked} - {0}
    late = {number for number, _ in real.released}
    seen = asked - set(real.answers) - late - _waiting(real.memory)
    loading = outcome.after.core.loading  # what waits at a former coordinator is not looked at
    if loading or any(isinstance(command, FailOver) for command in moved.first):
        seen = set()
    if expected != seen:
        yield f"requests forgotten are {shown(seen)}, in the model {shown(expected)}"


def _waiting(real: Real | None) -> set[int]:
    """The requests for whose answers the members in memory wait."""
    members = real.members if isinstance(real, ClassicMemory) else ()
    numbers = {m.join_request for m in members} | {m.sync_request for m in members}
    return {number for number in numbers if number is not None}


def held_for_good(at: Standing, outcome: Outcome) -> bool:
    """Does a former coordinator hold the answer back behind an append, which will never be
    replicated?
    """
    own = outcome.own
    waits = messages.Heartbeat | messages.LeaveGroup | messages.OffsetFetch
    behind = isinstance(own.request, waits) if own is not None else full_offsets.held(outcome)
    in_flight = at.former is not None and at.former.log.written > at.former.log.replicated
    return behind and in_flight and not outcome.fails


def codes_from_log(at: Standing, moved: Move, now: Standing, answered: set[int]) -> dict[int, int]:
    """The codes of requests that are answered because of what became of a write: those that waited
    for its replication, and a leader's SyncGroup whose append has timed out, even if another one
    has taken its place (GroupCoordinatorService.syncGroup).
    """
    there = now.log.in_flight
    ended = [write for write in at.log.in_flight if write not in there]
    if phases.unloads(moved.first):
        waited_for = (*at.behind_an_append, *at.stranded)
        return {n: c for n, c in phases.codes(waited_for).items() if n not in answered}
    if any(isinstance(command, FailOver) for command in moved.first):
        return {}
    failed = [c.timer for c in moved.first if isinstance(c, Fire) and c.timer.startswith("append-")]
    codes: dict[int, int] = {}
    for write in ended:
        if write.timer not in failed:
            codes |= {owed: code for owed, code in at.owed if owed == write.number}
        elif write.number in at.past.plans and write.number not in answered:
            codes[write.number] = COORDINATOR_NOT_AVAILABLE
    return codes


def _error(real: Answer) -> int:
    alone = isinstance(real, LeaveAnswer) and not real.error and real.members
    return real.members[0] if alone and isinstance(real, LeaveAnswer) else real.error


def _answer(
    told: ModelAnswer, memory: Memory, now: Standing, real: Answer, scope: Scope, skips: bool
) -> Iterator[tuple[str, Any, Any]]:
    """`skips`: a leader that is told its generation keeps the assignment as it is (KIP-814)."""
    answer, error = told.answer, _error(real)
    yield "error", answer.code, error
    if isinstance(real, JoinAnswer) and isinstance(answer.request, messages.JoinGroup):
        if answer.code == MEMBER_ID_REQUIRED:
            yield "id", f"m{now.made}", real.member
        if answer.code == 0 and error == 0:
            yield from _joined(told, memory, now, real, scope, skips)
    if isinstance(real, FetchAnswer) and isinstance(answer, Fetched):
        yield "offset", (("t", 0, answer.offset),), real.offsets
    if isinstance(real, SyncAnswer):
        right = answer.code == 0
        yield "assignment", partitions_of(answer.share, scope) if right else None, real.assigned
        yield "protocol type", "consumer" if right else None, real.type
        if right:
            yield "protocol", protocol_of(memory.core.assignor, scope), real.protocol


def _described(
    memory: Memory, now: Standing, real: DescribeAnswer, scope: Scope
) -> Iterator[tuple[str, Any, Any]]:
    """DescribeGroups tells the assignments, and by which protocol, of a group that is Stable."""
    core, stable = memory.core, memory.core.phase == Phase.STABLE
    members = {
        now.name(me, id): partitions_of(seat.share, scope) if stable else frozenset()
        for me, seats in enumerate(memory.seats)
        for id, seat in seats
        if seat.member
    }
    yield "state", States[core.phase], real.state
    yield "protocol", protocol_of(core.assignor, scope) if stable else "", real.protocol
    yield "members", members, {m.member: m.assigned or frozenset() for m in real.members}


def _joined(
    told: ModelAnswer, memory: Memory, now: Standing, real: JoinAnswer, scope: Scope, skips: bool
) -> Iterator[tuple[str, Any, Any]]:
    member, leader = now.name(told.member, told.answer.id), leader_name(memory, now) or ""
    everybody = {
        (now.name(me, id), *subscribed(join_of((me, id), now.past.joined, now.commands)))
        for me, seats in enumerate(memory.seats)
        for id, seat in seats
        if seat.member
    }
    yield "member", member, real.member
    yield "generation", told.answer.generation, real.generation
    yield "leader", leader, real.leader
    yield "protocol type", "consumer", real.type
    yield "protocol", protocol_of(memory.core.assignor, scope), real.protocol
    yield "skip assignment", skips and member == leader, real.skip_assignment
    yield (
        "members listed",
        everybody if member == leader else set(),
        {(m.member, *subscribed(m.subscription)) for m in real.members},
    )
    listed = {topic for m in real.members for topic in m.subscription.topics}
    told_of = told.answer.group_topics
    theirs = set() if member != leader else set(topics_of(told_of, scope))
    yield "topics of the members listed", theirs, listed


def subscribed(said: JoinGroup | Subscription) -> tuple[Any, ...]:
    """The subscription of a member, and its claim to own partitions: the generation, the
    partitions, and the user data in hexadecimal digits.
    """
    sent = isinstance(said, JoinGroup)
    data = written_user_data(said.user_data) if sent else said.user_data
    return said.topics, said.owned_generation, tuple(sorted(said.owned)), data


def memory_differs(memory: Memory, at: Standing, real: Real | None, scope: Scope) -> Iterator[str]:
    """The differences between the dump of the real memory and the model's memory."""
    if memory.core.loading:
        if isinstance(real, ClassicMemory) or real is None or real.coordinator != "LOADING":
            yield f"the coordinator does not load, but remembers {type(real).__name__}"
        elif real.timers:
            yield f"timers is {shown(tuple(t.key for t in real.timers))}, in the model nothing"
        return
    if memory.kept is not None and real is not None:
        yield from full_offsets.offsets_differ(memory, real)
    if memory.kept is not None and not memory.kept.there:
        if real is None or getattr(real, "kind", "") != "none":
            yield f"there is a group, {type(real).__name__}"
        else:
            timers, seen = _timed(at.timers(memory)), _timed(_due(real))
            if timers != seen:
                yield f"timers is {shown(seen)}, in the model {shown(timers)}"
        return
    if not isinstance(real, ClassicMemory):
        yield f"there is no classic group, but {type(real).__name__}"
        return
    for what, model, seen in _memory(memory, at, real, scope):
        if model != seen:
            yield f"{what} is {shown(seen)}, in the model {shown(model)}"


def _memory(
    memory: Memory, at: Standing, real: ClassicMemory, scope: Scope
) -> Iterator[tuple[str, Any, Any]]:
    core = memory.core
    known = {
        at.name(me, id): ((me, id), seat)
        for me, seats in enumerate(memory.seats)
        for id, seat in seats
    }
    members = {name for name, (_, seat) in known.items() if seat.member}
    yield "state", States[core.phase], real.state
    yield "generation", core.generation, real.generation
    yield "leader", leader_name(memory, at), real.leader
    yield "ids handed out", set(known) - members, set(real.pending_join)
    yield "members", members, {m.member for m in real.members}
    yield "awaiting join", core.parked, real.awaiting_join
    if core.support:
        listing = [
            sum(name in {listed for listed, _ in m.protocols} for m in real.members)
            for name in scope.assignors_listed
        ]
        yield "members that list each assignor", core.support, tuple(listing)
    yield "number of members", core.members, len(real.members)
    yield "number of ids handed out", core.pending, len(real.pending_join)
    yield "number that owes SyncGroup", core.due, len(real.pending_sync)
    yield "led", core.led, real.leader is not None
    parked = any(m.member == real.leader and m.awaiting_join for m in real.members)
    yield "leader awaiting join", core.leader_parked, parked
    due = {name for name, (_, seat) in known.items() if seat.due}
    due |= {at.name(key[0], seat.owed) for key, seat in known.values() if seat.owed is not None}
    instances = {
        (takeovers.instance(memory.seats[key[0]], key[0]), name)
        for name, (key, _) in known.items()
        if memory.seats[key[0]].static
    }
    yield "instances", instances, set(real.instances)
    yield "members that owe SyncGroup", due, set(real.pending_sync)
    yield "newMemberAdded", at.past.added, real.new_member_added
    yield "requests that wait", {number for _, number in at.parked}, _waiting(real)
    for m in real.members:
        if m.member in known:
            for what, model, seen in _member(*known[m.member], m, core, at, scope):
                yield f"{what} of {m.member}", model, seen
    if core.phase >= Phase.COMPLETING:
        yield "protocol", protocol_of(core.assignor, scope), real.protocol
    yield "timers", _timed(at.timers(memory)), _timed(_due(real))


def _due(real: Real) -> dict[str, int]:
    return {t.key: t.due_ms - NOW_MS for t in real.timers if t.key not in HOUSEKEEPING}


def _timed(timers: Mapping[str, int]) -> set[str]:
    return {f"{key} in {ms} ms" for key, ms in timers.items()}


def _member(
    key: Key, seat: Seat, real: ClassicMember, core: Core, at: Standing, scope: Scope
) -> Iterator[tuple[str, Any, Any]]:
    join = join_of(key, at.past.joined, at.commands)
    yield "parked JoinGroup", seat.join, real.awaiting_join
    yield "parked SyncGroup", seat.sync, real.awaiting_sync
    yield "newness", seat.new, real.new
    yield "session timeout", join.session_timeout_ms, real.session_timeout_ms
    yield "rebalance timeout", join.rebalance_timeout_ms, real.rebalance_timeout_ms
    share = dict(at.past.shares).get(key, 0)
    yield "assignment", partitions_of(share, scope), real.assigned or frozenset()
    said = real.protocols[0][1]
    yield "subscription", subscribed(join), subscribed(said)
    yield "topics", topics_of(seat.topics, scope), said.topics
    if seat.join or seat.owned or core.phase != Phase.PREPARING:
        yield "claimed generation", seat.claimed, said.owned_generation
        yield "claimed partitions", partitions_of(seat.owned, scope), said.owned
    listed = tuple(name for name, _ in real.protocols)
    if seat.loaded and core.assignor is not None:
        yield "protocols", (scope.assignors_listed[core.assignor],), listed
    else:
        yield "protocols", join.protocols, listed
