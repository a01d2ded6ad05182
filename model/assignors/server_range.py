"""The coordinator's `RangeAssignor` (KIP-848): each subscriber of a topic has a range of it."""

from __future__ import annotations

from itertools import pairwise

from groupcheck.model.assignors.group import (
    Assignment,
    Group,
    Partition,
    instance_first,
    subscribed_sizes,
)


def server_range(group: Group) -> Assignment:
    """Each topic is cut into ranges, one for each subscriber; the first of them get one partition
    more where it does not come out even.

    Depends on no order: members are sorted (static ones by instance id first). Racks and earlier
    targets are not looked at. Valid and complete; two subscribers of a topic differ by one of its
    partitions at most.
    """
    given: dict[str, list[Partition]] = {member.id: [] for member in group.members}
    members = sorted(group.members, key=instance_first)
    for topic, size in subscribed_sizes(group).items():
        subscribers = [member.id for member in members if topic in member.topics]
        for member, numbers in zip(subscribers, ranges(size, len(subscribers))):
            given[member] += [(topic, number) for number in numbers]
    return {member: frozenset(partitions) for member, partitions in given.items()}


def ranges(size: int, shares: int) -> list[range]:
    """`size` numbers cut into so many ranges, the longer ones first."""
    quota, longer = divmod(size, shares)
    starts = [index * quota + min(index, longer) for index in range(shares + 1)]
    return [range(start, end) for start, end in pairwise(starts)]
