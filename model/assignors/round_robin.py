"""`RoundRobinAssignor`: one pointer round the sorted members, over all partitions of all topics."""

from __future__ import annotations

from groupcheck.model.assignors.group import (
    Assignment,
    Group,
    Partition,
    every_partition,
    instance_first,
    subscribed_sizes,
)


def round_robin(group: Group) -> Assignment:
    """Each partition, by topic and number, goes to the next member that subscribes to its topic;
    the pointer is not set back between topics.

    Depends on no order: members are sorted (static ones by instance id first). Valid and complete;
    equal subscriptions differ by one partition at most, unequal ones by any number.
    """
    members = sorted(group.members, key=instance_first)
    given: dict[str, list[Partition]] = {member.id: [] for member in group.members}
    pointer = 0
    for partition in every_partition(subscribed_sizes(group)):
        while partition[0] not in members[pointer].topics:
            pointer = (pointer + 1) % len(members)
        given[members[pointer].id].append(partition)
        pointer = (pointer + 1) % len(members)
    return {member: frozenset(partitions) for member, partitions in given.items()}
