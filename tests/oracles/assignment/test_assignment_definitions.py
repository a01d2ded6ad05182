"""What an assignment must be: each promise is broken by a small assignment that is wrong in that
way alone, and told in words.
"""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groupcheck.model.assignors import Group, Member, partitions
from groupcheck.model.assignors.group import every_partition, subscribed_sizes
from groupcheck.oracles.assignment import (
    balanced,
    balanced_in_topics,
    complete,
    handed_over,
    level,
    locally_balanced,
    moves,
    valid,
)

TWO = Group({"t": 2, "u": 1}, [Member("A", ("t",)), Member("B", ("t", "u"))])
RIGHT = {"A": {"t": [0]}, "B": {"t": [1], "u": [0]}}


def shared(assigned):
    return {member: partitions(owned) for member, owned in assigned.items()}


def words(violations):
    return [violation.words for violation in violations]


def test_a_right_assignment_breaks_no_promise():
    right = shared(RIGHT)
    for promise in (
        valid,
        complete,
        balanced_in_topics,
        level,
        locally_balanced,
        balanced,
        handed_over,
    ):
        assert words(promise(TWO, right)) == []


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"A": {"t": [0], "u": [0]}, "B": {"t": [1]}}, ["A gets u-0, but does not subscribe to u"]),
        ({"A": {"t": [0, 2]}}, ["A gets t-2, which does not exist (t has 2 partitions)"]),
        ({"A": {"t": [0], "v": [0]}}, ["A gets v-0, which does not exist (there is no topic v)"]),
        ({"A": {"t": [0, 1]}}, ["t-1 is given to both A and B"]),
        ({"C": {}}, ["C is no member of the group"]),
    ],
)
def test_what_is_invalid_is_named(changed, told):
    assert words(valid(TWO, shared(RIGHT | changed))) == told


def test_what_nobody_gets_is_named_with_those_who_could_have_it():
    assert words(complete(TWO, shared({"A": {"t": [0]}, "B": {}}))) == [
        "t-1 is given to nobody, though A, B could have it",
        "u-0 is given to nobody, though B could have it",
    ]


def test_what_a_member_claims_may_wait_for_a_round_under_cooperation():
    group = Group({"t": 2}, [Member("A", ("t",), {"t": [0]}, 1), Member("B", ("t",))])
    assert words(complete(group, {}, may_wait=True)) == [
        "t-1 is given to nobody, though A, B could have it"
    ]


def test_range_is_uneven_over_topics_but_not_within_one():
    group = Group({"t": 1, "u": 1, "v": 1}, [Member("A", "tuv"), Member("B", "tuv")])
    uneven = shared({"A": {"t": [0], "u": [0], "v": [0]}, "B": {}})
    assert words(balanced_in_topics(group, uneven)) == []
    assert words(level(group, uneven)) == ["A has 3 partitions and B has 0"]
    assert (
        words(locally_balanced(group, uneven))[0]
        == "A has 3 partitions and B has 0, which could have t-0"
    )


def test_within_a_topic_two_more_are_too_many():
    group = Group({"t": 3}, [Member("A", "t"), Member("B", "t")])
    assert words(balanced_in_topics(group, shared({"A": {"t": [0, 1, 2]}, "B": {}}))) == [
        "of t, A has 3 and B has 0"
    ]


def test_no_single_move_may_help_where_a_chain_of_two_does():
    group = Group({"t": 4, "u": 3}, [Member("A", "t"), Member("B", "tu"), Member("C", "u")])
    stuck = shared({"A": {"t": [0, 1, 2]}, "B": {"t": [3], "u": [0]}, "C": {"u": [1]}})
    assert words(locally_balanced(group, stuck)) == []
    assert words(balanced(group, stuck)) == [
        "A has 3 partitions and C has 1; better: t-0 from A to B, u-0 from B to C"
    ]


def test_a_partition_that_moves_is_told_with_its_way_and_the_newer_claim_counts():
    group = Group(
        {"t": 3},
        [Member("A", "t", {"t": [0, 1]}, 1), Member("B", "t", {"t": [0]}, 2), Member("C", "t")],
    )
    assert moves(group, shared({"A": {"t": [0]}, "B": {"t": [2]}, "C": {"t": [1]}})) == {
        ("t", 0): ("B", "A"),
        ("t", 1): ("A", "C"),
    }
    assert moves(group, shared({"A": {"t": [1]}, "B": {"t": [0]}, "C": {"t": [2]}})) == {}


def test_what_another_has_not_let_go_of_is_not_handed_over():
    group = Group({"t": 2}, [Member("A", "t", {"t": [0]}, 1), Member("B", "t", {"t": [0, 1]}, 2)])
    assert words(handed_over(group, shared({"A": {"t": [0]}, "B": {"t": [1]}}))) == [
        "t-0 goes from B, whose claim is newer, to A in one round"
    ]
    assert words(handed_over(group, shared({"A": {"t": [1]}, "B": {}}))) == [
        "t-1 goes from B to A in one round: B has not let go of it"
    ]
    assert words(handed_over(group, shared({"A": {}, "B": {"t": [0, 1]}}))) == []


@st.composite
def small(draw):
    sizes = {
        "t": draw(st.integers(1, 3)),
        "u": draw(st.integers(0, 2)),
        "v": draw(st.integers(0, 2)),
    }
    subscribed = draw(st.lists(st.sets(st.sampled_from("tuv"), min_size=1), min_size=1, max_size=4))
    group = Group(sizes, [Member(name, topics) for name, topics in zip("ABCD", subscribed)])
    every = every_partition(subscribed_sizes(group))
    owners = [
        draw(st.sampled_from([m.id for m in group.members if topic in m.topics]))
        for topic, _ in every
    ]
    return group, every, owners


@settings(max_examples=60, deadline=None)
@given(small())
def test_an_assignment_is_balanced_exactly_if_none_has_a_smaller_sum_of_squares(drawn):
    group, every, owners = drawn
    able = [[m.id for m in group.members if topic in m.topics] for topic, _ in every]
    best = min(sum(owned.count(member) ** 2 for member in set(owned)) for owned in product(*able))
    assigned = {
        m.id: frozenset(p for p, owner in zip(every, owners) if owner == m.id)
        for m in group.members
    }
    assert (list(balanced(group, assigned)) == []) == (
        sum(len(owned) ** 2 for owned in assigned.values()) == best
    )
    assert not list(locally_balanced(group, assigned)) or list(balanced(group, assigned))
