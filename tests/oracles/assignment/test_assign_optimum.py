"""The optimum is the best of all assignments: compared with every assignment there is, where they
can be counted; exact, and quick where they cannot.
"""

from __future__ import annotations

import sys
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groupcheck.model.assignors import Group, Member
from groupcheck.model.assignors.group import every_partition, subscribed_sizes
from groupcheck.model.engine import UserError
from groupcheck.oracles.assignment import balanced, complete, moves, valid
from groupcheck.oracles.assignment import optimum as best_of

CLAIMABLE = [(topic, number) for topic in "tuv" for number in range(3)]
WEIGHTS = st.sampled_from([Fraction(1), Fraction(2), Fraction(1, 2), Fraction(3)])


@st.composite
def small(draw):
    sizes = {
        "t": draw(st.integers(1, 3)),
        "u": draw(st.integers(0, 2)),
        "v": draw(st.integers(0, 1)),
    }
    members = [
        Member(
            name,
            draw(st.sets(st.sampled_from("tuv"))),
            frozenset(draw(st.sets(st.sampled_from(CLAIMABLE)))),
            draw(st.integers(0, 2)),
        )
        for name in "ABCD"[: draw(st.integers(1, 4))]
    ]
    weights = {m.id: draw(WEIGHTS) for m in members} if draw(st.booleans()) else {}
    return Group(sizes, members), weights


def best_by_trying(group, weights):
    """(sum of size² / weight, moves) of the best assignment, by trying all."""
    every = every_partition(subscribed_sizes(group))
    claimed = best_of.claimants(group)
    tried = []
    for owners in product(
        *([m.id for m in group.members if topic in m.topics] for topic, _ in every)
    ):
        sizes = {m.id: owners.count(m.id) for m in group.members}
        moved = sum(claimed.get(p, owner) != owner for p, owner in zip(every, owners))
        tried.append((best_of.unevenness(sizes, weights), moved))
    return min(tried)


@pytest.mark.parametrize("columns", [0, 12])
def test_no_assignment_is_more_balanced_or_as_balanced_with_fewer_moves(monkeypatch, columns):
    monkeypatch.setattr(best_of, "COLUMNS_AT_FIRST", columns)

    @settings(max_examples=60, deadline=None, derandomize=True)
    @given(small())
    def compared(drawn):
        group, weights = drawn
        found = best_of.optimum(group, weights)
        assert not list(valid(group, found.assigned)) and not list(complete(group, found.assigned))
        assert (best_of.unevenness(found.sizes, weights), found.moves) == best_by_trying(
            group, weights
        )
        assert found.moves == len(moves(group, found.assigned))

    compared()


def test_a_long_chain_is_followed_to_its_end():
    """The first 29 topics fill c00 to c28, one each; the last one is given to c00, c01 and c02, and
    c29, at the other end, is empty.
    """
    pairs = {f"t{k:02}": (f"c{k:02}", f"c{k + 1:02}") for k in range(29)}
    triple = {"z": ("c00", "c01", "c02")}
    members = [
        Member(name, [t for t, of in (pairs | triple).items() if name in of])
        for name in (f"c{k:02}" for k in range(30))
    ]
    group = Group(dict.fromkeys(pairs, 1) | {"z": 3}, members)
    found = best_of.optimum(group)
    assert (
        sorted(found.sizes.values()) == [1] * 28 + [2] * 2
        and list(balanced(group, found.assigned)) == []
    )


def test_a_column_that_was_left_out_at_first_comes_in_where_it_saves_a_move(monkeypatch):
    """Only c0 has to give something away, t-0 or t-1, to c2, which the balanced assignment that is
    found first gives nothing of t.
    """
    monkeypatch.setattr(best_of, "COLUMNS_AT_FIRST", 0)
    members = [
        Member("c0", "tu", {"t": [0, 1]}, 1),
        Member("c1", "tu", {"u": [0]}, 1),
        Member("c2", "tu"),
        Member("c3", "u", {"u": [1]}, 1),
    ]
    assert best_of.optimum(Group({"t": 2, "u": 2}, members)).moves == 1


def large(members, topics, partitions, density):
    """Every third claim is some other member's than the balanced one; each member subscribes to
    some of the topics.
    """
    wanted = [
        {f"t{t}" for t in range(topics) if (t * 7 + m * 13) % 10 < density} | {f"t{m % topics}"}
        for m in range(members)
    ]
    owned = [[] for _ in range(members)]
    for k in range(topics * partitions):
        owned[(k if k % 3 else k * 31) % members].append((f"t{k // partitions}", k % partitions))
    group = [Member(f"c{m}", wanted[m], frozenset(owned[m]), 1) for m in range(members)]
    return Group({f"t{t}": partitions for t in range(topics)}, group)


@pytest.mark.parametrize("density", [4, 10])
def test_the_optimum_for_a_hundred_members_and_a_thousand_partitions_takes_little_work(
    monkeypatch, density
):
    columns, prices = [], []
    solve, price = best_of._Program._solve, best_of._Shares.price

    def solving(self, kept, dealt):
        columns.append(len(kept) + len(dealt))
        return solve(self, kept, dealt)

    def looking(self, member, size):
        prices.append(member)
        return price(self, member, size)

    monkeypatch.setattr(best_of._Program, "_solve", solving)
    monkeypatch.setattr(best_of._Shares, "price", looking)
    group = large(100, 20, 50, density)
    found = best_of.optimum(group)
    assert (
        0 < sum(columns) < 1_000 < len(prices) < 20_000
    )  # of programs in all; a hundred times a thousand would be too many
    assert (
        not list(valid(group, found.assigned))
        and not list(complete(group, found.assigned))
        and set(found.sizes.values()) == {10}
    )
    assert found.moves == len(moves(group, found.assigned))


def test_without_claims_nothing_moves_and_scipy_is_not_asked_for(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy", None)
    group = Group({"t": 5}, [Member("A", "t"), Member("B", "t")])
    assert best_of.optimum(group).moves == 0 and sorted(best_of.optimum(group).sizes.values()) == [
        2,
        3,
    ]
    claiming = Group({"t": 2}, [Member("A", "t", {"t": [0, 1]}, 1), Member("B", "t")])
    with pytest.raises(
        UserError, match=r"scipy, which is not installed \(pip install 'groupcheck\[assign\]'\)"
    ):
        best_of.optimum(claiming)
