"""A rule, guard, invariant or view that is at fault is named, with its arguments and a key that leads there."""

import itertools

import attrs
import pytest

from groupcheck.model.engine import (
    RuleError,
    Spec,
    SpecError,
    explore,
    goal,
    invariant,
    reference,
    rule,
    single,
    step_invariant,
    urgent,
    view,
)
from groupcheck.model.engine.step import Semantics


@rule
def count(n):
    if n < 5:
        yield n + 1


def spec(*rules, **more):
    return Spec("counter", {"n": single(0)}, (count, *rules), **more)


def error_of(broken, engine=explore):
    with pytest.raises(RuleError) as caught:
        engine.explore(broken)
    return caught.value


@rule
def divides(n):
    if n == 3:
        yield n // 0


@rule
def two_values(n):
    if n == 3:
        yield ("a", "b", "c"), 1


@rule("left", "right")
def wrong_label(n):
    if n == 3:
        yield "up", n


@rule
def other_type(n):
    if n == 3:
        yield "3"


@rule
def unhashable(n):
    if n == 3:
        yield [n]


@rule(when=lambda n: 1 // (n - 3))
def guarded(n):
    yield n


@urgent
def never_rests(n):
    if n >= 3:
        yield n + 1


@pytest.mark.parametrize("engine", [explore, reference])
@pytest.mark.parametrize("faulty", [divides, two_values, wrong_label, other_type, unhashable, guarded], ids=lambda r: r.name)
def test_a_faulty_rule_is_named_with_its_arguments_and_a_key(faulty, engine):
    error = error_of(spec(faulty), engine)
    assert error.rule == faulty.name
    assert error.arguments == {"n": 3}
    assert Semantics(spec()).follow(error.key).states == ((0,), (1,), (2,), (3,))


def test_urgent_rules_that_never_rest_are_reported():
    error = error_of(spec(never_rests))
    assert error.rule == "never_rests"
    assert "do not come to rest" in error.problem


@attrs.define(unsafe_hash=True)
class Box:
    n: int = 0


def test_a_rule_that_changes_its_input_is_reported():
    @rule
    def overwrite(box):
        if box.n < 3:
            box.n += 1
            yield box

    error = error_of(Spec("boxes", {"box": single(Box())}, [overwrite]))
    assert error.rule == "overwrite"
    assert "changed the values" in error.problem


def test_a_rule_that_is_not_deterministic_is_reported():
    numbers = itertools.count()

    @rule
    def random(n):
        yield next(numbers) % 7

    error = error_of(Spec("dice", {"n": single(0)}, [random]))
    assert error.rule == "random"
    assert "not deterministic" in error.problem


def test_a_rule_that_changes_its_mind_later_is_found_when_a_path_is_rebuilt():
    calls = itertools.count()

    @rule
    def walk(n):
        if n < 200:
            yield n + 1 if next(calls) < 2000 else n

    @invariant
    def short(n):
        return n < 200

    honest = Spec("walk", {"n": single(0)}, [walk], invariants=[short])
    for _ in range(1700):
        next(calls)
    error = error_of(honest)
    assert "deterministic" in error.problem


@invariant
def raises_at_3(n):
    return n != 3 or n // 0


@goal
def goal_raises_at_3(n):
    return n == 3 and n // 0


@view
def raising_view(n):
    return n // (n - 3)


@view
def list_view(n):
    return [n] if n == 3 else n


@invariant
def over_view(raising_view):
    return raising_view is not None


@invariant
def over_list(list_view):
    return list_view is not None


@step_invariant("n")
def step_raises(before, after):
    return after.n != 3 or before.n // 0 == 1


@pytest.mark.parametrize(
    ("more", "name"),
    [
        ({"invariants": [raises_at_3]}, "raises_at_3"),
        ({"goals": [goal_raises_at_3]}, "goal_raises_at_3"),
        ({"invariants": [over_view], "views": [raising_view]}, "raising_view"),
        ({"invariants": [over_list], "views": [list_view]}, "list_view"),
        ({"invariants": [step_raises]}, "step_raises"),
    ],
    ids=lambda x: x if isinstance(x, str) else "",
)
def test_a_predicate_that_raises_is_named(more, name):
    error = error_of(spec(**more))
    assert error.rule == name
    assert error.key


def test_what_is_no_rule_and_what_cannot_be_hashed_is_said():
    with pytest.raises(SpecError, match="is no rule"):
        Spec("x", {"a": single(0)}, (print,))
    with pytest.raises(SpecError, match=r"is no predicate.*@invariant"):
        Spec("x", {"a": single(0)}, (), invariants=(print,))
    with pytest.raises(SpecError, match="slot a: the initial value is a list"):
        Spec("x", {"a": single([])}, ())
