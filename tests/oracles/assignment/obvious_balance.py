"""What is asked of balance and of handing over, written as it is said: every member is compared
with every other. What `groupcheck.oracles.assignment` yields is compared with this.
"""

from __future__ import annotations

from collections.abc import Iterator

from groupcheck.model.assignors import Group
from groupcheck.oracles.assignment.validity import Assigned, Violation, named


def balanced_in_topics(group: Group, assigned: Assigned) -> Iterator[str]:
    for topic, _ in group.topics:
        sizes = {
            m.id: sum(p[0] == topic for p in assigned.get(m.id, ()))
            for m in group.members
            if topic in m.topics
        }
        if sizes:
            least, most = min(sizes, key=sizes.__getitem__), max(sizes, key=sizes.__getitem__)
            if sizes[most] > sizes[least] + 1:
                yield f"of {topic}, {most} has {sizes[most]} and {least} has {sizes[least]}"


def locally_balanced(group: Group, assigned: Assigned) -> Iterator[Violation]:
    sizes = {member.id: len(assigned.get(member.id, ())) for member in group.members}
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


def handed_over(group: Group, assigned: Assigned) -> Iterator[str]:
    for member in group.members:
        for partition in sorted(assigned.get(member.id, ())):
            for other in group.members:
                if other.id == member.id or partition not in other.owned:
                    continue
                if partition not in member.owned:
                    yield (
                        f"{named(partition)} goes from {other.id} to {member.id} in one round:"
                        f" {other.id} has not let go of it"
                    )
                elif other.generation > member.generation:
                    yield (
                        f"{named(partition)} goes from {other.id}, whose claim is newer, to"
                        f" {member.id} in one round"
                    )
