"""`rule_calls` counts a rule once for each combination of values, however often it is called."""

from groupcheck.model.engine import Spec, rule, single
from groupcheck.model.engine.fast import explore


@rule
def count(n):
    if n < 5:
        yield n + 1


@rule
def turn(n, side):
    if n == 5:
        yield n, not side


def test_each_rule_is_counted_once_for_each_combination_of_values_that_occurs():
    found = explore.explore(Spec("counter", {"n": single(0), "side": single(False)}, [count, turn]))
    assert found.states == 7
    assert found.rule_calls == 6 + 7  # `count` for each n, `turn` for each n with its sides
