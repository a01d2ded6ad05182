"""What a rule does wrong after hundreds of good calls, when it is no longer watched, is still
found; and a path names the index of each firing.
"""

import pytest

from groupcheck.model.engine import RuleError, Spec, array, end, invariant, reference, rule, single
from groupcheck.model.engine.fast import explore

ENGINES = pytest.mark.parametrize("engine", [explore, reference])


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
