"""Sticky where subscriptions differ answers what the obvious version answers, which looks at
everything again before each step, exceptions included.
"""

from __future__ import annotations

from importlib import import_module
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from obvious_sticky import obvious_spread

from groupcheck.model.assignors import Group, Member, NoAssignment, cooperative_sticky, sticky
from groupcheck.oracles.assignment.conform.inputs import random_groups

MODULE = import_module("groupcheck.model.assignors.sticky")
BOTH = (sticky, cooperative_sticky)


@st.composite
def strange_groups(draw):
    """Claims of several generations, also of what there is not or what is not subscribed to, and
    of one partition by several members; racks. The first two members subscribe to different topics.
    """
    sizes = {name: draw(st.integers(1, 5)) for name in "tuv"[: draw(st.integers(2, 3))]}
    there = [(t, n) for t, size in sizes.items() for n in range(size + draw(st.integers(0, 1)))]
    racks = draw(st.sampled_from([(None,), (None,), (None, "r1", "r2")]))
    members = []
    for number in range(draw(st.integers(2, 6))):
        few = st.frozensets(st.sampled_from(sorted(sizes)), min_size=number < 2)
        topics = draw(few) if number else frozenset("t")
        if number == 1 and topics == frozenset("t"):
            topics = frozenset("tu")
        owned = draw(st.frozensets(st.sampled_from(there), max_size=6))
        told = draw(st.sampled_from([None, None, None, -1, 1]))
        generation, rack = draw(st.integers(-1, 3)), draw(st.sampled_from(racks))
        members.append(Member(f"m{number}", topics, owned, generation, told, rack=rack))
    replicas = st.sampled_from([("r1",), ("r2",), ("r1", "r2"), ()])
    of_topics = {t: [draw(replicas) for _ in range(size)] for t, size in sizes.items()}
    return Group(sizes, members, of_topics if len(racks) > 1 else {})


def answered(monkeypatch, assignor, group, spread=None):
    """What is assigned, or what the class throws."""
    with monkeypatch.context() as patched:
        if spread:
            patched.setattr(MODULE, "spread", spread)
        try:
            return assignor(group)
        except NoAssignment as thrown:
            return thrown.thrown


@pytest.mark.parametrize("assignor", BOTH)
def test_strange_claims_are_answered_as_the_obvious_version_answers_them(monkeypatch, assignor):
    thrown = []

    @settings(max_examples=200, deadline=None, derandomize=True)
    @given(strange_groups())
    def same(group):
        answer = answered(monkeypatch, assignor, group, obvious_spread)
        assert answered(monkeypatch, assignor, group) == answer
        thrown.append(answer == "NullPointerException")

    same()
    assert 0 < sum(thrown) < len(thrown) / 2


def stranger_groups(count, seed):
    """The same at random, with more claims of what there is not, so that partitions are given
    twice.
    """
    random = Random(seed)
    for _ in range(count):
        sizes = {t: random.randint(1, 5) for t in "tuvw"[: random.randint(2, 4)]}
        more = random.choice((0, 1, 2))
        there = [(t, n) for t, size in sizes.items() for n in range(size + more)]
        members = []
        for number in range(random.randint(2, 7)):
            topics = [t for t in sizes if random.random() < 0.6]
            owned = [p for p in there if random.random() < 0.4]
            told = random.choice((None, None, None, -1, 1))
            members.append(Member(f"m{number}", topics, owned, random.randint(-1, 3), told))
        yield Group(sizes, members)


def test_partitions_that_are_given_twice_are_answered_as_the_obvious_version_answers_them(
    monkeypatch,
):
    for group in stranger_groups(4_000, 0):
        answer = answered(monkeypatch, sticky, group, obvious_spread)
        assert answered(monkeypatch, sticky, group) == answer


@pytest.mark.parametrize("assignor", BOTH)
def test_larger_random_groups_are_answered_as_the_obvious_version_answers_them(
    monkeypatch, assignor
):
    for group in random_groups("sticky", 400, 3):
        answer = answered(monkeypatch, assignor, group, obvious_spread)
        assert answered(monkeypatch, assignor, group) == answer
