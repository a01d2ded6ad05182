"""The mechanisms that keep a group going: timers, the completion of full rounds, answers to parked
requests.
"""

from __future__ import annotations

from typing import Annotated

from groupcheck.model.engine import invariant
from groupcheck.model.protocol.classic.group import Core, Phase, Seats
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.model.protocol.family import CLASSIC_GROUP
from groupcheck.model.protocol.link import Link, waits
from groupcheck.model.protocol.messages import JoinGroup, SyncGroup


@invariant(source="KIP-394; KAFKA-9752, KAFKA-7610, KAFKA-7909", of=CLASSIC_GROUP)
def timer_runs(seats: Seats) -> bool:
    """Every member, and every id that was handed out, has a running timer that would remove it.
    Only a member whose JoinGroup is parked may have none, and only if it is not new.

    Why: a process may vanish at any time, and nothing else removes its member or id. The rebalance
    timeout bounds how long a JoinGroup is parked; a new member has its five-minute timer even then.
    """
    return all(seat.armed or (seat.join and not seat.new) for _, seat in seats)


@invariant(
    source="KAFKA-12890; ClassicGroup.pendingSyncMembers",
    broken="The group waits for the SyncGroup of {late}, and no timer ends the waiting",
    of=CLASSIC_GROUP,
)
def sync_deadline_runs(core: Core) -> bool:
    """While a member has not sent SyncGroup, the sync timer runs.

    Why: such a member still sends heartbeats, so its session does not expire, and the other members
    wait for it.
    """
    return core.deadline or not core.due


@invariant(
    source="KAFKA-9232",
    broken=(
        "The five-minute timer of a new member still runs for {name} after its first round,"
        " and heartbeats do not stop it"
    ),
    of=CLASSIC_GROUP,
)
def new_only_while_parked(seats: Seats) -> bool:
    """The five-minute timer of a new member runs only while its first JoinGroup is parked.

    Why: afterwards the member sends heartbeats, and these do not reset that timer.
    """
    return all(seat.join or not seat.new for _, seat in seats)


@invariant(
    source="ClassicGroup.hasAllMembersJoined; streamnative/kop#380, KAFKA-7909", of=CLASSIC_GROUP
)
def full_rounds_complete(core: Core, scope: Scope) -> bool:
    """A round completes as soon as every member has joined and no id is pending. The first round
    after Empty waits for its initial delay.

    Groups with group.max.size are exempt: the new coordinator refuses a late member without
    checking whether the round is now full. Why: the coordinator checks at every JoinGroup and at
    every removal; otherwise all members would wait for the rebalance timeout.
    """
    full = core.phase == Phase.PREPARING and not core.initial and core.all_joined
    return not full or core.generation >= scope.last_generation or scope.max_size is not None


@invariant(source="ClassicGroupState; AbstractCoordinator.sendJoinGroupRequest", of=CLASSIC_GROUP)
def parked_in_their_phase(core: Core, seats: Seats) -> bool:
    """JoinGroups are parked only in PreparingRebalance, SyncGroups only in CompletingRebalance.

    The JoinGroup of a static member that takes over in a Stable group is exempt: it waits until its
    new id is replicated. Why: when the group leaves PreparingRebalance, every parked JoinGroup is
    answered; when it leaves CompletingRebalance, every parked SyncGroup.
    """
    joins = core.phase == Phase.PREPARING or not any(
        seat.join and seat.takes is None for _, seat in seats
    )
    return joins and (core.phase == Phase.COMPLETING or not any(seat.sync for _, seat in seats))


@invariant(
    source="GroupMetadataManager.prepareRebalance, removePendingMember",
    broken="{name} waits for the answer to its {parked}, which the coordinator has forgotten",
    of=CLASSIC_GROUP,
)
def parked_is_remembered(
    seats: Annotated[Seats, "seats[i]"], link: Annotated[Link, "link[i]"]
) -> bool:
    """While a member waits for the answer to a parked JoinGroup or SyncGroup, the coordinator
    remembers that request.

    Two exceptions are known, and the model marks them as orphaned: a request that a later one of
    the same member has replaced, and the SyncGroup of a member that was removed. Why: whatever ends
    the wait (the round completes, the assignment is stored, a new round starts, the member is
    removed) answers every request that is remembered.
    """
    if link.parked is None:
        return True
    seat = seats[link.parked.id]
    joins = seat is not None and seat.join
    syncs = seat is not None and seat.sync
    return (joins or not waits(link, JoinGroup, link.parked.id)) and (
        syncs or not waits(link, SyncGroup, link.parked.id)
    )
