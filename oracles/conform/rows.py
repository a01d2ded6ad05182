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

from collections.abc import Iterator

import attrs
from attrs import field, frozen

from groupcheck.model.engine import Spec, but
from groupcheck.model.engine.spec import Rule
from groupcheck.model.engine.step import Semantics, State
from groupcheck.model.protocol.coordinator import REQUEST_RULES
from groupcheck.model.protocol.failover import fail_over
from groupcheck.model.protocol.faults import Budget
from groupcheck.model.protocol.forgetting import close_books
from groupcheck.model.protocol.group import Core, Phase, Seats
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
from groupcheck.model.protocol.offsets import Offsets, store_offset
from groupcheck.model.protocol.scope import Scope
from groupcheck.model.protocol.timers import TIMER_RULES
from groupcheck.model.protocol.walks import WALK_RULES

COORDINATOR = (*TIMER_RULES, fail_over, *WALK_RULES, close_books, store_offset, *REQUEST_RULES)
FAULTS = (
    "append_failure",
    "fail_over",
    "session_timeout",
    "rebalance_timeout",
    "sync_timeout",
    "new_member_timeout",
)
OF_ONE_ID = ("session_timeout", "new_member_timeout")
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

    def __init__(self, scope: Scope, spec: Spec) -> None:
        """`spec`: the variant's, mutated or not. Its scope says how many ids may be known at once,
        and after which generation to stop.
        """
        self.scope = scope
        beyond = attrs.evolve(scope, generations=scope.generations + 1)
        names = {r.name for r in COORDINATOR}
        slots = {name: slot for name, slot in spec.slots.items() if name != "client"}
        rules = [r for r in spec.rules if r.name in names]
        self._see = Semantics(
            attrs.evolve(
                spec,
                rules=rules,
                slots=slots,
                scope=beyond,
                ends=(),
                invariants=(),
                initial=spec.initial[:1],
            )
        )
        self._urgent = [
            (i, i[0].guard.call, i[0].guard.takes_me, self._place(i))
            for i in self._see.urgent
            if i[0].guard
        ]
        assert len(self._urgent) == len(self._see.urgent)
        self._budget: Budget = scope.budget

    def _place(self, instance: tuple[Rule, int, tuple[int, ...]]) -> int:
        r, _, where = instance
        assert r.guard is not None
        return where[r.slots.index(r.guard.slot)]

    def start(self) -> Memory:
        """The group that nobody has joined yet."""
        ((_, _, state),) = self._see.starts()
        return self._memory(state)

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
        links = memory.links
        if isinstance(given, Fires):
            return self._outcomes(memory, self._fired(self._state(memory, links), given), None)
        mine = links[given.member]
        state = self._state(memory, links)
        place = self._see.at["link", given.member]
        alive = (*state[:place], but(mine, request=given.request, live=True), *state[place + 1 :])
        if mine.idle:
            return self._outcomes(memory, [((), alive)], given)
        # The request comes over a connection of its own: what it is told shows one way, what the
        # parked one is told the other way.
        late = (*state[:place], but(mine, request=given.request, live=False), *state[place + 1 :])
        others = {o.after: o.told for o in self._outcomes(memory, [((), late)], None)}
        own = self._outcomes(memory, [((), alive)], given)
        return tuple(
            attrs.evolve(o, told=_both(o.told, others[o.after], given.member)) for o in own
        )

    def _fired(self, state: State, given: Fires) -> list[tuple[tuple[str, ...], State]]:
        begun: list[tuple[tuple[str, ...], State]] = []
        for firing, after, _ in self._see.firings(
            self._see.by_name[given.rule, given.member or 0], state
        ):
            if given.id is None or after[self._see.at["seats", given.member]][given.id] is None:
                begun.append(((firing.name,), after))
        return begun

    def _outcomes(
        self, memory: Memory, begun: list[tuple[tuple[str, ...], State]], given: Asks | None
    ) -> tuple[Outcome, ...]:
        found: dict[Outcome, None] = {}
        for rules, start in begun:
            for chain, rest in self._at_once(memory, start):
                found[
                    Outcome(
                        (*rules, *chain),
                        self._told(rest, given),
                        self._memory(rest),
                        self._stored(rest),
                    )
                ] = None
        return tuple(found)

    def _at_once(self, memory: Memory, start: State) -> Iterator[tuple[tuple[str, ...], State]]:
        """Everything that happens in one step. A round of nobody waits for 0 ms, so its timer fires
        in the step that starts it.
        """
        for chain, rest in self._settle(start):
            core: Core = rest[self._see.at["core", None]]
            if (
                memory.core.phase >= Phase.COMPLETING
                and core.phase == Phase.PREPARING
                and not core.members
            ):
                for firing, after, _ in self._see.firings(
                    self._see.by_name["rebalance_timeout", 0], rest
                ):
                    yield from (
                        ((*chain, firing.name, *more), end) for more, end in self._settle(after)
                    )
            else:
                yield chain, rest

    def _settle(self, state: State) -> Iterator[tuple[tuple[str, ...], State]]:
        """`Semantics.settle`, with the guards asked first."""
        stack: list[tuple[tuple[str, ...], State]] = [((), state)]
        while stack:
            chain, now = stack.pop()
            for instance, guard, takes_me, place in self._urgent:
                if not (guard(instance[1], now[place]) if takes_me else guard(now[place])):
                    continue
                outcomes = list(self._see.firings(instance, now))
                if outcomes:
                    stack += [((*chain, f.name), after) for f, after, _ in reversed(outcomes)]
                    break
            else:
                yield chain, now

    def _state(self, memory: Memory, links: tuple[Link, ...]) -> State:
        return self._see.state(
            {
                "core": memory.core,
                "seats": memory.seats,
                "link": links,
                "budget": self._budget,
                "offsets": Offsets(),
            }
        )

    def _memory(self, state: State) -> Memory:
        named = self._see.named(state)
        return Memory(named["core"], named["seats"])

    def _stored(self, state: State) -> bool:
        offsets: Offsets = state[self._see.at["offsets", None]]
        return offsets.committed > 0

    def _told(self, state: State, given: Asks | None) -> tuple[Told, ...]:
        told = []
        for me in range(self.scope.members):
            answer = state[self._see.at["link", me]].answer
            if answer is not None:
                told.append(Told(me, answer, given is None or me != given.member))
        return tuple(told)


def _both(own: tuple[Told, ...], others: tuple[Told, ...], member: int) -> tuple[Told, ...]:
    return (*others, *(t for t in own if t.member == member))
