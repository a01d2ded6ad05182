"""A search knows values by equality. Where one equals a value that was met before and is another
one, every way of searching refuses it; and a NaN, which would be a new value each time.
"""

from collections import namedtuple
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from enum import IntEnum
from fractions import Fraction
from functools import cached_property
from unittest.mock import patch

import attrs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from in_process import InProcess

from groupcheck.model.engine import (
    Limits,
    RuleError,
    Spec,
    SpecError,
    any_of,
    array,
    evolve,
    invariant,
    reference,
    refines,
    rule,
    single,
    urgent,
    view,
)
from groupcheck.model.engine.fast import explore, walks
from groupcheck.model.engine.fast.search import Search
from groupcheck.model.engine.fast.shards.distribute import distribute
from groupcheck.model.engine.sameness import difference, never_equal, surely_same

NAN = float("nan")
LATE = 200  # steps after which rules are no longer watched


@attrs.frozen
class Box:
    inside: object
    note: str = attrs.field(default="", eq=False)

    @cached_property
    def text(self):
        return repr(self.inside)


@attrs.frozen
class Cell:
    inside: object
    n: int = 0


@dataclass(frozen=True)
class Card:
    inside: object
    note: str = field(default="", compare=False)


@attrs.frozen
class Name:
    """Equal to any name with the same letters."""

    text: str = attrs.field(eq=str.lower)


@attrs.frozen(eq=False)
class Labelled(Box):
    """Compared as a box is."""

    label: str = ""


class Text(str):
    pass


class One(IntEnum):
    ONE = 1


class Set(frozenset):
    pass


Pair = namedtuple("Pair", "a b")


class Loose:
    """Equal to all of the same key, whatever else it holds."""

    def __init__(self, key, more):
        self.key, self.more = key, more

    def __eq__(self, other):
        return isinstance(other, Loose) and self.key == other.key

    def __hash__(self):
        return hash(self.key)


NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)
UNLIKE = [
    ((1,), (True,)),
    (((1, 2), "a"), ((1, 2.0), "a")),
    (0.0, -0.0),
    (complex(1, 0.0), complex(1, -0.0)),
    (frozenset({0.0, 1.5}), frozenset({-0.0, 1.5})),
    (frozenset({("a", 1)}), frozenset({("a", True)})),
    (Set({1}), Set({True})),
    (Box(1, "x"), Box(1, "y")),
    (Box(Box((0,))), Box(Box((False,)))),
    (Card((1,)), Card((1.0,))),
    (Card(1, "x"), Card(1, "y")),
    (Pair(1, 2), (1, 2)),
    (Pair(1, Box(2)), Pair(1, Box(2, "y"))),
    (Decimal("1"), Decimal("1.0")),
    (Fraction(1), 1),
    ((Text("a"),), ("a",)),
    ((One.ONE,), (1,)),
    (Loose(1, "x"), Loose(1, "y")),
    (Name("a"), Name("A")),
    (Labelled(1, label="x"), Labelled(1, label="y")),
    ((np.float64(0.0),), (np.float64(-0.0),)),
    ((np.int64(1),), (np.uint64(1),)),
    ((np.bool_(True),), (True,)),
    (NOON, NOON.astimezone(timezone(timedelta(hours=1)))),
    (range(0), range(1, 1)),
]


@pytest.mark.parametrize(
    ("known", "value"), UNLIKE, ids=lambda value: repr(value).partition(" object at ")[0]
)
def test_equal_values_of_other_types_or_parts_are_not_the_same(known, value):
    assert known == value
    assert difference(known, value) and difference(value, known)
    assert not quickly(known, value) and not quickly(value, known)


SAME = [
    lambda: (1, ("a" * 3, 10**30), None),
    lambda: Box((1, frozenset({2, 3})), "x"),
    lambda: Card(Box(1.5)),
    lambda: Pair(Decimal("1.0"), Fraction(2, 4)),
    lambda: (Text("ab"), One.ONE, NOON + timedelta(0), np.float64(1.5)),
    lambda: Loose((1,), ["x", {"y": {2}}]),
    lambda: Set({1, 2}),
]


@pytest.mark.parametrize("made", SAME)
def test_a_value_that_was_made_again_is_the_same(made):
    assert difference(made(), made()) is None


def test_neither_the_order_of_a_set_nor_what_was_computed_from_a_value_is_a_part():
    assert [*frozenset([8, 0])] != [*frozenset([0, 8])]
    assert difference(frozenset([8, 0]), frozenset([0, 8])) is None
    read, unread = Box(1), Box(1)
    assert read.text and difference(read, unread) is None
    circle, other = Loose(1, []), Loose(1, [])
    circle.more.append(circle)
    other.more.append(other)
    assert difference(circle, other) is None


def quickly(known, value):
    """What the loop over values asks first."""
    names = {"known": known, "value": value}
    return eval(surely_same(known, "known", "value", names), names)


LEAVES = st.sampled_from([(0, False), (1, True), (1, 1.0), (0.0, -0.0), ("a", Text("a"))])
PLAIN = st.sampled_from([(2, 2), ("b", "b"), (None, None), (3.5, 3.5), (10**20, 10**19 * 10)])


def nested(leaves):
    """Pairs of equal values: each leaf is a pair, too."""
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.lists(inner, min_size=1, max_size=3).map(lambda x: tuple(zip(*x))),
            inner.map(lambda x: (frozenset(x[:1]), frozenset(x[1:]))),
            inner.map(lambda x: (Box(x[0]), Box(x[1]))),
            inner.map(lambda x: (Card(x[0]), Card(x[1]))),
            st.tuples(inner, inner).map(lambda x: tuple(Pair(*p) for p in zip(*x))),
        ),
        max_leaves=6,
    )


def deep(depth, leaf):
    for _ in range(depth):
        leaf = (leaf,)
    return leaf


@pytest.mark.parametrize("depth", [5, 150, 3_000])
def test_values_may_be_nested_deeply(depth):
    assert difference(deep(depth, 1), deep(depth, 1)) is None
    assert difference(deep(depth, 1), deep(depth, True)) == (1, True)
    assert never_equal(deep(depth, NAN)) == [NAN]
    assert not quickly(deep(depth, 1), deep(depth, True))


@settings(max_examples=150, deadline=None, derandomize=True)
@given(nested(PLAIN), st.booleans())
def test_values_with_the_same_leaves_are_the_same(pair, swapped):
    a, b = pair[::-1] if swapped else pair
    assert a == b and difference(a, b) is None


@settings(max_examples=150, deadline=None, derandomize=True)
@given(nested(LEAVES), st.booleans())
def test_one_leaf_that_is_not_the_same_is_found_however_deep(pair, swapped):
    a, b = pair[::-1] if swapped else pair
    assert a == b and difference(a, b) and not quickly(a, b)


@pytest.mark.parametrize(
    "value",
    [NAN, (0, NAN), Box((NAN,)), Card(NAN), frozenset({NAN}), Pair(1, NAN), Decimal("nan"),
     np.float64("nan"), (np.datetime64("nat"),)],
    ids=repr,
)  # fmt: skip
def test_a_part_that_does_not_equal_itself_is_found(value):
    assert never_equal(value)
    assert not never_equal((1, 2.5, Box(Card(None)), Loose(1, NAN), One.ONE, Box(1, NAN)))


def test_but_gives_the_value_that_was_asked_for_though_an_equal_one_was_made_before():
    cell = Cell(None)
    for one, other in [((0,), (False,)), (2, 2.0), (0.0, -0.0), (Box(3), Box(3, "x"))]:
        for inside in (one, other, one):
            assert difference(evolve(cell, inside=inside).inside, inside) is None
            assert difference(evolve(Cell(inside), n=1).inside, inside) is None
            assert difference(evolve(Box(None), inside=inside).inside, inside) is None


# -- searches


def searched(spec):
    return explore.explore(spec, Limits(states=2_000))


def obvious(spec):
    return reference.explore(spec, Limits(states=2_000))


def walked(spec):
    return walks.walk(spec, walks.Walks(50, LATE + 50))


EVERY = pytest.mark.parametrize("search", [searched, obvious, walked])


def two_rules(one, other, late, whole):
    """A spec in which a rule yields `one`, and another one `other`, after so many steps."""

    @rule
    def tick(n):
        if n < late + 3:
            yield n + 1

    def yielding(name, value):
        if whole:

            @rule(name=name)
            def put(n, box: "box[:]"):
                if n == late:
                    yield n, (box[0], value)
        else:

            @rule(name=name)
            def put(n, box):
                if n == late:
                    yield n, value

        return put

    slots = {"n": single(0), "box": array(2, Box(None))}
    rules = [tick, yielding("first", one), yielding("second", other)]
    return Spec("boxes", slots, rules, deadlock=False)


@EVERY
@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("late", [0, LATE])
def test_a_rule_that_yields_what_equals_a_known_value_and_is_another_is_refused(
    search, late, whole
):
    with pytest.raises(RuleError) as caught:
        search(two_rules(Box((1,)), Box((True,)), late, whole))
    error = caught.value
    assert error.rule in ("first", "second") and error.key.startswith("gc1-")
    assert " for box, which equals Box(" in error.problem
    assert "True (bool) in place of 1 (int)" in error.problem or (
        "1 (int) in place of True (bool)" in error.problem
    )


@EVERY
@pytest.mark.parametrize("late", [0, LATE])
def test_a_field_that_is_not_compared_is_no_way_to_hide_a_difference(search, late):
    with pytest.raises(RuleError, match=r"'\w' \(str\) in place of '\w' \(str\)"):
        search(two_rules(Box(1, "x"), Box(1, "y"), late, False))
    search(two_rules(Box(1, "x"), Box(1, "x"), late, False))


@EVERY
def test_an_initial_value_counts_as_met(search):
    @rule
    def turn(x):
        yield -x

    with pytest.raises(RuleError, match=r"turn\(x=0.0\): yielded -0.0 for x, which equals 0.0"):
        search(Spec("signs", {"x": single(0.0)}, [turn]))


@EVERY
def test_urgent_rules_in_initial_states_are_looked_at_too(search):
    @urgent
    def settle(x, y):
        if y == 0:
            yield (True,), 1

    with pytest.raises(RuleError, match=r"settle.*True \(bool\) in place of 1"):
        search(Spec("settled", {"x": single((1,)), "y": single(0)}, [settle], deadlock=False))


@EVERY
def test_views_and_what_a_refinement_maps_to_are_values_as_well(search):
    @rule
    def tick(n):
        if n < 3:
            yield n + 1

    def odd(n):
        return (n,) if n < 2 else (n == 2,)

    @invariant
    def fine(odd):
        return True

    slots = {"n": single(0)}
    seen = Spec("seen", slots, [tick], None, [fine], views=[view(odd)], deadlock=False)
    with pytest.raises(RuleError, match=r"view odd\(.*True \(bool\) in place of 1 \(int\)"):
        search(seen)

    @rule
    def step(m):
        yield from [(0,), (1,)]

    small = Spec("small", {"m": single((0,))}, [step])
    for mapped in (odd, lambda n: (False,) if n else (0,), lambda n: (n > 0,)):
        larger = Spec(
            "larger", slots, [tick], refinements=[refines(small, {"m": mapped})], deadlock=False
        )
        with pytest.raises(RuleError, match=r"view refines small: m.*in place of"):
            search(larger)


@pytest.mark.parametrize(
    "initial",
    [
        {"x": any_of((1,), (True,))},
        {"c": ((1,), (True,))},
        {"c": any_of(((1,), (2,)), ((2,), (1.0,)))},
        {"c": (any_of((0,), (1,)), (False,))},
        {"x": (NAN,)},
    ],
    ids=repr,
)
def test_initial_values_are_looked_at_when_a_spec_is_made(initial):
    slots = {"x": single((0,)), "c": array(2, (0,))}
    with pytest.raises(SpecError, match=r"in place of|does not equal itself"):
        Spec("begun", slots, [], initial=[initial])
    Spec("begun", {"c": array(2, (0,))}, [], initial=[{"c": ((False,), (False,))}])


@EVERY
@pytest.mark.parametrize("late", [0, LATE])
def test_a_nan_is_refused_where_it_would_be_a_new_value_each_time(search, late):
    @rule
    def tick(n, x):
        if n < late:
            yield n + 1, x
        else:
            yield n, Box((x.inside, float("nan")) if late else float("nan"))

    spec = Spec("nans", {"n": single(0), "x": single(Box(0))}, [tick])
    with pytest.raises(RuleError, match=r"tick.*nan, a value that does not equal itself"):
        search(spec)


# -- a search over values, shards


def grid(*more):
    """A spec that leaves its tables after some hundred states."""

    @rule
    def step(w):
        for i in range(3):
            if w[i] < 14:
                yield (*w[:i], w[i] + 1, *w[i + 1 :])

    return Spec("grid", {"w": single((0, 0, 0))}, [step, *more], deadlock=False)


@pytest.fixture
def left():
    """Of each search that goes on over values the number of states at that moment."""
    found, leave = [], Search._leave

    def noted(search):
        found.append(search.log.states)
        return leave(search)

    with patch.object(Search, "_leave", noted):
        yield found


def test_a_search_over_values_refuses_both_as_well(left):
    @rule
    def odd(w):
        if w[:2] == (13, 13):
            yield *w[:2], w[2] > 1

    with pytest.raises(RuleError, match=r"odd\(w=.* in place of") as caught:
        explore.explore(grid(odd))
    assert left and caught.value.key.startswith("gc1-")

    @rule
    def worse(w):
        if w[0] == 13 and w[1] >= 13:
            yield w[0], w[1] + 1, float("nan")

    with pytest.raises(RuleError, match=r"worse\(w=.*nan, a value that does not equal itself"):
        explore.explore(grid(worse), Limits(states=20_000))
    assert len(left) == 2
    assert explore.explore(grid()).states == 15**3


def test_the_driver_of_shards_refuses_them(tmp_path, monkeypatch):
    monkeypatch.setenv("SPARK_LOCAL_DIRS", str(tmp_path / "local"))
    spec = two_rules(Box((1,)), Box((True,)), 5, False)
    with pytest.raises(RuleError, match="in place of"):
        distribute(spec, InProcess(2), str(tmp_path / "store"), widest=1)
