"""Balanced: nobody has more than it must. Three senses, from what range promises to the best that
there is.

All three take a valid assignment: of one that gives a partition twice, or to a member that does not
subscribe, they mean nothing.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from groupcheck.model.assignors import Group, Partition
from groupcheck.oracles.assignment.validity import Assigned, Violation, named


def balanced_in_topics(group: Group, assigned: Assigned) -> Iterator[Violation]:
    """Of each topic, no subscriber has two partitions more than another (what the range assignors
    promise).
    """
    for topic, _ in group.topics:
        sizes = {
            m.id: sum(p[0] == topic for p in assigned.get(m.id, ()))
            for m in group.members
            if topic in m.topics
        }
        if sizes:
            least, most = min(sizes, key=sizes.__getitem__), max(sizes, key=sizes.__getitem__)
            if sizes[most] > sizes[least] + 1:
                words = f"of {topic}, {most} has {sizes[most]} and {least} has {sizes[least]}"
                yield Violation("balanced in topics", words, ((most, None), (least, None)))


def level(group: Group, assigned: Assigned) -> Iterator[Violation]:
    """No member has two partitions more than another: what round robin, sticky and uniform promise
    where all subscriptions are equal.
    """
    sizes = _sizes(group, assigned)
    if sizes:
        least, most = min(sizes, key=sizes.__getitem__), max(sizes, key=sizes.__getitem__)
        if sizes[most] > sizes[least] + 1:
            words = f"{most} has {sizes[most]} partitions and {least} has {sizes[least]}"
            yield Violation("level", words, ((most, None), (least, None)))


def locally_balanced(group: Group, assigned: Assigned) -> Iterator[Violation]:
    """No single partition could go from its owner to another subscriber that would still have fewer
    (KIP-54, "as balanced as possible").
    """
    sizes = _sizes(group, assigned)
    topics = {member.id: member.topics for member in group.members}
    for owner in sizes:
        for partition in sorted(assigned.get(owner, ())):
            for other in sizes:
                if partition[0] in topics[other] and sizes[other] + 1 < sizes[owner]:
                    words = (
                        f"{owner} has {sizes[owner]} partitions and {other} has {sizes[other]},"
                        f" which could have {named(partition)}"
                    )
                    yield Violation("locally balanced", words, ((owner, partition), (other, None)))


def balanced(group: Group, assigned: Assigned) -> Iterator[Violation]:
    """The best that there is: no chain of moves, however long, takes one partition off a member and
    gives one to a member that has two fewer.

    That no such chain exists is the same as that the sum of the squares of the sizes is the least
    possible (a cost-reducing path of a semi-matching), and then the largest size is the least
    possible, too. Yields the shortest chain for the first member that has one.
    """
    sizes = _sizes(group, assigned)
    for start in sorted(sizes, key=lambda member: -sizes[member]):
        chain = _chain(group, assigned, start, sizes)
        if chain:
            end = chain[-1][2]
            steps = ", ".join(
                f"{named(partition)} from {frm} to {to}" for frm, partition, to in chain
            )
            yield Violation(
                "balanced",
                f"{start} has {sizes[start]} partitions and {end} has {sizes[end]}; better:"
                f" {steps}",
                ((start, None), (end, None)),
            )
            return


def _chain(
    group: Group, assigned: Assigned, start: str, sizes: dict[str, int]
) -> list[tuple[str, Partition, str]]:
    """The shortest chain of moves from `start` to a member with at least two fewer; empty if there
    is none.
    """
    came: dict[str, tuple[str, Partition] | None] = {start: None}
    waiting = deque([start])
    while waiting:
        frm = waiting.popleft()
        if sizes[frm] + 1 < sizes[start]:
            chain = []
            while (step := came[frm]) is not None:
                chain.append((*step, frm))
                frm = step[0]
            return chain[::-1]
        by_topic = {
            partition[0]: partition for partition in sorted(assigned.get(frm, ()), reverse=True)
        }
        for member in group.members:
            topic = next((topic for topic in sorted(by_topic) if topic in member.topics), None)
            if topic is not None and member.id not in came:
                came[member.id] = frm, by_topic[topic]
                waiting.append(member.id)
    return []


def _sizes(group: Group, assigned: Assigned) -> dict[str, int]:
    return {member.id: len(assigned.get(member.id, ())) for member in group.members}
