"""Promises about members' shares: contiguous, with the same numbers in topics that are read
together, and as even and as steady as those of Kafka's own assignor.

All functions take a valid assignment. Kafka's own answer for the same group is `own`; None if there
is none to compare with.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import islice

from groupcheck.model.assignors import Group, Partition
from groupcheck.model.assignors.group import subscribed_sizes
from groupcheck.oracles.assignment.balance import locally_balanced
from groupcheck.oracles.assignment.handover import claimants
from groupcheck.oracles.assignment.validity import Assigned, Violation, named

PARTITIONS_NAMED = 4  # partitions that a violation names


def numbers_of(assigned: Assigned, member: str) -> dict[str, list[int]]:
    """Topic -> the member's partitions of it, in order."""
    numbers: dict[str, list[int]] = defaultdict(list)
    for topic, number in sorted(assigned.get(member, ())):
        numbers[topic].append(number)
    return numbers


def contiguous(group: Group, assigned: Assigned) -> Iterator[Violation]:
    """Of each topic, a member's partitions follow each other (RangeAssignor: "contiguous")."""
    for member in group.members:
        for topic, numbers in numbers_of(assigned, member.id).items():
            if numbers[-1] - numbers[0] >= len(numbers):
                listed = ", ".join(map(str, numbers))
                yield Violation(
                    "contiguous", f"of {topic}, {member.id} has {listed}", ((member.id, None),)
                )


def co_partitioned(group: Group, assigned: Assigned) -> Iterator[Violation]:
    """Of topics with the same subscribers and the same number of partitions, a member gets the same
    numbers: a join of the topics reads both sides in one place (RangeAssignor: "co-localized").
    """
    alike: dict[tuple[int, tuple[str, ...]], list[str]] = defaultdict(list)
    for topic, size in subscribed_sizes(group).items():
        alike[size, tuple(m.id for m in group.members if topic in m.topics)].append(topic)
    numbers = {member.id: numbers_of(assigned, member.id) for member in group.members}
    for (_, subscribers), (first, *others) in alike.items():
        for other in others:
            for member in subscribers:
                here, there = (numbers[member].get(topic, []) for topic in (first, other))
                if here != there:
                    yield Violation(
                        "co-partitioned",
                        f"{member} has {_listed(here)} of {first} and {_listed(there)} of {other},"
                        " which have the same subscribers and as many partitions",
                        ((member, None),),
                    )
                    break


def _listed(numbers: list[int]) -> str:
    return ", ".join(map(str, numbers)) or "nothing"


def fair_shares(group: Group, assigned: Assigned, own: Assigned | None) -> Iterator[Violation]:
    """No member has more partitions than its share of each of its topics, rounded up, unless
    Kafka's own assignor gives as many to some member.
    """
    if own is None:
        return
    most = max(map(len, own.values()), default=0)
    sizes = subscribed_sizes(group)
    subscribers = {topic: sum(topic in m.topics for m in group.members) for topic in sizes}
    for member in group.members:
        has = len(assigned.get(member.id, ()))
        share = sum(-(-sizes[t] // subscribers[t]) for t in member.topics if t in sizes)
        if has > max(share, most):
            words = (
                f"{member.id} has {has} partitions; its shares of its topics are {share}, and"
                f" Kafka's own gives nobody more than {most}"
            )
            yield Violation("fair shares", words, ((member.id, None),))


def as_even(group: Group, assigned: Assigned, own: Assigned | None) -> Iterator[Violation]:
    """It is locally balanced, or else at least as even as Kafka's own answer: the sum of the
    squares of the sizes is not larger.
    """
    if own is None or squares(assigned) <= squares(own):
        return
    for violation in islice(locally_balanced(group, assigned), 1):
        sizes = {m.id: len(own.get(m.id, ())) for m in group.members}
        told = ", ".join(
            f"{member} {size}" for member, size in islice(sizes.items(), 2 * PARTITIONS_NAMED)
        )
        more = ", ..." if len(sizes) > 2 * PARTITIONS_NAMED else ""
        words = f"{violation.words}; Kafka's own is more even: {told}{more}"
        yield Violation("as even", words, violation.places)


def squares(assigned: Assigned) -> int:
    """The sum of size² over the members: less is more even."""
    return sum(len(partitions) ** 2 for partitions in assigned.values())


def lost(group: Group, assigned: Assigned) -> dict[Partition, str]:
    """Claimed partitions that exist and that their claimant (`claimants`) does not have any more,
    with this claimant: they move, or wait to move.
    """
    sizes = subscribed_sizes(group)
    return {
        (topic, number): member
        for (topic, number), member in sorted(claimants(group).items())
        if number < sizes.get(topic, 0) and (topic, number) not in assigned.get(member, ())
    }


def lost_words(group: Group, assigned: Assigned, gone: Mapping[Partition, str]) -> str:
    """`t-0 from A to B, t-1 from A to nobody yet, and 3 more`."""
    owner = {p: member for member, partitions in assigned.items() for p in partitions}
    told = [
        f"{named(p)} from {frm} to {owner.get(p, 'nobody yet')}"
        for p, frm in islice(gone.items(), PARTITIONS_NAMED)
    ]
    return ", ".join(
        [
            *told,
            *(
                [f"and {len(gone) - PARTITIONS_NAMED:,} more"]
                if len(gone) > PARTITIONS_NAMED
                else []
            ),
        ]
    )
