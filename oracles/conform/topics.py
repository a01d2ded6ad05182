"""Topics, subscriptions and plans of rows, in the driver's terms. Without the feature `triggers`
there is one topic, to which all members subscribe.

To the coordinator a subscription is bytes that it compares and hands on, so the rows of `triggers`
join with every subscription.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import product

from groupcheck.model.protocol.classic.features.triggers.planning import range_share
from groupcheck.model.protocol.classic.features.triggers.scope import Topic, TriggersScope
from groupcheck.model.protocol.classic.group import Core
from groupcheck.model.protocol.classic.plans import interval
from groupcheck.model.protocol.classic.scope import Scope

TOPIC = "t"


def layout_of(scope: Scope) -> tuple[Topic, ...]:
    """The topics of a scope, each with room for its partitions in a bit mask."""
    if isinstance(scope, TriggersScope):
        return scope.layout
    return (Topic(TOPIC, 1, 0, scope.partition_count, scope.partition_count),)


def topics_of(topics: int, scope: Scope) -> tuple[str, ...]:
    """The names of topics (bit mask) in a subscription."""
    if isinstance(scope, TriggersScope):
        return tuple(topic.name for topic in scope.layout if topics & topic.bit)
    return (TOPIC,)


def topic_mask(names: Iterable[str], scope: Scope) -> int:
    """The topics of these names as a bit mask; 0 where there is only one."""
    if not isinstance(scope, TriggersScope):
        return 0
    return sum(topic.bit for topic in scope.layout if topic.name in names)


def partitions_of(share: int, scope: Scope) -> frozenset[tuple[str, int]]:
    """A share (bit mask) as partitions."""
    return frozenset(
        (topic.name, p)
        for topic in layout_of(scope)
        for p in range(topic.most)
        if share >> topic.first + p & 1
    )


def subscriptions(me: int, scope: Scope) -> tuple[int, ...]:
    """The topics to which a member may subscribe, as masks of topics: what the scope says, or if
    that leaves it open, any of the topics or none (a pattern that matches nothing). 0 stands for
    the one topic where there is only one.
    """
    if not isinstance(scope, TriggersScope):
        return (0,)
    named, pattern = scope.subscribed(me)
    if scope.subscriptions and not pattern:
        return (named,)
    matched = pattern or scope.all_topics
    return tuple(t for t in range(scope.all_topics + 1) if not t & ~matched)


def seen_by_leaders(core: Core, scope: Scope) -> Iterator[int]:
    """The topics of its group that a leader may know when it makes a plan, as masks of partitions:
    each topic with any number of partitions that the scope allows. A leader that asks again while
    its plan is being appended brings the same plan.
    """
    if not isinstance(scope, TriggersScope) or core.appending:
        yield core.planned
        return
    topics = [topic for topic in scope.layout if core.topics & topic.bit]
    for counts in product(*(range(topic.begins, topic.most + 1) for topic in topics)):
        yield sum(topic.mask(n) for topic, n in zip(topics, counts))


def range_shares(subscribed: Sequence[int], sees: int, scope: Scope) -> tuple[int, ...]:
    """The range assignor's shares (bit masks) for members in the order of their index, of which
    each subscribes to these topics (bit masks). `sees`: the partitions that the leader knows.
    """
    members = range(len(subscribed))
    if isinstance(scope, TriggersScope):
        return tuple(range_share(rank, sees, subscribed, scope) for rank in members)
    return tuple(interval(rank, len(subscribed), scope.partition_count) for rank in members)
