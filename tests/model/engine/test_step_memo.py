"""A step invariant is asked about each pair of values before and after: an answer for one pair
never stands for another.
"""

import itertools

import pytest

from groupcheck.model.engine import Spec, reference, rule, single, step_invariant
from groupcheck.model.engine.fast import explore

BITS = (0, 1)


@rule
def jump(a, b):
    yield from itertools.product(BITS, BITS)


def forbidding(old, new):
    @step_invariant("a", "b")
    def never(before, after):
        return ((before.a, before.b), (after.a, after.b)) != (old, new)

    return never


@pytest.mark.parametrize("engine", [explore, reference])
def test_each_step_that_is_forbidden_alone_is_found(engine):
    pairs = list(itertools.product(BITS, BITS))
    for old, new in itertools.product(pairs, pairs):
        slots = {"a": single(0), "b": single(0)}
        found = engine.explore(Spec("bits", slots, [jump], invariants=[forbidding(old, new)]))
        assert [x.invariant for x in found.violations] == ["never"], (old, new)
        assert found.violations[0].depth == (1 if old == (0, 0) else 2)
