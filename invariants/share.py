"""What a share group of KIP-932 promises: everybody who sends heartbeats has the present target,
and somebody has each partition.
"""

from __future__ import annotations

from typing import Annotated, Any

from groupcheck.model.engine import (
    always_possible,
    goal,
    invariant,
    settles,
    step_invariant,
    view,
)
from groupcheck.model.protocol.consumer.client import Member
from groupcheck.model.protocol.consumer.memory import Core, Seat
from groupcheck.model.protocol.consumer.messages import Link, Tag
from groupcheck.model.protocol.family import SHARE
from groupcheck.model.protocol.faults import Budget
from groupcheck.model.protocol.share import heartbeats, partitions
from groupcheck.model.protocol.share.client import ShareMember
from groupcheck.model.protocol.share.memory import ShareCore
from groupcheck.model.protocol.share.scope import ShareScope


@step_invariant(
    "seat",
    "link",
    rules=(heartbeats.assign_member.name,),
    source="KIP-932, ShareGroupAssignmentBuilder",
    broken="a member that sends a heartbeat does not get its target",
    of=SHARE,
)
def heartbeat_brings_the_target(before: Any, after: Any) -> bool:
    """A member whose heartbeat is accepted has the present target after it, at once.

    Why: nobody has to give up a partition before another one may read it.
    """
    seat = after.seat
    if before.link.undo is not None or seat is None:
        return True
    return bool(seat.current) and seat.assigned == seat.target & seat.subscribed


@step_invariant(
    "seat",
    rules=(heartbeats.assign_member.name,),
    source="KIP-932, member epoch",
    broken="the epoch of a member goes back",
    of=SHARE,
)
def epoch_never_goes_back(before: Any, after: Any) -> bool:
    """The epoch of a member never goes back, nor does the one before it."""
    if before.seat is None or after.seat is None:
        return True
    return bool(
        after.seat.current >= before.seat.current and after.seat.previous >= before.seat.previous
    )


@invariant(
    of=SHARE,
    source="KIP-932, previous member epoch",
    broken="a member knows an epoch that the coordinator never gave it",
)
def member_knows_no_later_epoch(link: Link) -> bool:
    """No member knows an epoch that is ahead of its record."""
    return link.tag != Tag.AHEAD


@step_invariant(
    "walk",
    "core",
    rules=(partitions.compute_share_target.name,),
    source="KIP-932, SimpleAssignor",
    broken="nobody is given a partition that is initialized and subscribed to",
    of=SHARE,
)
def plan_gives_every_partition(before: Any, after: Any) -> bool:
    """Each partition that is initialized and that some member subscribes to is in some target."""
    subscribed = given = 0
    for (topics, *_), share in after.walk.errand.shares:
        subscribed |= topics
        given |= share
    return bool(given == before.core.initialized & subscribed)


@view(of=SHARE)
def share_target(seat: Seat | None) -> int:
    """The target of a member."""
    return 0 if seat is None else seat.target


@invariant(
    of=SHARE,
    source="KIP-932, ShareGroupStatePartitionMetadata",
    broken="a member reads a partition whose state nobody keeps",
)
def only_initialized_partitions_are_given(
    core: ShareCore, wanted: Annotated[int, "share_target[i]"]
) -> bool:
    """No member is given a partition that the persister has not initialized."""
    return not wanted & ~core.initialized


@invariant(of=SHARE, source="KIP-932", broken="a partition is initialized and counts as under way")
def initialized_or_initializing(core: ShareCore) -> bool:
    """No partition is initialized and still to be initialized, but for one asked for twice."""
    return core.overdue or not core.initializing & core.initialized


@invariant(
    of=SHARE,
    source="group.share.session.timeout.ms",
    broken="nothing would notice that a member is gone: its session timer does not run",
)
def share_session_is_watched(seat: Seat | None) -> bool:
    """The session timer of each member runs."""
    return seat is None or seat.session


@invariant(of=SHARE, source="group.share.max.size", broken="the group has too many members")
def share_size_is_limited(core: Core, scope: ShareScope) -> bool:
    """No group has more members than group.share.max.size."""
    return scope.max_size is None or core.members <= scope.max_size


@invariant(
    of=SHARE,
    source="KIP-932",
    broken="a member that has heard every answer believes in another assignment",
)
def share_member_knows_its_assignment(seat: Seat | None, client: ShareMember, link: Link) -> bool:
    """A member that has heard the answers to all its heartbeats knows its assignment."""
    if seat is None or client.state != Member.STABLE or link.tag != Tag.CURRENT:
        return True
    return not client.told or client.holds == seat.assigned


def _arrived(core: ShareCore, seat: Seat | None, client: ShareMember) -> bool:
    has = seat is not None and seat.current and client.holds == seat.assigned
    done = not core.pending and not core.stale and not core.initializing
    return done and has and client.state == Member.STABLE


@goal("all i", of=SHARE)
def share_converged(core: ShareCore, seat: Seat | None, client: ShareMember) -> bool:
    """Every process is a member that reads its target, and all partitions are initialized."""
    return _arrived(core, seat, client) and core.initialized == core.topics


@goal("all i", of=SHARE)
def everybody_reads_it(client: ShareMember) -> bool:
    """All members read one and the same partition."""
    return bool(client.holds & 1)


@view(of=SHARE)
def share_arrived(core: ShareCore, seat: Seat | None, client: ShareMember) -> bool:
    """Has a process its target, or has it failed for good?"""
    return client.state == Member.FATAL or _arrived(core, seat, client)


@always_possible("all i", source="KIP-932", of=SHARE)
def share_can_converge(budget: Budget, at_target: Annotated[bool, "share_arrived[i]"]) -> bool:
    """From every state in which no more faults come, some way leads to a group in which every
    process has its target. Exempt is a process that has failed for good.
    """
    return at_target or budget.any > 0 or budget.left != ()


@settles(source="KIP-932", of=SHARE)
def share_group_converges(at_target: Annotated[bool, "share_arrived[i]"]) -> bool:
    """Once faults stop, every process comes to its target and keeps it."""
    return at_target
