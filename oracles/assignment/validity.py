"""Valid: nobody gets what it must not have. Complete: nothing is left over."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from attrs import frozen

from groupcheck.model.assignors import Group, Partition, Partitions
from groupcheck.model.assignors.group import every_partition, subscribed_sizes

Assigned = Mapping[str, Partitions]


@frozen
class Violation:
    """A promise that an assignment breaks, and how."""

    promise: str
    words: str


def named(partition: Partition) -> str:
    """`orders-3`."""
    return f"{partition[0]}-{partition[1]}"


def valid(group: Group, assigned: Assigned) -> Iterator[Violation]:
    """Only members get partitions, only such as exist, of topics that they subscribe to; and no partition goes to two."""
    topics = dict(group.topics)
    subscribed = {member.id: member.topics for member in group.members}
    owner: dict[Partition, str] = {}
    for member, partitions in assigned.items():
        if member not in subscribed:
            yield Violation("valid", f"{member} is no member of the group")
            continue
        for partition in sorted(partitions):
            topic, number = partition
            if not 0 <= number < topics.get(topic, 0):
                there = f"{topic} has {topics[topic]} partitions" if topic in topics else f"there is no topic {topic}"
                yield Violation("valid", f"{member} gets {named(partition)}, which does not exist ({there})")
            elif topic not in subscribed[member]:
                yield Violation("valid", f"{member} gets {named(partition)}, but does not subscribe to {topic}")
            if partition in owner:
                yield Violation("valid", f"{named(partition)} is given to both {owner[partition]} and {member}")
            owner[partition] = member


def complete(group: Group, assigned: Assigned, *, may_wait: bool = False) -> Iterator[Violation]:
    """Every partition of a topic that somebody subscribes to is given to somebody.

    `may_wait`: one that a member claims may be given to nobody for one more round, while that member lets go of it (KIP-429).
    """
    given = frozenset[Partition]().union(*assigned.values())
    waiting = frozenset[Partition]().union(*(m.owned for m in group.members)) if may_wait else frozenset[Partition]()
    for partition in every_partition(subscribed_sizes(group)):
        if partition not in given and partition not in waiting:
            who = ", ".join(member.id for member in group.members if partition[0] in member.topics)
            yield Violation("complete", f"{named(partition)} is given to nobody, though {who} could have it")
