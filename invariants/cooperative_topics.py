"""Cooperative members whose topics and subscriptions change (KIP-429): what a member gives up
before it joins, and what the leader may leave out of its plan.
"""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import Any

from groupcheck.model.engine import goal, step_invariant
from groupcheck.model.protocol.classic import client as members
from groupcheck.model.protocol.classic import client_faults, walks
from groupcheck.model.protocol.classic.assignment import Claims
from groupcheck.model.protocol.classic.client import Client, Member, Prepare
from groupcheck.model.protocol.classic.features.cooperative_topics import (
    FAMILY as COOPERATIVE_TOPICS,
)
from groupcheck.model.protocol.classic.features.triggers.scope import TriggersScope
from groupcheck.model.protocol.classic.features.triggers.subscription import Subscription
from groupcheck.model.protocol.messages import NO_GENERATION, NO_ID


@step_invariant(
    "client",
    "subscription",
    rules=(
        members.send_join.name,
        client_faults.lose_response.name,
        client_faults.delay_request.name,
        client_faults.late_commit.name,
    ),
    source="KIP-429; ConsumerCoordinator.onJoinPrepare",
    broken="{name} joins, and does not own just what it still subscribes to of what it owned",
    of=COOPERATIVE_TOPICS,
)
def joining_keeps_what_is_subscribed(before: Any, after: Any, scope: TriggersScope) -> bool:
    """A member that begins to join gives up the partitions of topics to which it no longer
    subscribes, and keeps all others, unless it has lost its generation or its id.

    Why: onJoinPrepare revokes just those. Nobody consumes a topic any more once the member that has
    dropped it has sent JoinGroup, and what a member keeps is never without its owner.
    """
    was, now = before.client, after.client
    begins = was.prepare != Prepare.DONE and now.prepare == Prepare.DONE
    if not begins or now.state != Member.PREPARING:
        return True
    lost = was.generation == NO_GENERATION or was.id == NO_ID
    kept = 0 if lost else was.owned & scope.partitions_of(after.subscription.topics)
    return bool(now.owned == kept)


@step_invariant(
    "core",
    "walk",
    rules=(walks.end_walk.name,),
    source="KIP-429; CooperativeStickyAssignor.adjustAssignment",
    broken="the plan leaves out a partition that no member claims",
    of=COOPERATIVE_TOPICS,
)
def only_what_is_claimed_is_withheld(before: Any, after: Any, scope: TriggersScope) -> bool:
    """A plan of a cooperative leader gives away every partition that the leader knows, of each
    topic to which some member subscribes, unless a member claims that partition.

    Why: an assignor leaves out only what its owner has to revoke first. Nobody would read the rest.
    """
    errand = before.walk.errand
    if not isinstance(errand, Claims):
        return True
    wanted = errand.plan.free
    claimed = reduce(or_, (owned for _, owned, _ in errand.claims), 0)
    topics = reduce(or_, (topics for *_, topics in errand.claims), 0)
    return all(
        not wanted & scope.partitions_of(topics) & ~claimed & ~_given(plan.chosen)
        for plan in after.core.errands
    )


def _given(chosen: Any) -> int:
    return reduce(or_, (share for _, share in chosen), 0)


@goal(source="AbstractCoordinator.joinGroupIfNeeded (needsJoinPrepare)", of=COOPERATIVE_TOPICS)
def dropped_while_joining(client: Client, subscription: Subscription, scope: TriggersScope) -> bool:
    """A member has dropped a topic after onJoinPrepare, and its JoinGroup, sent again, claims a
    partition of that topic without a subscription to it. This is expected: onJoinPrepare runs once
    in a round. The member revokes the partition when it learns its share.
    """
    joins = client.state == Member.PREPARING and client.prepare == Prepare.DONE
    return joins and bool(client.owned & ~scope.partitions_of(subscription.joined or 0))
