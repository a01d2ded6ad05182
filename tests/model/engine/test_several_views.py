"""What a predicate is told of one binding never answers for another one, whatever views it names
and in whatever order they were met.
"""

import pytest

from groupcheck.model.engine import Spec, array, end, goal, invariant, reference, rule, single, view
from groupcheck.model.engine.fast import explore


@rule
def open_door(me, door):
    """Only the second door has a handle, so only its view can show the mistake."""
    if me == 1 and not door:
        yield 1


@rule
def arm(alarm):
    if not alarm:
        yield 1


@view
def is_open(door):
    return door == 1


@view
def is_off(alarm):
    return alarm == 0


@invariant
def no_open_door_while_off(a: "is_open[i]", is_off):
    return not (a and is_off)


@end
def anywhere(alarm):
    return True


def house(**more):
    slots = {"door": array(2, 0), "alarm": single(0)}
    return Spec("house", slots, [open_door, arm], views=[is_open, is_off], **more)


@pytest.mark.parametrize("engine", [explore, reference])
def test_an_invariant_of_two_views_is_not_told_the_answer_of_another_binding(engine):
    """The second door's view is numbered after the alarm's, the first door's before."""
    verdict = engine.explore(house(invariants=[no_open_door_while_off], ends=[anywhere]))
    assert [(v.invariant, v.depth) for v in verdict.violations] == [("no_open_door_while_off", 1)]


@goal
def open_while_off(a: "is_open[i]", is_off):
    return a and is_off


@pytest.mark.parametrize("engine", [explore, reference])
def test_a_goal_of_two_views_is_met_where_it_is_met(engine):
    assert engine.explore(house(goals=[open_while_off], ends=[anywhere])).goals == {
        "open_while_off": 1
    }


@rule
def fill(me, glass):
    """Only the second glass is ever filled."""
    if me == 1 and not glass:
        yield 1


@end
def level(a: "glass[i]", b: "glass[j]"):
    return a - b != 1


@pytest.mark.parametrize("engine", [explore, reference])
def test_an_end_over_two_variables_is_asked_for_each_binding(engine):
    """It holds for i = 0, j = 1, which is asked first, and not for i = 1, j = 0."""
    spec = Spec("glasses", {"glass": array(2, 0)}, [fill], ends=[level])
    assert [v.invariant for v in engine.explore(spec).violations] == ["deadlock"]


@rule
def unlock(door):
    if not door:
        yield 1


@invariant
def never_three_open(a: "is_open[i]", b: "door[j]", c: "is_open[k]"):
    return not (a and b and c)


@invariant
def never_rising(a: "door[i]", b: "door[j]", c: "door[k]"):
    return not (a + b + c == 3 or (a == 0 and b == 1 and c == 2))


@pytest.mark.parametrize("engine", [explore, reference])
@pytest.mark.parametrize("promise", [never_three_open, never_rising])
def test_each_of_three_index_variables_has_its_own_element(engine, promise):
    spec = Spec(
        "doors",
        {"door": array(4, 0)},
        [unlock],
        invariants=[promise],
        views=[is_open] if promise is never_three_open else [],
        ends=[all_open],
    )
    verdict = engine.explore(spec)
    assert [(v.invariant, v.depth) for v in verdict.violations] == [(promise.name, 3)]


@end
def all_open(door):
    return door == 1
