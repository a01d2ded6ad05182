"""Sticky: how much moves. Safe to hand over: what moves belongs to nobody in between."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from groupcheck.model.assignors import Group, Member, Partition
from groupcheck.oracles.assignment.validity import Assigned, Violation, named


def claimants(group: Group) -> dict[Partition, str]:
    """Who claims each partition: of several claimants the one of the highest generation, and of
    equals the first.
    """
    claimed: dict[Partition, tuple[int, str]] = {}
    for member in group.members:
        for partition in member.owned:
            if partition not in claimed or member.generation > claimed[partition][0]:
                claimed[partition] = member.generation, member.id
    return {partition: member for partition, (_, member) in claimed.items()}


def moves(group: Group, assigned: Assigned) -> dict[Partition, tuple[str, str]]:
    """Partitions that go from their claimant (`claimants`) to another member: (from, to)."""
    owner = {
        partition: member for member, partitions in assigned.items() for partition in partitions
    }
    return {
        p: (frm, owner[p])
        for p, frm in sorted(claimants(group).items())
        if owner.get(p, frm) != frm
    }


def handed_over(group: Group, assigned: Assigned) -> Iterator[Violation]:
    """Nobody gets a partition before its owner, another member, has let go of it: the owner goes on
    until it hears of the assignment (KIP-429).

    A member that claims a partition believes that it owns it. Its claim lets it keep the partition,
    unless another member's claim is of a higher generation.
    """
    owners: dict[Partition, list[Member]] = defaultdict(list)
    for member in group.members:
        for partition in member.owned:
            owners[partition].append(member)
    for member in group.members:
        for partition in sorted(owners.keys() & assigned.get(member.id, frozenset())):
            for other in owners[partition]:
                if other.id == member.id:
                    continue
                if partition not in member.owned:
                    words = (
                        f"{named(partition)} goes from {other.id} to {member.id} in one round:"
                        f" {other.id} has not let go of it"
                    )
                elif other.generation > member.generation:
                    words = (
                        f"{named(partition)} goes from {other.id}, whose claim is newer, to"
                        f" {member.id} in one round"
                    )
                else:
                    continue
                yield Violation("handed over", words, ((member.id, partition),))
