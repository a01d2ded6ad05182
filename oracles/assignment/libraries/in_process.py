"""What kafka-python and aiokafka have in common: they ask a cluster for its topics, answer in the
same form and write to loggers.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from attrs import frozen

from groupcheck.model.assignors import NoAssignment
from groupcheck.oracles.assignment.offered import assigned
from groupcheck.oracles.assignment.validity import Assigned

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


def listed(answer: Any) -> Assigned:
    """What `assign` of an assignor's class gave: for each member an object with an `assignment`,
    which lists topics with their partitions. Raises `NoAssignment` for anything else.
    """
    try:
        given = {
            member: [(topic, number) for topic, numbers in one.assignment for number in numbers]
            for member, one in answer.items()
        }
    except (AttributeError, TypeError, ValueError):
        raise NoAssignment(
            "WrongAnswer", f"not an assignment for each member: {answer!r:.80}"
        ) from None
    return assigned(given)


@contextmanager
def quiet(logger: str) -> Iterator[None]:
    """While it is asked thousands of strange questions, a library does not warn of each."""
    log = logging.getLogger(logger)
    before = log.level
    log.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        log.setLevel(before)
