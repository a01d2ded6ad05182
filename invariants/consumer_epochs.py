"""What a consumer group of KIP-848 promises beside `consumer`: targets that give everything to
somebody, epochs that grow, and the rest of the invariants of the public TLA+ specification
(Vanlightly, kafka-tlaplus), each named as its source.
"""

from __future__ import annotations

from typing import Annotated, Any

from groupcheck.model.engine import invariant, step_invariant, view
from groupcheck.model.protocol.consumer import heartbeats, targets, timers
from groupcheck.model.protocol.consumer.memory import Core, Seat, State
from groupcheck.model.protocol.consumer.messages import Kind, Tag
from groupcheck.model.protocol.consumer.scope import ConsumerScope
from groupcheck.model.protocol.family import CONSUMER


@view(of=CONSUMER)
def at_target(seat: Seat | None) -> int:
    """What is assigned to a member that is at the epoch of the target."""
    if seat is None or not seat.current or seat.state == State.UNREVOKED:
        return 0
    return seat.assigned


@step_invariant(
    "core",
    "walk",
    rules=(targets.compute_target.name,),
    source="N1 TargetValid; kafka-tlaplus LegalTargetAssignment",
    broken="the plan leaves out a partition, gives one twice, or to a member that does not want it",
    of=CONSUMER,
)
def plan_is_legal(before: Any, after: Any) -> bool:
    """A plan gives each partition of a topic that somebody subscribes to to one of those members.

    Why: what is in no target is consumed by nobody.
    """
    given = wanted = 0
    for (subscribed, *_), share in after.walk.errand.shares:
        if share & given or share & ~subscribed:
            return False
        given, wanted = given | share, wanted | subscribed
    return bool(given == after.core.topics & wanted)


@step_invariant(
    "core",
    "seat",
    rules=(
        heartbeats.reconcile_member.name,
        heartbeats.leave_consumer_group.name,
        timers.session_timeout.name,
        timers.rebalance_timeout.name,
    ),
    source="N3 PartitionEpoch",
    broken="a partition counts as taken, and nobody has it",
    of=CONSUMER,
)
def given_up_is_free(before: Any, after: Any) -> bool:
    """What a member gives up, or leaves behind, does not count as taken any more.

    Why: nobody would be given it.
    """
    had, has = (0 if s.seat is None else s.seat.owned for s in (before, after))
    return not after.core.held & ~(before.core.held & ~had | has)


@invariant(
    of=CONSUMER,
    source="with member_holds_what_it_was_given kafka-tlaplus ValidMemberEpoch",
    broken="a member at the epoch of the target has what is meant for another one",
)
def member_at_its_target_has_nothing_of_others(
    core: Core, a: Annotated[int, "at_target[i]"], b: Annotated[int, "to_get[j]"]
) -> bool:
    """A member at the epoch of the target has nothing that is in another member's target."""
    return core.pending or not a & b


@invariant(
    of=CONSUMER,
    source="kafka-tlaplus TypeOK",
    broken="a record says of a partition that it is assigned, and to be revoked",
)
def record_makes_sense(seat: Seat | None, scope: ConsumerScope) -> bool:
    """No record of a member assigns a partition and revokes it, or names one that cannot exist."""
    if seat is None:
        return True
    known = not (seat.owned | seat.target | seat.topics) & ~scope.everything
    return known and not seat.assigned & seat.revoking


@step_invariant(
    "seat",
    "link",
    rules=(heartbeats.reconcile_member.name,),
    source="N8 RevokeBeforeAdvance",
    broken="the coordinator goes on before the member has said that it revoked its partitions",
    of=CONSUMER,
)
def revocation_comes_before_the_epoch(before: Any, after: Any) -> bool:
    """A member that has something to revoke stays at its epoch until it says that it has."""
    seat, request = before.seat, before.link.request
    if seat is None or request is None or seat.state != State.UNREVOKED:
        return True
    waits = after.seat is not None and not seat.revoking & ~after.seat.revoking
    return waits or (request.owned is not None and not request.owned & seat.revoking)


@step_invariant(
    "seat",
    "link",
    rules=(heartbeats.consumer_heartbeat.name,),
    source="N14 FencedCannotReturnAsOld",
    broken="a member comes back with an epoch that is long over",
    of=CONSUMER,
)
def old_epoch_is_refused(before: Any, after: Any) -> bool:
    """No heartbeat counts whose epoch is neither that of the member nor the one before."""
    request = before.link.request
    if request is None or request.kind != Kind.BEAT or not after.link.accepted:
        return True
    return before.seat is not None and request.tag in (Tag.CURRENT, Tag.PREVIOUS)
