"""The memory that is told for a state includes Python's values."""

import sys

import attrs
import pytest

from groupcheck.model.engine import Spec, end, rule, single
from groupcheck.model.engine.fast import explore
from groupcheck.model.engine.pools import Pool
from groupcheck.model.engine.tabled.sizes import bytes_of_pools, weighed, weighed_inside


@attrs.frozen
class Box:
    text: str
    inner: object = None


def test_values_are_weighed_with_all_that_they_hold_and_shared_parts_once():
    text = "x" * 1000
    one = sys.getsizeof(Box(text)) + sys.getsizeof(text)
    assert weighed([Box(text)]) == one
    assert weighed([Box(text, Box(text)), Box(text)]) == one + 2 * sys.getsizeof(Box(text))
    assert weighed([{1: text}, [text], (text,), None, True]) < 2 * one
    assert weighed_inside([(text, 1), (text, 1)]) == sys.getsizeof(text) + sys.getsizeof(1)
    assert weighed([]) == 0


def test_a_sample_stands_for_all():
    values = [(f"{n:400}", n) for n in range(10_000)]
    whole = sum(sum(map(sys.getsizeof, (v, *v))) for v in values)
    assert weighed(values) == pytest.approx(whole, rel=0.01)


def test_a_pool_is_weighed_once_with_its_dicts():
    pool = Pool("box")
    for n in range(100):
        pool.number(Box(f"{n:100}"))
    assert bytes_of_pools([pool, pool]) == bytes_of_pools([pool])
    assert bytes_of_pools([pool]) > 100 * sys.getsizeof("x" * 100) + sys.getsizeof(pool.by_id)


@end
def always(n):
    return True


@pytest.mark.parametrize("most", [300, 30_000])
def test_the_bytes_of_a_state_hold_its_values(most):
    """With 30,000 values the search leaves its tables."""

    @rule
    def grow(n, mark):
        if len(n) == 1 and int(n[0]) < most:
            yield (f"{int(n[0]) + 1:200}",), mark

    slots = {"n": single(("0",)), "mark": single(0)}
    verdict = explore.explore(Spec("texts", slots, [grow], ends=[always]))
    assert verdict.states == most + 1
    assert verdict.bytes_per_state > sys.getsizeof("x" * 200)
