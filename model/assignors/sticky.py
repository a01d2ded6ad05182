"""`StickyAssignor` and `CooperativeStickyAssignor` (KIP-54, KIP-429)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from groupcheck.model.assignors.claims import ClaimOf, cooperative_claim, eager_claim, resolved
from groupcheck.model.assignors.group import (
    Assignment,
    Group,
    Member,
    Partition,
    Partitions,
    subscribed_sizes,
)
from groupcheck.model.assignors.racks import rack_info
from groupcheck.model.assignors.sticky_equal import deal
from groupcheck.model.assignors.sticky_unequal import spread


def sticky(group: Group) -> Assignment:
    """As balanced as it can be, then as much as possible where it was; everything at once, since
    all members have let go of everything.

    Claims are resolved in the order of `group.members` (a leader's map); equal subscriptions are
    dealt in the hash order of the ids. Stands for a new leader: a class that has led before
    remembers the highest generation that it has seen. Promises (KIP-54): valid, complete, balanced.
    Raises `NoAssignment` where Kafka's class throws.
    """
    planned, _ = _plan(group, eager_claim)
    return {member: frozenset(partitions) for member, partitions in planned.items()}


def cooperative_sticky(group: Group) -> Assignment:
    """The same plan, less the partitions that another member still has to let go of: those are
    nobody's for one more round (KIP-429).
    """
    planned, changing = _plan(group, cooperative_claim)
    if changing is None:
        changing = _changing({member.id: member.owned for member in group.members}, planned)
    for partition, member in changing.items():
        planned[member].remove(partition)
    return {member: frozenset(partitions) for member, partitions in planned.items()}


def _plan(
    group: Group, claim_of: ClaimOf
) -> tuple[dict[str, list[Partition]], dict[Partition, str] | None]:
    """The partitions that each member shall have; and those that change hands, where the algorithm
    for equal subscriptions knows it.
    """
    if not group.members:
        return {}, {}
    sizes = subscribed_sizes(group)
    racks = rack_info(group, sizes)
    claims = resolved(group, sizes, claim_of)
    if seem_equal(group.members):
        return deal(sizes, racks, claims)
    return spread(group, sizes, racks, claims), None


def seem_equal(members: Iterable[Member]) -> bool:
    """Do all subscribe to the same topics? As Kafka sees it: members without a topic are overlooked
    as long as nobody before them has one.
    """
    first: frozenset[str] = frozenset()
    for member in members:
        if not first:
            first = member.topics
        elif member.topics != first:
            return False
    return True


def _changing(
    owned: Mapping[str, Partitions], planned: Mapping[str, list[Partition]]
) -> dict[Partition, str]:
    """Partitions that a member is to get and another, which claims them, is to lose
    (computePartitionsTransferringOwnership).
    """
    lost = frozenset[Partition]().union(
        *(owned[member].difference(partitions) for member, partitions in planned.items())
    )
    return {
        p: member
        for member, partitions in planned.items()
        for p in partitions
        if p in lost and p not in owned[member]
    }
