"""What a consumer group of KIP-848 promises: nobody has what another one has, members follow the
coordinator, and timers watch those for whom others wait. Promises that the public TLA+
specification (Vanlightly, kafka-tlaplus) has, too, name its invariant as their source.
"""

from __future__ import annotations

from typing import Annotated, Any

from groupcheck.model.engine import (
    goal,
    invariant,
    step_invariant,
    view,
)
from groupcheck.model.protocol.consumer import heartbeats
from groupcheck.model.protocol.consumer.client import Client, Member
from groupcheck.model.protocol.consumer.memory import Core, Previous, Seat, State, Timer
from groupcheck.model.protocol.consumer.messages import Kind, Link, Tag, idle
from groupcheck.model.protocol.consumer.plans import NAMED
from groupcheck.model.protocol.consumer.scope import ConsumerScope
from groupcheck.model.protocol.consumer.votes import NAMES, preferred
from groupcheck.model.protocol.family import CONSUMER

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
    """What a member of a consumer group has does not count as free."""
    return core.phase is not None or not a & ~core.held


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
def stable_member_has_its_target(core: Core, seat: Seat | None, scope: ConsumerScope) -> bool:
    """A member that is stable at the epoch of the target has the target, and nothing to revoke."""
    if seat is None or core.pending or not seat.current or seat.state != State.STABLE:
        return True
    if core.phase is not None:  # a classic group has its last plan until the next one
        return True
    wanted = seat.topics if scope.release.drops_topics else scope.everything
    return not seat.revoking and seat.assigned == seat.target & wanted


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
    on_its_way = client.state in (Member.JOINING, Member.PREPARE_LEAVING)
    return on_its_way or client.target == seat.assigned


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
    # A classic member is told to join again by each heartbeat, and has a timer for that.
    return seat.classic or seat.rebalance == Timer.ON


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
    """No consumer group has more members than group.consumer.max.size."""
    classic = core.phase is not None
    return classic or scope.max_size is None or core.members <= scope.max_size


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
    """From Kafka 4.2 on, a member may join again at any time; a static one, unless another member
    id has its instance.
    """
    link = before.link
    if not _joins(link) or before.seat is None or not scope.release.rejoins:
        return True
    others = link.static and (link.apart or link.request.other)
    return bool(others or after.link.accepted)


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
    same = _subscribes(after.seat) == _subscribes(before.seat)
    moved = after.core.pending and not before.core.pending and not before.core.stale
    return after.seat.assigned == before.seat.assigned and not (same and moved)


def _joins(link: Link) -> bool:
    """Does a join come, with an assignor that the broker has?"""
    request = link.request
    if request is None or request.kind != Kind.JOIN:
        return False
    return request.assignor in (None, *NAMES)


def _subscribes(seat: Seat) -> tuple[int, int, int, bool, str]:
    """What could change the plan."""
    return seat.subscribed, seat.pattern, seat.regex, seat.unresolved, seat.assignor


@step_invariant(
    "core",
    "seat",
    "link",
    rules=(heartbeats.consumer_heartbeat.name,),
    source="KIP-848, group epoch",
    broken="a heartbeat that changes nothing rebalances the group",
    of=CONSUMER,
)
def heartbeat_moves_nothing(before: Any, after: Any) -> bool:
    """A heartbeat of a member that changes nothing needs no other target.

    Why: each target makes all members follow it, and the next heartbeat would do the same.
    """
    if before.core.pending or before.core.stale or before.seat is None or before.seat.parked:
        return True
    same = _subscribes(after.seat) == _subscribes(before.seat)
    return not (same and after.link.accepted and after.core.pending)


@step_invariant(
    "core",
    "link",
    rules=(heartbeats.consumer_heartbeat.name,),
    source="KAFKA-20434",
    broken="members name another assignor, and the plan of the former one stays",
    of=CONSUMER,
)
def votes_are_followed(before: Any, after: Any, scope: ConsumerScope) -> bool:
    """From Kafka 4.4 on, the group is rebalanced once most members name another assignor."""
    if not scope.release.follows_votes or scope.assignor != NAMED:
        return True
    same = preferred(before.core.votes) == preferred(after.core.votes)
    return same or bool(after.core.pending)


@step_invariant(
    "seat",
    "link",
    rules=(heartbeats.consumer_heartbeat.name,),
    source="KAFKA-20601",
    broken="a full group turns away the successor of its own static member, for good",
    of=CONSUMER,
)
def successor_is_admitted(before: Any, after: Any, scope: ConsumerScope) -> bool:
    """From Kafka 4.4 on, the successor of a static member comes in, however full the group is."""
    away = before.seat is not None and before.seat.parked
    if not away or not _joins(before.link) or not scope.release.admits_successor:
        return True
    return bool(after.link.accepted)


@invariant(
    of=CONSUMER,
    source="KIP-848, subscribed topics",
    broken="a member is given partitions of topics that it does not read: nobody consumes them",
)
def given_can_be_consumed(seat: Seat | None, link: Link, scope: ConsumerScope) -> bool:
    """A member is given only what its process subscribes to, as its heartbeats say.

    Why: it does not ask for the other topics, and nobody else may get their partitions.
    """
    if seat is None or seat.parked or not scope.matches or not scope.release.drops_topics:
        return True
    names, pattern = link.wants
    silent = not names | pattern
    return silent or not seat.assigned & ~(names | pattern)


@invariant(
    of=CONSUMER,
    source="KAFKA-19431",
    broken="a member keeps partitions of topics that it does not subscribe to any more",
)
def assigned_is_subscribed(core: Core, seat: Seat | None, scope: ConsumerScope) -> bool:
    """From Kafka 4.2 on, a member has nothing of topics that it does not subscribe to. It has to be
    at its target if a regular expression is resolved otherwise, or if it is a classic member, whose
    JoinGroup may have been cut off by a conversion.
    """
    if seat is None or core.phase is not None:  # a classic group has its last plan until the next
        return True
    if (scope.regexes or seat.classic) and (core.pending or not seat.current):
        return True
    return not scope.release.drops_topics or not seat.assigned & ~seat.topics


@invariant(
    of=CONSUMER,
    source="KAFKA-20641",
    broken="a static member is away, and counts as one that has something to revoke",
)
def parked_member_revokes_nothing(seat: Seat | None) -> bool:
    """A static member that is away has nothing to revoke, and its state says so."""
    return seat is None or not seat.parked or seat.state != State.UNREVOKED


@invariant(
    of=CONSUMER,
    source="KAFKA-19974",
    broken="a member that has something to revoke gets an epoch that no target has",
)
def revoking_keeps_the_epoch(seat: Seat | None, scope: ConsumerScope) -> bool:
    """From Kafka 4.2 on, a member that has something to revoke stays at its epoch.

    Why: otherwise two members may have one partition at one epoch, one after the other.
    """
    if seat is None or seat.state != State.UNREVOKED or not scope.release.keeps_epoch:
        return True
    return seat.previous not in (Previous.ZERO, Previous.OLDER)


@invariant(
    of=CONSUMER,
    source="KIP-1251",
    broken="a commit of what a member had before its epoch grew would be refused (113)",
)
def commit_is_not_fenced(
    seat: Seat | None, client: Client, link: Link, scope: ConsumerScope
) -> bool:
    """From Kafka 4.3 on, a member that has not heard of its new epoch may commit what it keeps."""
    if seat is None or seat.parked or link.tag != Tag.PREVIOUS or not scope.release.keeps_given:
        return True
    return not client.holds & seat.owned & seat.fresh


@step_invariant(
    "core",
    "seat",
    "link",
    rules=(heartbeats.reconcile_member.name,),
    source="KAFKA-19449",
    broken="a member waits for a partition that nobody but itself has",
    of=CONSUMER,
)
def waits_for_others(before: Any, after: Any, scope: ConsumerScope) -> bool:
    """From Kafka 4.2 on, a member waits only for partitions that another member has."""
    new = after.seat
    undone = before.link.undo is not None
    if undone or new.state != State.UNRELEASED or not scope.release.keeps_own:
        return True
    lacks = new.target & new.topics & ~new.assigned
    return bool(lacks & before.core.held & ~before.seat.owned)


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
