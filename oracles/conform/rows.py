"""The coordinator's rows: every (memory, input) that is reachable at a scope, with the outcomes
that the model allows.

The variant's coordinator is taken out of the group and put into an environment that sends whatever
makes a difference: each process sends every request with every id that the coordinator knows of it
and one that it does not know, in the running generation and the one before, with a subscription
that is the same or has changed, each request over a connection of its own. Every timer that is
armed fires, and an append in flight ends. An input for which the model has no outcome is a row in
which nothing happens. One process has one id at a time (to the coordinator, two ids of one process
and one id each of two are the same). Faults have no budget: what may happen may happen any number
of times, so that the memory alone says what is possible. Memories past the last generation are not
taken further.

Where topics and subscriptions differ (`triggers`), a member joins instead with every subscription
that the scope allows, and the leader plans with each number of partitions that it may know. A
process that the group has forgotten may come back with its other list of assignors.

A static member also joins without its id while the coordinator knows it, and is removed by its
instance id. With several static members subscriptions do not change: a takeover remembers the old
one, which would triple the memories. The rows of a single member cover it. During a static takeover
no second one starts if a fail-over is possible and another takeover may be queued behind it: that
record would name an id that the model has forgotten.

Where a fail-over takes its phases, it begins in each of its ways, and requests go to the
coordinator that loads and to the former one. To a former one that does not know yet go only those
that change neither its memory nor the log, and commits; and the next one does not load before the
former one knows, because its memory does not depend on that.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

import attrs

from groupcheck.model.engine import Spec, evolve
from groupcheck.model.engine.step import State
from groupcheck.model.protocol.classic.failover import fail_over
from groupcheck.model.protocol.classic.features.failover_phases import (
    WAYS,
    Way,
    former_learns,
    load_group,
)
from groupcheck.model.protocol.classic.features.full_offsets.admin import (
    delete_groups,
    expire_offsets,
)
from groupcheck.model.protocol.classic.features.full_offsets.kept import OffsetStore, ranked
from groupcheck.model.protocol.classic.features.full_offsets.transactions import write_marker
from groupcheck.model.protocol.classic.features.takeover import takeover_committed, takeover_failed
from groupcheck.model.protocol.classic.features.triggers.scope import TriggersScope
from groupcheck.model.protocol.classic.features.triggers.settings import max_size
from groupcheck.model.protocol.classic.features.zombie_coordinator import NOBODY, SENT_AWAY
from groupcheck.model.protocol.classic.group import Core, Phase, Seats, unlogged
from groupcheck.model.protocol.classic.offsets import Offsets, store_offset
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.model.protocol.classic.timers import (
    append_committed,
    append_failed,
    initial_delay,
    new_member_timeout,
    rebalance_timeout,
    session_timeout,
    sync_timeout,
)
from groupcheck.model.protocol.driven import Driven, Reaction
from groupcheck.model.protocol.faults import REMEMBERED
from groupcheck.model.protocol.link import Link
from groupcheck.model.protocol.messages import (
    NO_GENERATION,
    NO_ID,
    Heartbeat,
    JoinGroup,
    LeaveGroup,
    OffsetCommit,
    OffsetFetch,
    Request,
    SyncGroup,
    TxnOffsetCommit,
)
from groupcheck.oracles.conform import other_broker
from groupcheck.oracles.conform.row import (
    CHANGED,
    COMMITTED,
    ENDS_TXN,
    LOWER_MAX_SIZE,
    MOVES,
    STRANGER,
    Asks,
    Fires,
    Input,
    Memory,
    ModelAnswer,
    Outcome,
    Waiter,
)
from groupcheck.oracles.conform.topics import seen_by_leaders, subscriptions

"""The rules with which the coordinator moves to another broker."""

OF_THE_GROUP = MOVES | frozenset(
    r.name
    for r in (
        append_committed,
        append_failed,
        initial_delay,
        rebalance_timeout,
        sync_timeout,
        session_timeout,
        new_member_timeout,
        takeover_committed,
        takeover_failed,
        load_group,
        former_learns,
    )
)
TXN_COMMITTED = 2  # what transactions of the first process commit; members commit less


def _stale(memory: Memory, given: Input) -> bool:
    """Does the former coordinator answer, after the step?"""
    if isinstance(given, Fires) and given.way is not None:
        return given.way != Way.REGAINED
    return memory.stale


def _leads(core: Core, seats: Seats, id: int, generation: int) -> bool:
    """Does the leader's SyncGroup bring a plan?"""
    current = core.phase == Phase.COMPLETING and generation == core.generation
    return current and seats.leader == id


class Rows:
    """The rows of a variant at a scope, perhaps with a mutation applied."""

    def __init__(
        self,
        scope: Scope,
        spec: Spec,
        coordinator: Collection[str],
        in_schedules: bool = False,
    ) -> None:
        """`spec`: the variant's, mutated or not. Its scope says how many ids may be known at once,
        and after which generation to stop. `coordinator`: the names of the coordinator's rules.
        `in_schedules`: each of several static members changes its subscription, too, and a dynamic
        one beside them asks with an id that is gone; for schedules, which do not visit every
        memory.
        """
        self.scope, self._in_schedules = scope, in_schedules
        beyond = attrs.evolve(scope, generations=scope.last_generation + 1)
        self._driven = Driven(attrs.evolve(spec, scope=beyond), coordinator)
        self._see = self._driven.see

    @property
    def outcomes_named(self) -> set[str]:
        """The outcomes of the coordinator's rules, by name."""
        return {name for r in self._see.spec.rules for name in r.names}

    def start(self) -> Memory:
        """The group that nobody has joined yet. Who is new and who owes SyncGroup is remembered
        whatever the scope, so that it can be compared.
        """
        start = self._memory(self._driven.start())
        kept = {*start.core.keeps, sync_timeout.name, new_member_timeout.name}
        keeps = tuple(fault for fault in REMEMBERED if fault in kept)
        return attrs.evolve(start, core=attrs.evolve(start.core, keeps=keeps))

    def inputs(self, memory: Memory) -> Iterator[Input]:
        """Everything that may come next, whatever the model makes of it, in a fixed order; nothing
        past the last generation.
        """
        if memory.core.generation > self.scope.last_generation:
            return
        for me in range(self.scope.members):
            if memory.former is None:
                asks = self._produces if self._only_produces(me) else self._requests
                for request in asks(me, memory):
                    yield Asks(me, request)
                yield from self._relisted(me, memory.seats[me])
            yield from self._asks_former(me, memory)
        yield from other_broker.inputs(memory, self.scope)
        yield from self._of_offsets(memory)
        yield from self.armed(memory)
        given = other_broker.OUTSIDE if memory.core.loading else frozenset()
        for instance in self._see.ordinary:
            name = instance.rule.name
            sweeps = name == expire_offsets.name and memory.kept is not None and memory.kept.other
            deletes = sweeps or name == delete_groups.name
            if name not in OF_THE_GROUP | given and (not deletes or self._settled(memory)):
                yield Fires(name, instance.me)

    def _of_offsets(self, memory: Memory) -> Iterator[Input]:
        """Fetches, and the ends of transactions. A fetch that is not stable sees no commit in
        flight, which the model does not know: it is left out where commits may be in flight,
        behind a plan or because an append may fail.
        """
        yield from (Asks(0, request) for request in self._fetches(0, memory))
        if memory.kept is not None and self.scope.records:
            if not self.scope.has("append_failure") and not memory.core.appending:
                yield Asks(0, OffsetFetch(stable=False))
            for me, txn in enumerate(() if memory.core.loading else memory.txns):
                if not txn.idle and self._writes(memory):
                    yield from (Fires(rule, me) for rule in ENDS_TXN)

    def _asks_former(self, me: int, memory: Memory) -> Iterator[Asks]:
        """The requests that a process sends to the former coordinator, if there is one."""
        if memory.former is not None:
            remembered = Memory(memory.former, memory.former_seats, kept=memory.former_kept)
            for request in (*self._requests(me, remembered), *self._fetches(me, memory)):
                commits = isinstance(request, OffsetCommit | TxnOffsetCommit)
                if commits or self._stays_as_it_is(me, request, memory):
                    yield Asks(me, request, former=True)
        elif memory.stale:
            for request in (*self._requests(me, memory), *self._fetches(me, memory)):
                yield Asks(me, request, former=True)

    def _fetches(self, me: int, memory: Memory) -> Iterator[Request]:
        """The requests of a process for committed offsets."""
        if me == 0 and memory.kept is not None and self.scope.records:
            yield OffsetFetch()

    def _stays_as_it_is(self, me: int, request: Request, memory: Memory) -> bool:
        """Does a former coordinator answer the request from its memory?"""
        state = self._state(memory, stale=True)
        reactions = self._driven.ask(state, me, request)
        return not any(rule.endswith(SENT_AWAY) for r in reactions for rule in r.rules)

    def armed(self, memory: Memory) -> Iterator[Fires]:
        """The timers that are armed, the append in flight, and the fail-over, as far as the scope
        has them. The comparison makes sure that the real coordinator has the same ones.
        """
        core, has = memory.core, self.scope.has
        if memory.former is not None:
            yield Fires(former_learns.name)
            return
        if core.loading:
            yield Fires(load_group.name)
            return
        if core.appending:
            yield Fires(append_committed.name)
        if core.appending and has("append_failure"):
            yield Fires(append_failed.name)
        if core.phase == Phase.PREPARING and core.initial:
            yield Fires(initial_delay.name)
        elif core.phase == Phase.PREPARING and (
            has("rebalance_timeout") or not core.members or core.all_joined
        ):
            yield Fires(rebalance_timeout.name)
        if core.deadline and has("sync_timeout"):
            yield Fires(sync_timeout.name)
        for me, seats in enumerate(memory.seats):
            for id, seat in seats:
                lately = seat.new and not seat.hurried
                if seat.armed and has("new_member_timeout" if lately else "session_timeout"):
                    yield Fires((new_member_timeout if seat.new else session_timeout).name, me, id)
                if seat.takes is not None:
                    yield Fires(takeover_committed.name, me)
                    lost = not has("fail_over") or unlogged(seats, id, seat)
                    if lost and has("append_failure"):
                        yield Fires(takeover_failed.name, me)
        if has("fail_over"):
            for way in WAYS if self.scope.phases else (None,):
                yield Fires(fail_over.name, way=way)
        if has("fail_over") and has(LOWER_MAX_SIZE):
            size = max_size(core, self.scope)
            if size is not None and size > 1:
                yield Fires(LOWER_MAX_SIZE)

    def _relisted(self, me: int, seats: Seats) -> Iterator[Asks]:
        """A process that the group has forgotten joins with its other list of assignors."""
        if not isinstance(self.scope, TriggersScope) or not self.scope.lists_after:
            return
        if not seats.ids and not seats.durable and seats.listed != self.scope.lists_after[me]:
            yield Asks(me, JoinGroup(NO_ID), relisted=True)

    def _requests(self, me: int, memory: Memory) -> Iterator[Request]:
        core, seats = memory.core, memory.seats[me]
        if (not seats.ids or seats.static) and not self._hides(me, memory):
            for topics in subscriptions(me, self.scope)[: 1 if self.scope.two_step else None]:
                yield JoinGroup(NO_ID, topics=topics)
        if seats.static:
            yield LeaveGroup(NO_ID)
        alone = self._in_schedules or self.scope.members == 1
        changes = memory.kept is None and (not seats.static or alone)
        if seats.static and seats.ids and changes and not self._hides(me, memory):
            yield JoinGroup(NO_ID, CHANGED)
        strangers = (STRANGER,) if self._asks_as_stranger(me, memory) else ()
        # Nobody knows an id yet whose takeover waits for its append. A coordinator that loads knows
        # none, while members of the record ask.
        there = seats.durable if core.loading else seats.ids
        told = (id for id, seat in there if seat.takes is None)
        for id in (*told, *strangers):
            seat = seats[id]
            yield from self._joins(me, id, known=seat is not None, changes=changes)
            # Generation -1 is not an old one; in Kafka it means "from outside the group".
            for generation in (
                (core.generation, core.generation - 1)
                if seat is not None and core.generation
                else (core.generation,)
            ):
                plans = _leads(core, seats, id, generation)
                for sees in seen_by_leaders(core, self.scope) if plans else (0,):
                    yield SyncGroup(id, generation, sees)
                yield Heartbeat(id, generation)
                if memory.kept is None or self._writes(memory):
                    yield OffsetCommit(id, generation, COMMITTED - 1)
                if self._transacts(memory):
                    yield TxnOffsetCommit(id, generation, TXN_COMMITTED + me)
            if seat is not None and seat.member and memory.kept is None:
                yield OffsetCommit(id, core.generation, COMMITTED + 1)
            yield LeaveGroup(id)
        if self.scope.members == 1 or getattr(self.scope, "commits", "") == "anonymous":
            yield from self._produces(me, memory)

    def _asks_as_stranger(self, me: int, memory: Memory) -> bool:
        """Does the process ask with an id that the coordinator does not know? Each static one says
        its own instance; of the dynamic ones, which say nothing else, one is enough.
        """
        if me == 0 or memory.seats[me].static:
            return True
        return self._in_schedules and all(seats.static for seats in memory.seats[:me])

    def _produces(self, me: int, memory: Memory) -> Iterator[Request]:
        """The commits of a producer that knows of no member."""
        if self._transacts(memory):
            yield TxnOffsetCommit(NO_ID, NO_GENERATION, TXN_COMMITTED + me)

    def _transacts(self, memory: Memory) -> bool:
        """Are there commits in transactions?"""
        return self._writes(memory) and getattr(self.scope, "transactional", False)

    def _only_produces(self, me: int) -> bool:
        """Is the process a producer that is no member? So are all but the first one where
        producers commit anonymously.
        """
        return me > 0 and getattr(self.scope, "commits", "") == "anonymous"

    def _writes(self, memory: Memory) -> bool:
        """Are there commits in the rows?"""
        return memory.kept is not None and self.scope.records > 0 and self._settled(memory)

    def _settled(self, memory: Memory) -> bool:
        """May something be appended to the log, as far as the memory says? Where a fail-over may
        come, not behind a plan in flight, or one whose append has timed out: the model answers a
        commit at once, and lets a fail-over find it without the plan. (`standing.possible` knows
        of plans in flight that the model has forgotten.)
        """
        core, has = memory.core, self.scope.has
        written = core.durable[0] == core.generation or not has("append_failure")
        return not has("fail_over") or (written and not core.appending)

    def _hides(self, me: int, memory: Memory) -> bool:
        """May another takeover's record hold an id of this process that the model would forget?"""
        flying = {k for k, mine in enumerate(memory.seats) for _, s in mine if s.takes is not None}
        return me in flying and len(flying) > 1 and self.scope.has(fail_over.name)

    def _joins(self, me: int, id: int, *, known: bool, changes: bool) -> Iterator[JoinGroup]:
        """JoinGroup with the same subscription as before, and with others."""
        several = subscriptions(me, self.scope)
        for topics in several if known else several[-1:]:
            yield JoinGroup(id, topics=topics)
        if known and changes and not isinstance(self.scope, TriggersScope):
            yield JoinGroup(id, CHANGED)
            if self.scope.cooperative:
                yield JoinGroup(id, CHANGED, owned=1)

    def outcomes(self, memory: Memory, given: Input) -> tuple[Outcome, ...]:
        """The outcomes that the model allows: that nothing happens, if no rule says more. Empty
        where no such timer is armed.
        """
        found: dict[Outcome, None] = {}
        ruled = isinstance(given, Asks) or other_broker.is_ruled(given)
        for reaction in self._reactions(memory, given) if ruled else ():
            told = [ModelAnswer(me, answer, True) for me, answer in reaction.told]
            if reaction.own is not None:
                assert isinstance(given, Asks)
                told.append(ModelAnswer(given.member, reaction.own, False))
            after = self._memory(reaction.state)
            after = attrs.evolve(after, stale=after.core.loading and _stale(memory, given))
            stored = self._stored(reaction)
            parked = list(self._parked(given, reaction))
            waiting = tuple(waiter for waiter, orphaned in parked if not orphaned)
            gone = tuple(waiter for waiter, orphaned in parked if orphaned)
            found[Outcome(reaction.rules, tuple(told), after, stored, waiting, gone)] = None
        if not found and isinstance(given, Fires) and other_broker.concerns(memory, given):
            return (other_broker.outcome(memory, given, self.outcomes),)
        if not found and (isinstance(given, Asks) or given in self.armed(memory)):
            found[Outcome((), (), memory, waiting=memory.waiting)] = None
        return tuple(found)

    def _parked(self, given: Input, reaction: Reaction) -> Iterator[tuple[Waiter, bool]]:
        """The connections on which somebody waits after the step, each with whether the coordinator
        has forgotten the request.
        """
        for me, at in enumerate(self._driven.links):
            link: Link = reaction.state[at]
            if not isinstance(given, Asks) or me != given.member:
                old: Link | None = link
            else:
                if reaction.own is None and type(link.parked) is type(given.request):
                    yield Waiter(me, parked=False), link.orphaned
                old = reaction.beside
            if old is not None and old.parked is not None:
                yield Waiter(me, parked=True), old.orphaned

    def _reactions(self, memory: Memory, given: Input) -> Iterator[Reaction]:
        """Everything that happens in one step. A round of nobody waits for 0 ms, so its timer fires
        in the step that starts it.
        """
        for reaction in self._first_reactions(memory, given):
            core: Core = reaction.state[self._see.at["core", None]]
            if (
                memory.core.phase >= Phase.COMPLETING
                and core.phase == Phase.PREPARING
                and not core.members
            ):
                for more in self._driven.fire(reaction.state, rebalance_timeout.name):
                    yield attrs.evolve(
                        reaction, rules=(*reaction.rules, *more.rules), state=more.state
                    )
            else:
                yield reaction

    def _first_reactions(self, memory: Memory, given: Input) -> Iterator[Reaction]:
        if isinstance(given, Asks) and given.relisted:
            memory = self._relisting(memory, given.member)
        if isinstance(given, Asks):
            state = self._state(memory, stale=given.former)
            yield from self._driven.ask(state, given.member, given.request)
            return
        rule, me = given.rule, given.member or 0
        state = self._state(memory, stale=memory.former is not None)
        if rule in ENDS_TXN:
            at = self._see.at["txn", me]
            decided = evolve(state[at], decided=ENDS_TXN[rule])
            state, rule = (*state[:at], decided, *state[at + 1 :]), write_marker.name
        for fired in self._driven.fired(state, rule, me):
            if given.way is not None and not fired[0][0].endswith(f":{given.way}"):
                continue
            seats = given.id is not None and fired[1][self._see.at["seats", given.member]]
            if not seats or seats[given.id] is None:
                yield from self._driven.react(fired)

    def _relisting(self, memory: Memory, me: int) -> Memory:
        """The memory beside which a process has its other list."""
        assert isinstance(self.scope, TriggersScope)
        listed = self.scope.lists_after[me]
        seats = [evolve(s, listed=listed) if k == me else s for k, s in enumerate(memory.seats)]
        return attrs.evolve(memory, seats=tuple(seats))

    def _state(self, memory: Memory, stale: bool) -> State:
        """The state of a memory. `stale`: connections lead to the former coordinator."""
        links = tuple(attrs.evolve(link, stale=stale) for link in memory.links)
        former: dict[str, object] = {}
        if self.scope.phases:
            seats = memory.former_seats or (NOBODY,) * self.scope.members
            former = {"former": memory.former, "former_seats": seats}
            if memory.kept is not None:
                former["former_offsets"] = memory.former_kept
        kept: dict[str, object] = {"offsets": Offsets(committed=COMMITTED)}
        if memory.kept is not None:
            kept = {"offsets": memory.kept, "txn": memory.txns}
        return self._driven.state(
            core=memory.core,
            seats=memory.seats,
            link=links,
            budget=self.scope.budget,
            **kept,
            **former,
        )

    def _memory(self, state: State) -> Memory:
        named = self._see.named(state)
        former = named.get("former")
        seats = named["former_seats"] if former is not None else ()
        known = Memory(
            named["core"],
            named["seats"],
            former=former,
            former_seats=seats,
            former_kept=named.get("former_offsets"),
        )
        if not isinstance(named["offsets"], OffsetStore):
            return known
        kept, txns = ranked(named["offsets"], named["txn"])
        return attrs.evolve(known, kept=evolve(kept, disturbed=False), txns=txns)  # a ghost

    def _stored(self, reaction: Reaction) -> int | None:
        offsets: Offsets = reaction.state[self._see.at["offsets", None]]
        if isinstance(offsets, OffsetStore):
            stores = any(rule.startswith(store_offset.name) for rule in reaction.rules)
            return offsets.committed if stores else None
        return None if offsets.committed == COMMITTED else offsets.committed
