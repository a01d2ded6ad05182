"""Valid: nobody gets what it must not have. Complete: nothing is left over."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from attrs import field, frozen

from groupcheck.model.assignors import Group, Partition, Partitions
from groupcheck.model.assignors.group import every_partition, subscribed_sizes

FEW = 5  # members named

Assigned = Mapping[str, Partitions]


Place = tuple[str | None, Partition | None]
"""A member, a partition, or both: where in the table of members and partitions."""


@frozen
class Violation:
    """A promise that an assignment breaks, and how."""

    promise: str
    words: str
    places: tuple[Place, ...] = field(default=(), eq=False)  # marked where the assignment is drawn
    traceback: str = field(default="", eq=False)  # of an assignor that raised instead of answering


def named(partition: Partition) -> str:
    """`orders-3`."""
    return f"{partition[0]}-{partition[1]}"


def valid(group: Group, assigned: Assigned) -> Iterator[Violation]:
    """Only members get partitions, only such as exist, of topics that they subscribe to; and no
    partition goes to two.
    """
    topics = dict(group.topics)
    subscribed = {member.id: member.topics for member in group.members}
    owner: dict[Partition, str] = {}
    for member, partitions in assigned.items():
        if member not in subscribed:
            yield Violation("valid", f"{member} is no member of the group", ((member, None),))
            continue
        for partition in sorted(partitions):
            topic, number = partition
            if not 0 <= number < topics.get(topic, 0):
                there = (
                    f"{topic} has {topics[topic]} partitions"
                    if topic in topics
                    else f"there is no topic {topic}"
                )
                yield Violation(
                    "valid",
                    f"{member} gets {named(partition)}, which does not exist ({there})",
                    ((member, partition),),
                )
            elif topic not in subscribed[member]:
                yield Violation(
                    "valid",
                    f"{member} gets {named(partition)}, but does not subscribe to {topic}",
                    ((member, partition),),
                )
            if partition in owner:
                both = (owner[partition], partition), (member, partition)
                yield Violation(
                    "valid",
                    f"{named(partition)} is given to both {owner[partition]} and {member}",
                    both,
                )
            owner[partition] = member


def complete(group: Group, assigned: Assigned, *, may_wait: bool = False) -> Iterator[Violation]:
    """Every partition of a topic that somebody subscribes to is given to somebody.

    `may_wait`: one that a member claims may be given to nobody for one more round, while that
    member lets go of it (KIP-429).
    """
    given = frozenset[Partition]().union(*assigned.values())
    waiting = (
        frozenset[Partition]().union(*(m.owned for m in group.members))
        if may_wait
        else frozenset[Partition]()
    )
    for partition in every_partition(subscribed_sizes(group)):
        if partition not in given and partition not in waiting:
            able = [member.id for member in group.members if partition[0] in member.topics]
            who = ", ".join(able[:FEW]) + (
                f" and {len(able) - FEW:,} others" if len(able) > FEW else ""
            )
            yield Violation(
                "complete",
                f"{named(partition)} is given to nobody, though {who} could have it",
                ((None, partition),),
            )
