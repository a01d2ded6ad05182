"""The coordinator's memory of a classic group, cut into `core` (one) and `seats[i]` (what it knows of the ids of process i).

The counts in `core` are those that the real coordinator keeps (ClassicGroup: size, numAwaitingJoinResponse, pendingJoinMembers,
pendingSyncMembers); they are functions of the seats and add no state. Values that nobody can read any more are reset.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum

from attrs import frozen

from groupcheck.model.engine import but
from groupcheck.model.protocol.messages import NO_GENERATION
from groupcheck.model.protocol.scope import Scope

Leader = tuple[int, int]  # (index of the process, id)
Durable = tuple[int, Leader | None, int | None]  # generation, leader, assignor


class Phase(IntEnum):
    """ClassicGroupState."""

    EMPTY = 0
    PREPARING = 1
    COMPLETING = 2
    STABLE = 3

    __hash__ = int.__hash__

    def __str__(self) -> str:
        return ("Empty", "PreparingRebalance", "CompletingRebalance", "Stable")[self]


class Pass(IntEnum):
    """What a walk over all seats does; see `rounds`."""

    RESTART = 0
    COMPLETE = 1
    ASSIGN = 2
    VOTE = 3
    RECORD = 4
    RELOAD = 5
    FORGET = 7
    ELECT = 6

    __hash__ = int.__hash__


@frozen
class Walk:
    """A walk over all seats inside one step: `at` is the next index. `code` answers parked syncs, `expel` removes who has not synced.

    `unwritten`: the group becomes Empty, but a fail-over will not find that in the log (see `failover`).
    `left` counts the members still to be passed, `free` is the mask of partitions still to be given, `rank` the members already passed,
    `votes` what each assignor has got so far.
    """

    kind: Pass
    at: int = 0
    code: int = 0
    expel: bool = False
    unwritten: bool = False
    left: int = 0
    rank: int = 0
    free: int = 0
    votes: tuple[int, ...] = ()


@frozen
class Core:
    """The group without its members. `initial`: PreparingRebalance was entered from Empty, the initial delay runs (KIP-134).

    `extended`: a member was added during the initial delay (newMemberAdded). `parked`: members whose JoinGroup waits. `due`: members that
    have not sent SyncGroup (pendingSync), `deadline`: the sync timer runs. `leader_parked`: the leader is among the parked.
    `appending`: the leader's assignment is written, but not yet committed. `support`: how many members list each assignor, and `assignor`
    the number of the one that was voted for (both only where the scope's members differ in what they list). `durable`: generation, leader, assignor
    of the last record that a fail-over would load, `recorded`: the assignment in flight is that record already.
    `keeps`: the faults still possible for whose sake something is remembered that nobody else reads (see `faults.REMEMBERED`).
    """

    phase: Phase = Phase.EMPTY
    generation: int = 0
    initial: bool = False
    extended: bool = False
    leader: Leader | None = None
    leader_parked: bool = False
    members: int = 0
    parked: int = 0
    pending: int = 0
    due: int = 0
    deadline: bool = False
    appending: bool = False
    support: tuple[int, ...] = ()
    assignor: int | None = None
    durable: Durable = (0, None, None)
    recorded: bool = False
    keeps: tuple[str, ...] = ()
    walk: Walk | None = None

    @property
    def all_joined(self) -> bool:
        return self.parked == self.members and not self.pending


@frozen
class Seat:
    """What the coordinator knows of one id. `member` False: the id was handed out and has not joined yet (pendingJoin).

    `new`: added in this round, its timer is the five-minute one. `join`, `sync`: a request of it is parked. `due`: it has not sent SyncGroup.
    `claimed`: the generation in its subscription bytes. `share`: its partitions in the stored assignment. `armed`: its timer runs.
    `loaded`: read from the log, which holds only the assignor that was chosen of those that the member lists.
    """

    member: bool = False
    new: bool = False
    join: bool = False
    sync: bool = False
    due: bool = False
    claimed: int = NO_GENERATION
    share: int = 0
    armed: bool = True
    loaded: bool = False


@frozen
class Seats:
    """The ids of one process: (id, seat) in ascending order. `durable`: its members in the last group record, as (id, share, claimed)."""

    ids: tuple[tuple[int, Seat], ...] = ()
    durable: tuple[tuple[int, int, int], ...] = ()

    def __getitem__(self, id: int) -> Seat | None:
        for k, seat in self.ids:
            if k == id:
                return seat
        return None

    def __iter__(self) -> Iterator[tuple[int, Seat]]:
        return iter(self.ids)

    def put(self, id: int, seat: Seat) -> Seats:
        return self.now(tuple(sorted([(k, s) for k, s in self.ids if k != id] + [(id, seat)], key=lambda pair: pair[0])))

    def drop(self, id: int) -> Seats:
        return self.now(tuple((k, s) for k, s in self.ids if k != id))

    def now(self, ids: tuple[tuple[int, Seat], ...]) -> Seats:
        """The same record with other ids in memory."""
        return Seats(ids, self.durable)


def is_member(seat: Seat | None) -> bool:
    return seat is not None and seat.member


def supported(core: Core, me: int, by: int, scope: Scope, loaded: bool = False) -> Core:
    """The group after `by` (1 or -1) members of process `me` came or went, as far as assignors are concerned (`loaded`: see `Seat`)."""
    if not scope.lists:
        return core
    mine = scope.lists[me]
    if loaded:
        assert core.assignor is not None
        mine = (scope.assignors_listed[core.assignor],)
    return but(core, support=tuple(n + by * (name in mine) for n, name in zip(core.support, scope.assignors_listed, strict=True)))


def remove(core: Core, seats: Seats, me: int, id: int, scope: Scope) -> tuple[Core, Seats]:
    """Takes an id out of the group's memory, its timer with it. Who waited for an answer is the caller's business."""
    seat = seats[id]
    assert seat is not None
    if seat.member:
        core = but(core, members=core.members - 1, parked=core.parked - seat.join, due=core.due - seat.due)
        core = supported(core, me, -1, scope, seat.loaded)
    else:
        core = but(core, pending=core.pending - 1)
    if core.leader == (me, id):
        core = but(core, leader=None, leader_parked=False)
    return core, seats.drop(id)
