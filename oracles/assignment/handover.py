"""Sticky: how much moves. Safe to hand over: what moves is nobody's in between."""

from __future__ import annotations

from collections.abc import Iterator

from groupcheck.model.assignors import Group, Partition
from groupcheck.oracles.assignment.validity import Assigned, Violation, named


def moves(group: Group, assigned: Assigned) -> dict[Partition, tuple[str, str]]:
    """Partitions that go from a member that claims them to another: (from, to). Of several claimants the one of the highest generation counts."""
    claimed: dict[Partition, tuple[int, str]] = {}
    for member in group.members:
        for partition in member.owned:
            if partition not in claimed or member.generation > claimed[partition][0]:
                claimed[partition] = member.generation, member.id
    owner = {partition: member for member, partitions in assigned.items() for partition in partitions}
    return {p: (frm, owner[p]) for p, (_, frm) in sorted(claimed.items()) if owner.get(p, frm) != frm}


def handed_over(group: Group, assigned: Assigned) -> Iterator[Violation]:
    """Nobody gets a partition that it does not claim while another claims it: that one goes on until it hears of the assignment (KIP-429).

    Every claim counts, also one of an older generation: a member that claims a partition believes that it owns it.
    """
    owned = {member.id: member.owned for member in group.members}
    for member, partitions in assigned.items():
        for partition in sorted(partitions - owned.get(member, frozenset())):
            for other in (m.id for m in group.members if m.id != member and partition in m.owned):
                words = f"{named(partition)} goes from {other} to {member} in one round: {other} has not let go of it"
                yield Violation("handed over", words)
