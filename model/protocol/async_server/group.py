"""The state that the coordinator remembers of a group: `core` (one) and `seats[i]` (the ids of
process i).

The counts in `core` are functions of the seats and add no state. A value that no rule can read any
more is reset.
"""

from __future__ import annotations

from collections.abc import Iterator

from attrs import frozen

from groupcheck.model.engine import evolve
from groupcheck.model.protocol.classic.group import Errand, Phase
from groupcheck.model.protocol.messages import NO_GENERATION

UNKNOWN = -2  # `Seat.epoch` of a member whose record does not tell (`record=members`)

Record = tuple[tuple[int, int, int], ...]  # (id, epoch, share) of the members of one process


@frozen
class Core:
    """The group without its members."""

    # PREPARING: members report. COMPLETING: some members have to re-join, or wait for partitions.
    phase: Phase = Phase.EMPTY
    # The number of the last plan; 0 before the first.
    generation: int = 0
    # The round was begun by an Empty group, and the initial delay runs (KIP-134).
    initial: bool = False
    members: int = 0
    # Members that have not reported in this round. Only in PREPARING.
    missing: int = 0
    # Members that do not have their share of the plan yet. Only in COMPLETING.
    unsettled: int = 0
    # Partitions that a member owns and the plan gives to another one, as a bit mask. Only in
    # COMPLETING.
    withheld: int = 0
    # A member has joined that the plan does not know (`joins=wait`). Only in COMPLETING.
    again: bool = False
    # The number of the last plan in the log; its shares stand in `Seats.durable`.
    durable: int = 0
    # A fail-over is still possible. Otherwise nothing is remembered for it.
    keeps: bool = False
    # Inside a step: the errand of the walk to begin. Of several, the coordinator may choose any.
    errands: tuple[Errand, ...] = ()


@frozen
class Seat:
    """The facts that the coordinator knows of one member."""

    # The generation in which it was answered last, its own; NO_GENERATION before that.
    epoch: int = NO_GENERATION
    # It was read from the log and not heard of since: the generation of the plan, in which the lost
    # coordinator may have answered it.
    loaded: int | None = None
    # The partitions that it may own, as a bit mask: what it was given or has reported.
    owned: int = 0
    # Its share of the plan, as a bit mask. Only in COMPLETING and STABLE (`basis=plan`: always).
    share: int = 0
    # It has reported in this round. Only in PREPARING.
    heard: bool = False
    # needRebalance: its next heartbeat is answered that it must re-join. Only in COMPLETING.
    marked: bool = False
    # Its JoinGroup is parked.
    join: bool = False
    # It has joined since the plan was made (`joins=wait`). Only in COMPLETING.
    later: bool = False

    @property
    def settled(self) -> bool:
        """Does it have its share of the plan? Asked in COMPLETING."""
        return self.later or (not self.join and self.owned == self.share)

    def names_its_epoch(self, generation: int) -> bool:
        """Is this the generation that it has to name?"""
        return self.epoch in (generation, UNKNOWN) or self.loaded == generation

    def heard_in(self, generation: int) -> Seat:
        """The seat of a member that has named its generation."""
        return self if self.loaded is None else evolve(self, epoch=generation, loaded=None)


@frozen
class Seats:
    """The facts that the coordinator knows of the ids of one process."""

    # (id, seat) by ascending id.
    ids: tuple[tuple[int, Seat], ...] = ()
    # The members of this process in the last plan that was logged.
    durable: Record = ()
    # The process is an old client. It never changes.
    old: bool = False

    def __getitem__(self, id: int) -> Seat | None:
        return next((seat for k, seat in self.ids if k == id), None)

    def __iter__(self) -> Iterator[tuple[int, Seat]]:
        return iter(self.ids)

    def put(self, id: int, seat: Seat) -> Seats:
        """The seats with this one added, or in place of the one of the same id."""
        others = [(k, s) for k, s in self.ids if k != id]
        return evolve(self, ids=tuple(sorted([*others, (id, seat)], key=lambda pair: pair[0])))

    def drop(self, id: int) -> Seats:
        """The seats without this id."""
        return evolve(self, ids=tuple([(k, s) for k, s in self.ids if k != id]))


def remove(core: Core, seats: Seats, id: int) -> tuple[Core, Seats]:
    """Takes a member out of the group's memory. What it owned is free."""
    seat = seats[id]
    assert seat is not None
    core = evolve(
        core,
        members=core.members - 1,
        missing=core.missing - (core.phase == Phase.PREPARING and not seat.heard),
        unsettled=core.unsettled - (core.phase == Phase.COMPLETING and not seat.settled),
        withheld=core.withheld & ~seat.owned,
    )
    return core, seats.drop(id)
