"""What a consumer group of KIP-848 promises: nobody has what another one has, members follow the
coordinator, and timers watch those for whom others wait. Promises that the public TLA+
specification (Vanlightly, kafka-tlaplus) has, too, name its invariant as their source.
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
from groupcheck.model.protocol.consumer import heartbeats
from groupcheck.model.protocol.consumer.client import Client, Member
from groupcheck.model.protocol.consumer.memory import Core, Seat, State, Timer
from groupcheck.model.protocol.consumer.messages import Kind, Link, Tag, idle
from groupcheck.model.protocol.consumer.scope import ConsumerScope
from groupcheck.model.protocol.family import CONSUMER
from groupcheck.model.protocol.faults import Budget

Claim = tuple[int, int]


@view(of=CONSUMER)
def claim(seat: Seat | None, client: Client, link: Link) -> Claim:
    """What a member holds, and what the coordinator has for it. A process whose epoch the
    coordinator does not know any more is a zombie, which its next heartbeat tells it.
    """
    if seat is None or seat.parked or not client.beats or link.tag == Tag.OLD:
        return 0, 0
    return client.holds, seat.owned


@view(of=CONSUMER)
def on_record(seat: Seat | None) -> int:
    """What nobody else may get."""
    return seat.owned if seat is not None else 0


@view(of=CONSUMER)
def on_ghosts(ghosts: tuple[Seat, ...]) -> int:
    """The same of members whose processes are gone; -1: two of them share something."""
    every = 0
    for ghost in ghosts:
        if every & ghost.owned:
            return -1
        every |= ghost.owned
    return every


@view(of=CONSUMER)
def to_get(seat: Seat | None) -> int:
    """The target of a member."""
    return seat.target if seat is not None else 0


@invariant(
    of=CONSUMER,
    source="KIP-848; kafka-tlaplus ValidPartitionEpoch",
    broken="the coordinator gives a partition to two members",
)
def partition_has_one_owner(
    a: Annotated[int, "on_record[i]"], b: Annotated[int, "on_record[j]"]
) -> bool:
    """No partition is assigned to two members, one that is still to be revoked included."""
    return not a & b


@invariant(
    of=CONSUMER,
    source="KIP-848",
    broken="the coordinator gives a partition to a member while another one, which is gone, has it",
)
def partition_of_ghost_is_kept(
    a: Annotated[int, "on_record[i]"], b: Annotated[int, "on_ghosts"]
) -> bool:
    """What a member had whose process is gone is nobody's until its session ends."""
    return b >= 0 and not a & b


@invariant(
    of=CONSUMER,
    source="ConsumerGroup.currentPartitionEpoch; kafka-tlaplus ValidPartitionEpoch",
    broken="a member has a partition that counts as free",
)
def owned_is_not_free(core: Core, a: Annotated[int, "on_record[i]"]) -> bool:
    """What a member has does not count as free."""
    return not a & ~core.held


@invariant(
    of=CONSUMER,
    source="KIP-848; kafka-tlaplus LegalTargetAssignment",
    broken="two members have one partition in their targets",
)
def targets_are_apart(a: Annotated[int, "to_get[i]"], b: Annotated[int, "to_get[j]"]) -> bool:
    """No partition is in the targets of two members."""
    return not a & b


@invariant(
    of=CONSUMER,
    source="KIP-848; with partition_has_one_owner kafka-tlaplus NoDoubleClientAssignment",
    broken="a member that the coordinator knows consumes what the coordinator has not given it",
)
def member_holds_what_it_was_given(a: Annotated[Claim, "claim[i]"]) -> bool:
    """A member consumes nothing that the coordinator does not have for it, unless it was removed.

    Why: only then is it safe to give a partition to another member, and no two consume one.
    """
    return not a[0] & ~a[1]


@invariant(
    of=CONSUMER,
    source="KIP-848; kafka-tlaplus ValidStableGroupState",
    broken="a member counts as stable, but does not have its target",
)
def stable_member_has_its_target(core: Core, seat: Seat | None) -> bool:
    """A member that is stable at the epoch of the target has the target, and nothing to revoke."""
    if seat is None or core.pending or not seat.current or seat.state != State.STABLE:
        return True
    return not seat.revoking and seat.assigned == seat.target & seat.subscribed


@invariant(
    of=CONSUMER,
    source="MemberState.UNREVOKED_PARTITIONS; kafka-tlaplus ValidMemberEpoch",
    broken="a member is to revoke nothing, or does not know that it is to revoke something",
)
def revocation_has_its_state(seat: Seat | None) -> bool:
    """A member has something to revoke if, and only if, its state says so."""
    if seat is None or seat.parked:
        return True
    return (seat.state == State.UNREVOKED) == bool(seat.revoking)


@invariant(
    of=CONSUMER,
    source="KIP-848",
    broken="a member that has heard every answer believes in another assignment",
)
def member_knows_its_assignment(seat: Seat | None, client: Client, link: Link) -> bool:
    """A member that has heard the answers to all its heartbeats knows its assignment."""
    heard = idle(link) and link.late is None and link.tag == Tag.CURRENT and not client.full
    if seat is None or seat.parked or not client.beats or not heard:
        return True
    return client.state == Member.JOINING or client.target == seat.assigned


@invariant(
    of=CONSUMER,
    source="group.consumer.session.timeout.ms",
    broken="nothing would notice that a member is gone: its session timer does not run",
)
def session_is_watched(seat: Seat | None) -> bool:
    """The session timer of each member runs.

    Why: a member that is gone would keep its partitions for ever.
    """
    return seat is None or seat.session


@invariant(
    of=CONSUMER,
    source="KIP-848, rebalance timeout",
    broken="nothing would end the wait for a member that revokes: its rebalance timer does not run",
)
def revocation_is_watched(seat: Seat | None) -> bool:
    """The rebalance timer runs for each member that has something to revoke.

    Why: one that revokes nothing and sends heartbeats would block the partition for ever.
    """
    if seat is None or seat.parked or seat.state != State.UNREVOKED:
        return True
    return seat.rebalance == Timer.ON


@invariant(
    of=CONSUMER,
    source="KIP-848, rebalance timeout",
    broken="a member that has nothing to revoke is removed when its rebalance timer ends",
)
def only_revocations_are_watched(seat: Seat | None) -> bool:
    """The rebalance timer runs for no member that has nothing to revoke."""
    if seat is None or seat.parked or seat.state == State.UNREVOKED:
        return True
    return seat.rebalance != Timer.ON


@invariant(of=CONSUMER, source="group.consumer.max.size", broken="the group has too many members")
def size_is_limited(core: Core, scope: ConsumerScope) -> bool:
    """No group has more members than group.consumer.max.size."""
    return scope.max_size is None or core.members <= scope.max_size


@invariant(
    of=CONSUMER, source="KAFKA-20442", broken="the empty group waits for a target that nobody asks"
)
def empty_group_is_at_its_target(core: Core, scope: ConsumerScope) -> bool:
    """With Kafka 4.4, a group without members is at its target."""
    settles = scope.release.settles_empty and core.exists
    return not settles or core.members > 0 or not core.pending


@step_invariant(
    "seat",
    "link",
    rules=(heartbeats.consumer_heartbeat.name,),
    source="KAFKA-19233",
    broken="the coordinator refuses a member that begins anew, until its session ends",
    of=CONSUMER,
)
def member_may_begin_anew(before: Any, after: Any, scope: ConsumerScope) -> bool:
    """From Kafka 4.2 on, a dynamic member may join again at any time."""
    link = before.link
    joins = link.request is not None and link.request.kind == Kind.JOIN
    if not joins or link.static or before.seat is None or not scope.release.rejoins:
        return True
    return bool(after.link.accepted)


@step_invariant(
    "core",
    "seat",
    rules=(heartbeats.consumer_heartbeat.name,),
    source="KIP-848, static membership",
    broken="the group is rebalanced although a static member has only come back",
    of=CONSUMER,
)
def return_moves_nothing(before: Any, after: Any) -> bool:
    """A static member that comes back with its topics gets what it had, without a rebalance."""
    if before.seat is None or not before.seat.parked or after.seat.parked:
        return True
    same = after.seat.subscribed == before.seat.subscribed
    moved = after.core.pending and not before.core.pending and not before.core.stale
    return after.seat.assigned == before.seat.assigned and not (same and moved)


@goal("all i", of=CONSUMER)
def converged(core: Core, seat: Seat | None, client: Client) -> bool:
    """Every process is a member that has its target."""
    settled = seat is not None and seat.current and seat.state == State.STABLE
    has = seat is not None and client.done and client.holds == seat.assigned
    return not core.pending and settled and has and client.state == Member.STABLE


@goal(of=CONSUMER)
def waits_for_a_partition(seat: Seat | None) -> bool:
    """A member waits for a partition that another one has yet to give up."""
    return seat is not None and seat.state == State.UNRELEASED


@goal(of=CONSUMER)
def has_to_revoke(seat: Seat | None) -> bool:
    """A member has to give up a partition."""
    return seat is not None and seat.state == State.UNREVOKED


@view(of=CONSUMER)
def arrived(core: Core, seat: Seat | None, client: Client) -> bool:
    """Has a process its target, or has it failed for good?"""
    if client.state == Member.FATAL:
        return True
    settled = seat is not None and seat.current and seat.state == State.STABLE
    has = seat is not None and client.done and client.holds == seat.assigned
    return not core.pending and settled and has and client.state == Member.STABLE


@always_possible("all i", source="KIP-848; protocol: M1, M4", of=CONSUMER)
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
