"""The parts of a row: a memory of the coordinator, an input, and an outcome in the model."""

from __future__ import annotations

from functools import cached_property

import attrs
from attrs import field, frozen

from groupcheck.model.protocol.classic.failover import fail_over
from groupcheck.model.protocol.classic.features.failover_phases import (
    Way,
)
from groupcheck.model.protocol.classic.features.full_offsets.kept import OffsetStore, Txn
from groupcheck.model.protocol.classic.group import Core, Seats
from groupcheck.model.protocol.link import Link
from groupcheck.model.protocol.messages import (
    Answer,
    Heartbeat,
    JoinGroup,
    OffsetCommit,
    Request,
    SyncGroup,
    TxnOffsetCommit,
)

# The rules of the timers and faults that `Rows` knows; a variant may have more.
LOWER_MAX_SIZE = "lower_max_size"


MOVES = frozenset({fail_over.name, LOWER_MAX_SIZE})


COMMITTED = 2  # the offset that is committed before each row; commits go back and forth


# Rules of inputs in place of `write_marker`: whether the transaction is committed.
ENDS_TXN = {"end_txn:commit": True, "end_txn:abort": False}


STRANGER = 50  # an id that the coordinator does not know (any more)


CHANGED = 0  # the generation that a member claims whose subscription is not what it was


@frozen
class Asks:
    """A process sends a request, over a connection of its own."""

    member: int
    request: Request
    # It goes to the broker that was the coordinator before.
    former: bool = False
    # The process was configured with its other list of assignors before it started.
    relisted: bool = False


@frozen
class Fires:
    """A timer of the coordinator's fires, or an append ends: the model's rule, and the process and
    id that it concerns.
    """

    rule: str
    member: int | None = None
    id: int | None = None
    # How a fail-over begins, where it takes its phases.
    way: Way | None = None
    # It comes to the broker that was the coordinator before.
    former: bool = False


Input = Asks | Fires


def moves(given: Input) -> bool:
    """Does the coordinator move to another broker?"""
    return isinstance(given, Fires) and given.rule in MOVES


@frozen
class ModelAnswer:
    """The answer to a request of a process: to the request of this row, or (`parked`) to the one
    that waited.
    """

    member: int
    answer: Answer
    parked: bool


@frozen
class Waiter:
    """A connection on which a process waits for the coordinator: with the request of this row, or
    (`parked`) with the one that waited before.
    """

    member: int
    parked: bool


@frozen(cache_hash=True)
class Memory:
    """The memory of the coordinator."""

    core: Core
    seats: tuple[Seats, ...]
    # The offsets and the transactions of producers, where they are part of the rows.
    kept: OffsetStore | None = None
    txns: tuple[Txn, ...] = ()
    # What a former coordinator remembers that does not know yet that it no longer is one.
    former: Core | None = None
    former_seats: tuple[Seats, ...] = ()
    former_kept: OffsetStore | None = None
    # While the group is loaded: the former coordinator is there and answers.
    stale: bool = False

    @cached_property
    def links(self) -> tuple[Link, ...]:
        """The connections over which somebody waits: one for each parked request."""
        if self.former is not None:
            waiting = (_link(self.former, seats) for seats in self.former_seats)
            return tuple(attrs.evolve(link, stale=True) for link in waiting)
        return tuple(_link(self.core, seats) for seats in self.seats)

    @property
    def waiting(self) -> tuple[Waiter, ...]:
        """Who waits over them."""
        return tuple(Waiter(me, parked=True) for me, link in enumerate(self.links) if link.parked)


def _link(core: Core, seats: Seats) -> Link:
    for id, seat in seats:
        if seat.join:
            return Link(
                parked=JoinGroup(id, seat.claimed, owned=seat.owned, assigned=seat.assigned)
            )
        if seat.sync:
            return Link(parked=SyncGroup(id, core.generation))
    return Link()


@frozen
class Outcome:
    """An outcome that the model allows."""

    # The rules that fired, in order.
    rules: tuple[str, ...] = field(eq=False)
    told: tuple[ModelAnswer, ...]
    after: Memory
    # The offset that was committed.
    stored: int | None = None
    # Who waits for an answer that will come.
    waiting: tuple[Waiter, ...] = ()
    # Who waits for an answer that will never come, on a connection that is not broken.
    forgotten: tuple[Waiter, ...] = ()

    @property
    def own(self) -> Answer | None:
        """The answer to the request at hand; None if there is none."""
        return next((told.answer for told in self.told if not told.parked), None)

    @property
    def fails(self) -> bool:
        """Does the request at hand end with an exception, which waits for no append?"""
        own = self.own
        return own is not None and (
            (isinstance(own.request, Heartbeat) and own.code in (22, 25, 82))
            or (isinstance(own.request, OffsetCommit | TxnOffsetCommit) and own.code != 0)
        )
