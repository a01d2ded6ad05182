"""Which partitions the sticky assignor has moved from whom to whom, so that no two members swap
partitions of a topic (PartitionMovements).
"""

from __future__ import annotations

from groupcheck.model.assignors.group import Partition
from groupcheck.model.assignors.hash_order import bucket, buckets_for, partition_hash

Way = tuple[str, str]
"""From a member to another."""


class Movements:
    """The movements of one assignment, told from where each partition began."""

    def __init__(self) -> None:
        self._way: dict[Partition, Way] = {}
        self._on: dict[tuple[str, Way], _HashSet] = {}

    def add(self, partition: Partition, frm: str, to: str) -> None:
        """A partition that moves on has one way, from its first owner; one that comes back has
        none.
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
        """The partition of the same topic that better moves back, where one came the other way;
        else the partition itself.
        """
        began = self._way[partition][0] if partition in self._way else frm
        came = self._on.get((partition[0], (to, began)))
        return came.first() if came else partition


class _HashSet:
    """As much of a `HashSet` of partitions as tells its first element: the order of insertion, and
    the most that it ever held.
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
        """Of the lowest bucket the one that was put in first."""
        buckets = buckets_for(self._most)
        return min(self._elements, key=lambda partition: bucket(partition_hash(partition), buckets))
