"""What is said about balance and about handing over is what comparing every member with every other
says, in the same order.
"""

from __future__ import annotations

import obvious_balance as obvious
from hypothesis import given, settings
from hypothesis import strategies as st

from groupcheck.model.assignors import Group, Member
from groupcheck.oracles.assignment.balance import balanced_in_topics, locally_balanced
from groupcheck.oracles.assignment.handover import handed_over


@st.composite
def assigned_groups(draw):
    """Each partition is one subscriber's; claims of up to two members."""
    sizes = {name: draw(st.integers(0, 5)) for name in "tuv"[: draw(st.integers(1, 3))]}
    subscribed = draw(st.lists(st.frozensets(st.sampled_from("tuvw")), min_size=1, max_size=6))
    names = [f"m{k}" for k in range(len(subscribed))]
    given_to = {name: set() for name in names}
    claimed_by = {name: set() for name in names}
    for partition in ((t, n) for t, size in sizes.items() for n in range(size)):
        able = [m for m, topics in zip(names, subscribed) if partition[0] in topics]
        if able:
            given_to[draw(st.sampled_from(able))].add(partition)
        for claimant in draw(st.lists(st.sampled_from(names), max_size=2)):
            claimed_by[claimant].add(partition)
    members = [
        Member(name, topics, claimed_by[name], draw(st.integers(-1, 2)))
        for name, topics in zip(names, subscribed)
    ]
    return Group(sizes, members), {m: frozenset(of) for m, of in given_to.items()}


@settings(max_examples=400, deadline=None, derandomize=True)
@given(assigned_groups())
def test_every_violation_is_told_in_the_same_order(case):
    found = list(locally_balanced(*case))
    assert found == list(obvious.locally_balanced(*case))
    assert [v.places for v in found] == [v.places for v in obvious.locally_balanced(*case)]
    assert [v.words for v in handed_over(*case)] == list(obvious.handed_over(*case))
    in_topics = [v.words for v in balanced_in_topics(*case)]
    assert in_topics == list(obvious.balanced_in_topics(*case))
