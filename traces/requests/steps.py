"""The model's classic coordinator, driven request by request: the one place of the request replay
that looks into the model's memory.

A member of the log sits on one index of the model and has the id 0 there. The generation is written
as `HERE` after every step, so that no scope bounds a real log and memories of different rounds are
the same value; how many generations a step went on is said beside it. What one memory answers is
computed once (`Memory.known`), because real groups come back to the same memory with every
heartbeat.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from attrs import Factory, define, field, frozen

from groupcheck.model.engine import but
from groupcheck.model.engine.step import State
from groupcheck.model.protocol.classic.group import Core, Phase, Seats
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.model.protocol.driven import Driven, Reaction
from groupcheck.model.protocol.link import Link
from groupcheck.model.protocol.messages import (
    NO_GENERATION,
    NO_ID,
    Answer,
    Heartbeat,
    JoinGroup,
    LeaveGroup,
    OffsetCommit,
    Request,
    Store,
    SyncGroup,
)
from groupcheck.model.variants.classic import VARIANT

_ID = 0
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
    # A JoinGroup without an id, and whether its version has to come again with the id.
    fresh: bool = False
    two_step: bool = True
    # The number of its subscription.
    claimed: int = NO_GENERATION
    # It names the current generation.
    current: bool = True
    # A JoinGroup that finds the group full.
    full: bool = False


@frozen
class Told:
    """An answer to the member with an index. The answer to a JoinGroup names the generation of the
    memory after the step.
    """

    index: int
    kind: str
    code: int


@frozen(eq=False)
class Outcome:
    """What one step may do."""

    # The rules that fire, in order.
    rules: tuple[str, ...]
    # The answer to the request at hand; None if it is parked.
    own: Told | None
    # Answers to requests that were parked before.
    told: tuple[Told, ...]
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
    # What it may do with a request, or when a rule fires for an index, as far as that was computed.
    known: dict[Ask | tuple[str, int], tuple[Outcome, ...]] = Factory(dict)

    def __attrs_post_init__(self) -> None:
        seated = [(i, seat) for i, mine in enumerate(self.seats) for _, seat in mine]
        self.members = frozenset(i for i, s in seated if s.member)
        self.pending = frozenset(i for i, s in seated if not s.member)
        self.joining = frozenset(i for i, s in seated if s.join)
        self.syncing = frozenset(i for i, s in seated if s.sync)
        self.due = frozenset(i for i, s in seated if s.due)
        self.new = frozenset(i for i, s in seated if s.new)
        self.recorded = frozenset(i for i, mine in enumerate(self.seats) if mine.durable)

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
        return self._memory(but(named["core"], generation=HERE), named["seats"])[0]

    def grown(self, memory: Memory) -> Memory:
        """The same memory of a coordinator for smaller groups."""
        return self._memory(
            memory.core, (*memory.seats, *[Seats()] * (self.size - len(memory.seats)))
        )[0]

    def ask(self, memory: Memory, ask: Ask) -> tuple[Outcome, ...]:
        """What the coordinator may do with a request."""
        found = memory.known.get(ask)
        if found is None:
            found = memory.known[ask] = tuple(self._asked(memory, ask))
        return found

    def fire(self, memory: Memory, rule: str, index: int = 0) -> tuple[Outcome, ...]:
        """What the coordinator may do when a timer fires or an append ends: the model's rule, and
        the index that it concerns.
        """
        found = memory.known.get((rule, index))
        if found is None:
            driven = self._driven(True, False)
            reactions = driven.fire(self._state(memory), rule, index)
            found = memory.known[rule, index] = tuple(self._outcomes(driven, reactions))
        return found

    def unheard(self, memory: Memory, ask: Ask) -> tuple[Outcome, ...]:
        """Like `ask`, for a request over a connection that is gone: it is handled, and nobody is
        answered.
        """
        driven = self._driven(ask.two_step, ask.full)
        state, request = self._state(memory), _request(memory, ask)
        return tuple(self._outcomes(driven, driven.unheard(state, ask.index, request)))

    def _asked(self, memory: Memory, ask: Ask) -> Iterator[Outcome]:
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
                own = _told(asker, reaction.own)
            told = tuple([_told(i, answer) for i, answer in reaction.told])
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
        core = but(core, generation=HERE, extended=False, durable=durable)
        key = (core, seats)
        found = self._memories.get(key)
        if found is None:
            if len(self._memories) >= MEMORIES_KEPT:
                for memory in self._memories.values():
                    memory.known.clear()
                self._memories.clear()
            found = self._memories[key] = Memory(core, seats)
        return found, on

    def _driven(self, two_step: bool, full: bool) -> Driven:
        found = self._drivers.get((two_step, full))
        if found is None:
            scope = Scope(
                self.size,
                partitions=1,
                generations=1000,
                faults=dict.fromkeys(VARIANT.coordinator_faults, 50),
                two_step=two_step,
                max_size=1 if full else None,
            )
            found = self._drivers[two_step, full] = Driven(VARIANT.spec(scope), VARIANT.coordinator)
        return found


_KINDS: dict[type, str] = {
    JoinGroup: "join",
    SyncGroup: "sync",
    Heartbeat: "heartbeat",
    LeaveGroup: "leave",
    OffsetCommit: "commit",
    Store: "commit",
}


def _told(index: int, answer: Answer) -> Told:
    return Told(index, _KINDS[type(answer.request)], answer.code)


def _link(memory: Memory, index: int) -> Link:
    """The connection over which somebody waits."""
    if index in memory.joining:
        seat = memory.seats[index][_ID]
        return Link(parked=JoinGroup(_ID, seat.claimed if seat else NO_GENERATION))
    return (
        Link(parked=SyncGroup(_ID, memory.core.generation)) if index in memory.syncing else Link()
    )


def _request(memory: Memory, ask: Ask) -> Request:
    generation = memory.core.generation - (not ask.current)
    if ask.kind == "join":
        return JoinGroup(NO_ID if ask.fresh else _ID, ask.claimed)
    if ask.kind == "sync":
        return SyncGroup(_ID, generation)
    if ask.kind == "heartbeat":
        return Heartbeat(_ID, generation)
    return LeaveGroup(_ID) if ask.kind == "leave" else OffsetCommit(_ID, generation, 0)
