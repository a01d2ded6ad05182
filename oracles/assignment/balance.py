"""Balanced: nobody has more than it must. There are three senses, from what range promises to the
best balance that exists.

All functions take a valid assignment. They mean nothing for one that gives a partition twice, or
gives one to a member that does not subscribe to its topic.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterator

from groupcheck.model.assignors import Group, Partition
from groupcheck.oracles.assignment.validity import Assigned, Violation, named


def balanced_in_topics(group: Group, assigned: Assigned) -> Iterator[Violation]:
    """Of each topic, no subscriber has two partitions more than another (what the range assignors
    promise).
    """
    subscribers = _subscribers(group)
    many = Counter((m, topic) for m, partitions in assigned.items() for topic, _ in partitions)
    for topic, _ in group.topics:
        sizes = {member: many[member, topic] for member in subscribers[topic]}
        for most, least in _apart(sizes):
            yield Violation(
                "balanced in topics",
                f"of {topic}, {most} has {sizes[most]} and {least} has {sizes[least]}",
                ((most, None), (least, None)),
            )


def level(group: Group, assigned: Assigned) -> Iterator[Violation]:
    """No member has two partitions more than another: what round robin, sticky and uniform promise
    where all subscriptions are equal. Members that subscribe to nothing are not compared.
    """
    subscribers = {member.id for member in group.members if member.topics}
    sizes = {m: size for m, size in _sizes(group, assigned).items() if m in subscribers}
    for most, least in _apart(sizes):
        yield Violation(
            "level",
            f"{most} has {sizes[most]} partitions and {least} has {sizes[least]}",
            ((most, None), (least, None)),
        )


def _apart(sizes: dict[str, int]) -> Iterator[tuple[str, str]]:
    """The members with the most and the fewest, if these differ by two or more."""
    if sizes:
        least, most = min(sizes, key=sizes.__getitem__), max(sizes, key=sizes.__getitem__)
        if sizes[most] > sizes[least] + 1:
            yield most, least


def locally_balanced(group: Group, assigned: Assigned) -> Iterator[Violation]:
    """No single partition could go from its owner to another subscriber that would still have fewer
    (KIP-54, "as balanced as possible").
    """
    sizes, subscribers = _sizes(group, assigned), _subscribers(group)
    fewest = {topic: min(map(sizes.__getitem__, members)) for topic, members in subscribers.items()}
    for owner in sizes:
        wanted = {topic for topic, least in fewest.items() if least + 1 < sizes[owner]}
        for partition in sorted(p for p in assigned.get(owner, ()) if p[0] in wanted):
            for other in subscribers[partition[0]]:
                if sizes[other] + 1 < sizes[owner]:
                    words = (
                        f"{owner} has {sizes[owner]} partitions and {other} has {sizes[other]},"
                        f" which could have {named(partition)}"
                    )
                    yield Violation("locally balanced", words, ((owner, partition), (other, None)))


def balanced(group: Group, assigned: Assigned) -> Iterator[Violation]:
    """The best balance: no chain of moves, however long, takes one partition from a member and
    gives one to a member that has two fewer.

    If there is no such chain, the sum of the squares of the sizes is the least possible, and the
    other way round (a cost-reducing path of a semi-matching); then the largest size is the least
    possible, too. Yields the shortest chain for the first member that has one.
    """
    sizes = _sizes(group, assigned)
    for start in sorted(sizes, key=lambda member: -sizes[member]):
        chain = _chain(group, assigned, start, sizes)
        if chain:
            end = chain[-1][2]
            steps = ", ".join(f"{named(p)} from {frm} to {to}" for frm, p, to in chain)
            words = (
                f"{start} has {sizes[start]} partitions and {end} has {sizes[end]}; better: {steps}"
            )
            yield Violation("balanced", words, ((start, None), (end, None)))
            return


def _chain(
    group: Group, assigned: Assigned, start: str, sizes: dict[str, int]
) -> list[tuple[str, Partition, str]]:
    """The shortest chain of moves from `start` to a member with at least two partitions fewer;
    empty if there is none.
    """
    chains: dict[str, list[tuple[str, Partition, str]]] = {start: []}
    waiting = deque([start])
    while waiting:
        frm = waiting.popleft()
        if sizes[frm] + 1 < sizes[start]:
            return chains[frm]
        first = {topic: (topic, number) for topic, number in sorted(assigned.get(frm, ()))[::-1]}
        for member in group.members:
            topic = min(member.topics.intersection(first), default=None)
            if topic is not None and member.id not in chains:
                chains[member.id] = [*chains[frm], (frm, first[topic], member.id)]
                waiting.append(member.id)
    return []


def _subscribers(group: Group) -> dict[str, list[str]]:
    """Topic -> who subscribes to it, in the order of the members."""
    subscribers: dict[str, list[str]] = defaultdict(list)
    for member in group.members:
        for topic in member.topics:
            subscribers[topic].append(member.id)
    return subscribers


def _sizes(group: Group, assigned: Assigned) -> dict[str, int]:
    return {member.id: len(assigned.get(member.id, ())) for member in group.members}
