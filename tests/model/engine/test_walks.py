"""Random walks: what they find is true, and finding nothing proves nothing."""

from contextlib import ExitStack
from itertools import islice
from unittest.mock import patch

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
from groupcheck.model.engine.fast import search, shortening, threads, walks
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
    assert found.notes[-1].endswith("of 50 random walks of at most 500 steps (seed 0)")


def test_nothing_wrong_is_unknown_with_the_counts():
    healthy = attrs.evolve(LINE, invariants=())
    found, whole = walk(healthy, Walks(50, 60, 3)), reference.explore(healthy)
    assert (found.verdict, found.states) == ("unknown", whole.states)
    assert found.reason == "50 random walks of at most 60 steps (seed 3) met nothing wrong"
    # Each state that a walker stood on was expanded once, so all of them were here.
    assert (found.transitions, found.rules) == (whole.transitions, whole.rules)
    assert found.depth > 10 and found.goals["seven"] >= 4


def test_a_seed_gives_the_same_walks_and_another_one_others():
    healthy = attrs.evolve(LINE, invariants=())
    runs = [
        attrs.evolve(walk(healthy, Walks(2, 5, s)), seconds=0, bytes_per_state=0)
        for s in (1, 1, 2, 3)
    ]
    assert runs[0] == runs[1]
    assert len({repr(run.rules) for run in runs}) > 1


def with_two_workers(spec: Spec, asked: Walks):
    """The same walks by two threads, as soon as there is anything to do."""
    with ExitStack() as stack:
        for name in ("WORTH", "LEAST", "ROWS_AT_ONCE"):
            stack.enter_context(patch.object(threads, name, 2))
        stack.enter_context(patch.object(search, "cores", lambda: 2))
        return walk(spec, attrs.evolve(asked, workers=2))


@pytest.mark.parametrize("number", [12, pytest.param(60, marks=pytest.mark.night)])
def test_walks_agree_with_the_judge_on_random_specs(number):
    wrong = []
    met = {"violated": 0, "unknown": 0}
    for seed, spec, said in islice(specs(30_000), number):
        with patch.object(walks, "FIRST", 8):
            both = [go(spec, Walks(40, 30, seed)) for go in (walk, with_two_workers)]
        found, other = (attrs.evolve(v, seconds=0, bytes_per_state=0, notes=()) for v in both)
        assert found == other
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
    assert wrong == [] and min(met.values()) > 1


def test_a_path_is_short_among_the_walks_where_a_search_would_take_too_many_states():
    with patch.object(shortening, "NEW_STATES", 0):
        found = walk(LINE, Walks(50, 500))
    assert found.verdict == "violated" and broken_in(LINE, found)


def test_a_limit_that_is_reached_while_a_path_is_shortened_ends_that_alone():
    spec, limits = attrs.evolve(LINE, rules=[grow]), Limits(seconds=3600)

    def later(self: Limits, states: int, seconds: float, level: int) -> str:
        return "stopped" if looking else ""

    looking = []
    plain = shortening.Ways.of_all

    def of_all(ways: shortening.Ways, name: str):
        looking.append(name)
        return plain(ways, name)

    with patch.object(Limits, "reached", later), patch.object(shortening.Ways, "of_all", of_all):
        found = walk(spec, Walks(64, 500), limits)
    assert looking == ["below_nine"]
    assert found.verdict == "violated" and broken_in(spec, found)


GRID = Spec(
    "grid",
    {"x": single(0), "y": single(0), "z": single(0)},
    [
        rule(lambda x: [x + 1] if x < 60 else [], name="right"),
        rule(lambda y: [y + 1] if y < 60 else [], name="up"),
        rule(lambda z: [z + 1] if z < 60 else [], name="back"),
    ],
    deadlock=False,
)


def test_walks_without_a_number_end_when_nothing_new_comes():
    with patch.object(walks, "PATIENCE", 1 << 14):
        found = walk(GRID, Walks(length=200))
    assert found.verdict == "unknown"
    assert "brought no new outcome, no goal and 0.0% more rows of rules" in found.reason
    assert found.states < 61**3 and all(found.rules.values())


def test_walks_without_a_number_end_when_all_states_are_known():
    found = walk(attrs.evolve(LINE, invariants=()), Walks())
    assert found.reason.endswith("met nothing wrong; the last of them met no new state")


def test_what_was_covered_is_told():
    (first, second) = walk(attrs.evolve(LINE, invariants=()), Walks(100)).notes
    assert first == "covered: 3 of 3 outcomes; rows of rules, by file: test_walks 10"
    assert second.startswith("100 walks, ") and second.endswith(": 0.01, 0.00")


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
