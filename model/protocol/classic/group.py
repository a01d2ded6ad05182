"""The coordinator's memory of a classic group, cut into `core` (one) and `seats[i]` (what it knows
of the ids of process i).

The counts in `core` are those that the real coordinator keeps (ClassicGroup: size,
numAwaitingJoinResponse, pendingJoinMembers, pendingSyncMembers). They are functions of the seats
and add no state. A value that no rule can read any more is reset.

Nearly every step of the coordinator needs the group's head and the one member that asks. The counts
let `core` alone answer "has every member joined?", and the leader is marked at its seat. So no rule
of the coordinator needs the index of its process, and one call serves all processes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import IntEnum
from typing import Any, Generic, Protocol, Self, TypeVar

from attrs import frozen

from groupcheck.model.engine import evolve, remembered
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.model.protocol.messages import NO_GENERATION

Leader = tuple[int, int]  # (index of the process, id)
Durable = tuple[int, bool, int | None]  # generation, whether somebody leads, assignor


class Phase(IntEnum):
    """ClassicGroupState."""

    EMPTY = 0
    PREPARING = 1
    COMPLETING = 2
    STABLE = 3

    __hash__ = int.__hash__

    def __str__(self) -> str:
        return ("Empty", "PreparingRebalance", "CompletingRebalance", "Stable")[self]


@frozen
class Errand:
    """The task of a walk over all seats (see `walks`), with all that its visits need of the group
    and find. Each kind is a subclass.
    """


class Bounded(Protocol):
    """A scope, as far as a walk has to know it."""

    @property
    def members(self) -> int: ...


E = TypeVar("E", bound=Errand)
ENDED = -1  # `Walk.at` once all seats are visited


@frozen
class Walk(Generic[E]):
    """A walk over all seats inside one step (see `walks`)."""

    # The index of the seats to visit next, or ENDED.
    at: int
    errand: E

    @remembered
    def passed(self, errand: E, scope: Bounded) -> Walk[E]:
        """The walk after a visit."""
        return evolve(self, at=self.at + 1 if self.at + 1 < scope.members else ENDED, errand=errand)


REST = Walk(ENDED, Errand())  # there is no walk


@frozen(kw_only=True)
class Recount(Errand):
    """The errand of a walk that removes or loads members. It counts them relative to the group, so
    that groups of different sizes share the rows of its tables.
    """

    # Members loaded so far (positive), or removed so far (negative).
    change: int = 0
    # `Core.support`, kept up to date.
    support: tuple[int, ...]
    # `Core.assignor`: the only assignor that a loaded seat is known to list.
    assignor: int | None

    def without(self, seats: Seats, id: int, seat: Seat, scope: Scope) -> tuple[Self, Seats]:
        """A member is removed."""
        only = self.assignor if seat.loaded else None
        support = supported(self.support, seats, -1, scope, only)
        return evolve(self, change=self.change - 1, support=support), seats.drop(id)

    @remembered
    def counted(self, core: Core) -> Core:
        """The group with the members that the walk has counted."""
        return evolve(core, members=core.members + self.change, support=self.support)


@frozen
class Core:
    """The group without its members."""

    phase: Phase = Phase.EMPTY
    # The last generation that a completed round has begun; 0 before the first.
    generation: int = 0
    # PreparingRebalance was entered from Empty, and the initial delay runs (KIP-134).
    initial: bool = False
    # A member was added during the initial delay (newMemberAdded). Only if `initial`.
    extended: bool = False
    # The group has a leader; `Seats.leader` says which.
    led: bool = False
    # The leader's JoinGroup is parked. Only if `led`, in PreparingRebalance.
    leader_parked: bool = False
    # Members, whether parked or not.
    members: int = 0
    # Members whose JoinGroup is parked; at most `members`.
    parked: int = 0
    # Ids that were handed out and have not joined yet (pendingJoinMembers).
    pending: int = 0
    # Members that have not sent SyncGroup since the round completed (pendingSyncMembers).
    due: int = 0
    # The sync timer runs. Only if `due`.
    deadline: bool = False
    # The leader's assignment is written, but not yet committed. Only in CompletingRebalance.
    appending: bool = False
    # How many members list each of `Scope.assignors_listed`; empty if all members list the same.
    support: tuple[int, ...] = ()
    # The assignor that was voted for, as an index into `support`; None if all list the same.
    assignor: int | None = None
    # The last record that a fail-over would load; its members stand in `Seats.durable`.
    durable: Durable = (0, False, None)
    # That record holds the assignment that is being appended. Only if `appending`.
    recorded: bool = False
    # The topics of all members when the generation began, as a bit mask (see `triggers`).
    topics: int = 0
    # The partitions that the leader knew when it made the plan that is being appended, as a bit
    # mask (see `triggers`).
    planned: int = 0
    # group.max.size after it was lowered; None: it is the scope's.
    max_size: int | None = None
    # The faults of `faults.REMEMBERED` that are still possible: the group remembers some values
    # only because one of these could read them.
    keeps: tuple[str, ...] = ()
    # Takeovers in flight (`Seat.takes`) whose records a fail-over would not find.
    unlogged: int = 0
    # The coordinator has not loaded the group yet (see `failover_phases`).
    loading: bool = False
    # Inside a step: the errand of the walk to begin. Of several, the coordinator may choose any.
    errands: tuple[Errand, ...] = ()

    @property
    def all_joined(self) -> bool:
        return self.parked == self.members and not self.pending


@frozen
class Seat:
    """The coordinator's memory of one id."""

    # The id belongs to a member. False: it was handed out and has not joined yet (pendingJoin).
    member: bool = False
    # The member was added in this round (isNew). Its timer is the five-minute one, which removes it
    # although its JoinGroup is parked.
    new: bool = False
    # A heartbeat or a commit has replaced that timer by the session timer. Only if `new`.
    hurried: bool = False
    # Its JoinGroup is parked. Only if `member`.
    join: bool = False
    # Its SyncGroup is parked. Only if `member`; never together with `join`.
    sync: bool = False
    # It has not sent SyncGroup since the round completed. Only if `member`.
    due: bool = False
    # The generation in its last subscription (see `JoinGroup.claimed`).
    claimed: int = NO_GENERATION
    # The topics in its last subscription (see `JoinGroup.topics`).
    topics: int = 0
    # The partitions in its last subscription (see `JoinGroup.owned`).
    owned: int = 0
    # What else its last subscription says (see `JoinGroup.more`).
    more: Any = None
    # The generation in the user data of its last subscription (see `JoinGroup.assigned`).
    assigned: int = NO_GENERATION
    # Its partitions in the stored assignment, as a bit mask.
    share: int = 0
    # What else the leader tells it (see `Answer.told`).
    told: Any = None
    # Its timer runs. Only known bugs reset this.
    armed: bool = True
    # It was read from the log, which holds only one assignor of those that the member lists: the
    # one that was voted for.
    loaded: bool = False
    # A static member that has taken the place of another id in a Stable group, while the record of
    # that is appended: the other id, and what was known of it.
    takes: tuple[int, Seat] | None = None
    # The coordinator waits for the SyncGroup of this id, whose place a static member has taken
    # (pendingSyncMembers is not told). Only in a Stable group.
    owed: int | None = None

    def takes_from(self, id: int) -> bool:
        """Is this the id whose place it takes?"""
        return self.takes is not None and self.takes[0] == id

    @property
    def logged(self) -> Seat:
        """The member as a group record holds it: without its requests and its timer."""
        return evolve(
            self,
            new=False,
            hurried=False,
            join=False,
            sync=False,
            due=False,
            armed=True,
            loaded=False,
            takes=None,
            owed=None,
        )


Record = tuple[tuple[int, Seat], ...]  # (id, `Seat.logged`) of the members of one process


@frozen
class Seats:
    """The coordinator's memory of the ids of one process."""

    # (id, seat) by ascending id.
    ids: tuple[tuple[int, Seat], ...] = ()
    # The id of the group's leader, if it is one of `ids`. At most one process has it.
    leader: int | None = None
    # The members of this process in the last group record.
    durable: Record = ()
    # The leader in the last group record, if it is one of `durable`.
    durable_leader: int | None = None
    # The assignors that the process lists in JoinGroup; empty if all processes list the same.
    listed: tuple[str, ...] = ()
    # The process has an instance id (KIP-345), so it has one id at most. It never changes.
    static: bool = False
    # Another process has the same instance id (see `twins`). It never changes.
    twin: bool = False
    # Inside a step: the instance id belongs to the other twin.
    elsewhere: bool = False

    def __getitem__(self, id: int) -> Seat | None:
        for k, seat in self.ids:
            if k == id:
                return seat
        return None

    def __iter__(self) -> Iterator[tuple[int, Seat]]:
        return iter(self.ids)

    @remembered
    def put(self, id: int, seat: Seat) -> Seats:
        """The seats with this one added, or in place of the one of the same id."""
        others = [(k, s) for k, s in self.ids if k != id]
        return evolve(self, ids=tuple(sorted([*others, (id, seat)], key=lambda pair: pair[0])))

    @remembered
    def drop(self, id: int) -> Seats:
        """The seats without this id, which no longer leads."""
        return evolve(
            self,
            ids=tuple([(k, s) for k, s in self.ids if k != id]),
            leader=None if self.leader == id else self.leader,
        )

    def recorded(self, members: Record) -> Seats:
        """A group record is written with these members, and with the leader if it is one of
        them.
        """
        return evolve(self, durable=members, durable_leader=self.leader)

    @remembered
    def unrecorded(self) -> Seats:
        """The group record has no member of this process, or no fail-over can read it."""
        return evolve(self, durable=(), durable_leader=None)


def is_member(seat: Seat | None) -> bool:
    return seat is not None and seat.member


def leader_of(seats: Iterable[Seats]) -> Leader | None:
    """The member that leads the group, if there is one."""
    return next(
        ((me, mine.leader) for me, mine in enumerate(seats) if mine.leader is not None), None
    )


def supported(
    support: tuple[int, ...], seats: Seats, by: int, scope: Scope, only: int | None = None
) -> tuple[int, ...]:
    """`Core.support` after `by` members of a process have come (negative: have gone). `only`: the
    assignor that the log holds of them, if they were loaded (see `Seat.loaded`).
    """
    if not support:
        return support
    mine = seats.listed if only is None else (scope.assignors_listed[only],)
    return tuple(
        [n + by * (name in mine) for n, name in zip(support, scope.assignors_listed, strict=True)]
    )


def unlogged(seats: Seats, id: int, seat: Seat) -> bool:
    """Is a takeover in flight, and a fail-over would find the id that was there before?"""
    return seat.takes is not None and any(known != id for known, _ in seats.durable)


def remove(core: Core, seats: Seats, id: int, scope: Scope) -> tuple[Core, Seats]:
    """Takes an id and its timer out of the group's memory. The caller answers its parked
    request.
    """
    seat = seats[id]
    assert seat is not None
    if seat.member:
        only = core.assignor if seat.loaded else None
        core = evolve(
            core,
            members=core.members - 1,
            parked=core.parked - seat.join,
            due=core.due - seat.due,
            unlogged=core.unlogged - unlogged(seats, id, seat),
            support=supported(core.support, seats, -1, scope, only),
        )
    else:
        core = evolve(core, pending=core.pending - 1)
    if seats.leader == id:
        core = evolve(core, led=False, leader_parked=False)
    return core, seats.drop(id)
