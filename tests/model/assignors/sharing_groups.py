"""Groups for assignors: short to write by hand, and made by Hypothesis."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from hypothesis import strategies as st

from groupcheck.model.assignors import Assignment, Group, Member, Partitions, partitions
from groupcheck.oracles.assignment import Violation

RACKS = ("r1", "r2")


def told(assignment: Assignment) -> dict[str, str]:
    """{"A": "t-0 t-1"}."""
    return {
        member: " ".join(f"{topic}-{number}" for topic, number in sorted(given))
        for member, given in assignment.items()
    }


def claiming(group: Group, assignment: Mapping[str, Partitions], generation: int) -> Group:
    """The next round: everybody claims what it was given, and is of that generation."""
    members = [
        Member(
            m.id,
            m.topics,
            assignment.get(m.id, frozenset()),
            generation,
            instance=m.instance,
            rack=m.rack,
        )
        for m in group.members
    ]
    return Group(group.topics, members, group.racks)


def without(group: Group, gone: str) -> Group:
    return Group(group.topics, [m for m in group.members if m.id != gone], group.racks)


def words(violations: Iterable[Violation]) -> list[str]:
    return [violation.words for violation in violations]


@st.composite
def groups(
    draw: st.DrawFn, *, equal: bool = False, racks: bool = False, claims: bool = False
) -> Group:
    """Up to 6 members and 4 topics; everybody subscribes to something; with `claims` everything
    owned is one member's, of generation 1.
    """
    sizes = {name: draw(st.integers(1, 7)) for name in "tuvw"[: draw(st.integers(1, 4))]}
    ids = draw(
        st.lists(st.text("abcXYZ019-", min_size=1, max_size=6), min_size=1, max_size=6, unique=True)
    )
    some_topics = st.frozensets(st.sampled_from(sorted(sizes)), min_size=1)
    common = draw(some_topics)
    subscribed = {name: common if equal else draw(some_topics) for name in ids}
    owners = (
        {
            p: draw(st.sampled_from([None, *ids]))
            for t, size in sizes.items()
            for p in ((t, n) for n in range(size))
        }
        if claims
        else {}
    )
    members = []
    for number, name in enumerate(ids):
        owned = partitions([p for p, owner in owners.items() if owner == name])
        instance = f"i{number}" if draw(st.booleans()) else None
        rack = draw(st.sampled_from((None, *RACKS))) if racks else None
        members.append(
            Member(name, subscribed[name], owned, 1 if claims else -1, instance=instance, rack=rack)
        )
    somewhere = st.frozensets(st.sampled_from(RACKS))
    return Group(
        sizes,
        members,
        {t: [draw(somewhere) for _ in range(size)] for t, size in sizes.items()} if racks else {},
    )
