"""A view may read another view: its value is the one for the values underneath."""

import pytest

from groupcheck.model.engine import Spec, invariant, reference, rule, single, view
from groupcheck.model.engine.fast import explore


@rule
def count(n):
    if n < 5:
        yield n + 1


@view
def is_large(n):
    return n > 2


@view
def is_large_and_even(is_large, n):
    return is_large and n % 2 == 0


@invariant
def never_large_and_even(is_large_and_even):
    return not is_large_and_even


@pytest.mark.parametrize("engine", [explore, reference])
def test_an_invariant_over_a_view_of_a_view_breaks_where_the_slots_say(engine):
    views = [is_large, is_large_and_even]
    found = engine.explore(
        Spec("counter", {"n": single(0)}, [count], invariants=[never_large_and_even], views=views)
    )
    (broken,) = [x for x in found.violations if x.invariant != "deadlock"]
    assert broken.depth == 4
