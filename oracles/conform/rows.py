"""The coordinator's rows: every (memory, input) that is reachable at a scope, with the outcomes
that the model allows.

The variant's coordinator is closed off with an environment that sends whatever makes a difference:
each process sends every request with every id that the coordinator knows of it and one that it does
not know, in the running generation and the one before, with a subscription that is the same or has
changed, each request over a connection of its own. Timers fire and appends end whenever they can.
One process has one id at a time (to the coordinator, two ids of one process and one id each of two
are the same). Faults have no budget: what may happen may happen any number of times, so that the
memory alone says what is possible. Memories past the last generation are not taken further.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

import attrs
from attrs import field, frozen

from groupcheck.model.engine import Spec
from groupcheck.model.engine.step import State
from groupcheck.model.protocol.classic.group import Core, Phase, Seats
from groupcheck.model.protocol.classic.offsets import Offsets
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.model.protocol.classic.timers import (
    new_member_timeout,
    rebalance_timeout,
    session_timeout,
)
from groupcheck.model.protocol.driven import Driven, Reaction
from groupcheck.model.protocol.link import Link
from groupcheck.model.protocol.messages import (
    NO_ID,
    Answer,
    Heartbeat,
    JoinGroup,
    LeaveGroup,
    OffsetCommit,
    Request,
    SyncGroup,
)

# The rules that concern one id of a process, each firing one of those that the process has.
OF_ONE_ID = (session_timeout.name, new_member_timeout.name)
STRANGER = 50  # an id that the coordinator does not know (any more)
CHANGED = 0  # the generation that a member claims whose subscription is not what it was


@frozen
class Asks:
    """A process sends a request, over a connection of its own."""

    member: int
    request: Request


@frozen
class Fires:
    """A timer of the coordinator's fires, or an append ends: the model's rule, and the process and
    id that it concerns.
    """

    rule: str
    member: int | None = None
    id: int | None = None


Input = Asks | Fires


@frozen
class Told:
    """The answer to a request of a process: to the one at hand, or (`parked`) to the one that
    waited.
    """

    member: int
    answer: Answer
    parked: bool


@frozen(cache_hash=True)
class Memory:
    """What the coordinator remembers."""

    core: Core
    seats: tuple[Seats, ...]

    @property
    def links(self) -> tuple[Link, ...]:
        """The connections over which somebody waits: one for each parked request."""
        return tuple(_link(self.core, seats) for seats in self.seats)


def _link(core: Core, seats: Seats) -> Link:
    for id, seat in seats:
        if seat.join:
            return Link(parked=JoinGroup(id, seat.claimed))
        if seat.sync:
            return Link(parked=SyncGroup(id, core.generation))
    return Link()


@frozen
class Outcome:
    """An outcome that the model allows."""

    # The rules that fired, in order.
    rules: tuple[str, ...] = field(eq=False)
    told: tuple[Told, ...]
    after: Memory
    # An offset was committed.
    stored: bool = False


class Rows:
    """The rows of a variant at a scope, perhaps with a mutation applied."""

    def __init__(self, scope: Scope, spec: Spec, coordinator: Collection[str]) -> None:
        """`spec`: the variant's, mutated or not. Its scope says how many ids may be known at once,
        and after which generation to stop. `coordinator`: the names of the coordinator's rules.
        """
        self.scope = scope
        beyond = attrs.evolve(scope, generations=scope.generations + 1)
        self._driven = Driven(attrs.evolve(spec, scope=beyond), coordinator)
        self._see = self._driven.see

    @property
    def outcomes_named(self) -> set[str]:
        """The outcomes of the coordinator's rules, by name."""
        return {name for r in self._see.spec.rules for name in r.names}

    def start(self) -> Memory:
        """The group that nobody has joined yet."""
        return self._memory(self._driven.start())

    def inputs(self, memory: Memory) -> Iterator[Input]:
        """Everything that may be tried next, in a fixed order; nothing past the last generation."""
        if memory.core.generation > self.scope.generations:
            return
        for me in range(self.scope.members):
            for request in self._requests(me, memory):
                yield Asks(me, request)
        for r, me, _ in self._see.ordinary:
            if r.name in OF_ONE_ID:
                for id, _ in memory.seats[me]:
                    yield Fires(r.name, me, id)
            else:
                yield Fires(r.name, me if r.name in self._see.indexed else None)

    def _requests(self, me: int, memory: Memory) -> Iterator[Request]:
        core, seats = memory.core, memory.seats[me]
        if not seats.ids:
            yield JoinGroup(NO_ID)
        strangers = (STRANGER,) if me == 0 else ()
        for id in (*(id for id, _ in seats), *strangers):
            seat = seats[id]
            yield JoinGroup(id)
            if seat is not None and seat.member:
                yield JoinGroup(id, CHANGED)
            # Generation -1 is no old one, but Kafka's way of saying "from outside the group".
            for generation in (
                (core.generation, core.generation - 1)
                if seat is not None and core.generation
                else (core.generation,)
            ):
                yield SyncGroup(id, generation)
                yield Heartbeat(id, generation)
                yield OffsetCommit(id, generation, 1)
            yield LeaveGroup(id)

    def outcomes(self, memory: Memory, given: Input) -> tuple[Outcome, ...]:
        """What the model allows; empty where the input cannot happen now."""
        found: dict[Outcome, None] = {}
        for reaction in self._reactions(memory, given):
            told = [Told(me, answer, True) for me, answer in reaction.told]
            if reaction.own is not None:
                assert isinstance(given, Asks)
                told.append(Told(given.member, reaction.own, False))
            after = self._memory(reaction.state)
            stored = self._stored(reaction.state)
            found[Outcome(reaction.rules, tuple(told), after, stored)] = None
        return tuple(found)

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
                        more,
                        rules=(*reaction.rules, *more.rules),
                        own=reaction.own,
                        told=reaction.told,
                    )
            else:
                yield reaction

    def _first_reactions(self, memory: Memory, given: Input) -> Iterator[Reaction]:
        state = self._state(memory)
        if isinstance(given, Asks):
            yield from self._driven.ask(state, given.member, given.request)
            return
        for fired in self._driven.fired(state, given.rule, given.member or 0):
            seats = given.id is not None and fired[1][self._see.at["seats", given.member]]
            if not seats or seats[given.id] is None:
                yield from self._driven.react(fired)

    def _state(self, memory: Memory) -> State:
        return self._driven.state(
            core=memory.core,
            seats=memory.seats,
            link=memory.links,
            budget=self.scope.budget,
        )

    def _memory(self, state: State) -> Memory:
        named = self._see.named(state)
        return Memory(named["core"], named["seats"])

    def _stored(self, state: State) -> bool:
        offsets: Offsets = state[self._see.at["offsets", None]]
        return offsets.committed > 0
