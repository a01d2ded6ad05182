"""Valid: nobody gets a partition that it must not have. Complete: nothing is left over."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from attrs import field, frozen

from groupcheck.model.assignors import Group, NoAssignment, Partition, Partitions
from groupcheck.model.assignors.group import every_partition, subscribed_sizes

MEMBERS_NAMED = 5  # members that a violation names

Assigned = Mapping[str, Partitions]
"""Member -> what it gets. A member that is left out gets nothing."""

Place = tuple[str | None, Partition | None]
"""A place in the table of members and partitions: a row, a column, or one cell."""


@frozen
class Violation:
    """A promise that an assignment breaks, and how."""

    promise: str
    words: str
    # What a drawing of the assignment marks.
    places: tuple[Place, ...] = field(default=(), eq=False)
    # The traceback of an assignor that raised instead of answering; else empty.
    traceback: str = field(default="", eq=False)
    # Of a sequence: the group and the answer of each round that shows it; else empty.
    rounds: tuple[tuple[Group, Assigned | NoAssignment], ...] = field(default=(), eq=False)


def named(partition: Partition) -> str:
    """`orders-3`."""
    return f"{partition[0]}-{partition[1]}"


def valid(group: Group, assigned: Assigned) -> Iterator[Violation]:
    """Only members get partitions; a member gets only partitions that exist, of topics to which it
    subscribes; and no partition goes to two members.
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
            here = ((member, partition),)
            if not 0 <= number < topics.get(topic, 0):
                there = (
                    f"{topic} has {topics[topic]} partitions"
                    if topic in topics
                    else f"there is no topic {topic}"
                )
                yield Violation(
                    "valid",
                    f"{member} gets {named(partition)}, which does not exist ({there})",
                    here,
                )
            elif topic not in subscribed[member]:
                yield Violation(
                    "valid",
                    f"{member} gets {named(partition)}, but does not subscribe to {topic}",
                    here,
                )
            if partition in owner:
                yield Violation(
                    "valid",
                    f"{named(partition)} is given to both {owner[partition]} and {member}",
                    ((owner[partition], partition), *here),
                )
            owner[partition] = member


def complete(group: Group, assigned: Assigned, *, may_wait: bool = False) -> Iterator[Violation]:
    """Every partition of a topic that somebody subscribes to is given to somebody.

    `may_wait`: a partition that a member claims may be given to nobody for one more round, while
    that member lets go of it (KIP-429).
    """
    given = frozenset[Partition]().union(*assigned.values())
    if may_wait:
        given = given.union(*(member.owned for member in group.members))
    for partition in every_partition(subscribed_sizes(group)):
        if partition not in given:
            able = [member.id for member in group.members if partition[0] in member.topics]
            others = (
                f" and {len(able) - MEMBERS_NAMED:,} others" if len(able) > MEMBERS_NAMED else ""
            )
            yield Violation(
                "complete",
                f"{named(partition)} is given to nobody, though"
                f" {', '.join(able[:MEMBERS_NAMED])}{others} could have it",
                ((None, partition),),
            )
