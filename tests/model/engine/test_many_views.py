"""A view of more elements than a word has bits: each element has its own value."""

import pytest

from groupcheck.model.engine import Spec, array, end, invariant, reference, rule, single, view
from groupcheck.model.engine.fast import explore
from groupcheck.model.engine.plain import plain_explore


@rule
def light(me, lamp, fuse):
    if fuse and lamp == 0 and me % 2 == 1:
        yield 1, fuse - 1


@view
def brightness(lamp):
    return 7 - lamp


@invariant
def not_two(a: "brightness[i]", fuse):
    return a == 7 or fuse > 0


@end
def burnt(fuse):
    return fuse == 0


@pytest.mark.parametrize("engine", [explore, plain_explore, reference])
@pytest.mark.parametrize("lamps", [63, 64, 65, 70])
def test_a_view_of_many_elements_is_read_for_each_of_them(engine, lamps):
    slots = {"lamp": array(lamps, 0), "fuse": single(2)}
    spec = Spec("lamps", slots, [light], invariants=[not_two], views=[brightness], ends=[burnt])
    verdict = engine.explore(spec)
    n = lamps // 2
    assert verdict.states == 1 + n + n * (n - 1) // 2
    assert [(v.invariant, v.depth) for v in verdict.violations] == [("not_two", 2)]


@rule
def tick(clock, rounds):
    if rounds < 5:
        yield (clock + 1) % 8, rounds + (clock == 7)


@view
def is_over(clock):
    return clock > 7


@invariant
def few_rounds(is_over, rounds):
    return is_over or rounds < 3


@end
def at_rest(rounds):
    return rounds == 5


@pytest.mark.parametrize("engine", [explore, plain_explore, reference])
def test_what_is_known_of_a_view_and_a_slot_is_not_taken_from_another_table(engine):
    """All eight values of the clock are known to the table of the view, which lies before that of
    the invariant, when the invariant is broken.
    """
    slots = {"clock": single(0), "rounds": single(0)}
    spec = Spec("rounds", slots, [tick], invariants=[few_rounds], views=[is_over], ends=[at_rest])
    verdict = engine.explore(spec)
    assert [(v.invariant, v.depth) for v in verdict.violations] == [("few_rounds", 24)]
