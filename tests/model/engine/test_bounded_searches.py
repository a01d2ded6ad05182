"""Constraints, depth bounds and specs without deadlocks, on every engine."""

from unittest.mock import patch

import attrs
import pytest

from groupcheck.model.engine import (
    Limits,
    RuleError,
    Spec,
    SpecError,
    UserError,
    constraint,
    goal,
    invariant,
    reference,
    rule,
    single,
)
from groupcheck.model.engine.fast import explore, search, threads
from groupcheck.model.engine.fast.shards.distribute import distribute
from groupcheck.model.engine.plain import plain_explore


def by_threads(spec, limits=Limits()):
    with patch.object(threads, "WORTH", 2), patch.object(search, "cores", lambda: 2):
        return explore.explore(spec, limits, workers=2)


ENGINES = {
    "reference": reference.explore,
    "plain": plain_explore.explore,
    "fast": explore.explore,
    "threads": by_threads,
}


@pytest.fixture(params=list(ENGINES))
def explored(request):
    return ENGINES[request.param]


@rule
def grow(x):
    yield x + 1


@rule
def flip(y):
    yield 1 - y


@constraint
def small(x):
    return x <= 3


@goal
def four(x):
    return x == 4


@invariant
def below_four(x):
    return x < 4


# as TLA+: Init == x \in 0..1 /\ y = 0; Next == x' = x + 1 or y' = 1 - y; CONSTRAINT x <= 3
COUNTER = Spec(
    "counter",
    {"x": single(0), "y": single(0)},
    [grow, flip],
    goals=[four],
    initial=[{"x": 0}, {"x": 1}],
    constraints=[small],
)


def test_counts_are_those_of_tlc(explored):
    """TLC 2.18: 18 states generated (2 of them initial), 8 distinct states found, depth 4."""
    found = explored(COUNTER)
    assert (found.states, found.transitions, found.depth) == (8, 16, 4)
    assert (found.verdict, found.border, found.goals) == ("holds", 2, {"four": 3})
    assert found.complete and "within the constraint small; 2 border states" in found.reason


def test_invariants_look_at_border_states(explored):
    found = explored(attrs.evolve(COUNTER, invariants=[below_four]))
    (broken,) = found.violations
    assert (found.verdict, broken.invariant, broken.depth) == ("violated", "below_four", 3)


def test_no_path_leads_through_a_border_state(explored):
    @rule
    def away(x):
        if x == 1:
            yield 50

    @rule
    def back(x):
        if x == 50:
            yield 3

    @invariant
    def not_three(x):
        return x != 3

    spec = Spec("detour", {"x": single(0)}, [away, back, grow], None, [not_three])
    spec = attrs.evolve(spec, constraints=[small])
    (broken,) = explored(spec).violations
    assert [x for (x,) in broken.path.states] == [0, 1, 2, 3]


def test_a_border_state_is_no_deadlock(explored):
    @rule
    def up(x):
        if x < 4:
            yield x + 1

    spec = Spec("ends at the border", {"x": single(0)}, [up], constraints=[small])
    assert explored(spec).verdict == "holds"
    (stuck,) = explored(attrs.evolve(spec, constraints=())).violations
    assert (stuck.invariant, stuck.depth) == ("deadlock", 4)
    found = explored(attrs.evolve(spec, constraints=(), deadlock=False))
    assert (found.verdict, found.states) == ("holds", 5)


def test_a_depth_bound_is_unknown_where_states_are_left(explored):
    found = explored(COUNTER, Limits(depth=3))
    assert (found.verdict, found.depth) == ("unknown", 3)
    assert "the limit of depth 3" in found.reason
    assert explored(COUNTER, Limits(depth=4)).verdict == "holds"


def test_states_at_the_depth_bound_are_checked(explored):
    spec = attrs.evolve(COUNTER, invariants=[below_four], initial=[{}])
    assert explored(spec, Limits(depth=3)).verdict == "unknown"
    assert explored(spec, Limits(depth=4)).verdict == "violated"


def test_a_search_that_was_stopped_by_depth_goes_on_from_its_checkpoint(tmp_path):
    explore.explore(COUNTER, Limits(depth=2), checkpoint=tmp_path)
    whole = explore.explore(COUNTER, resume=tmp_path)
    assert (whole.states, whole.transitions, whole.border) == (8, 16, 2)
    with pytest.raises(UserError, match="belongs to another"):
        explore.explore(attrs.evolve(COUNTER, deadlock=False), resume=tmp_path)
    with pytest.raises(UserError, match="belongs to another"):
        explore.explore(attrs.evolve(COUNTER, constraints=()), resume=tmp_path)


def test_a_constraint_that_no_initial_state_meets_is_refused(explored):
    with pytest.raises(SpecError, match="no initial state is within the constraint small"):
        explored(attrs.evolve(COUNTER, initial=[{"x": 7}]))


def test_a_constraint_at_fault_is_named(explored):
    @constraint
    def divides(x):
        return 6 / (2 - x) > 0

    with pytest.raises(RuleError, match=r"divides\(x=2\): raised ZeroDivisionError"):
        explored(attrs.evolve(COUNTER, constraints=[divides]))


ENDLESS = attrs.evolve(COUNTER, constraints=())


@pytest.mark.parametrize(("spec", "limits"), [(COUNTER, Limits()), (ENDLESS, Limits(depth=2))])
def test_shards_refuse_bounds(spec, limits, tmp_path):
    with pytest.raises(UserError, match="--spark: cannot spread a search with a"):
        distribute(spec, None, str(tmp_path), limits)
