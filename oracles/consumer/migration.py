"""Rows of migration between classic and consumer groups: the rows of consumer groups, with requests
of the classic protocol, conversions, and the members of a classic group.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from groupcheck.model.engine import Spec, UserError, evolve
from groupcheck.model.mutations import Mutation
from groupcheck.model.protocol.consumer.memory import Phase, Seat
from groupcheck.model.protocol.consumer.messages import Kind, Request, Tag
from groupcheck.model.protocol.consumer.plans import instance_of
from groupcheck.model.protocol.consumer.scope import AS_KAFKA
from groupcheck.model.protocol.migration import conversions
from groupcheck.model.protocol.migration.classic_requests import CLASSIC, join_group
from groupcheck.model.protocol.migration.rules import ADDED, COORDINATOR, spec
from groupcheck.model.protocol.migration.scope import MORE, OF_TIMERS, MigrationScope
from groupcheck.oracles.consumer.committing import AHEAD
from groupcheck.oracles.consumer.comparing import compare as compare_rows
from groupcheck.oracles.consumer.facts import (
    Facts,
    Known,
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
# No consumer group is larger than it may be, and so is no classic group that was one; and one that
# was one is beyond its first round.
ELSEWHERE = frozenset(f"{conversions.upgrade_group.name}:{label}" for label in ("full", "broken"))
READINGS: Mapping[str, Any] = dict.fromkeys(
    ("k3", "k13", "k14", "k15", "k19", "k20", "k21", "k22", "k29", "k30", "k31", "kafka_20641"),
    AS_KAFKA,
)
PHASES = {Phase.PREPARING: "PreparingRebalance", Phase.STABLE: "Stable"}
TIMERS = (*OF_TIMERS, *MORE)
EVERY = (
    *(
        Family(
            f"policy {policy}",
            {"members": 2, "partitions": 1, "policy": policy},
            TIMERS,
            FIRST // 2,
        )
        for policy in ("bidirectional", "upgrade", "downgrade", "disabled")
    ),
    Family("two partitions", {"members": 2, "partitions": 2}, TIMERS, FIRST // 3),
    Family("three members", {"members": 3, "partitions": 1}, (), FIRST // 3),
    Family("static member", {"members": 2, "partitions": 1, "static_members": 1}, TIMERS, FIRST),
    Family("static members", {"members": 2, "partitions": 2, "static_members": 2}, TIMERS, FIRST),
    Family(
        "full group", {"members": 2, "partitions": 1, "static_members": 2, "max_size": 1}, TIMERS
    ),
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
    return (f for f in EVERY if members is None or f.fields["members"] <= members)


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
    return frozenset(name for rule in ADDED for name in rule.names) - ELSEWHERE - lacks


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
        found = {"kind": "classic", "phase": PHASES[core.phase], "members": core.members}
        for number, seat in enumerate(seats):
            assigned = None if seat is None else seat.assigned
            found |= {f"assigned {number}": assigned}
            found |= {f"awaits join {number}": seat is not None and seat.waits}
        return found

    def _lasting(self, state: State) -> Any:
        core, seats = super()._lasting(state)
        none = {"join": False, "sync": False, "short": False, "waits": False}
        phase = None if core.phase is None else Phase.STABLE
        return evolve(core, waiting=0, phase=phase), [
            seat and evolve(seat, **none) for seat in seats
        ]

    def _wrote(self, before: State, after: State, fired: tuple[str, ...]) -> bool:
        joined = any(name.startswith(f"{join_group.name}:") for name in fired)
        joined = joined or conversions.complete_round.name in fired
        return not joined and super()._wrote(before, after, fired)

    def commands(self, row: ConsumerRow, known: list[Known]) -> tuple[Command, ...]:
        """What the real coordinator is told."""
        if row.request is not None and row.request.kind in CLASSIC and row.me is not None:
            return (self._classic(row.request, row.me, known[row.me]),)
        if row.title == conversions.join_timeout.name and row.me is not None:
            return (Fire(timer=f"join-g-{known[row.me].id}"),)
        if row.title == conversions.sync_timeout.name and row.me is not None:
            return (Fire(timer=f"sync-g-{known[row.me].id}"),)
        if row.title == conversions.complete_round.name:
            return (*self._round(row, known),)
        if row.title == conversions.park_join.name and row.me is not None:
            return (self._join(row.me, self.seats(row.before)[row.me], known[row.me].id),)
        return super().commands(row, known)

    def _instance(self, me: int) -> str | None:
        return instance_of(me) if me < self.scope.static_members else None

    def _join(self, me: int, seat: Seat | None, id: str) -> JoinGroup:
        assert seat is not None
        owned, topics = by_name(seat.assigned, self.scope), topics_of(seat.subscribed, self.scope)
        return JoinGroup(member=id, instance=self._instance(me), topics=topics, owned=owned)

    def _round(self, row: ConsumerRow, known: list[Known]) -> Iterator[Command]:
        """All join, and the leader gives everything to the first one that wants it."""
        there = [(i, seat) for i, seat in enumerate(self.seats(row.before)) if seat is not None]
        yield from (self._join(i, seat, known[i].id) for i, seat in there)
        shares: dict[str, dict[str, list[int]]] = {}
        left = self.core(row.before).topics
        for i, seat in there:
            shares[known[i].id] = by_name(left & seat.topics, self.scope)
            left &= ~seat.topics
        for i, _ in there:
            yield SyncGroup(
                member=known[i].id,
                generation=max(known[j].epoch for j, _ in there) + 1,
                instance=self._instance(i),
                assignments=shares,
            )

    def _classic(self, request: Request, me: int, known: Known) -> Command:
        instance, scope = self._instance(me), self.scope
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
            return SyncGroup(member=known.id, generation=generation, instance=instance)
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
        if row.request is not None and row.request.kind in CLASSIC and row.me is not None:
            facts = {**facts, **_answered(given, self.scope)}
            if isinstance(given, JoinAnswer) and not given.error and given.member:
                known[row.me] = renamed(known[row.me], given.member)
        known = _followed(known, memory)
        kept = {k: v for k, v in facts.items() if k in ("error", "epoch", "assignment")}
        # The record of a classic member has its subscription as bytes, which name what it owns, so
        # nearly each JoinGroup writes one: that is not compared. A round is written with the
        # SyncGroup of the leader, which need not be the last one.
        joins = row.request is not None and row.request.kind == Kind.JOIN_GROUP
        joins = joins or row.title == conversions.complete_round.name
        kept["records written"] = not joins and facts["records written"]
        return tuple(known), {**kept, **_memory_of_kafka(memory, known, self.scope, last.now_ms)}


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
    assigned = given.assigned if isinstance(given, SyncAnswer) else None
    share = mask(assigned, scope) if isinstance(assigned, frozenset) else None
    return {"error": 0, "epoch": "own", "assignment": share}


def _followed(known: list[Known], memory: Memory) -> list[Known]:
    """The processes, each with its epoch, also of a classic group."""
    if not isinstance(memory, ClassicMemory):
        return followed_in_consumer_group(known, memory)
    there = {m.member for m in memory.members}
    return [
        evolve(k, epoch=memory.generation, previous=memory.generation) if k.id in there else k
        for k in known
    ]


def _memory_of_kafka(
    memory: Memory, known: list[Known], scope: MigrationScope, now_ms: int
) -> dict[str, Any]:
    if isinstance(memory, ClassicMemory):
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
    }
    for number, process in enumerate(known):
        member = memory.member(process.id)
        assigned = None if member is None else member.assigned
        share = 0 if member is not None else None
        if isinstance(assigned, frozenset):
            share = mask(assigned, scope)
        found |= {f"assigned {number}": share}
        found |= {f"awaits join {number}": member is not None and member.awaiting_join}
    return found


compare = partial(compare_rows, rows=MigrationRows, outcomes=_outcomes, side="migration")
