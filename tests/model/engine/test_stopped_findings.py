"""What a search has found before its first step, or in the level in which it is stopped, is not
forgotten.
"""

import pytest

from groupcheck.model.engine import (
    CheckpointError,
    Limits,
    Spec,
    array,
    end,
    goal,
    reference,
    rule,
    single,
    step_invariant,
    urgent,
)
from groupcheck.model.engine.fast import explore


@rule
def count(n):
    if n < 50:
        yield from (n + 1, n + 2)


@end
def anywhere(n):
    return True


@goal
def at_rest(n):
    return n == 0


@step_invariant("n")
def skips_nothing(before, after):
    return after.n == before.n + 1


def counter(*rules, start=0, **more):
    return Spec("counter", {"n": single(start)}, (count, *rules), ends=[anywhere], **more)


def test_a_goal_that_the_initial_state_meets_is_in_the_checkpoint_of_the_first_level(tmp_path):
    spec = counter(goals=[at_rest])
    assert explore.explore(spec, Limits(states=1), checkpoint=tmp_path).verdict == "unknown"
    resumed = explore.explore(spec, resume=tmp_path)
    assert (resumed.verdict, resumed.goals) == ("holds", {"at_rest": 0})


def test_a_search_stopped_where_a_step_invariant_broke_does_not_continue_to_holds(tmp_path):
    spec = counter(invariants=[skips_nothing])
    stopped = explore.explore(spec, Limits(states=1), checkpoint=tmp_path)
    assert stopped.verdict == "violated"
    with pytest.raises(CheckpointError, match="cannot be read"):
        explore.explore(spec, resume=tmp_path)


def test_what_breaks_after_a_checkpoint_is_found_again_by_the_search_that_continues(tmp_path):
    @step_invariant("n")
    def never_past_20(before, after):
        return after.n <= 20

    spec = counter(invariants=[never_past_20])
    explore.explore(spec, Limits(states=10), checkpoint=tmp_path)
    stopped = explore.explore(spec, Limits(states=21), checkpoint=tmp_path, resume=tmp_path)
    again = explore.explore(spec, resume=tmp_path)
    assert [v.depth for v in stopped.violations] == [v.depth for v in again.violations] == [11]


@urgent
def fall(n):
    if n > 90:
        yield n - 90


@pytest.mark.parametrize("engine", [explore, reference])
def test_a_step_invariant_that_urgent_rules_break_in_the_initial_state_is_broken(engine):
    verdict = engine.explore(counter(fall, start=100, invariants=[skips_nothing]))
    (found,) = verdict.violations
    assert (found.invariant, found.depth, found.path.initial) == ("skips_nothing", 0, (10,))
    assert [firing.name for firing in found.path.settled] == ["fall"]


@rule
def dim(lamp):
    if lamp:
        yield lamp - 1


def test_a_checkpoint_of_an_array_with_many_initial_values_is_accepted(tmp_path):
    spec = Spec("lamps", {"lamp": array(6, 0)}, (dim,), initial=[{"lamp": (0, 1, 2, 3, 4, 5)}])
    explore.explore(spec, Limits(states=1), checkpoint=tmp_path)
    assert explore.explore(spec, resume=tmp_path).states == 720
