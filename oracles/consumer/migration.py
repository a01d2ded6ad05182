"""Rows of migration between classic and consumer groups: the rows of consumer groups, with requests
of the classic protocol, conversions, and the members of a classic group.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any

import attrs

from groupcheck.model.engine import Spec, UserError, evolve
from groupcheck.model.mutations import Mutation
from groupcheck.model.protocol.codes import MEMBER_ID_REQUIRED
from groupcheck.model.protocol.consumer.memory import NO_ROUND, NOT_IN_ROUND, Phase, Seat
from groupcheck.model.protocol.consumer.messages import Kind, Tag
from groupcheck.model.protocol.consumer.plans import instance_of
from groupcheck.model.protocol.consumer.releases import RELEASES
from groupcheck.model.protocol.consumer.scope import AS_KAFKA
from groupcheck.model.protocol.migration import conversions, rounds
from groupcheck.model.protocol.migration.classic_requests import CLASSIC, join_group
from groupcheck.model.protocol.migration.rules import ADDED, COORDINATOR, spec
from groupcheck.model.protocol.migration.scope import MORE, OF_TIMERS, MigrationScope
from groupcheck.oracles.consumer.committing import AHEAD
from groupcheck.oracles.consumer.comparing import compare as compare_rows
from groupcheck.oracles.consumer.facts import (
    Facts,
    Known,
    answer_of_model,
    by_name,
    mask,
    of_kafka,
    of_model,
    topics_of,
)
from groupcheck.oracles.consumer.facts import followed as followed_in_consumer_group
from groupcheck.oracles.consumer.families import ANY, FIRST, Family, with_bug
from groupcheck.oracles.consumer.rows import ConsumerRow, ConsumerRows, State, renamed
from groupcheck.oracles.kafka.answers import Answer, JoinAnswer, LeaveAnswer, SyncAnswer
from groupcheck.oracles.kafka.commands import (
    Command,
    Fire,
    Heartbeat,
    JoinGroup,
    LeaveGroup,
    Reset,
    SyncGroup,
)
from groupcheck.oracles.kafka.memory import ClassicMemory, ConsumerMemory, Memory
from groupcheck.oracles.kafka.schedule import Step

SESSION_MS = 10_000
VERSIONS = ("4.1.1", "4.2.0", "4.3.0", "4.3.1", "4.4.0")
READINGS: Mapping[str, Any] = dict.fromkeys(
    (
        "k3",
        "k13",
        "k14",
        "k15",
        "k19",
        "k20",
        "k21",
        "k22",
        "k29",
        "k30",
        "k31",
        "k36",
        "k37",
        "k38",
        "kafka_20641",
    ),
    AS_KAFKA,
)
PHASES = {
    Phase.PREPARING: "PreparingRebalance",
    Phase.FIRST: "PreparingRebalance",
    Phase.COMPLETING: "CompletingRebalance",
    Phase.STABLE: "Stable",
    Phase.EMPTY: "Empty",
}
# Which timer of a classic group fires.
GROUP_TIMERS = {rounds.join_phase_over.name: "join-g", rounds.sync_phase_over.name: "sync-g"}
TIMERS = (*OF_TIMERS, *MORE)
CONVERTING_POLICIES = ("bidirectional", "upgrade", "downgrade")
_SMALL: Mapping[str, Any] = {"members": 2, "partitions": 1}
# No group becomes one of the other kind, so all rows of classic groups are here.
DISABLED = Family("policy disabled", {**_SMALL, "policy": "disabled"}, TIMERS)
EVERY = (
    Family("one member", {"members": 1, "partitions": 1}, TIMERS),
    Family("one static member", {"members": 1, "partitions": 1, "static_members": 1}, TIMERS),
    *(
        Family(f"policy {policy}", {**_SMALL, "policy": policy}, TIMERS, FIRST // 2)
        for policy in CONVERTING_POLICIES
    ),
    DISABLED,
    Family("two partitions", {"members": 2, "partitions": 2}, TIMERS, FIRST // 3),
    Family("two topics", {**_SMALL, "topics": 2}, TIMERS, FIRST // 3),
    Family(
        "one static member, two topics",
        {"members": 1, "partitions": 1, "topics": 2, "static_members": 1, "policy": "upgrade"},
        TIMERS,
        FIRST,
    ),
    Family("three members", {"members": 3, "partitions": 1}, (), FIRST // 3),
    Family("static member", {**_SMALL, "static_members": 1}, TIMERS, FIRST),
    Family("static members", {"members": 2, "partitions": 2, "static_members": 2}, TIMERS, FIRST),
    Family("full group", {**_SMALL, "static_members": 2, "max_size": 1}, TIMERS, FIRST // 2),
)


def families(kafka: str, members: int | None = None) -> Iterator[Family]:
    """Those with no more than so many members. Raises `UserError` for a version whose rows are not
    modelled.
    """
    if kafka not in VERSIONS:
        raise UserError(
            f"the migration of groups of Kafka {kafka} is not modelled",
            where="--kafka",
            do="take " + ", ".join(VERSIONS),
        )
    # Up to 4.3.0 `disabled` lets classic members into consumer groups (KAFKA-20640), so that its
    # rows are too many as well.
    whole = RELEASES[kafka].keeps_classic_out
    every = (f if whole or f is not DISABLED else attrs.evolve(f, most=FIRST) for f in EVERY)
    return (f for f in every if members is None or f.fields["members"] <= members)


def spec_of(family: Family, kafka: str, bug: Mutation | None = None) -> Spec:
    """The coordinator's rules with anybody as a client. Raises `UserError` for a bug of members."""
    faults = dict.fromkeys(family.faults, ANY)
    scope = MigrationScope(
        requests="anybody", kafka=kafka, faults=faults, **READINGS, **family.fields
    )
    return with_bug(spec(scope), bug, COORDINATOR)


def _outcomes(spec: Spec) -> frozenset[str]:
    """What migration adds to the outcomes of consumer groups of this version."""
    lacks = set() if spec.scope.release.keeps_classic_out else {f"{join_group.name}:disabled"}
    return frozenset(name for rule in (*ADDED, *rounds.RULES) for name in rule.names) - lacks


class MigrationRows(ConsumerRows):
    """The rows of a spec of migration."""

    scope: MigrationScope

    def setup(self, kafka: str) -> Reset:
        """The real coordinator before anything has happened."""
        reset = super().setup(kafka)
        policy = {"group.consumer.migration.policy": self.scope.policy}
        return evolve(reset, config={**dict(reset.config), **policy})

    def _remembered(self, state: State) -> Facts:
        """The model's memory as facts."""
        core, seats = self.core(state), self.seats(state)
        if core.phase is None:
            found = of_model(core, seats, self.scope)
            for number, seat in enumerate(seats):
                if seat is not None:
                    found |= _of_model(number, seat)
            return {**found, "kind": "consumer" if core.exists else "none"}
        found = {
            "kind": "classic",
            "phase": PHASES[core.phase],
            "members": core.members,
            "ids handed out": core.round.pending_joins,
            "join timer": core.round.join_timer,
            "sync timer": core.round.pending_syncs > 0,
        }
        for number, seat in enumerate(seats):
            found |= {f"assigned {number}": None if seat is None else seat.assigned}
            part = seat.part if seat is not None else None
            leads = part is not None and part.leads
            found |= {
                f"awaits join {number}": seat is not None and seat.waits,
                f"awaits sync {number}": part is not None and part.syncs,
                f"has to sync {number}": part is not None and part.owes_sync,
                f"leads {number}": leads if core.phase == Phase.COMPLETING else None,
            }
        return found

    def _told(self, rest: State, me: int | None) -> Facts:
        found: dict[str, Any] = {}
        for number, at in enumerate(self._links):
            seat, link = rest[self._seats[number]], rest[at]
            if link.parked is None:
                continue
            # Of two requests of one member the last one is answered, or parked now.
            own = number == me and link.answer is None and seat is not None
            if own and not (seat.waits or seat.part.syncs):
                found |= answer_of_model(link.parked, 0)
            else:
                found[f"told {number}"] = (link.parked.code, link.parked.assigned)
        return found

    def _lasting(self, state: State) -> Any:
        core, seats = super()._lasting(state)
        none = {"join": False, "sync": False, "short": False, "waits": False, "part": NOT_IN_ROUND}
        phase = None if core.phase in (None, Phase.EMPTY) else Phase.STABLE
        return evolve(core, waiting=0, phase=phase, round=NO_ROUND), [
            seat and evolve(seat, **none) for seat in seats
        ]

    def _wrote(self, before: State, after: State, fired: tuple[str, ...]) -> bool:
        joined = any(name.startswith(f"{join_group.name}:") for name in fired)
        if joined or _goes_on(fired):
            return False
        return super()._wrote(before, after, fired)

    def commands(self, row: ConsumerRow, known: list[Known]) -> tuple[Command, ...]:
        """What the real coordinator is told."""
        if row.request is not None and row.request.kind in CLASSIC and row.me is not None:
            return (self._classic(row, row.me, known),)
        if row.title == conversions.join_timeout.name and row.me is not None:
            return (Fire(timer=f"join-g-{known[row.me].id}"),)
        if row.title == conversions.sync_timeout.name and row.me is not None:
            return (Fire(timer=f"sync-g-{known[row.me].id}"),)
        if row.title == rounds.round_session_timeout.name and row.me is not None:
            return (Fire(timer=f"heartbeat-g-{known[row.me].id}"),)
        if row.title in GROUP_TIMERS:
            return (Fire(timer=GROUP_TIMERS[row.title]),)
        return super().commands(row, known)

    def _instance(self, me: int) -> str | None:
        return instance_of(me) if me < self.scope.static_members else None

    def _plan(self, before: State, known: list[Known]) -> dict[str, dict[str, list[int]]]:
        """The leader gives everything to the first one that wants it."""
        shares: dict[str, dict[str, list[int]]] = {}
        left = self.core(before).topics
        for process, seat in zip(known, self.seats(before), strict=True):
            if seat is not None:
                shares[process.id] = by_name(left & seat.topics, self.scope)
                left &= ~seat.topics
        return shares

    def _classic(self, row: ConsumerRow, me: int, processes: list[Known]) -> Command:
        instance, scope, known, request = self._instance(me), self.scope, processes[me], row.request
        assert request is not None
        generation = known.epoch + (AHEAD if request.tag == Tag.AHEAD else 0)
        if request.kind == Kind.JOIN_GROUP:
            return JoinGroup(
                member="" if request.other else known.id,
                instance=instance,
                topics=topics_of(request.subscribed or 0, scope),
                owned=by_name(request.owned or 0, scope),
                session_timeout_ms=SESSION_MS,
            )
        if request.kind == Kind.SYNC_GROUP:
            seat = self.seats(row.before)[me]
            leads = seat is not None and seat.part.leads
            plan = self._plan(row.before, processes) if leads else {}
            return SyncGroup(
                member=known.id, generation=generation, instance=instance, assignments=plan
            )
        if request.kind == Kind.CLASSIC_BEAT:
            return Heartbeat(member=known.id, generation=generation, instance=instance)
        return LeaveGroup(member=known.id, instance=instance)

    def read(
        self, row: ConsumerRow, before: tuple[Known, ...], given: Answer | None, last: Step
    ) -> tuple[tuple[Known, ...], Facts]:
        """What Kafka did."""
        memory = last.memory
        assert memory is not None
        read, facts = super().read(row, before, given, last)
        known = [*read]
        facts = {**facts, **_told(before, last, self.scope)}
        if row.request is not None and row.request.kind in CLASSIC and row.me is not None:
            facts = {**facts, **_answered(given, self.scope)}
            named = isinstance(given, JoinAnswer) and given.error in (0, MEMBER_ID_REQUIRED)
            if isinstance(given, JoinAnswer) and named and given.member:
                known[row.me] = renamed(known[row.me], given.member)
        known = _followed(known, memory, [self._instance(i) for i in range(len(known))])
        told = tuple(f"told {i}" for i in range(len(known)))
        kept = {k: v for k, v in facts.items() if k in ("error", "epoch", "assignment", *told)}
        # The record of a classic member has its subscription as bytes, which name what it owns, so
        # nearly each JoinGroup writes one: that is not compared; nor what a classic group writes,
        # which may have been there before, and empty.
        skips = row.request is not None and row.request.kind == Kind.JOIN_GROUP
        skips = skips or _goes_on(row.outcomes[0].fired)
        kept["records written"] = not skips and facts["records written"]
        return tuple(known), {**kept, **_memory_of_kafka(memory, known, self.scope, last.now_ms)}


def _goes_on(fired: tuple[str, ...]) -> bool:
    """Does a classic group go on as one, or begin?"""
    rules = {rule.name for rule in rounds.RULES} - {rounds.begin_consumer_group.name}
    return any(name.partition(":")[0] in rules for name in fired)


def _told(before: tuple[Known, ...], last: Step, scope: MigrationScope) -> dict[str, Any]:
    """Kafka's answers to requests that were parked before, by process."""
    whose = {number: i for i, process in enumerate(before) for number in process.parked}
    return {
        f"told {whose[number]}": (answer.error, None if answer.error else _share(answer, scope))
        for number, answer in last.answered
        if number != last.number and number in whose
    }


def _share(answer: Answer, scope: MigrationScope) -> int | None:
    """What a SyncGroup is answered; no bytes are no partition."""
    if not isinstance(answer, SyncAnswer):
        return None
    return mask(answer.assigned, scope) if isinstance(answer.assigned, frozenset) else 0


def _of_model(number: int, seat: Seat) -> dict[str, Any]:
    return {
        f"classic {number}": seat.classic,
        f"join timer {number}": seat.join,
        f"sync timer {number}": seat.sync,
        f"own session timeout {number}": seat.short,
    }


def _answered(given: Answer | None, scope: MigrationScope) -> dict[str, Any]:
    """The answer to a request of the classic protocol."""
    if given is None:
        return {}
    if isinstance(given, LeaveAnswer):
        return {"error": given.error or (given.members[0] if given.members else 0)} | (
            {"epoch": "own", "assignment": None}
            if not given.error and not any(given.members)
            else {}
        )
    if given.error:
        return {"error": given.error}
    return {"error": 0, "epoch": "own", "assignment": _share(given, scope)}


def _followed(known: list[Known], memory: Memory, instances: Iterable[str | None]) -> list[Known]:
    """The processes, each with its epoch, also of a classic group, where a static member has the
    id of its instance before it is told.
    """
    known = [evolve(k, parked=()) for k in known]
    if not isinstance(memory, ClassicMemory):
        return followed_in_consumer_group(known, memory)
    ids = dict(memory.instances)
    known = [renamed(k, ids.get(i or "", k.id)) for k, i in zip(known, instances, strict=True)]
    return [_in_classic_group(process, memory) for process in known]


def _in_classic_group(process: Known, memory: ClassicMemory) -> Known:
    if (member := memory.member(process.id)) is None:
        return process
    numbers = (member.join_request, member.sync_request)
    parked = tuple(number for number in numbers if number is not None)
    generation = memory.generation
    return evolve(process, epoch=generation, previous=generation, parked=parked)


def _memory_of_kafka(
    memory: Memory, known: list[Known], scope: MigrationScope, now_ms: int
) -> dict[str, Any]:
    if isinstance(memory, ClassicMemory) and (memory.state != "Empty" or memory.pending_join):
        return _classic_group(memory, known, scope)
    found = of_kafka(memory, known, scope, now_ms)
    group = memory if isinstance(memory, ConsumerMemory) else None
    members = {m.member: m for m in group.members} if group else {}
    for number, process in enumerate(known):
        if (member := members.get(process.id)) is not None:
            due = memory.due(f"session-timeout-g-{process.id}")
            found |= {
                f"classic {number}": member.classic,
                f"join timer {number}": f"join-g-{process.id}" in memory.armed,
                f"sync timer {number}": f"sync-g-{process.id}" in memory.armed,
                f"own session timeout {number}": due is not None and due - now_ms == SESSION_MS,
            }
    return {**found, "kind": "consumer" if group else "none"}


def _classic_group(
    memory: ClassicMemory, known: list[Known], scope: MigrationScope
) -> dict[str, Any]:
    found: dict[str, Any] = {
        "kind": "classic",
        "phase": memory.state,
        "members": len(memory.members),
        "ids handed out": len(memory.pending_join),
        "join timer": "join-g" in memory.armed,
        # One of a former group finds another generation, and does nothing.
        "sync timer": "sync-g" in memory.armed and bool(memory.pending_sync),
    }
    for number, process in enumerate(known):
        member = memory.member(process.id)
        share = 0 if member is not None else None
        if member is not None and isinstance(member.assigned, frozenset):
            share = mask(member.assigned, scope)
        completes = memory.state == PHASES[Phase.COMPLETING]
        found |= {
            f"assigned {number}": share,
            f"awaits join {number}": member is not None and member.awaiting_join,
            f"awaits sync {number}": member is not None and member.awaiting_sync,
            f"has to sync {number}": member is not None and member.member in memory.pending_sync,
            f"leads {number}": memory.leader == process.id if completes else None,
        }
    return found


compare = partial(compare_rows, rows=MigrationRows, outcomes=_outcomes, side="migration")
