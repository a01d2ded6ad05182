"""The topics: partitions are added, topics are created and deleted."""

from __future__ import annotations

from collections.abc import Iterator

from groupcheck.model.engine import rule
from groupcheck.model.protocol.classic.features.triggers.scope import TriggersScope
from groupcheck.model.protocol.faults import Budget


@rule(when=lambda budget: budget.allows("add_partitions"))
def add_partitions(
    cluster: int, budget: Budget, scope: TriggersScope
) -> Iterator[tuple[int, Budget]]:
    """A topic gets one more partition (CreatePartitions)."""
    for topic in scope.layout:
        count = (cluster & topic.whole).bit_count()
        if 0 < count < topic.most:
            yield cluster | topic.mask(count + 1), budget.spend("add_partitions")


@rule(when=lambda budget: budget.allows("create_topic"))
def create_topic(
    cluster: int, budget: Budget, scope: TriggersScope
) -> Iterator[tuple[int, Budget]]:
    """A topic is created, with any number of partitions."""
    for topic in scope.layout:
        if not cluster & topic.whole:
            for count in range(1, topic.most + 1):
                yield cluster | topic.mask(count), budget.spend("create_topic")


@rule(when=lambda budget: budget.allows("delete_topic"))
def delete_topic(
    cluster: int, budget: Budget, scope: TriggersScope
) -> Iterator[tuple[int, Budget]]:
    """A topic is deleted, with all its partitions."""
    for topic in scope.layout:
        if cluster & topic.whole:
            yield cluster & ~topic.whole, budget.spend("delete_topic")


CLUSTER_RULES = (add_partitions, create_topic, delete_topic)
