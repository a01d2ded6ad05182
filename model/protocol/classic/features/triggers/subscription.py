"""The member: what it subscribes to, what it knows of the topics, and when that makes it join
again (ConsumerCoordinator: metadata, rejoinNeededOrPending, onLeaderElected, onJoinComplete).

Any member joins again once its subscription is not the one of its last JoinGroup. Only the leader
joins again once the topics are not as they were when it made the plan. Both are noticed in a poll,
and are remembered from then on (KAFKA-9815).

A member looks at the topics whenever its client refreshes its metadata, which may be at any time
after they have changed. Left out are racks, and the request for fresh metadata before a member with
a pattern joins, which only makes it notice earlier.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import attrs
from attrs import frozen

from groupcheck.model.engine import evolve, rule
from groupcheck.model.engine.rule import Rule
from groupcheck.model.protocol.classic import client, client_faults
from groupcheck.model.protocol.classic.client import Client, Member, install
from groupcheck.model.protocol.classic.features.triggers.scope import TriggersScope
from groupcheck.model.protocol.messages import FOLLOWS, JoinGroup, SyncGroup
from groupcheck.model.protocol.transform import extended

MISMATCHED = "mismatched"


@frozen
class Subscription:
    """The topics to which one member subscribes, and its knowledge of the topics. Masks of topics
    and of partitions are those of the scope.
    """

    # The topics of the subscription. With a pattern: those that match, as far as it has seen.
    topics: int
    # All topics that its pattern matches, whether they exist or not; 0: it subscribes by names.
    pattern: int = 0
    # The topics in its last JoinGroup (joinedSubscription); None: it has sent none.
    joined: int | None = None
    # The topics of all members, which the leader watches, too (groupSubscription). 0: it does not
    # lead.
    group: int = 0
    # The partitions of the topics that it watches, as in its metadata; None: it has not looked.
    sees: int | None = None
    # What it saw of the topics that it watches when it made the plan (assignmentSnapshot); None: it
    # does not lead.
    snapshot: int | None = None
    # The watched partition; it never changes. Only in a cooperative group (see
    # `cooperative_topics`).
    watched: int = 0


def fresh(s: Subscription) -> Subscription:
    """The subscription of a process that has not started."""
    return Subscription(0 if s.pattern else s.topics, s.pattern, watched=s.watched)


def looking(s: Subscription, cluster: int, scope: TriggersScope) -> Subscription:
    """The member looks at the topics that it watches."""
    topics = scope.topics_of(cluster) & s.pattern if s.pattern else s.topics
    watched = (s.pattern or topics) | s.group
    return evolve(s, topics=topics, sees=cluster & scope.partitions_of(watched))


def outdated(s: Subscription, scope: TriggersScope) -> bool:
    """Are the topics not as they were when the member made the plan?"""
    return s.snapshot is not None and s.snapshot != _watched(s, scope)


def _watched(s: Subscription, scope: TriggersScope) -> int:
    """SubscriptionState.metadataTopics: those of the group, and its own."""
    assert s.sees is not None
    return s.sees & scope.partitions_of(s.group | s.topics)


def due(s: Subscription, scope: TriggersScope) -> bool:
    """Does the member have a reason to join again (rejoinNeededOrPending)?"""
    return s.joined is not None and (s.joined != s.topics or outdated(s, scope))


# -- what a member sends

SENDING = (
    client.send_join,
    client.send_sync,
    client_faults.lose_response,
    client_faults.delay_request,
    client_faults.late_commit,
)


def stamped(original: Rule) -> Rule:
    """The rule with the member's subscription in each JoinGroup that it sends, and the leader's
    knowledge in each SyncGroup.
    """
    return extended(original, _stamp, "subscription", "cluster")


def _stamp(
    before: Mapping[str, Any], label: str, after: dict[str, Any], scope: TriggersScope
) -> dict[str, Any]:
    client, link, s = after["client"], after["link"], before["subscription"]
    for place in ("request", "late"):
        if getattr(before["link"], place) is not None:
            continue  # it was sent before
        sent = getattr(link, place)
        if isinstance(sent, JoinGroup):
            s = looking(s, before["cluster"], scope) if s.sees is None else s
            watched = s.pattern or s.topics
            sees = (s.sees or 0) & scope.partitions_of(watched)
            s = evolve(s, joined=s.topics, group=0, sees=sees, snapshot=None)
            client, link = (
                evolve(client, refused=False),
                evolve(link, **{place: evolve(sent, topics=s.topics)}),
            )
        elif isinstance(sent, SyncGroup):
            link = evolve(link, **{place: evolve(sent, sees=s.snapshot or 0)})
    return {**after, "client": client, "link": link, "subscription": s}


# -- what ends a process

ENDING = (
    client_faults.crash,
    client_faults.close,
    client_faults.delay_request,
    client.closed,
)


def forgetting(original: Rule, *gone: Client) -> Rule:
    """The rule with a fresh subscription where the process is gone: where its client is one of
    `gone`.
    """

    def change(
        before: Mapping[str, Any], label: str, after: dict[str, Any], scope: TriggersScope
    ) -> dict[str, Any]:
        if after["client"] in gone and before["client"] not in gone:
            return {**after, "subscription": fresh(before["subscription"])}
        return after

    return extended(original, change, "subscription")


# -- what a member hears


def elected(original: Rule) -> Rule:
    """JoinGroupResponseHandler, onLeaderElected: the leader begins to watch the topics of all
    members, and keeps what it sees of them. If it does not subscribe to some of these (any more),
    it looks at all topics first (SubscriptionState.groupSubscribe, ensureFreshMetadata).
    """

    def change(
        before: Mapping[str, Any], label: str, after: dict[str, Any], scope: TriggersScope
    ) -> dict[str, Any]:
        answer, s = before["link"].answer, before["subscription"]
        if label != "joined" or answer.group_topics == FOLLOWS:
            return after
        s = evolve(s, group=answer.group_topics)
        if s.group & ~s.topics:
            s = looking(s, before["cluster"], scope)
        return {**after, "subscription": evolve(s, snapshot=_watched(s, scope))}

    return extended(original, change, "subscription", "cluster")


def completing(original: Rule) -> Rule:
    """The SyncGroup answer with onJoinComplete, if that is one step."""

    def change(
        before: Mapping[str, Any], label: str, after: dict[str, Any], scope: TriggersScope
    ) -> dict[str, Any] | tuple[str, dict[str, Any]]:
        if label != "assigned" or not scope.atomic_complete:
            return after
        told = _completed(before, after, before["link"].answer.share, scope)
        return (MISMATCHED, told) if told["client"].refused else told

    changed = extended(original, change, "subscription")
    return attrs.evolve(changed, labels=(*changed.labels, MISMATCHED))


def installing(original: Rule) -> Rule:
    """onJoinComplete as a step of its own."""

    def change(
        before: Mapping[str, Any], label: str, after: dict[str, Any], scope: TriggersScope
    ) -> dict[str, Any]:
        return _completed(before, after, before["client"].granted, scope)

    return extended(original, change, "subscription")


def _completed(
    before: Mapping[str, Any], after: dict[str, Any], share: int, scope: TriggersScope
) -> dict[str, Any]:
    """onJoinComplete: a share with a topic to which the member does not subscribe (any more), or
    that its pattern does not match, is not installed, and the member joins again with what it owned
    before (SubscriptionState.checkAssignmentMatchedSubscription). With a pattern, topics that
    the leader has seen first become part of the subscription; one that the member has seen go since
    it joined does not (maybeUpdateJoinedSubscription).
    """
    now, s = after["client"], before["subscription"]
    topics = scope.topics_of(share)
    if topics & ~(s.pattern or s.topics):
        kept = before["client"]
        now = evolve(
            install(evolve(now, granted=kept.owned), scope),
            position=kept.position,
            assigned=kept.assigned,
            rejoin=True,
            refused=True,
        )
        return {**after, "client": now}
    if s.pattern:
        added = topics & ~s.joined
        s = evolve(s, topics=s.topics | added, joined=s.joined | added)
    if due(s, scope):
        now = evolve(now, rejoin=True)
    return {**after, "client": now, "subscription": s}


# -- by itself


@rule("seen", "outdated", "matched", when=lambda subscription: subscription.sees is not None)
def refresh_metadata(
    client: Client, subscription: Subscription, cluster: int, scope: TriggersScope
) -> Iterator[tuple[str, Client, Subscription, int]]:
    """A poll finds new metadata (maybeUpdateSubscriptionMetadata). The leader joins again if topics
    of the group have changed since it made the plan, a member with a pattern if other topics match.
    """
    now = looking(subscription, cluster, scope)
    if now == subscription or client.failed or client.closing:
        return
    label = "seen"
    if now.topics != subscription.topics:
        label = "matched"
    elif outdated(now, scope):
        label = "outdated"
    joins = client.state == Member.STABLE and due(now, scope)
    yield label, evolve(client, rejoin=client.rejoin or joins), now, cluster


@rule(when=lambda budget: budget.allows("subscribe"))
def change_subscription(
    client: Client, subscription: Subscription, cluster: int, budget: Any, scope: TriggersScope
) -> Iterator[tuple[Client, Subscription, int, Any]]:
    """The application subscribes to other topics (KafkaConsumer.subscribe). The member owns what it
    owns until it joins again.
    """
    s = subscription
    if s.pattern or s.joined is None or client.failed or client.closing:
        return
    for topics in range(1, scope.all_topics + 1):
        if topics != s.topics:
            now = looking(evolve(s, topics=topics), cluster, scope)
            kept = s.sees & scope.partitions_of(s.topics | s.group) if s.sees else 0
            sees = (now.sees or 0) & ~scope.partitions_of(s.topics | s.group) | (
                kept & scope.partitions_of(topics | s.group)
            )
            joins = client.state == Member.STABLE
            yield (
                evolve(client, rejoin=client.rejoin or joins),
                evolve(now, sees=sees),
                cluster,
                budget.spend("subscribe"),
            )
