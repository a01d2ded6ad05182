"""Topics that change, and members with different subscriptions: who may own what, what the plan
has to cover, and who notices a change.

What a member owns between a change and its next JoinGroup is expected, and stands here as goals.
"""

from __future__ import annotations

from typing import Annotated, Any

from groupcheck.model.engine import goal, invariant, settles, step_invariant
from groupcheck.model.protocol.classic import walks
from groupcheck.model.protocol.classic.assignment import Plan
from groupcheck.model.protocol.classic.client import (
    NOTHING,
    Client,
    Member,
    join_complete,
    sync_answer,
)
from groupcheck.model.protocol.classic.features.triggers.feature import FAMILY as TOPICS
from groupcheck.model.protocol.classic.features.triggers.scope import TriggersScope
from groupcheck.model.protocol.classic.features.triggers.settings import max_size
from groupcheck.model.protocol.classic.features.triggers.subscription import (
    Subscription,
    due,
    outdated,
)
from groupcheck.model.protocol.classic.group import Core, Phase, Seats
from groupcheck.model.protocol.messages import NO_GENERATION

MySeats = Annotated[Seats, "seats[i]"]
Mine = Annotated[Subscription, "subscription[i]"]


@invariant(source="ConsumerPartitionAssignor.assign; groupcheck finding 7", of=TOPICS)
def assigned_as_subscribed(seats: Seats, scope: TriggersScope) -> bool:
    """The stored assignment gives a member partitions of the topics in its last JoinGroup only.

    Static members are exempt, because their shares outlive their subscriptions: the JoinGroup of a
    process that comes back starts no round (see `planned_as_subscribed`). Why: an assignor gets the
    subscriptions of all members, as they sent them.
    """
    return seats.static or not any(
        seat.share & ~scope.partitions_of(seat.topics) for _, seat in seats
    )


@invariant(
    source="SubscriptionState.checkAssignmentMatchedSubscription; protocol.md 2.4", of=TOPICS
)
def owned_as_joined(client: Client, subscription: Subscription, scope: TriggersScope) -> bool:
    """A member owns partitions of the topics in its last JoinGroup only.

    Static members are exempt: the share of one that comes back may be older than its JoinGroup.
    Cooperative members are exempt until they have taken their share: one whose JoinGroup is sent
    again may have dropped a topic meanwhile (`dropped_while_joining`).
    Why: an eager member gives up all partitions before it joins, a cooperative one those of topics
    that it has dropped. Its share answers that JoinGroup.
    """
    waits = client.state != Member.STABLE or client.refused or client.granted != NOTHING
    if scope.static or (scope.cooperative and waits):
        return True
    return not client.owned & ~scope.partitions_of(subscription.joined or 0)


@step_invariant(
    "client",
    "subscription",
    rules=(sync_answer.name, join_complete.name),
    source="SubscriptionState.checkAssignmentMatchedSubscription",
    of=TOPICS,
)
def taken_as_subscribed(before: Any, after: Any, scope: TriggersScope) -> bool:
    """A member takes over partitions only of topics to which it subscribes at that moment.

    Why: its subscription may have changed since its JoinGroup, so it compares, and joins again.
    """
    taken = after.client.owned & ~before.client.owned
    return not taken & ~scope.partitions_of(after.subscription.topics)


@invariant(
    source="ConsumerCoordinator.rejoinNeededOrPending; KAFKA-9815",
    broken=(
        "{name} does not join again, although its subscription or the topics have changed"
        " since it joined"
    ),
    of=TOPICS,
)
def change_is_remembered(client: Client, subscription: Subscription, scope: TriggersScope) -> bool:
    """A STABLE member joins again if its subscription is not that of its last JoinGroup, or if it
    made the plan and knows that the topics have changed since.

    Why: nobody else asks for the round that the change needs.
    """
    if client.state != Member.STABLE or client.failed or client.granted != NOTHING:
        return True
    return client.rejoin or not due(subscription, scope)


@invariant(
    source="AbstractCoordinator.rejoinNeededOrPending; KAFKA-9815; protocol: L4",
    broken="{name} has sent JoinGroup, and does not try again",
    of=TOPICS,
)
def stops_joining_only_if_refused(client: Client) -> bool:
    """A member that has sent JoinGroup goes on joining, unless an answer makes it forget its
    generation.

    Why: it may have given up its partitions. A JoinGroup that fails is sent again, even if the
    reason for it is gone.
    """
    return client.state != Member.UNJOINED or client.generation == NO_GENERATION


@step_invariant(
    "core",
    "walk",
    rules=(walks.end_walk.name,),
    source="ConsumerCoordinator.onLeaderElected; protocol: C15",
    of=TOPICS,
)
def plan_covers_what_is_known(before: Any, after: Any) -> bool:
    """A plan gives away every partition that the leader knows, of each topic to which some member
    subscribes. Exempt are plans of a cooperative leader, which may withhold what is claimed
    (`only_what_is_claimed_is_withheld`).

    Why: an assignor leaves no partition out. Nobody would read it.
    """
    errand = before.walk.errand
    if not isinstance(errand, Plan) or getattr(errand, "again", False):
        return True
    return errand.chosen is not None or not errand.free


@invariant(source="KIP-389; GroupMetadataManager.onLoaded; protocol: C11", of=TOPICS)
def lowered_size_cap(core: Core, scope: TriggersScope) -> bool:
    """A group in CompletingRebalance or Stable has at most group.max.size members, also after that
    was lowered.

    Why: a coordinator that loads more of them starts a round, and refuses those that come too late.
    """
    size = max_size(core, scope)
    return size is None or core.phase < Phase.COMPLETING or core.members <= size


@goal(source="protocol.md 2.4; SubscriptionState.checkAssignmentMatchedSubscription", of=TOPICS)
def refused_share(client: Client) -> bool:
    """A member was given a topic to which it no longer subscribes, and did not take its share."""
    return client.refused


@goal(source="protocol.md 2.7; groupcheck finding 8", of=TOPICS)
def owner_of_nothing(client: Client, cluster: int) -> bool:
    """A member owns a partition that no longer exists. This is expected; it ends with the next
    round, which the leader starts once it has seen the change.
    """
    return bool(client.owned & ~cluster)


@goal(source="protocol.md 2.7: only the leader watches the topics", of=TOPICS)
def unseen_partition(
    seats: MySeats, subscription: Mine, cluster: int, scope: TriggersScope
) -> bool:
    """The leader of the group does not know of a partition yet that the group subscribes to. Until
    it does, nobody reads that partition.
    """
    s = subscription
    leads = seats.leader is not None and s.snapshot is not None
    return leads and bool(cluster & scope.partitions_of(s.group) & ~(s.sees or 0))


@settles(source="ConsumerCoordinator.rejoinNeededOrPending; protocol: L4", of=TOPICS)
def subscription_is_told(client: Client, seats: Seats, subscription: Subscription) -> bool:
    """Once faults stop, the coordinator knows the present subscription of every process that goes
    on.

    Why: a member whose subscription has changed joins again, whether it leads or not.
    """
    seat = seats[client.id]
    return bool(client.failed) or (seat is not None and seat.topics == subscription.topics)


@settles(source="ConsumerCoordinator.rejoinNeededOrPending; protocol: C15, L4", of=TOPICS)
def plan_is_current(
    client: Client, seats: Seats, subscription: Subscription, cluster: int, scope: TriggersScope
) -> bool:
    """Once faults stop, the leader has made its plan from the topics as they are, if it goes on.

    Why: it refreshes its metadata, and joins again if that is not what it made the plan from.
    """
    if client.failed or seats.leader is None or seats.leader != client.id:
        return True
    s = subscription
    known = cluster & scope.partitions_of(s.group)
    return s.snapshot == known and not outdated(s, scope)


@settles(source="protocol: C15, L4", of=TOPICS)
def everything_is_assigned(
    core: Core,
    seats: Annotated[tuple[Seats, ...], "seats[:]"],
    client: Annotated[tuple[Client, ...], "client[:]"],
    subscription: Annotated[tuple[Subscription, ...], "subscription[:]"],
    cluster: int,
    scope: TriggersScope,
) -> bool:
    """Once faults stop, every partition that exists is assigned if some member that goes on
    subscribes to its topic, and nothing else is assigned.

    Why: the leader's plan covers what it knows, and in the end it knows the topics as they are. A
    leader whose application has stopped is exempt: it sends heartbeats and looks at nothing. So are
    groups of static members, where the goals `added_topic_unread` and `added_partition_unseen` show
    what a restart leaves out.
    """
    alone = any(c.failed and s.leader is not None for c, s in zip(client, seats, strict=True))
    if scope.static or alone:
        return True
    assigned = 0
    for mine in seats:
        for _, seat in mine:
            assigned |= seat.share
    going = [s.topics for c, s in zip(client, subscription, strict=True) if not c.failed]
    wanted = 0
    for topics in going:
        wanted |= cluster & scope.partitions_of(topics)
    stopped = any(client.failed for client in client)
    return not wanted & ~assigned and (stopped or not assigned & ~cluster)
