"""What has to happen in a consumer group of KIP-848 once faults stop: the group comes to its
target, nobody waits for ever, and a process that was put out is a member again.

Every run has finitely many faults. Which steps happen in the end, and why, is in
`groupcheck.model.protocol.consumer.progress`. M1 to M6 are the promises of a list of what the
protocol has to keep.
"""

from __future__ import annotations

from typing import Annotated

from groupcheck.model.engine import always_possible, leads_to, settles, view
from groupcheck.model.protocol.consumer.client import Client, Member
from groupcheck.model.protocol.consumer.memory import Core, Seat, State
from groupcheck.model.protocol.consumer.messages import Link
from groupcheck.model.protocol.consumer.scope import ConsumerScope
from groupcheck.model.protocol.family import CONSUMER
from groupcheck.model.protocol.faults import Budget

OUT = (Member.JOINING, Member.FENCED, Member.STALE)


@view(of=CONSUMER)
def arrived(core: Core, seat: Seat | None, client: Client) -> bool:
    """Has a process its target, or does it not come back?"""
    if client.state in (Member.FATAL, Member.ENDED):
        return True
    settled = seat is not None and seat.current and seat.state == State.STABLE
    has = seat is not None and client.done and client.holds == seat.assigned
    return not core.pending and settled and has and client.state == Member.STABLE


@always_possible("all i", source="KIP-848; protocol: M1", of=CONSUMER)
def can_converge(budget: Budget, at_target: Annotated[bool, "arrived[i]"]) -> bool:
    """From every state in which no more faults come, some way leads to a group in which every
    process has its target.

    Exempt is a process that has failed for good. Why: a member that is gone is removed when its
    session ends, the others give up by heartbeats what is not theirs, and are given the rest.
    """
    return at_target or budget.any > 0 or budget.left != ()


@settles(source="KIP-848; protocol: M1", of=CONSUMER)
def group_converges(at_target: Annotated[bool, "arrived[i]"]) -> bool:
    """Once faults stop, every process comes to its target and keeps it.

    Why: each heartbeat leads on, nobody waits for a process that is gone, and only faults change
    the target after the last process has joined.
    """
    return at_target


def _revokes(seat: Seat | None) -> bool:
    return seat is not None and seat.state == State.UNREVOKED and not seat.parked


@leads_to(when=_revokes, source="KIP-848, rebalance timeout; protocol: M2", of=CONSUMER)
def revocation_ends(seat: Seat | None) -> bool:
    """A member that has to give up a partition does so, or it is removed.

    Why: its heartbeats say that it has, or its rebalance timer ends.
    """
    return not _revokes(seat)


def _waits(seat: Seat | None) -> bool:
    return seat is not None and seat.state == State.UNRELEASED and not seat.parked


@leads_to(when=_waits, source="MemberState.UNRELEASED_PARTITIONS; protocol: M3", of=CONSUMER)
def wait_for_partitions_ends(core: Core, seat: Seat | None) -> bool:
    """A member that waits for a partition of another one is given it, or the target changes.

    Why: the other one gives it up, or is removed, and the next heartbeat of the member brings it.
    """
    return core.pending or not _waits(seat)


@settles(source="KIP-848, session timeout; protocol: M4", of=CONSUMER)
def gone_member_is_removed(ghosts: tuple[Seat, ...]) -> bool:
    """Once faults stop, no process that is gone stays a member.

    Why: it sends no heartbeats, so its session ends.
    """
    return ghosts == ()


@leads_to(
    when=lambda core: core.pending and core.members > 0,
    source="GroupMetadataManager.maybeUpdateTargetAssignment; protocol: M4",
    of=CONSUMER,
)
def target_follows(core: Core) -> bool:
    """A group that needs another target gets it, while it has members.

    Why: the next heartbeat of any member computes it. In an empty group nothing happens.
    """
    return not core.pending or core.members == 0


def _is_out(client: Client) -> bool:
    return client.state in OUT


@leads_to(when=_is_out, source="KIP-848, fencing; protocol: M5", of=CONSUMER)
def process_is_member_again(client: Client, link: Link, scope: ConsumerScope) -> bool:
    """A process that joins, or has to join again, becomes a member, or its application leaves.

    Exempt are a process whose group.instance.id another id has, which KIP-848 lets fail for good,
    and one that a full group may turn away. Why: a join is accepted at any time.
    """
    if client.state == Member.FATAL:
        return link.apart or scope.max_size is not None
    return client.state not in OUT


@leads_to(
    when=lambda core: core.stale,
    source="ConsumerGroup.requestMetadataRefresh; protocol: M6",
    of=CONSUMER,
)
def new_partition_is_seen(core: Core) -> bool:
    """A partition that is added to a topic of the group is seen by it.

    Why: the next heartbeat of any member compares the topics, and the group needs another target.
    """
    return not core.stale or core.members == 0
