"""Cooperative rebalancing: nobody stops who need not, and the leader learns what its members own
(KIP-429, KIP-792).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import or_
from typing import Annotated, Any

from groupcheck.model.engine import goal, invariant, settles, step_invariant, view
from groupcheck.model.protocol.classic import client as members
from groupcheck.model.protocol.classic import client_faults, walks
from groupcheck.model.protocol.classic.assignment import Claims, Plan
from groupcheck.model.protocol.classic.client import Client, Member, Prepare
from groupcheck.model.protocol.classic.features.cooperative import FAMILY as COOPERATIVE
from groupcheck.model.protocol.classic.features.cooperative_static import (
    FAMILY as COOPERATIVE_STATIC,
)
from groupcheck.model.protocol.classic.features.triggers.scope import TriggersScope
from groupcheck.model.protocol.classic.group import Core, Phase, Seats
from groupcheck.model.protocol.classic.plans import Claim, owners
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.model.protocol.codes import (
    FENCED_INSTANCE_ID,
    ILLEGAL_GENERATION,
    UNKNOWN_MEMBER_ID,
)
from groupcheck.model.protocol.link import Link
from groupcheck.model.protocol.messages import NO_GENERATION, NO_ID, JoinGroup

REFUSED = (ILLEGAL_GENERATION, UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID)


@step_invariant(
    "client",
    rules=(
        members.send_join.name,
        client_faults.lose_response.name,
        client_faults.delay_request.name,
        client_faults.late_commit.name,
    ),
    source="KIP-429; ConsumerCoordinator.onJoinPrepare",
    broken="{name} gives up {gone} to join again, although it may keep what it owns",
    of=COOPERATIVE,
)
def joining_keeps(before: Any, after: Any, scope: Scope) -> bool:
    """A member that joins again keeps what it owns, unless it has lost its generation or its id.

    Why: with the cooperative protocol onJoinPrepare revokes nothing that the member is still
    subscribed to. So a partition that stays where it is is never without its owner. Members that
    may have dropped a topic are exempt (see `joining_keeps_what_is_subscribed`).
    """
    client = before.client
    drops = isinstance(scope, TriggersScope)
    if drops or client.generation == NO_GENERATION or client.id == NO_ID:
        return True
    gone = after.client == Client()  # `delay_request` may let a process close
    return bool(gone or after.client.owned == client.owned)


@step_invariant(
    "client",
    "link",
    rules=(members.sync_answer.name, members.heartbeat_answer.name, members.commit_answer.name),
    source="AbstractCoordinator.SyncGroupResponseHandler; KAFKA-14016",
    broken=(
        "{name} forgets its generation, although it was only told that a round goes on, and"
        " will lose what it owns"
    ),
    of=COOPERATIVE,
)
def reset_only_when_refused(before: Any, after: Any) -> bool:
    """An answer makes a member forget its generation only if it says that the member is outside the
    group or the generation: 22, 25 or 82.

    Why: a member that forgets its generation loses all its partitions at the next poll, and nobody
    owns them until they are assigned again. A round that goes on (27) is no reason for that.
    """
    kept = after.client.generation == before.client.generation
    return bool(kept or before.link.answer.code in REFUSED)


@step_invariant(
    "client",
    rules=(members.sync_answer.name, members.join_complete.name),
    source="KIP-429; ConsumerCoordinator.onJoinComplete",
    broken="{name} has revoked {gone} and does not join again, so nobody gets what it has given up",
    of=COOPERATIVE,
)
def revoked_joins_again(before: Any, after: Any) -> bool:
    """A member that revokes partitions, because its share lacks them, joins again.

    Why: the leader has withheld them from their next owner. Only another round gives them away.
    """
    revoked = before.client.owned & ~after.client.owned
    return not revoked or bool(after.client.rejoin)


@invariant(
    source="ConsumerCoordinator.onJoinPrepare; KAFKA-12983",
    broken="{name} joins without a generation, but claims partitions that it has lost",
    of=COOPERATIVE,
)
def lost_claims_nothing(seats: Seats) -> bool:
    """A subscription without a generation names no partitions.

    Why: a member that has lost its generation has lost its partitions, too. Others may own them.
    """
    return not any(seat.owned for _, seat in seats if seat.claimed == NO_GENERATION)


@invariant(
    source="KIP-429; ConsumerCoordinator.metadata",
    broken="{name} owns {owned}, but says in its JoinGroup that it owns {claims}",
    of=COOPERATIVE,
)
def claims_are_true(client: Client, link: Link) -> bool:
    """While its JoinGroup is parked, a member owns just what that says.

    Why: the leader takes what nobody claims for free, and gives it away at once.
    """
    request = link.parked
    if not isinstance(request, JoinGroup) or link.orphaned or client.closing:
        return True
    return request.owned == client.owned


@step_invariant(
    "core",
    "walk",
    rules=(walks.end_walk.name,),
    source="KAFKA-13406; KIP-429; protocol: L1",
    broken="the leader makes no plan, because of what members claim",
    of=COOPERATIVE,
)
def claims_hinder_no_plan(before: Any, after: Any) -> bool:
    """A leader that has looked at the claims makes a plan, whatever they are.

    Why: members may claim what they no longer own. If the leader refused to make a plan because of
    that, everybody would join again, with the same claims.
    """
    plans = [isinstance(errand, Plan) for errand in after.core.errands]
    return not isinstance(before.walk.errand, Claims) or (bool(plans) and all(plans))


@step_invariant(
    "core",
    "walk",
    rules=(walks.end_walk.name,),
    source="KIP-792; AbstractStickyAssignor",
    broken="the plan gives a partition to a member that is not its latest owner",
    of=COOPERATIVE,
)
def latest_claim_counts(before: Any, after: Any, scope: Scope) -> bool:
    """If several members claim the same partition, the plan of a cooperative leader gives it to the
    one that claims it in the highest generation, or to nobody.

    Why: that member owns the partition. The others owned it before, and may not know yet that they
    have lost it.
    """
    if not isinstance(before.walk.errand, Claims):
        return True
    claims = before.walk.errand.claims
    latest = owners(claims, scope.partition_count)
    return all(
        claim == claims[latest[p]]
        for errand in after.core.errands
        for claim, share in getattr(errand, "chosen", None) or ()
        for p in range(scope.partition_count)
        if share >> p & 1 and latest[p] >= 0 and _claimants(claims, p) > 1
    )


def _claimants(claims: Sequence[Claim], partition: int) -> int:
    return sum(owned >> partition & 1 for _, owned, _ in claims)


@goal(source="protocol: C3 with a delayed JoinGroup", of=COOPERATIVE)
def both_claim(
    a: Annotated[int, "standing[i]"],
    b: Annotated[int, "standing[j]"],
    c: Annotated[int, "claims[i]"],
    d: Annotated[int, "claims[j]"],
) -> bool:
    """Two members of the current generation own the same partition, and both have said so in their
    JoinGroups, which claim it in different generations. The leader had given it away because of a
    late JoinGroup with an old claim. This is expected; the round takes it from the older claimant.
    """
    return bool(a & b & c & d)


@goal(source="KIP-792; protocol: K12", of=COOPERATIVE)
def claims_without_share(core: Core, client: Client, link: Link, scope: Scope) -> bool:
    """A cooperative member owns partitions, has the number of a generation in which it was given
    none yet, and must join again: a new round began before its SyncGroup. It will claim its
    partitions in that generation. This is expected; it owns them since an earlier one, and nobody
    was given them in this one.
    """
    again = client.state == Member.COMPLETING and client.prepare == Prepare.DONE and link.idle
    owns = scope.cooperative and bool(client.owned)
    return core.phase == Phase.PREPARING and again and owns and not client.failed


@goal(source="protocol: C3; the situations `STATIC_MEMBERS` of `conform`", of=COOPERATIVE_STATIC)
def kept_owner_overlap(
    a: Annotated[int, "standing[i]"],
    b: Annotated[int, "standing[j]"],
    c: Annotated[int, "rightful[i]"],
) -> bool:
    """Two members of the current generation own the same partition, because one of them, which is
    static, has missed a round and stayed in the group. The leader of that round went by its last
    subscription and gave the partition away. This is expected; it ends when the member learns its
    share of the next round.
    """
    return bool(a & b & ~c)


@view(of=COOPERATIVE)
def stopped(client: Client) -> bool:
    """Has the application stopped?"""
    return bool(client.failed)


def _of_any(shares: tuple[int, ...]) -> int:
    return reduce(or_, shares)


def _left_over(core: Core, shares: tuple[int, ...], scope: Scope) -> int:
    """The partitions (bit mask) that a group with members gives to nobody. Partitions of topics
    that change are left out: they may not exist, or nobody subscribes to them.
    """
    changes = isinstance(scope, TriggersScope)
    every = 0 if changes or not core.members else scope.partitions_of(0)
    return every & ~_of_any(shares)


@goal(
    source="protocol: L5, C15; the situations `STATIC_MEMBERS` of `conform`", of=COOPERATIVE_STATIC
)
def withheld_from_nobody(
    core: Core,
    shares: Annotated[tuple[int, ...], "stored[:]"],
    owned: Annotated[tuple[int, ...], "standing[:]"],
    at_rest: Annotated[tuple[bool, ...], "settled[:]"],
    ended: Annotated[tuple[bool, ...], "stopped[:]"],
    scope: Scope,
) -> bool:
    """The group is at rest, and a partition belongs to nobody. The leader has withheld it from a
    static member which, as the leader was told, owned it. But that member has come back since, or
    has missed the round and revoked it before. So it has nothing to revoke, and nobody starts the
    round that would give the partition away. It waits for the next round, whatever starts that.
    """
    left = _left_over(core, shares, scope) & ~_of_any(owned)
    return bool(left) and all(at_rest) and not any(ended)


@settles(source="KIP-429; protocol: L5 CooperativeFollowUp, C15 Coverage", of=COOPERATIVE)
def every_partition_assigned(
    core: Core,
    shares: Annotated[tuple[int, ...], "stored[:]"],
    owned: Annotated[tuple[int, ...], "standing[:]"],
    ended: Annotated[tuple[bool, ...], "stopped[:]"],
    scope: Scope,
) -> bool:
    """Once faults stop, no partition stays withheld: the stored assignment of a group that has
    members gives each partition to one of them.

    Why: the member from which a partition is withheld revokes it and joins again, and in that round
    nobody owns it. If an application stops while its heartbeat thread goes on, the group waits for
    it, so this is promised only if none has stopped. In a group of static members it is promised
    only for partitions that a member still owns: one that does not own what the leader was told has
    nothing to revoke (see the goal `withheld_from_nobody`). Where topics change, the promise
    `everything_is_assigned` says it of those that exist.
    """
    left = _left_over(core, shares, scope)
    return not (left & _of_any(owned) if scope.static else left) or any(ended)
