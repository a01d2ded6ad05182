"""`RangeAssignor` of the client: a range of each topic for each of its subscribers, near by where
racks count (KIP-881).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from itertools import islice

from groupcheck.model.assignors.group import (
    Assignment,
    Group,
    Partition,
    instance_first,
    subscribed_sizes,
)
from groupcheck.model.assignors.racks import NOWHERE, consumer_racks, partition_racks, racks_count


def range_(group: Group) -> Assignment:
    """Each topic is cut into ranges, one for each subscriber; the first of them get one partition
    more where it does not come out even.

    Where racks count for some topic, partitions whose replicas are in a subscriber's rack are given
    first, within the same quotas; topics with the same subscribers and number of partitions stay
    together. Depends on no order: members are sorted (static ones by instance id first). Valid and
    complete; two subscribers of a topic differ by one of its partitions at most.
    """
    sizes = subscribed_sizes(group)
    members = sorted(group.members, key=instance_first)
    racks = consumer_racks(group)
    nearby = partition_racks(group, sizes) if racks else {}
    topics = [
        _Topic(
            topic,
            size,
            subscribers := [m.id for m in members if topic in m.topics],
            _of(subscribers, racks),
            nearby,
        )
        for topic, size in sizes.items()
    ]
    if any(topic.racks_count for topic in topics):
        for alike in _co_partitioned(topics):
            if len(alike) > 1:
                _together(alike)
            elif alike[0].racks_count:
                alike[0].share(only_nearby=True)
    given: dict[str, list[Partition]] = {member.id: [] for member in group.members}
    for topic in topics:
        topic.share()
        for member, partitions in topic.given.items():
            given[member] += partitions
    return {member: frozenset(partitions) for member, partitions in given.items()}


def _of(members: Iterable[str], racks: Mapping[str, str]) -> dict[str, str]:
    return {member: racks[member] for member in members if member in racks}


class _Topic:
    """A topic while it is given away."""

    def __init__(
        self,
        name: str,
        size: int,
        members: list[str],
        racks: dict[str, str],
        nearby: Mapping[Partition, frozenset[str]],
    ) -> None:
        self.name, self.size, self.members, self.racks = name, size, members, racks
        self.nearby = (
            {(name, number): nearby[name, number] for number in range(size)} if racks else {}
        )
        self.racks_count = racks_count(racks.values(), self.nearby.values())
        self.quota, self.longer = divmod(size, len(members))
        self.left: list[Partition] = [(name, number) for number in range(size)]
        self.given: dict[str, list[Partition]] = {member: [] for member in members}

    def matches(self, member: str, partition: Partition) -> bool:
        """A member without a rack matches every partition."""
        rack = self.racks.get(member)
        return rack is None or rack in self.nearby.get(partition, NOWHERE)

    def room(self, member: str) -> int:
        """How many more partitions the member may get."""
        return max(0, self.quota + (self.longer > 0) - len(self.given[member]))

    def give(self, member: str, partitions: list[Partition]) -> None:
        """Takes them off what is left."""
        self.given[member] += partitions
        if len(self.given[member]) > self.quota:
            self.longer -= 1
        if self.left[: len(partitions)] == partitions:
            del self.left[: len(partitions)]
        else:
            gone = set(partitions)
            self.left = [partition for partition in self.left if partition not in gone]

    def share(self, *, only_nearby: bool = False) -> None:
        """One member after the other takes what it may."""
        for member in self.members:
            near = (p for p in self.left if not only_nearby or self.matches(member, p))
            fitting = list(islice(near, self.room(member)))
            if fitting:
                self.give(member, fitting)


def _co_partitioned(topics: list[_Topic]) -> Iterable[list[_Topic]]:
    """Topics of the same subscribers, racks and size. Where no subscriber has a rack, sizes are not
    told apart (and nothing is given).
    """
    alike: dict[tuple[tuple[str, ...], tuple[tuple[str, str], ...], int], list[_Topic]] = (
        defaultdict(list)
    )
    for topic in topics:
        alike[tuple(topic.members), tuple(topic.racks.items()), len(topic.nearby)].append(topic)
    return alike.values()


def _together(topics: list[_Topic]) -> None:
    """Number by number: the first member that is near all of them, and has room in all, gets that
    number of each topic.
    """
    members = list(topics[0].members)
    for number in range(len(topics[0].nearby)):
        found = next(
            (
                m
                for m in members
                if all(t.matches(m, (t.name, number)) and t.room(m) > 0 for t in topics)
            ),
            None,
        )
        if found is None:
            continue
        for topic in topics:
            topic.give(found, [(topic.name, number)])
        if not any(topic.room(found) for topic in topics):
            members.remove(found)
