"""The counts that the coordinator keeps of its members: how many there are, whose JoinGroup is
parked, who has not sent SyncGroup.
"""

from __future__ import annotations

from typing import Any

from groupcheck.model.engine import step_invariant
from groupcheck.model.protocol.classic import walks
from groupcheck.model.protocol.classic.assignment import Assign
from groupcheck.model.protocol.classic.failover import Reload
from groupcheck.model.protocol.classic.forgetting import Forget
from groupcheck.model.protocol.classic.group import ENDED, Phase, Recount, Seats
from groupcheck.model.protocol.classic.rounds import Complete, Restart
from groupcheck.model.protocol.family import CLASSIC_GROUP


def _members(seats: Seats) -> tuple[int, int]:
    """How many ids of one process are members, and how many were only handed out."""
    members = sum(seat.member for _, seat in seats)
    return members, len(seats.ids) - members


def _joins(seats: Seats) -> int:
    return sum(seat.join for _, seat in seats)


def _due(seats: Seats) -> int:
    return sum(seat.due for _, seat in seats)


@step_invariant("core", "seats", source="ClassicGroup.add, remove, addPendingMember")
def members_counted(before: Any, after: Any) -> bool:
    """The coordinator's counts of members and of ids handed out follow what it adds and removes.

    Why: they decide when a round is full.
    """
    (was, waited), (now, waits) = _members(before.seats), _members(after.seats)
    core, then = after.core, before.core
    return bool(
        core.members - then.members == now - was and core.pending - then.pending == waits - waited
    )


@step_invariant("core", "seats", source="ClassicGroup.numAwaitingJoinResponse; sarama#2290")
def joins_counted(before: Any, after: Any) -> bool:
    """The coordinator's count of parked JoinGroups follows the members whose JoinGroup is parked,
    each once.

    Why: a round is full when this count reaches the number of members; a member counted twice would
    take the place of one that is missing.
    """
    return bool(
        after.core.parked - before.core.parked == _joins(after.seats) - _joins(before.seats)
    )


@step_invariant("core", "seats", source="ClassicGroup.pendingSyncMembers")
def syncs_counted(before: Any, after: Any) -> bool:
    """The coordinator's count of members that have not sent SyncGroup follows the members that have
    not.

    Why: the sync timer runs as long as there are any. Where a round starts, the count is void until
    the walk has told everybody.
    """
    core = after.core
    if any(isinstance(errand, Restart) for errand in core.errands):
        return True
    if "sync_timeout" not in core.keeps and core.phase == Phase.STABLE:
        return bool(core.due == 0)  # the model forgets it: nobody would look at it any more
    return bool(core.due - before.core.due == _due(after.seats) - _due(before.seats))


@step_invariant(
    "walk", "seats", source="ClassicGroup.remove, completeJoinFuture; GroupMetadataManager.replay"
)
def passed_are_counted(before: Any, after: Any) -> bool:
    """What a walk over all members counts is what it does: members removed or loaded, JoinGroups
    answered.

    Why: the group goes on with these counts. After a round has completed, every member is due to
    send SyncGroup; after the start of one, nobody.
    """
    errand, then = after.walk.errand, before.walk.errand
    (was, waited), (now, waits) = _members(before.seats), _members(after.seats)
    change = errand.change - then.change if isinstance(then, Recount) else 0
    if isinstance(then, Reload):
        return change == now and waits == _joins(after.seats) == _due(after.seats) == 0
    answered = then.left - errand.left if isinstance(then, Complete) else 0
    if (
        change != now - was
        or waits != waited
        or answered != _joins(before.seats) - _joins(after.seats)
    ):
        return False
    match then:
        case Complete():
            due = now
        case Restart() | Forget(settled=True):
            due = 0
        case Assign(keeps=keeps) if "sync_timeout" not in keeps:
            due = 0  # only the sync timer would read it
        case _:
            due = _due(before.seats)
    return _due(after.seats) == due


@step_invariant(
    "core",
    "walk",
    rules=(walks.end_walk.name,),
    source="ClassicGroup.initNextGeneration, transitionTo",
)
def rounds_are_counted(before: Any, after: Any) -> bool:
    """A round that has completed has nobody parked and everybody due; one that starts has nobody
    due, a group that was loaded nobody of any kind.

    Why: every parked JoinGroup is answered, and SyncGroup is what each of them sends next; the log
    knows of neither.
    """
    assert before.walk.at == ENDED
    core = after.core
    match before.walk.errand:
        case Complete():
            return bool(
                core.parked == 0
                and (core.phase == Phase.EMPTY) == (core.members == 0)
                and core.due == core.members
            )
        case Reload():
            return bool(core.parked == core.pending == core.due == 0)
        case Assign():
            return bool(core.due == (before.core.due if "sync_timeout" in core.keeps else 0))
        case Restart():
            return bool(core.due == 0)
    return True


INVARIANTS = {
    CLASSIC_GROUP: (
        members_counted,
        joins_counted,
        syncs_counted,
        passed_are_counted,
        rounds_are_counted,
    )
}
