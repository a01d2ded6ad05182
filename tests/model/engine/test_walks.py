"""Random walks: what they find is true, and finding nothing proves nothing."""

from itertools import islice

import attrs
import pytest
from judged import specs

from groupcheck.model.engine import (
    Limits,
    Predicate,
    RuleError,
    Spec,
    array,
    constraint,
    goal,
    invariant,
    reference,
    rule,
    single,
    step_invariant,
    urgent,
)
from groupcheck.model.engine.fast.walks import Walks, walk
from groupcheck.model.engine.step import Semantics


@rule("one", "two")
def grow(x):
    if x < 8:
        yield "one", x + 1
        yield "two", x + 2


@rule
def shrink(x):
    if x:
        yield x - 1


@goal
def seven(x):
    return x == 7


@invariant
def below_nine(x):
    return x < 9


LINE = Spec("line", {"x": single(0)}, [grow, shrink], None, [below_nine], [seven])


def broken_in(spec: Spec, found) -> bool:
    """Does the last state of the path break the first promise that the verdict names?"""
    (first, *_) = found.violations
    see, promises = Semantics(spec), {p.name: p for p in spec.invariants}
    path = see.follow(first.key)
    assert (path, len(path.steps)) == (first.path, first.depth)
    promise, last = promises.get(first.invariant), path.states[-1]
    if isinstance(promise, Predicate):
        return not see.holds(promise, last)
    if promise is None:  # deadlock
        return all(s.state == last for s, _ in see.steps(last)) and not see.rests(last)
    if not path.steps:
        return first.invariant in see.broken_at_starts()
    steps = see.steps(path.states[-2])
    return any(s == path.steps[-1] and promise in broken for s, broken in steps)


def test_a_broken_promise_is_violated_with_a_short_path():
    found = walk(LINE, Walks(50, 500))
    assert found.verdict == "violated" and broken_in(LINE, found)
    assert found.violations[0].depth == 5  # 2 + 2 + 2 + 1 + 2, as in a search
    assert "of 50 random walks of at most 500 steps (seed 0)" in found.notes[0]


def test_nothing_wrong_is_unknown_with_the_counts():
    healthy = attrs.evolve(LINE, invariants=())
    found, whole = walk(healthy, Walks(50, 60, 3)), reference.explore(healthy)
    assert (found.verdict, found.states) == ("unknown", whole.states)
    assert found.reason == "50 random walks of at most 60 steps (seed 3) met nothing wrong"
    assert found.transitions == 50 * 60 == sum(found.rules.values())
    assert found.depth == 61 and all(found.rules.values()) and found.goals["seven"] >= 4


def test_a_seed_gives_the_same_walks_and_another_one_others():
    healthy = attrs.evolve(LINE, invariants=())
    runs = [attrs.evolve(walk(healthy, Walks(5, 20, s)), seconds=0) for s in (1, 1, 2)]
    assert runs[0] == runs[1]
    assert runs[0].rules != runs[2].rules


@pytest.mark.parametrize("number", [20, pytest.param(40, marks=pytest.mark.night)])
def test_walks_agree_with_the_judge_on_random_specs(number):
    wrong = []
    met = {"violated": 0, "unknown": 0}
    for seed, spec, said in islice(specs(30_000), number):
        found = walk(spec, Walks(40, 30, seed))
        met[found.verdict] += 1
        if found.verdict == "violated":
            is_true = said["violated"] and broken_in(spec, found)
        else:
            fired = {name for name, n in found.rules.items() if n}
            there = {name for name, n in said["rules"].items() if n}
            goals = {name for name, at in found.goals.items() if at is not None}
            meetable = {name for name, at in said["goals"].items() if at is not None}
            is_true = said["violated"] or (
                found.states <= said["states"] and fired <= there and goals <= meetable
            )
        if not is_true:
            wrong.append((seed, found))
    assert wrong == [] and min(met.values()) > 5


def test_a_deadlock_ends_a_walk():
    stuck = attrs.evolve(LINE, rules=[grow], invariants=())
    found = walk(stuck, Walks(1))
    assert found.violations[0].invariant == "deadlock" and broken_in(stuck, found)
    found = walk(attrs.evolve(stuck, deadlock=False), Walks(4))
    assert (found.verdict, found.violations) == ("unknown", ())


def test_steps_are_looked_at_with_their_urgent_rules():
    @urgent
    def settle(x, y):
        if y < x // 2:
            yield x, y + 1

    @step_invariant("y")
    def never_three(before, after):
        return after.y != 3

    spec = Spec("urgent", {"x": single(0), "y": array(2, 0)}, [grow, settle], None, [never_three])
    found = walk(spec, Walks(20))
    assert found.violations[0].invariant == "never_three" and broken_in(spec, found)


def test_a_walk_ends_at_a_border_state():
    @constraint
    def small(x):
        return x <= 3

    healthy = attrs.evolve(LINE, invariants=(), goals=(), constraints=[small])
    found, whole = walk(healthy, Walks(100, 100)), reference.explore(healthy)
    assert (found.states, found.border) == (whole.states, whole.border) == (4, 2)


def test_initial_states_on_the_border_are_no_states():
    @constraint
    def small(x):
        return x <= 3

    starts = [{"x": n} for n in (2, 4, 5)]
    spec = attrs.evolve(LINE, invariants=(), goals=(), constraints=[small], initial=starts)
    assert {walk(spec, Walks(1, 100, seed)).border for seed in range(5)} == {2}


def test_a_limit_ends_walks():
    healthy = attrs.evolve(LINE, invariants=())
    found = walk(healthy, Walks(1_000_000), Limits(states=5))
    assert found.verdict == "unknown"
    assert found.reason.startswith("stopped at the limit of 5 states after ")


def test_a_rule_at_fault_is_told_with_a_key():
    @rule
    def divide(x):
        if x > 6:
            yield x // (7 - x)

    spec = attrs.evolve(LINE, rules=[grow, divide], invariants=())
    with pytest.raises(RuleError, match=r"divide\(x=7\): raised ZeroDivisionError") as raised:
        walk(spec, Walks(50))
    assert Semantics(spec).follow(raised.value.key).states[-1] == (7,)
