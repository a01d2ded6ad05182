"""What kafka-python and aiokafka have in common: they ask a cluster for its topics and write to
loggers.
"""

from __future__ import annotations

import logging

from attrs import frozen

CLUSTER = '''class Cluster:
    """What assignors ask of the metadata."""

    def __init__(self, sizes):
        self.sizes = sizes

    def topics(self):
        return set(self.sizes)

    def partitions_for_topic(self, topic):
        return set(range(self.sizes[topic])) if topic in self.sizes else None


'''
"""The same as `Cluster`, as a maintainer pastes it."""


@frozen
class Cluster:
    """Topics with their numbers of partitions, as the libraries' ClusterMetadata shows them to an
    assignor.
    """

    sizes: dict[str, int]

    def topics(self) -> set[str]:
        """All there are."""
        return set(self.sizes)

    def partitions_for_topic(self, topic: str) -> set[int] | None:
        """None where the topic does not exist."""
        return set(range(self.sizes[topic])) if topic in self.sizes else None


def quiet(logger: str) -> None:
    """A library that is asked thousands of strange questions shall not warn of each."""
    logging.getLogger(logger).setLevel(logging.CRITICAL + 1)
