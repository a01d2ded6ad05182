"""The groups for which other people's assignors are asked: those of `crowds`, and small ones that
Hypothesis draws, with claims that a real group can have. This module imports Hypothesis, so import
it late.

A smaller group is a simpler one: fewer members, partitions and subscriptions, no claims, no
instance ids.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from random import Random
from typing import TypeVar

from attrs import evolve
from hypothesis import Phase, Verbosity, find, settings
from hypothesis import strategies as st
from hypothesis.errors import NoSuchExample

from groupcheck.model.assignors import Group, Member, Partition
from groupcheck.model.assignors.group import NO_GENERATION, every_partition
from groupcheck.oracles.assignment.against.crowds import DRAWS, at_random
from groupcheck.oracles.assignment.against.offered import Claim

NAMES = "ABCD"
TOPICS = "tuv"
GENERATIONS = (2, 1)
Drawn = TypeVar("Drawn")


@st.composite
def fresh(draw: st.DrawFn) -> Group:
    """Members that were never assigned anything, dynamic and static."""
    sizes = draw(SIZES)
    members = _members(draw, sizes)
    if draw(st.booleans()):
        members = [evolve(m, instance=f"i{m.id}" if draw(st.booleans()) else None) for m in members]
    return Group(sizes, members)


@st.composite
def settled(draw: st.DrawFn) -> Group:
    """The first members claim what they were assigned in the last generation, in which each
    partition went to a subscriber or to nobody; the others are new.
    """
    sizes = draw(SIZES)
    members = _members(draw, sizes)
    old = {m.id: m.topics for m in members[: draw(st.integers(1, len(members)))]}
    owned = _given(draw, every_partition(sizes), old)
    return Group(sizes, [_claiming(m, owned.get(m.id, set()), 1) for m in members])


@st.composite
def whole_topics(draw: st.DrawFn) -> Group:
    """All subscribe to the same topics. The first members had one topic each, the others are new.
    There may be a topic that nobody wants.
    """
    sizes = draw(SIZES)
    wanted = sorted(sizes)[: draw(st.integers(1, len(sizes)))]
    names = NAMES[: draw(st.integers(1, len(NAMES)))]
    had = dict(zip(names, wanted))
    owned = {name: {(topic, n) for n in range(sizes[topic])} for name, topic in had.items()}
    return Group(
        sizes, [_claiming(Member(name, wanted), owned.get(name, set()), 1) for name in names]
    )


@st.composite
def with_older_claims(draw: st.DrawFn) -> Group:
    """Some members have claims of the generation before, whatever they subscribe to now. In one
    generation no partition is claimed twice.
    """
    sizes = draw(FEWER)
    members = _members(draw, sizes)
    of = {m.id: draw(st.sampled_from(GENERATIONS)) for m in members}
    owned = {m.id: set[Partition]() for m in members}
    for generation in GENERATIONS:
        able = {m.id: frozenset(sizes) for m in members if of[m.id] == generation}
        for member, partitions in _given(draw, every_partition(sizes), able).items():
            owned[member] |= partitions
    return Group(sizes, [_claiming(m, owned[m.id], of[m.id]) for m in members])


@st.composite
def untold(draw: st.DrawFn) -> Group:
    """The same, of clients that send their generation in the claim alone, not in the subscription
    itself (before KIP-792).
    """
    group = draw(with_older_claims())
    return evolve(group, members=[evolve(m, told=NO_GENERATION) for m in group.members])


def _sizes(most: int, topics: str) -> st.SearchStrategy[dict[str, int]]:
    return st.lists(st.integers(1, most), min_size=1, max_size=len(topics)).map(
        lambda sizes: dict(zip(topics, sizes))
    )


SIZES, FEWER = _sizes(4, TOPICS), _sizes(2, TOPICS)


def _members(draw: st.DrawFn, sizes: Mapping[str, int]) -> list[Member]:
    """Members that subscribe to at least one topic; in half of the groups, all to all."""
    names = NAMES[: draw(st.integers(1, len(NAMES)))]
    if draw(st.booleans()):
        return [Member(name, sizes) for name in names]
    topics = st.sets(st.sampled_from(sorted(sizes)), min_size=1)
    return [Member(name, draw(topics)) for name in names]


def _given(
    draw: st.DrawFn, partitions: list[Partition], able: Mapping[str, frozenset[str]]
) -> dict[str, set[Partition]]:
    owned: dict[str, set[Partition]] = {member: set() for member in able}
    for partition in partitions:
        member = draw(
            st.sampled_from(
                [None, *(member for member, topics in able.items() if partition[0] in topics)]
            )
        )
        if member is not None:
            owned[member].add(partition)
    return owned


def _claiming(member: Member, owned: set[Partition], generation: int) -> Member:
    return evolve(member, owned=frozenset(owned), generation=generation) if owned else member


@st.composite
def claims(draw: st.DrawFn) -> tuple[frozenset[Partition], int]:
    """The partitions that one member was assigned, and in which generation."""
    return frozenset(
        draw(st.sets(st.sampled_from(every_partition({"t": 2, "u": 1})), min_size=1))
    ), draw(st.integers(1, 9))


def _found(
    strategy: st.SearchStrategy[Drawn],
    wanted: Callable[[Drawn], bool],
    examples: int,
    seed: int,
) -> Drawn | None:
    quiet = settings(
        max_examples=examples,
        database=None,
        derandomize=True,
        deadline=None,
        verbosity=Verbosity.quiet,
        phases=[Phase.generate, Phase.shrink],
    )
    try:
        return find(strategy, wanted, settings=quiet, random=Random(seed))
    except NoSuchExample:
        return None


@lru_cache
def drawn(kind: str, examples: int, seed: int) -> tuple[Group, ...]:
    """All groups of a kind that a search with so many examples looks at, each once. The same seed
    gives the same ones.
    """
    seen: dict[Group, None] = {}

    def note(group: Group) -> bool:
        seen[group] = None
        return False

    if kind in DRAWS:
        return tuple(dict.fromkeys(at_random(kind, examples, seed)))
    _found(KINDS[kind], note, examples, seed)
    return tuple(seen)


def minimal_claim(wanted: Callable[[Claim], bool], examples: int, seed: int = 0) -> Claim | None:
    """The smallest claim that is wanted, or None."""
    return _found(claims(), wanted, examples, seed)


KINDS: Mapping[str, st.SearchStrategy[Group]] = {
    "fresh": fresh(),
    "settled": settled(),
    "whole_topics": whole_topics(),
    "with_older_claims": with_older_claims(),
    "untold": untold(),
}
