"""The model's classic coordinator, driven request by request: the one place of the request replay
that looks into the model's memory.

A dynamic member of the log sits on one index of the model and has the id 0 there. A static one sits
on the index of its instance id, where each of its member ids has a number of its own. The
generation is written as `HERE` after every step, so that no scope bounds a real log and memories of
different rounds are the same value; how many generations a step went on is said beside it. What one
memory answers is computed once (`Memory.known`), because real groups come back to the same memory
with every heartbeat.

Every answer is in a request log, so worlds differ only in what no line shows: timers, appends,
which of two simultaneous requests came first. There are hardly ever many. Steps that the log does
not show are tried in three degrees, each only where the one before explains nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache

import attrs
from attrs import Factory, define, field, frozen

from groupcheck.model.engine import Spec, evolve
from groupcheck.model.engine.step import State
from groupcheck.model.protocol.classic import coordinator, timers
from groupcheck.model.protocol.classic.features import takeover
from groupcheck.model.protocol.classic.features.static import StaticScope
from groupcheck.model.protocol.classic.group import Core, Phase, Seats
from groupcheck.model.protocol.codes import UNKNOWN_MEMBER_ID
from groupcheck.model.protocol.driven import Driven, Reaction
from groupcheck.model.protocol.link import Link
from groupcheck.model.protocol.messages import (
    NO_GENERATION,
    Answer,
    Heartbeat,
    JoinGroup,
    LeaveGroup,
    OffsetCommit,
    Request,
    Store,
    SyncGroup,
)
from groupcheck.model.protocol.transform import rebuilt
from groupcheck.model.variants import load

STATIC_MEMBERSHIP = load("static_membership")
UNKNOWN_ID = 90
"""The number of a member id that a static member does not have; the model gives no such number."""
HERE = 500
"""The number of the running generation in every memory; the scope ends far behind it."""
_LONGEST_AGO = 400
MOST_MEMBERS = 16
"""Of one group at a time, ids that were only handed out included: the model's scope has no more."""
SIZES = (4, 8, MOST_MEMBERS)
MEMORIES_KEPT = 20_000


@frozen
class Ask:
    """A request of the member with an index."""

    # join, sync, heartbeat, leave or commit.
    kind: str
    index: int
    # The number of the member id; `NO_ID`: it names none.
    id: int = 0
    # It names the instance id, if the index has one.
    named: bool = True
    # Whether a JoinGroup of this version has to come again if it has no id.
    two_step: bool = True
    # The number of its subscription.
    claimed: int = NO_GENERATION
    # It names the current generation.
    current: bool = True
    # A JoinGroup that finds the group full.
    full: bool = False
    # A JoinGroup that takes the place of an id and changes what the members vote for.
    revote: bool = False


@frozen
class Response:
    """An answer to the member with an index. The answer to a JoinGroup names the generation of the
    memory after the step.
    """

    index: int
    kind: str
    code: int


@frozen(eq=False)
class Outcome:
    """One possible effect of a step."""

    # The rules that fire, in order.
    rules: tuple[str, ...]
    # The answer to the request at hand; None if it is parked.
    own: Response | None
    # Answers to requests that were parked before.
    responses: tuple[Response, ...]
    after: Memory
    # How many generations have begun; negative: an older one was loaded.
    on: int = 0


@define(eq=False)
class Memory:
    """The coordinator's memory of the group, and views of it."""

    core: Core
    seats: tuple[Seats, ...]
    # Indexes of members, and of ids that were only handed out.
    members: frozenset[int] = field(init=False)
    pending: frozenset[int] = field(init=False)
    # Indexes whose JoinGroup or SyncGroup is parked, and those that owe a SyncGroup.
    joining: frozenset[int] = field(init=False)
    syncing: frozenset[int] = field(init=False)
    due: frozenset[int] = field(init=False)
    # Indexes of members whose first JoinGroup is parked, and of those in the group's record.
    new: frozenset[int] = field(init=False)
    recorded: frozenset[int] = field(init=False)
    # Indexes of static members that have taken the place of an id in a Stable group, while that is
    # written.
    taking: frozenset[int] = field(init=False)
    # What it may do with a request, or when a rule fires for an index, as far as that was computed.
    known: dict[Ask | tuple[str, int, bool], tuple[Outcome, ...]] = Factory(dict)

    def __attrs_post_init__(self) -> None:
        seated = [(i, seat) for i, mine in enumerate(self.seats) for _, seat in mine]
        self.members = frozenset(i for i, s in seated if s.member)
        self.pending = frozenset(i for i, s in seated if not s.member)
        self.joining = frozenset(i for i, s in seated if s.join)
        self.syncing = frozenset(i for i, s in seated if s.sync)
        self.due = frozenset(i for i, s in seated if s.due or s.owed is not None)
        self.new = frozenset(i for i, s in seated if s.new)
        self.recorded = frozenset(i for i, mine in enumerate(self.seats) if mine.durable)
        self.taking = frozenset(i for i, s in seated if s.takes is not None)

    @property
    def phase(self) -> Phase:
        return self.core.phase

    @property
    def leader(self) -> int | None:
        """The leader's index."""
        return next((i for i, mine in enumerate(self.seats) if mine.leader is not None), None)

    @property
    def appending(self) -> bool:
        return self.core.appending

    @property
    def initial(self) -> bool:
        return self.core.phase == Phase.PREPARING and self.core.initial

    @property
    def used(self) -> frozenset[int]:
        """The indexes that still mean somebody."""
        return self.members | self.pending | self.recorded

    def id(self, index: int) -> int | None:
        """The number of the member id that an index has now."""
        return next((id for id, _ in self.seats[index]), None)

    def ids(self, index: int) -> set[int]:
        """The numbers of the member ids that an index has, may have again, or has in the record."""
        mine = self.seats[index]
        takes = {seat.takes[0] for _, seat in mine if seat.takes is not None}
        return {id for id, _ in mine} | {id for id, _ in mine.durable} | takes

    def claimed(self, index: int) -> int | None:
        """The number of the last subscription of the member on an index."""
        return next((seat.claimed for _, seat in self.seats[index]), None)


@define(eq=False)
class Coordinator:
    """The model's coordinator for groups of at most `size` ids at a time. Memories are the same
    object if they are equal.
    """

    size: int
    _memories: dict[tuple[Core, tuple[Seats, ...]], Memory] = Factory(dict)
    _drivers: dict[tuple[bool, bool], Driven] = Factory(dict)

    def start(self) -> Memory:
        """An empty group."""
        driven = self._driven(True, False)
        named = driven.see.named(driven.start())
        return self._memory(evolve(named["core"], generation=HERE), named["seats"])[0]

    def grown(self, memory: Memory) -> Memory:
        """The same memory of a coordinator for smaller groups."""
        return self._memory(
            memory.core, (*memory.seats, *[Seats()] * (self.size - len(memory.seats)))
        )[0]

    def place(self, memory: Memory, index: int, static: bool) -> Memory:
        """The memory in which an index that meant nobody is for a static, or a dynamic, member."""
        seats = memory.seats
        if seats[index].static == static:
            return memory
        seats = (*seats[:index], Seats(static=static), *seats[index + 1 :])
        return self._memory(memory.core, seats)[0]

    def ask(self, memory: Memory, ask: Ask) -> tuple[Outcome, ...]:
        """The possible effects of a request."""
        found = memory.known.get(ask)
        if found is None:
            found = memory.known[ask] = tuple(self._asked(memory, ask))
        return found

    def fire(
        self, memory: Memory, rule: str, index: int = 0, lists: bool = True
    ) -> tuple[Outcome, ...]:
        """The possible effects of a timer that fires or an append that ends: the model's rule, and
        the index that it concerns. `lists`: the answer to a takeover by the leader lists the
        members (JoinGroup version 9 and newer).
        """
        lists = lists or rule != takeover.takeover_committed.name
        key = (rule, index, lists)
        found = memory.known.get(key)
        if found is None:
            if not lists and memory.leader == index and memory.core.phase == Phase.PREPARING:
                found = tuple(self._answered_in_round(memory, index))
            elif rule == timers.rebalance_timeout.name and self._all_silent(memory):
                found = tuple(self._postponed(memory))
            else:
                driven = self._driven(True, False)
                reactions = driven.fire(self._state(memory), rule, index)
                found = tuple(self._outcomes(driven, reactions))
            memory.known[key] = found
        return found

    def _all_silent(self, memory: Memory) -> bool:
        """Has nobody joined the round, and are there static members, which stay?"""
        return not memory.joining and any(memory.seats[i].static for i in memory.members)

    def _postponed(self, memory: Memory) -> Iterator[Outcome]:
        """The rebalance timer of a round in which nobody has joined: dynamic members are removed,
        and it starts again for the static ones (completeClassicGroupJoin).
        """
        left = [memory]
        for i in sorted(memory.members):
            if not memory.seats[i].static:
                expired = [self.fire(m, timers.session_timeout.name, i) for m in left]
                left = [outcome.after for outcomes in expired for outcome in outcomes]
        for after in left if left != [memory] else ():
            yield Outcome((f"{timers.rebalance_timeout.name}:postponed",), None, (), after)

    def _answered_in_round(self, memory: Memory, index: int) -> Iterator[Outcome]:
        """The leader's takeover is written while a round runs. In the model Kafka fails to list the
        members then; an answer of an old version lists none, so the leader is answered like any
        other member.
        """
        seats, leader = memory.seats, memory.seats[index].leader
        led = evolve(memory.core, leader_parked=False)
        as_other = (*seats[:index], evolve(seats[index], leader=None), *seats[index + 1 :])
        other = self._memory(led, as_other)[0]
        for outcome in self.fire(other, takeover.takeover_committed.name, index):
            after = outcome.after.seats
            leads = (*after[:index], evolve(after[index], leader=leader), *after[index + 1 :])
            yield attrs.evolve(outcome, after=self._memory(outcome.after.core, leads)[0])

    def unheard(self, memory: Memory, ask: Ask) -> tuple[Outcome, ...]:
        """Like `ask`, for a request over a connection that is gone: it is handled, and nobody is
        answered.
        """
        driven = self._driven(ask.two_step, ask.full)
        state, request = self._state(memory), _request(memory, ask)
        return tuple(self._outcomes(driven, driven.unheard(state, ask.index, request)))

    def _asked(self, memory: Memory, ask: Ask) -> Iterator[Outcome]:
        static = memory.seats[ask.index].static
        if static and not ask.named and ask.id != memory.id(ask.index):
            # Without the instance id nothing shows that the member id was replaced.
            unknown = Response(ask.index, ask.kind, UNKNOWN_MEMBER_ID)
            yield Outcome((f"{_RULES[ask.kind]}:unknown",), unknown, (), memory)
            return
        if ask.revote and memory.phase == Phase.STABLE:
            # The members vote for another assignor then, so a takeover starts a round, as in a
            # group that waits for SyncGroup.
            memory = self._memory(evolve(memory.core, phase=Phase.COMPLETING), memory.seats)[0]
        driven = self._driven(ask.two_step, ask.full)
        state, request = self._state(memory), _request(memory, ask)
        yield from self._outcomes(driven, driven.ask(state, ask.index, request), ask.index)

    def _outcomes(
        self, driven: Driven, reactions: Iterable[Reaction], asker: int | None = None
    ) -> Iterator[Outcome]:
        seen = set()
        for reaction in reactions:
            own = None
            if asker is not None and reaction.own is not None:
                own = _response(asker, reaction.own)
            told = tuple([_response(i, answer) for i, answer in reaction.told])
            named = driven.see.named(reaction.state)
            after, on = self._memory(named["core"], named["seats"])
            key = (own, told, after, on)
            if key not in seen:
                seen.add(key)
                yield Outcome(reaction.rules, own, told, after, on)

    def _state(self, memory: Memory) -> State:
        links = tuple(_link(memory, i) for i in range(len(memory.seats)))
        return self._driven(True, False).state(core=memory.core, seats=memory.seats, link=links)

    def _memory(self, core: Core, seats: tuple[Seats, ...]) -> tuple[Memory, int]:
        """The memory with its generation written as `HERE`, and how far it had gone on. The
        extended initial delay is of no interest here.
        """
        on = core.generation - HERE
        generation, *record = core.durable
        durable = (max(generation - on, HERE - _LONGEST_AGO) if generation else 0, *record)
        core = evolve(core, generation=HERE, extended=False, durable=durable)
        key = (core, seats)
        found = self._memories.get(key)
        if found is None:
            if len(self._memories) >= MEMORIES_KEPT:
                for memory in self._memories.values():
                    memory.known.clear()
                self._memories.clear()
                self._drivers.clear()  # they number every value that they have met
            found = self._memories[key] = Memory(core, seats)
        return found, on

    def _driven(self, two_step: bool, full: bool) -> Driven:
        found = self._drivers.get((two_step, full))
        if found is None:
            spec = _mixed(self.size, two_step, full)
            found = self._drivers[two_step, full] = Driven(spec, STATIC_MEMBERSHIP.coordinator)
        return found


@cache
def _mixed(size: int, two_step: bool, full: bool) -> Spec:
    """The group in which some members are static: each index says whether its member is. (Whether a
    round in which nobody has joined goes on waiting depends on that, see `_postponed`.)
    """
    scope = StaticScope(
        size,
        partitions=1,
        generations=1000,
        faults=dict.fromkeys(STATIC_MEMBERSHIP.coordinator_faults, 50),
        two_step=two_step,
        max_size=1 if full else None,
    )
    spec = rebuilt(STATIC_MEMBERSHIP.spec(scope), [timers.rebalance_timeout])
    slots = {**spec.slots, "seats": attrs.evolve(spec.slots["seats"], initial=Seats())}
    return attrs.evolve(spec, slots=slots, scope=scope)


_RULES = {
    "join": coordinator.join_group.name,
    "sync": coordinator.sync_group.name,
    "heartbeat": coordinator.heartbeat.name,
    "leave": coordinator.leave_group.name,
    "commit": coordinator.offset_commit.name,
}
_KINDS: dict[type, str] = {
    JoinGroup: "join",
    SyncGroup: "sync",
    Heartbeat: "heartbeat",
    LeaveGroup: "leave",
    OffsetCommit: "commit",
    Store: "commit",
}


def _response(index: int, answer: Answer) -> Response:
    return Response(index, _KINDS[type(answer.request)], answer.code)


def _link(memory: Memory, index: int) -> Link:
    """The connection over which somebody waits."""
    for id, seat in memory.seats[index]:
        if seat.join:
            return Link(parked=JoinGroup(id, seat.claimed))
        if seat.sync:
            return Link(parked=SyncGroup(id, memory.core.generation))
    return Link()


def _request(memory: Memory, ask: Ask) -> Request:
    generation = memory.core.generation - (not ask.current)
    if ask.kind == "join":
        return JoinGroup(ask.id, ask.claimed)
    if ask.kind == "sync":
        return SyncGroup(ask.id, generation)
    if ask.kind == "heartbeat":
        return Heartbeat(ask.id, generation)
    return LeaveGroup(ask.id) if ask.kind == "leave" else OffsetCommit(ask.id, generation, 0)
