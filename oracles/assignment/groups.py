"""Groups as input: how large one is, what is unusual about it, and how it is shown."""

from __future__ import annotations

from groupcheck.model.assignors import Group, Member
from groupcheck.model.assignors.group import NO_GENERATION
from groupcheck.oracles.assignment import group_types
from groupcheck.oracles.show.json_schemas import ABSENT


def size(group: Group) -> tuple[int, ...]:
    """How large a group is: members, partitions, claims, subscriptions, and whatever else is set.
    The smaller of two groups explains more.
    """
    members = group.members
    return (
        len(members),
        sum(number for _, number in group.topics),
        sum(len(m.owned) for m in members),
        sum(len(m.topics) for m in members),
        sum(value is not None for m in members for value in (m.instance, m.rack, m.told)),
        sum(m.generation for m in members),
    )


def circumstances(group: Group) -> frozenset[str]:
    """The unusual features of a group. It tells findings of one cause from those of another."""
    sizes = dict(group.topics)
    newest = max((member.generation for member in group.members), default=0)
    claims = [partition for member in group.members for partition in member.owned]
    strange = {
        "a member subscribes to nothing": any(not member.topics for member in group.members),
        "subscriptions differ": (
            len({member.topics for member in group.members if member.topics}) > 1
        ),
        "a claim is of an older generation": any(
            member.owned and member.generation < newest for member in group.members
        ),
        "a claimed topic is not subscribed to": any(
            topic not in member.topics for member in group.members for topic, _ in member.owned
        ),
        "a partition is claimed twice": len(claims) > len(set(claims)),
        "a claimed partition does not exist": any(
            number >= sizes.get(topic, 0) for topic, number in claims
        ),
        "a generation is told that is not the claim's": any(
            m.told not in (None, m.generation) for m in group.members
        ),
        "members have racks": any(member.rack for member in group.members),
    }
    return frozenset(name for name, here in strange.items() if here)


def shown(group: Group) -> group_types.Group:
    """The group in the form that `groupcheck assign` reads."""
    return group_types.Group(
        topics=dict(group.topics),
        members={m.id: _member(m) for m in group.members},
        racks=racks_shown(group) if has_racks(group) else ABSENT,
    )


def _member(m: Member) -> group_types.Member:
    return group_types.Member(
        subscribes=sorted(m.topics),
        claims=[f"{topic}-{number}" for topic, number in sorted(m.owned)] or ABSENT,
        generation=ABSENT if m.generation == NO_GENERATION else m.generation,
        told=ABSENT if m.told is None else m.told,
        instance=ABSENT if m.instance is None else m.instance,
        rack=ABSENT if m.rack is None else m.rack,
    )


def has_racks(group: Group) -> bool:
    """Are there racks of any replica?"""
    return any(any(of_topic) for _, of_topic in group.racks)


def racks_shown(group: Group) -> dict[str, list[list[str]]]:
    """Topic -> for each partition the racks of its replicas."""
    return {topic: [sorted(racks) for racks in of_topic] for topic, of_topic in group.racks}
