"""Each kind of constraint, hard and soft, against every assignment of small groups: what the two
solvers find keeps what has to be kept, at the least price and then with the fewest moves. Where
they say that there is none, there is none, and the core says so minimally.
"""

from __future__ import annotations

from itertools import product

import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from groupcheck.model.assignors.group import every_partition, subscribed_sizes
from groupcheck.oracles.assignment.constraints import KINDS, price
from groupcheck.oracles.assignment.handover import claimants
from groupcheck.oracles.assignment.judge.judging import holds
from groupcheck.oracles.assignment.judge.question import question
from groupcheck.oracles.assignment.promises import PROMISES, Case
from groupcheck.oracles.assignment.solve.by_z3 import by_z3
from groupcheck.oracles.assignment.solve.highs import plan
from groupcheck.oracles.assignment.solve.program import promise_words
from groupcheck.oracles.assignment.solve.solving import solve

NAMES = "ABC"
MORE = ["level", "locally balanced", "balanced", "balanced in topics", "ranges", "pointer"]
WEIGHTS = {"t": 1.5, "u": 0.75, "t-0": 4}
COOPERATIVE = ["handed over", "balanced at rest"]


def kinds(there):
    """The values of each kind's keys."""
    some = st.lists(st.sampled_from(there), min_size=1, max_size=3, unique=True)
    member, topic = st.sampled_from(NAMES[:2]), st.sampled_from("tu")
    few = st.integers(0, 2)
    weights = st.sampled_from([WEIGHTS, {"t": 1}, {"t-0": 2.5, "u": 1}])
    return {
        "stays": st.fixed_dictionaries({"partitions": some, "member": member}),
        "never": st.fixed_dictionaries({"partitions": some, "member": member}),
        "together": st.fixed_dictionaries({"partitions": some}),
        "apart": st.fixed_dictionaries({"partitions": some}),
        "topics_apart": st.just({"topics": ["t", "u"]}),
        "nearby": st.fixed_dictionaries({}, optional={"topic": topic, "member": member}),
        "drain": st.fixed_dictionaries({"member": member}),
        "at_most": st.fixed_dictionaries(
            {"most": few}, optional={"topic": topic, "member": member}
        ),
        "at_least": st.fixed_dictionaries(
            {"least": st.integers(1, 2)}, optional={"topic": topic, "member": member}
        ),
        "capacity": st.fixed_dictionaries(
            {"most": st.sampled_from([2, 3.5, 5]), "weights": weights}, optional={"member": member}
        ),
        "level_weights": st.fixed_dictionaries(
            {"within": st.sampled_from([0, 1, 2.25]), "weights": weights}
        ),
        "racks_at_most": st.fixed_dictionaries({"most": st.just(1)}, optional={"topic": topic}),
        "moves_at_most": st.fixed_dictionaries({"most": st.integers(0, 1)}),
    }


@st.composite
def asked_with(draw, kind):
    """A question with a constraint of this kind and perhaps others."""
    topics = {"t": draw(st.integers(1, 3)), "u": draw(st.integers(1, 2))}
    names = NAMES[: draw(st.integers(2, 3))]
    there = [f"{topic}-{k}" for topic, size in topics.items() for k in range(size)]
    racks = st.sampled_from([["x"], ["y"], ["x", "y"], []])
    members = {
        name: {
            "subscribes": draw(st.sampled_from([["t", "u"], ["t", "u"], ["t"], ["u"]])),
            "claims": draw(st.lists(st.sampled_from(there), unique=True, max_size=3)),
            "generation": draw(st.integers(0, 1)),
        }
        | draw(st.sampled_from([{}, {"rack": "x"}, {"rack": "y"}]))
        for name in names
    }
    of_kind, constraints = kinds(there), []
    others = draw(st.lists(st.sampled_from(sorted(KINDS)), max_size=2))
    for one in (kind, *others):
        price_of = {} if one == "drain" else draw(st.sampled_from([{}, {"soft": 1}, {"soft": 3}]))
        constraints.append({"kind": one, **draw(of_kind[one]), **price_of})
    form, more = draw(st.sampled_from([("complete", MORE)] * 2 + [("complete later", COOPERATIVE)]))
    return {
        "topics": topics,
        "members": members,
        "racks": {topic: [draw(racks) for _ in range(size)] for topic, size in topics.items()},
        "assignment": {},
        "promises": [
            "valid",
            form,
            *draw(st.lists(st.sampled_from(more), unique=True, max_size=1)),
        ],
        "constraints": [c for k, c in enumerate(constraints) if c not in constraints[:k]],
    }


def all_right(asked):
    """Price and moves of every assignment that breaks nothing; what is claimed may wait where it is
    complete later.
    """
    later = "complete" not in asked.promises
    waits = {p for m in asked.group.members for p in m.owned} if later else ()
    every = every_partition(subscribed_sizes(asked.group))
    case = Case(asked.group, {}, drained=asked.drained)
    owners = [
        [m.id for m in asked.group.members if p[0] in m.topics] + [None] * (p in waits)
        for p in every
    ]
    for chosen in product(*owners):
        assigned = {
            m.id: frozenset(p for p, owner in zip(every, chosen) if owner == m.id)
            for m in asked.group.members
        }
        if holds(asked, case, asked.promises, assigned):
            yield cost(asked, case, assigned)


def cost(asked, case, assigned):
    """The price, then how many claims are not kept."""
    kept = sum(partition in assigned[m] for partition, m in claimants(asked.group).items())
    return price(asked.constraints, case.open, assigned), -kept


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_both_solvers_find_the_best_of_all_assignments(kind):
    seen = set()

    @settings(max_examples=28, deadline=None, derandomize=True)
    @given(asked_with(kind))
    def same(document):
        asked = question(document)
        case = Case(asked.group, {}, drained=asked.drained)
        possible = list(all_right(asked))
        planned = plan(case, asked.promises, asked.constraints, 10)
        right = by_z3(case, asked.promises, asked.constraints)
        assert planned.none == (right.assigned is None) == (not possible)
        assert bool(right.core) == planned.none
        for assigned in filter(None, (planned.found, right.assigned)):
            assert holds(asked, case, asked.promises, assigned)
            assert cost(asked, case, assigned) == min(possible)
        if possible:
            assert planned.fewest and planned.cheapest
        seen.add((bool(possible), bool(possible) and min(possible)[0] > 0))

    same()
    assert {possible for possible, _ in seen} == {True, False}
    assert kind == "drain" or any(costs for _, costs in seen)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.sampled_from(sorted(KINDS)).flatmap(asked_with))
def test_a_core_excludes_each_other_and_without_any_one_of_it_there_is_an_assignment(document):
    asked = question(document)
    case = Case(asked.group, {}, drained=asked.drained)
    right = solve(
        case,
        asked.promises,
        asked.constraints,
        lambda found: holds(asked, case, asked.promises, found),
    )
    form = [name for name in asked.promises if name in ("valid", "complete", "complete later")]

    def possible(words):
        names = [name for name in asked.promises if promise_words(name) in words]
        some = [c for c in asked.constraints if c.words() in words]
        return any(all_right(evolve(asked, promises=(*form, *names), constraints=tuple(some))))

    if right.core:
        assert not possible(right.core)
        for gone in right.core:
            # What balance asks follows from who is drained: without that it asks something else.
            if not gone.endswith("it gets nothing"):
                assert possible([words for words in right.core if words != gone])
    assert not right.because or right.core


def test_every_kind_and_promise_is_tried():
    assert set(kinds(["t-0"])) == set(KINDS)
    assert set(MORE + COOPERATIVE) <= set(PROMISES)
