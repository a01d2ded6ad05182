"""The coordinator's `UniformAssignor` (KIP-848)."""

from __future__ import annotations

from groupcheck.model.assignors.group import Assignment, Group, Member, Partition, subscribed_sizes
from groupcheck.model.assignors.hash_order import (
    by_text,
    copied,
    id_hash,
    in_hash_order,
    number_hash,
)
from groupcheck.model.assignors.uniform_unequal import level


def uniform(group: Group, *, gives_up_the_extra: bool = True) -> Assignment:
    """Each member keeps its last target (`owned`) up to its quota; the rest goes to the members
    below their quota.

    Members come in the hash order of their ids, inserted in the order of `group.members`; of equal
    subscriptions, topics in the hash order of their ids (`hash_order.topic_id`). The first members
    have a quota that is one larger, until none is left; since 4.1 a member that cannot fill it
    leaves it to a later one (`gives_up_the_extra`). Racks are not looked at. Targets must not
    overlap: the coordinator's never do. Valid and complete; balanced where all subscriptions are
    equal, else as far as sixteen rounds get.
    """
    sizes = subscribed_sizes(group)
    order = by_text(member.id for member in group.members)
    members = {member.id: member for member in group.members}
    if len({wanted(member, group) for member in group.members}) <= 1:
        given = _fill(
            [members[member] for member in order], sizes, gives_up_the_extra=gives_up_the_extra
        )
    else:
        given = level([members[member] for member in order], sizes)
    return {member: frozenset(given.get(member, ())) for member in members}


def wanted(member: Member, group: Group) -> frozenset[str]:
    """The existing topics to which it subscribes: the coordinator knows no others."""
    return member.topics.intersection(topic for topic, _ in group.topics)


def _fill(
    members: list[Member], sizes: dict[str, int], *, gives_up_the_extra: bool
) -> dict[str, set[Partition]]:
    """UniformHomogeneousAssignmentBuilder."""
    if not sizes:
        return {}
    topics = copied(in_hash_order(sorted(sizes), id_hash), id_hash)
    taken = frozenset[Partition]().union(*(member.owned for member in members))
    free = [
        (topic, number)
        for topic in topics
        for number in range(sizes[topic])
        if (topic, number) not in taken
    ]
    quota, extra = divmod(sum(sizes.values()), len(members))
    given: dict[str, set[Partition]] = {}
    room: list[tuple[str, int]] = []
    for behind, member in zip(range(len(members) - 1, -1, -1), members):
        larger = extra > 0
        kept, lost = _kept(member, sizes, quota + larger)
        left = quota + larger - len(kept)
        if gives_up_the_extra and larger and left and behind >= extra:
            larger, left = False, left - 1
        extra -= larger
        given[member.id] = kept
        free += lost
        room.append((member.id, left))
    at = 0
    for name, left in room:
        given[name].update(free[at : at + left])
        at += left
    return given


def _kept(
    member: Member, sizes: dict[str, int], quota: int
) -> tuple[set[Partition], list[Partition]]:
    """Which partitions of its target a member may keep, and which it loses for lack of room. If a
    topic does not fit whole, its first partitions in hash order stay.
    """
    numbers: dict[str, list[int]] = {}
    for topic, number in sorted(member.owned):
        numbers.setdefault(topic, []).append(number)
    kept: set[Partition] = set()
    lost: list[Partition] = []
    for topic in in_hash_order(list(numbers), id_hash):
        if topic in sizes:
            of_topic = [(topic, number) for number in in_hash_order(numbers[topic], number_hash)]
            room = quota - len(kept)
            kept.update(of_topic[:room])
            lost += of_topic[room:]
    return kept, lost
