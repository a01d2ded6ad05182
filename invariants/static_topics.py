"""Static members whose topics and subscriptions change (KIP-345, KIP-814): what a leader that comes
back knows, what the plan goes by, and which partitions nobody reads after a restart.
"""

from __future__ import annotations

from typing import Annotated, Any

from groupcheck.model.engine import goal, invariant, step_invariant
from groupcheck.model.protocol.classic import assignment
from groupcheck.model.protocol.classic.client import NOTHING, Client, Member
from groupcheck.model.protocol.classic.features.static_topics import FAMILY as STATIC_TOPICS
from groupcheck.model.protocol.classic.features.triggers.scope import TriggersScope
from groupcheck.model.protocol.classic.features.triggers.subscription import Subscription, due
from groupcheck.model.protocol.classic.group import Core, Phase, Seats

MySeats = Annotated[Seats, "seats[i]"]
Mine = Annotated[Subscription, "subscription[i]"]
Me = Annotated[Client, "client[i]"]


@invariant(
    source="KIP-814; KAFKA-13435; ConsumerCoordinator.onLeaderElected",
    broken="{name} leads the group and does not watch its topics",
    of=STATIC_TOPICS,
)
def leader_watches_topics(core: Core, seats: MySeats, client: Me, subscription: Mine) -> bool:
    """The STABLE member that leads a Stable group watches the topics of the group.

    Why: nobody else does. If the leader takes itself for a follower after its restart, partitions
    that are added are never assigned.
    """
    leads = seats.leader is not None and seats.leader == client.id
    stable = core.phase == Phase.STABLE and client.state == Member.STABLE
    runs = client.generation == core.generation and not client.failed
    return not (leads and stable and runs) or subscription.snapshot is not None


@step_invariant(
    "walk",
    "seats",
    rules=(assignment.answer_syncs.name,),
    source="ConsumerPartitionAssignor.assign; groupcheck finding 7",
    of=STATIC_TOPICS,
)
def planned_as_subscribed(before: Any, after: Any, scope: TriggersScope) -> bool:
    """A plan gives a static member partitions of the topics in its last JoinGroup only.

    Why: an assignor gets the subscriptions of all members, as they sent them.
    """
    return not any(seat.share & ~scope.partitions_of(seat.topics) for _, seat in after.seats)


def _rests(core: Core, seats: Seats, client: Client, s: Subscription, scope: TriggersScope) -> bool:
    """Is the member STABLE in a Stable group, with no reason to join again?"""
    stable = core.phase == Phase.STABLE and client.state == Member.STABLE
    there = seats[client.id] is not None and client.generation == core.generation
    calm = not client.rejoin and not client.failed and client.granted == NOTHING
    return stable and there and calm and not due(s, scope)


@goal(source="protocol: K5", of=STATIC_TOPICS)
def added_topic_unread(
    core: Core, seats: MySeats, client: Me, subscription: Mine, cluster: int, scope: TriggersScope
) -> bool:
    """A static member came back with one more topic, which exists, and nobody of the group had it
    when the round ended. The member rests, and nobody reads that topic until something else starts
    a round.
    """
    wanted = cluster & scope.partitions_of(subscription.joined or 0)
    planned = scope.partitions_of(core.topics)
    rests = _rests(core, seats, client, subscription, scope)
    return rests and core.topics != 0 and bool(wanted & ~planned)


@goal(source="KIP-814; ConsumerCoordinator.onLeaderElected (assignmentSnapshot)", of=STATIC_TOPICS)
def added_partition_unseen(
    core: Core, seats: MySeats, client: Me, subscription: Mine, cluster: int, scope: TriggersScope
) -> bool:
    """The leader came back, knows a partition that was added while it was down, and rests: it takes
    the topics as they are for those that its plan was made from. Nobody reads that partition until
    something else starts a round. (Here the leader is the only member.)
    """
    seat = seats[client.id]
    leads = seats.leader == client.id and core.members == 1 and seat is not None
    if not leads or seat is None or not _rests(core, seats, client, subscription, scope):
        return False
    planned = cluster & scope.partitions_of(core.topics & subscription.topics)
    seen = (subscription.sees or 0) & planned
    return bool(seen & ~seat.share)
