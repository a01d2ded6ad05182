"""The coordinator's memory of a classic group, cut into `core` (one) and `seats[i]` (what it knows
of the ids of process i).

The counts in `core` are those that the real coordinator keeps (ClassicGroup: size,
numAwaitingJoinResponse, pendingJoinMembers, pendingSyncMembers); they are functions of the seats
and add no state. Values that nobody can read any more are reset.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import IntEnum

from attrs import frozen

from groupcheck.model.engine import but
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.model.protocol.messages import NO_GENERATION

Record = tuple[tuple[int, int, int], ...]  # (id, share, claimed) of the members of one process
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


class Pass(IntEnum):
    """What a walk over all seats does; see `walks`."""

    NONE = 0
    RESTART = 1
    COMPLETE = 2
    ELECT = 3
    VOTE = 4
    ASSIGN = 5
    RECORD = 6
    RELOAD = 7
    FORGET = 8

    __hash__ = int.__hash__


ENDED = -1  # `Walk.at` of a walk that has passed all seats, or of none


@frozen
class Walk:
    """A walk over all seats inside one step: `at` is the next index. It carries what it needs of
    the group, and what it has found.

    `members`: of the group when it began; `change`: how many have come (or gone, negative) since.
    `left` counts the members still to be passed. `code` answers parked syncs, `expel` removes who
    has not synced. `generation` begins. `led`: somebody leads, where the walk may lose or find the
    leader; `leader_parked` is that one's. `clears`: nobody is left, and a fail-over will find that
    in the log (see `failover`). `free` is the mask of partitions still to be given, `rank` the
    members already passed, `again`: the shares are those of the record. `votes` is what each
    assignor has got so far, `support` and `assignor` are the group's. `keeps`, as the group's: of
    what the walk could forget. `settled`: nobody is awaited any more.
    """

    kind: Pass = Pass.NONE
    at: int = ENDED
    members: int = 0
    change: int = 0
    left: int = 0
    code: int = 0
    expel: bool = False
    generation: int = 0
    led: bool = False
    leader_parked: bool = False
    clears: bool = False
    free: int = 0
    rank: int = 0
    again: bool = False
    votes: tuple[int, ...] = ()
    support: tuple[int, ...] = ()
    assignor: int | None = None
    keeps: tuple[str, ...] = ()
    settled: bool = False


REST = Walk()


@frozen
class Core:
    """The group without its members. `initial`: PreparingRebalance was entered from Empty, the
    initial delay runs (KIP-134).

    `extended`: a member was added during the initial delay (newMemberAdded). `parked`: members
    whose JoinGroup waits. `due`: members that have not sent SyncGroup (pendingSync), `deadline`:
    the sync timer runs. `led`: there is a leader, `leader_parked`: its JoinGroup waits, too.
    `appending`: the leader's assignment is written, but not yet committed. `support`: how many
    members list each assignor, and `assignor` the number of the one that was voted for (both only
    where the scope's members differ in what they list). `durable`: generation, leader or none,
    assignor of the last record that a fail-over would load, `recorded`: the assignment in flight is
    that record already.
    `keeps`: the faults still possible for whose sake something is remembered that nobody else reads
    (see `faults.REMEMBERED`).
    `walk`: one over all seats is to begin.
    """

    phase: Phase = Phase.EMPTY
    generation: int = 0
    initial: bool = False
    extended: bool = False
    led: bool = False
    leader_parked: bool = False
    members: int = 0
    parked: int = 0
    pending: int = 0
    due: int = 0
    deadline: bool = False
    appending: bool = False
    support: tuple[int, ...] = ()
    assignor: int | None = None
    durable: Durable = (0, False, None)
    recorded: bool = False
    keeps: tuple[str, ...] = ()
    walk: Walk | None = None

    @property
    def all_joined(self) -> bool:
        return self.parked == self.members and not self.pending


@frozen
class Seat:
    """What the coordinator knows of one id. `member` False: the id was handed out and has not
    joined yet (pendingJoin).

    `new`: added in this round, its timer is the five-minute one. `join`, `sync`: a request of it is
    parked. `due`: it has not sent SyncGroup.
    `claimed`: the generation in its subscription bytes. `share`: its partitions in the stored
    assignment. `armed`: its timer runs.
    `loaded`: read from the log, which holds only the assignor that was chosen of those that the
    member lists.
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
    """The ids of one process: (id, seat) in ascending order. `leader`: the id of the group's
    leader, if it is one of them.

    `durable`: its members in the last group record, as (id, share, claimed), and `durable_leader`
    the record's leader. `listed`: the assignors that the process lists, where that differs between
    processes.
    """

    ids: tuple[tuple[int, Seat], ...] = ()
    leader: int | None = None
    durable: Record = ()
    durable_leader: int | None = None
    listed: tuple[str, ...] = ()

    def __getitem__(self, id: int) -> Seat | None:
        for k, seat in self.ids:
            if k == id:
                return seat
        return None

    def __iter__(self) -> Iterator[tuple[int, Seat]]:
        return iter(self.ids)

    def put(self, id: int, seat: Seat) -> Seats:
        return self.now(
            tuple(
                sorted(
                    [(k, s) for k, s in self.ids if k != id] + [(id, seat)],
                    key=lambda pair: pair[0],
                )
            )
        )

    def drop(self, id: int) -> Seats:
        return but(
            self,
            ids=tuple([(k, s) for k, s in self.ids if k != id]),
            leader=None if self.leader == id else self.leader,
        )

    def now(self, ids: tuple[tuple[int, Seat], ...]) -> Seats:
        """The same record with other ids in memory."""
        return but(self, ids=ids)


def is_member(seat: Seat | None) -> bool:
    return seat is not None and seat.member


def leader_of(seats: Iterable[Seats]) -> Leader | None:
    """Who leads the group."""
    return next(
        ((me, mine.leader) for me, mine in enumerate(seats) if mine.leader is not None), None
    )


def supported(
    support: tuple[int, ...], seats: Seats, by: int, scope: Scope, only: int | None = None
) -> tuple[int, ...]:
    """How many list each assignor, after `by` (1 or -1) members of a process came or went; `only`:
    the one that the log holds (see `Seat`).
    """
    if not support:
        return support
    mine = seats.listed if only is None else (scope.assignors_listed[only],)
    return tuple(
        [n + by * (name in mine) for n, name in zip(support, scope.assignors_listed, strict=True)]
    )


def remove(core: Core, seats: Seats, id: int, scope: Scope) -> tuple[Core, Seats]:
    """Takes an id out of the group's memory, its timer with it. Who waited for an answer is the
    caller's business.
    """
    seat = seats[id]
    assert seat is not None
    if seat.member:
        core = but(
            core, members=core.members - 1, parked=core.parked - seat.join, due=core.due - seat.due
        )
        if core.support:
            core = but(
                core,
                support=supported(
                    core.support, seats, -1, scope, core.assignor if seat.loaded else None
                ),
            )
    else:
        core = but(core, pending=core.pending - 1)
    if seats.leader == id:
        core = but(core, led=False, leader_parked=False)
    return core, seats.drop(id)
