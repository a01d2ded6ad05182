"""Which partitions the sticky assignor has moved, from which member to which, so that no two
members swap partitions of a topic (PartitionMovements).
"""

from __future__ import annotations

from groupcheck.model.assignors.group import Partition
from groupcheck.model.assignors.hash_order import bucket, buckets_for, partition_hash

Way = tuple[str, str]
"""From a member to another."""


class Movements:
    """The movements of one assignment, each from the partition's first owner."""

    def __init__(self) -> None:
        self._way: dict[Partition, Way] = {}
        self._on: dict[tuple[str, Way], _HashSet] = {}

    def add(self, partition: Partition, frm: str, to: str) -> None:
        """Notes a movement. A partition that moves on has one way, from its first owner; one that
        comes back has none.
        """
        if partition in self._way:
            way = self._way.pop(partition)
            on_it = self._on[partition[0], way]
            on_it.remove(partition)
            if not on_it:
                del self._on[partition[0], way]
            frm = way[0]
            if frm == to:
                return
        self._way[partition] = frm, to
        self._on.setdefault((partition[0], (frm, to)), _HashSet()).add(partition)

    def instead_of(self, partition: Partition, frm: str, to: str) -> Partition:
        """If a partition of the same topic came the other way, it moves back instead of this one;
        else the partition itself.
        """
        began = self._way[partition][0] if partition in self._way else frm
        came = self._on.get((partition[0], (to, began)))
        return came.first() if came else partition


class _HashSet:
    """The part of a `HashSet` of partitions that decides which element comes first: the order of
    insertion, and the largest number of elements that it ever held.
    """

    def __init__(self) -> None:
        self._elements: dict[Partition, None] = {}
        self._most = 0

    def __len__(self) -> int:
        return len(self._elements)

    def add(self, partition: Partition) -> None:
        self._elements[partition] = None
        self._most = max(self._most, len(self._elements))

    def remove(self, partition: Partition) -> None:
        del self._elements[partition]

    def first(self) -> Partition:
        """The element of the lowest bucket that was put in first."""
        buckets = buckets_for(self._most)
        return min(self._elements, key=lambda partition: bucket(partition_hash(partition), buckets))
