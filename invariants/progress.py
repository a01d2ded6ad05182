"""What keeps a group going: timers, rounds that complete when everybody is there, requests that are
parked where they can be answered.
"""

from __future__ import annotations

from typing import Annotated

from groupcheck.model.engine import invariant
from groupcheck.model.protocol.classic.group import Core, Phase, Seats
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.model.protocol.family import CLASSIC_GROUP
from groupcheck.model.protocol.link import Link, waits
from groupcheck.model.protocol.messages import JoinGroup, SyncGroup


@invariant(source="KIP-394; KAFKA-9752, KAFKA-7610, KAFKA-7909")
def timer_runs(seats: Seats) -> bool:
    """Every member, and every id that was handed out, has a running timer that would remove it,
    unless its JoinGroup is parked.

    Why: a process may vanish at any time, and nothing else would ever remove what it left behind.
    (A parked JoinGroup waits for the end of its round, which the rebalance timeout bounds; a new
    member has its five-minute timer even then.)
    """
    return all(seat.armed or (seat.join and not seat.new) for _, seat in seats)


@invariant(source="KAFKA-12890; ClassicGroup.pendingSyncMembers")
def sync_deadline_runs(core: Core) -> bool:
    """While members have not sent SyncGroup, the sync timer runs.

    Why: their heartbeats keep them alive, so that the session timeout does not notice them, and the
    others wait.
    """
    return core.deadline or not core.due


@invariant(source="KAFKA-9232")
def new_only_while_parked(seats: Seats) -> bool:
    """The five-minute timer of a new member ends with its first round.

    Why: from then on it sends heartbeats, which that timer does not heed.
    """
    return all(seat.join or not seat.new for _, seat in seats)


@invariant(source="ClassicGroup.hasAllMembersJoined; streamnative/kop#380, KAFKA-7909")
def full_rounds_complete(core: Core, scope: Scope) -> bool:
    """A round in which everybody has joined is completed, unless it is the first one after Empty,
    which waits for its delay.

    Not with group.max.size: the new coordinator turns a late member away without looking whether
    everybody is there now. Why: the round is looked at again with every JoinGroup and with every
    removal; otherwise all would wait for the rebalance timeout.
    """
    full = core.phase == Phase.PREPARING and not core.initial and core.all_joined
    return not full or core.generation >= scope.generations or scope.max_size is not None


@invariant(source="ClassicGroupState; AbstractCoordinator.sendJoinGroupRequest")
def parked_in_their_phase(core: Core, seats: Seats) -> bool:
    """JoinGroups are parked only in PreparingRebalance, SyncGroups only in CompletingRebalance.

    Why: leaving PreparingRebalance answers every JoinGroup, leaving CompletingRebalance every
    SyncGroup.
    """
    joins = core.phase == Phase.PREPARING or not any(seat.join for _, seat in seats)
    return joins and (core.phase == Phase.COMPLETING or not any(seat.sync for _, seat in seats))


@invariant(source="GroupMetadataManager.prepareRebalance, removePendingMember")
def parked_is_remembered(
    seats: Annotated[Seats, "seats[i]"], link: Annotated[Link, "link[i]"]
) -> bool:
    """A connection that waits for the answer to a parked request is one that the coordinator means
    to answer.

    Known exceptions, which the model marks as orphaned: a request whose place a later one of the
    same member has taken, and the SyncGroup of a member that was removed. Why: whatever ends the
    waiting (the round, the assignment, a new round, a removal) answers it.
    """
    if link.parked is None:
        return True
    seat = seats[link.parked.id]
    joins = seat is not None and seat.join
    syncs = seat is not None and seat.sync
    return (joins or not waits(link, JoinGroup, link.parked.id)) and (
        syncs or not waits(link, SyncGroup, link.parked.id)
    )


INVARIANTS = {
    CLASSIC_GROUP: (
        timer_runs,
        sync_deadline_runs,
        new_only_while_parked,
        full_rounds_complete,
        parked_in_their_phase,
        parked_is_remembered,
    )
}
