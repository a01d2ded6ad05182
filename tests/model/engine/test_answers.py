"""What predicates and guards may answer, and what rules may give; anything else is told to its
author.
"""

import numpy as np
import pytest

from groupcheck.model.engine import (
    RuleError,
    Spec,
    end,
    goal,
    invariant,
    reference,
    rule,
    single,
    step_invariant,
)
from groupcheck.model.engine.fast import explore
from groupcheck.model.engine.plain import plain_explore


@rule
def count(n):
    if n < 5:
        yield n + 1


@end
def anything(n):
    return True


def spec(*rules, **more):
    return Spec("counter", {"n": single(0)}, (count, *rules), **more)


def error_of(broken, engine):
    with pytest.raises(RuleError) as caught:
        engine.explore(broken)
    return caught.value


def forgetful(at, usual, answer):
    """A predicate of `n` that gives the wrong kind of answer at one value."""

    def asked(n):
        return answer if n == at else usual

    return asked


@pytest.mark.parametrize("engine", [explore, plain_explore, reference])
@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (None, "gave None, not True or False (did you forget return?)"),
        ("text", "gave a str, not True or False (write bool(...))"),
        ((True, "text"), "gave a tuple, not True or False (write all(...) or any(...))"),
    ],
)
def test_an_answer_is_true_or_false_whoever_is_asked(engine, answer, problem):
    @step_invariant("n")
    def asked_of_steps(before, after):
        return answer if after.n == 3 else True

    for broken, kind, at in [
        (spec(invariants=[invariant(forgetful(3, True, answer))]), "invariant", 3),
        (spec(goals=[goal(forgetful(3, False, answer))]), "goal", 3),
        (spec(ends=[end(forgetful(5, True, answer))]), "end", 5),
        (spec(invariants=[asked_of_steps]), "step invariant", 2),
    ]:
        error = error_of(broken, engine)
        assert (error.kind, error.problem, error.arguments) == (kind, problem, {"n": at})
    guarded = rule(when=forgetful(3, True, answer))(lambda n: [n])
    error = error_of(spec(guarded), engine)
    assert (error.problem, error.arguments) == (f"has a guard that {problem}", {"n": 3})


@pytest.mark.parametrize("engine", [explore, plain_explore, reference])
def test_numbers_and_the_booleans_of_numpy_are_answers(engine):
    @invariant
    def of_numpy(n):
        return np.bool_(n < 5)

    @invariant
    def a_number(n):
        return 5 - n

    found = engine.explore(spec(invariants=[of_numpy, a_number], ends=[anything])).violations
    assert [(v.invariant, v.depth) for v in found] == [("a_number", 5), ("of_numpy", 5)]


@rule
def returns_a_value(n):
    return n + 1 if n < 5 else None


@rule
def returns_a_text(name):
    return "abc"


@rule
def returns_both(n, m):
    return n, m


@rule
def yields_and_returns(n):
    yield n
    if n == 3:
        return n + 1


@pytest.mark.parametrize("engine", [explore, plain_explore, reference])
@pytest.mark.parametrize("start", [0, -300])  # at once, and when the rule is trusted
@pytest.mark.parametrize(
    ("faulty", "returned"),
    [
        (returns_a_value, ""),
        (returns_a_text, "'abc'"),
        (returns_both, ""),
        (yields_and_returns, "4"),
    ],
    ids=lambda x: getattr(x, "name", ""),
)
def test_a_rule_that_returns_an_outcome_is_told_to_yield(engine, start, faulty, returned):
    slots = {"n": single(start), "m": single(0), "name": single("x")}
    error = error_of(Spec("returning", slots, (count, faulty)), engine)
    assert error.rule == faulty.name
    assert error.problem.startswith(f"returned {returned}")
    assert error.problem.endswith("(a rule yields its outcomes: use yield)")


@pytest.mark.parametrize("engine", [explore, plain_explore, reference])
def test_a_rule_may_return_a_list_or_what_another_generator_yields(engine):
    @rule
    def listed(n):
        return [n + 1] if n < 5 else None

    @rule
    def passed_on(n):
        return (n + step for step in (1, 2) if n + step <= 5)

    verdict = engine.explore(Spec("lists", {"n": single(0)}, (listed, passed_on), ends=[anything]))
    assert (verdict.states, verdict.rules) == (6, {"listed": 5, "passed_on": 9})
