"""Who owned what before, as the sticky assignors make it out of the members' claims
(AbstractStickyAssignor, KIP-341).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from attrs import frozen

from groupcheck.model.assignors.group import NO_GENERATION, Group, Member, Partition, Partitions

NOTHING: Partitions = frozenset()
ClaimOf = Callable[[Member], tuple[Partitions, int]]
"""What a member claims, and of which generation; -1: it does not say."""


def eager_claim(member: Member) -> tuple[Partitions, int]:
    """`StickyAssignor` reads partitions and generation from the user data. A member has user data
    if it was assigned something before.
    """
    return (
        (member.owned, member.generation)
        if member.generation > NO_GENERATION
        else (NOTHING, NO_GENERATION)
    )


def cooperative_claim(member: Member) -> tuple[Partitions, int]:
    """`CooperativeStickyAssignor` reads the partitions from the subscription, and the generation,
    too, unless only the user data has one.
    """
    return member.owned, member.in_subscription if member.in_subscription > NO_GENERATION else max(
        member.generation, NO_GENERATION
    )


@frozen
class Claims:
    """Who owns what, after all claims were compared."""

    # What each member still has, in the order of the members.
    owned: Mapping[str, set[Partition]]
    # Partitions that two members claimed in the same generation.
    contested: set[Partition]
    # Who claimed a partition in a generation lower than the newest. Of several members the one of
    # the highest such generation, and of these the first.
    older: Mapping[Partition, str]


def resolved(group: Group, topics: Mapping[str, int], claim_of: ClaimOf) -> Claims:
    """Compares the claims, one after the other in the order of `group.members`: a newer claim
    replaces an older one, equal ones cancel each other.

    The generation of the earlier claimant is taken from its subscription, that of the later one
    from its claim. If the two differ (`Member.told`), the outcome depends on the order. A partition
    that a topic does not have, or no longer has, stays claimed.
    """
    claims = [(member, *claim_of(member)) for member in group.members]
    newest = max(generation for _, _, generation in claims)
    owned: dict[str, set[Partition]] = {}
    owner: dict[Partition, Member] = {}
    contested: set[Partition] = set()
    older: dict[Partition, tuple[int, str]] = {}
    for member, claimed, generation in claims:
        mine = owned[member.id] = set()
        for partition in claimed:
            if generation < newest and (partition not in older or generation > older[partition][0]):
                older[partition] = generation, member.id
            if partition[0] not in topics:
                continue
            other = owner.get(partition)
            if other is None:
                mine.add(partition)
            else:
                told = max(other.in_subscription, NO_GENERATION)
                if generation < told:
                    continue
                owned[other.id].discard(partition)
                (contested if generation == told else mine).add(partition)
            owner[partition] = member
    return Claims(owned, contested, {partition: member for partition, (_, member) in older.items()})


def not_assigned(partitions: list[Partition], assigned: list[Partition]) -> list[Partition]:
    """The partitions that are not among those assigned, both lists sorted alike.

    As in Kafka's getUnassignedPartitions both are walked side by side; one that is assigned but
    does not exist is never met, and whatever stands behind it counts as not assigned, although it
    is.
    """
    left, at = [], 0
    for partition in partitions:
        if at < len(assigned) and assigned[at] == partition:
            at += 1
        else:
            left.append(partition)
    return left
