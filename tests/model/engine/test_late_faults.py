"""What a rule does wrong after hundreds of good calls, when it is no longer watched, is still
found; and a path names the index of each firing.
"""

from typing import NamedTuple

import pytest

from groupcheck.model.engine import (
    RuleError,
    Spec,
    array,
    end,
    invariant,
    reference,
    rule,
    single,
    step_invariant,
)
from groupcheck.model.engine.fast import explore
from groupcheck.model.engine.plain import plain_explore

ENGINES = pytest.mark.parametrize("engine", [explore, plain_explore, reference])


@rule
def count(n):
    if n < 300:
        yield float(n + 1) if n == 200 else n + 1


@end
def counted(n):
    """No path to the last state is asked for, which would call the rules again."""
    return n == 300


@ENGINES
def test_a_rule_that_yields_another_type_late_is_named_where_it_does(engine):
    with pytest.raises(RuleError, match=r"count\(n=200\).*yielded a float for n, which holds int"):
        engine.explore(Spec("counter", {"n": single(0)}, [count], ends=[counted]))


@rule
def rise(me, cell):
    if me == 1 and cell == 0:
        yield 1


@rule
def spread(cell, mark):
    if cell == 1 and mark == 0:
        yield cell, 1


@rule
def finish(mark):
    if mark == 1:
        yield 2


@invariant
def unfinished(mark):
    return mark < 2


@ENGINES
def test_a_firing_has_the_index_of_its_array_and_none_where_there_is_no_array(engine):
    slots = {"cell": array(2, 0), "mark": single(0)}
    spec = Spec("cells", slots, [rise, spread, finish], invariants=[unfinished])
    (broken,) = engine.explore(spec).violations
    told = [(step.firing.name, step.firing.me) for step in broken.path.steps]
    assert told == [("rise", 1), ("spread", 1), ("finish", None)]


LATE = 200


def climbing(fault, *promises):
    """A counter with labels whose rule does something else at LATE, and a scope."""

    @rule("up", "over")
    def climb(n, side, scope):
        if n == LATE:
            yield from fault(n)
        elif n < scope:
            yield "up", n + 1, side
            yield "over", n + 1, not side

    slots = {"n": single(0), "side": single(False), "mark": single(0)}
    rules = [climb, swing]
    return Spec("climber", slots, rules, invariants=promises, ends=[whole], scope=2 * LATE)


@rule
def swing(mark):
    """So that no rule reads all slots: such a search leaves its tables."""
    yield 1 - mark


@end
def whole(n):
    return n == 2 * LATE


def raised(n):
    raise OSError("late")
    yield


FAULTS = {
    "raised OSError: late": raised,
    "which does not start with one of its labels": lambda n: iter([("down", n, True)]),
    "not one value for each of n, side": lambda n: iter([("up", n)]),
    "yielded None, which does not start": lambda n: iter([None]),
    "a int for side, which holds bool": lambda n: iter([("up", n, 1)]),
    "a list for n, which cannot be hashed": lambda n: iter([("up", [n], True)]),
}


@ENGINES
@pytest.mark.parametrize("told", FAULTS)
def test_an_outcome_that_is_wrong_late_is_told_as_an_early_one(engine, told):
    with pytest.raises(RuleError, match=rf"climb.*n={LATE}.*{told}"):
        engine.explore(climbing(FAULTS[told]))


def on(n):
    yield "up", n + 1, True


@step_invariant("n", "side", rules=["climb"])
def sided(before, after, label, scope):
    return before.n != LATE + 50 or ((label == "over") == (before.side == after.side) and scope)


@step_invariant("n")
def low(before, after):
    return after.n <= LATE + 70


@step_invariant("n")
def sound(before, after):
    return after.n <= LATE + 60 or 1 // (after.n - LATE - 61)


@ENGINES
@pytest.mark.parametrize(("promise", "depth"), [(sided, LATE + 51), (low, LATE + 71)])
def test_a_step_invariant_that_is_broken_late_is_found_where_it_is(engine, promise, depth):
    (broken,) = engine.explore(climbing(on, promise)).violations
    assert (broken.invariant, broken.depth) == (promise.name, depth)


@ENGINES
def test_a_step_invariant_that_raises_late_is_told_with_what_it_looked_at(engine):
    with pytest.raises(RuleError, match=rf"sound.*n={LATE + 60}.*raised ZeroDivisionError"):
        engine.explore(climbing(on, sound))


class Pair(NamedTuple):
    n: int
    side: bool


@ENGINES
def test_an_outcome_may_be_a_named_tuple(engine):
    @rule
    def turn(n, side):
        if n < LATE:
            yield Pair(n + 1, not side)

    slots = {"n": single(0), "side": single(False), "mark": single(0)}
    found = engine.explore(Spec("pairs", slots, [turn, swing]))
    assert found.states == 2 * (LATE + 1)
    assert found.rule_calls == (0 if engine is reference else LATE + 1 + 2)
