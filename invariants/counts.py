"""The counts that the coordinator keeps: of members, pending ids, parked JoinGroups, and members
that have not sent SyncGroup.
"""

from __future__ import annotations

from typing import Any

from groupcheck.model.engine import remembered, step_invariant
from groupcheck.model.protocol.classic import walks
from groupcheck.model.protocol.classic.assignment import Assign
from groupcheck.model.protocol.classic.dead_values import Forget
from groupcheck.model.protocol.classic.failover import Reload
from groupcheck.model.protocol.classic.features.failover_phases import Unload, Way
from groupcheck.model.protocol.classic.features.full_offsets.admin import Erase
from groupcheck.model.protocol.classic.group import ENDED, Phase, Recount, Seats
from groupcheck.model.protocol.classic.rounds import Complete, Restart
from groupcheck.model.protocol.family import CLASSIC_GROUP


@remembered
def _members(seats: Seats) -> tuple[int, int]:
    """How many ids of one process are members, and how many are pending."""
    members = sum([seat.member for _, seat in seats.ids])
    return members, len(seats.ids) - members


@remembered
def _joins(seats: Seats) -> int:
    return sum([seat.join for _, seat in seats.ids])


@remembered
def _due(seats: Seats) -> int:
    """The ids of one process that have not sent SyncGroup, in Kafka's book: an id that a static
    member has replaced still stands there.
    """
    return sum(seat.due + (seat.owed is not None) for _, seat in seats)


@step_invariant(
    "core", "seats", source="ClassicGroup.add, remove, addPendingMember", of=CLASSIC_GROUP
)
def members_counted(before: Any, after: Any) -> bool:
    """The coordinator's counts of members and of pending ids (handed out, but not joined yet)
    change with every member and id that it adds or removes.

    Why: a round is full when all counted members have joined and no id is pending.
    """
    (was, waited), (now, waits) = _members(before.seats), _members(after.seats)
    core, then = after.core, before.core
    return bool(
        core.members - then.members == now - was and core.pending - then.pending == waits - waited
    )


@step_invariant(
    "core",
    "seats",
    source="ClassicGroup.numAwaitingJoinResponse; sarama#2290",
    broken=(
        "The coordinator's count of members that wait for the round is {core.parked}, but"
        " should be {waiting}"
    ),
    of=CLASSIC_GROUP,
)
def joins_counted(before: Any, after: Any) -> bool:
    """The coordinator counts every member whose JoinGroup is parked exactly once.

    Why: a round is full when this count reaches the number of members. A member that is counted
    twice would take the place of a missing one.
    """
    return bool(
        after.core.parked - before.core.parked == _joins(after.seats) - _joins(before.seats)
    )


@step_invariant(
    "core",
    "seats",
    source="ClassicGroup.pendingSyncMembers",
    broken=(
        "The coordinator's count of members that have not sent SyncGroup is {core.due}, but"
        " should be {due}"
    ),
    of=CLASSIC_GROUP,
)
def syncs_counted(before: Any, after: Any) -> bool:
    """The coordinator counts every member that has not sent SyncGroup exactly once.

    The step that starts a round is exempt: it resets the count before it resets the members. Why:
    the sync timer runs while this count is above zero.
    """
    core = after.core
    if any(isinstance(errand, Restart) for errand in core.errands):
        return True
    if "sync_timeout" not in core.keeps and core.phase == Phase.STABLE:
        return bool(core.due == 0)  # the model resets it, because no rule reads it any more
    return bool(core.due - before.core.due == _due(after.seats) - _due(before.seats))


@step_invariant(
    "walk",
    "seats",
    source="ClassicGroup.remove, completeJoinFuture; GroupMetadataManager.replay",
    of=CLASSIC_GROUP,
)
def passed_are_counted(before: Any, after: Any) -> bool:
    """When the coordinator processes all members in turn, it counts every member that it removes or
    loads and every JoinGroup that it answers.

    A round that completes expects SyncGroup from every remaining member; a round that starts
    expects none. A coordinator that unloads the group forgets every id. Why: these figures become
    the counts of the group.
    """
    errand, then = after.walk.errand, before.walk.errand
    (was, waited), (now, waits) = _members(before.seats), _members(after.seats)
    if isinstance(then, Erase):  # a group that is deleted keeps no id
        return (now, waits) == ((0, 0) if then.group else (was, waited))
    if isinstance(then, Unload) and then.way != Way.LEARNED:
        return now == waits == 0
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
            due = 0  # only the sync timer reads it
        case _:
            due = _due(before.seats)
    return _due(after.seats) == due


@step_invariant(
    "core",
    "walk",
    rules=(walks.end_walk.name,),
    source="ClassicGroup.initNextGeneration, transitionTo",
    of=CLASSIC_GROUP,
)
def rounds_are_counted(before: Any, after: Any) -> bool:
    """When a round completes, no JoinGroup is parked, and every member still has to send SyncGroup.
    When a round starts, no SyncGroup is expected. A group that was just loaded has no parked
    JoinGroup, no pending id and no expected SyncGroup.

    Why: a round that completes answers every parked JoinGroup, and each of these members sends
    SyncGroup next. The log records neither requests nor pending ids.
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
        case Erase(group=True):
            return bool(core.members == core.pending == core.due == 0)
    return True
