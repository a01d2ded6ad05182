"""Racks of consumers and partitions (KIP-881): when they count, and who reads nearby."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from attrs import frozen

from groupcheck.model.assignors.group import Group, Partition, every_partition

NOWHERE: frozenset[str] = frozenset()


def consumer_racks(group: Group) -> dict[str, str]:
    """The racks of the members that name one."""
    return {member.id: member.rack for member in group.members if member.rack}


def partition_racks(group: Group, sizes: Mapping[str, int]) -> dict[Partition, frozenset[str]]:
    """For every partition of these topics the racks that hold a replica of it."""
    told = dict(group.racks)
    racks = {}
    for topic, number in every_partition(sizes):
        of_topic = told.get(topic, ())
        racks[topic, number] = of_topic[number] if number < len(of_topic) else NOWHERE
    return racks


def racks_count(consumers: Iterable[str], partitions: Iterable[frozenset[str]]) -> bool:
    """Are racks looked at: some consumer shares a rack with some partition, and the partitions do
    not all have the same racks?
    """
    of_partitions = list(partitions)
    everywhere = NOWHERE.union(*of_partitions)
    return not everywhere.isdisjoint(consumers) and any(
        racks != everywhere for racks in of_partitions
    )


@frozen
class RackInfo:
    """The facts that the sticky assignors know of racks."""

    # Member -> its rack. Empty if racks do not count.
    consumers: Mapping[str, str]
    # Partition -> the racks of its replicas.
    partitions: Mapping[Partition, frozenset[str]]
    # Partition -> how many consumers are nearby.
    readers: Mapping[Partition, int]

    def apart(self, member: str, partition: Partition) -> bool:
        """The member's rack is known, and none of the partition's replicas is in it."""
        rack = self.consumers.get(member)
        return rack is not None and rack not in self.partitions.get(partition, NOWHERE)

    def scarce_first(self, partitions: list[Partition]) -> list[Partition]:
        """The partitions with the fewest consumers nearby come first."""
        return (
            sorted(partitions, key=lambda partition: self.readers[partition])
            if self.readers
            else partitions
        )

    def next_nearby(self, partition: Partition, members: Sequence[str], first: int) -> int | None:
        """The index of the next member in one of the partition's racks, cyclically from `first`."""
        racks = self.partitions.get(partition, NOWHERE)
        for step in range(len(members)):
            index = (first + step) % len(members)
            if self.consumers.get(members[index]) in racks:
                return index
        return None


NO_RACKS = RackInfo({}, {}, {})


def rack_info(group: Group, sizes: Mapping[str, int]) -> RackInfo:
    """The racks of a whole group, over all topics at once (AbstractStickyAssignor.RackInfo)."""
    consumers = consumer_racks(group)
    if not consumers:
        return NO_RACKS
    partitions = partition_racks(group, sizes)
    if not racks_count(consumers.values(), partitions.values()):
        return NO_RACKS
    members = Counter(consumers.values())
    return RackInfo(
        consumers,
        partitions,
        {p: sum(members[r] for r in racks) for p, racks in partitions.items()},
    )
