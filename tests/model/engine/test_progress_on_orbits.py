"""Promises that something is always possible, of all elements at once or of some: what they mean,
and that they are judged on one state of each orbit as among all states.
"""

from typing import Any

import pytest
from judged_progress import of_orbits, taken_over

from groupcheck.model.engine import (
    Spec,
    SpecError,
    always_possible,
    array,
    eventually,
    infinitely_often,
    reference,
    rule,
    single,
    view,
    weak,
)
from groupcheck.model.engine.fast import explore as fast
from groupcheck.model.engine.plain import plain_explore
from groupcheck.model.engine.step import Semantics

ENGINES = [reference.explore, fast.explore, plain_explore.explore, taken_over]


@rule
def take(lock: int, client: int) -> Any:
    if lock == client == 0:
        yield 1, 1


@rule
def give(lock: int, client: int) -> Any:
    if client == 1:
        yield 0, 0


@rule
def keep(client: int) -> Any:
    """The mistake: who has the lock may keep it."""
    if client == 1:
        yield 2


@always_possible("all i")
def nobody_has_it(client: int) -> bool:
    """The lock can become free."""
    return client == 0


@always_possible("some i")
def somebody_has_it(client: int) -> bool:
    """Somebody can get the lock."""
    return client == 1


@always_possible("all i")
def all_have_it(client: int) -> bool:
    """All can have the lock at once, which is wrong."""
    return client == 1


@always_possible
def each_can_have_it(client: int) -> bool:
    """Each can get the lock."""
    return client == 1


def locks(*promises: Any, rules: Any = (take, give), n: int = 4, **more: Any) -> Spec:
    slots = {"lock": single(0), "client": array(n, 0)}
    return Spec("locks", slots, rules, deadlock=False, progress=promises, **more)


@pytest.mark.parametrize("explore", ENGINES)
def test_a_promise_of_all_at_once_is_not_one_to_each(explore: Any):
    spec = locks(nobody_has_it, somebody_has_it, all_have_it, each_can_have_it)
    assert explore(spec, liveness=True).progress == {
        "nobody_has_it": "holds",
        "somebody_has_it": "holds",
        "all_have_it": "violated",
        "each_can_have_it": "holds",
    }


def test_what_stays_possible_is_judged_on_orbits_with_the_same_path():
    spec = locks(nobody_has_it, somebody_has_it, rules=(take, give, keep))
    whole, orbits = (fast.explore(spec, liveness=True, symmetry=s) for s in (False, None))
    assert (whole.symmetry.used, orbits.symmetry.used) == (False, True)
    assert orbits.symmetry.representatives < whole.states == orbits.states
    assert orbits.progress == {"nobody_has_it": "violated", "somebody_has_it": "violated"}
    for name in orbits.progress:
        (long,), (short,) = (
            [v for v in verdict.violations if v.invariant == name] for verdict in (whole, orbits)
        )
        assert short.depth == long.depth == 2
        assert Semantics(spec).follow(short.key) == short.path


@infinitely_often
def is_free(lock: int) -> bool:
    return lock == 0


@always_possible("all i")
def is_first(i: int, client: int) -> bool:
    return client == 0 or i == 0


@always_possible("all i")
def is_above_its_neighbour(a: "client[i]", b: "client[i+1]") -> bool:
    return a >= b


@pytest.mark.parametrize("more", [is_free, each_can_have_it, is_first, is_above_its_neighbour])
def test_other_promises_are_judged_among_all_states(more: Any):
    spec = locks(nobody_has_it, more, fair=[weak(give)])
    verdict = fast.explore(spec, liveness=True, symmetry=True)
    assert not verdict.symmetry.used
    assert verdict.progress == reference.explore(spec, liveness=True).progress


def test_random_specs_are_judged_on_orbits_as_the_judge_does():
    broken = 0
    for seed, spec, said, found in of_orbits(11, 5):
        assert found.progress == said, seed
        for violation in found.violations:
            assert Semantics(spec).follow(violation.key) == violation.path, seed
            broken += 1
    assert broken


def test_views_of_promises_are_asked_once_for_each_value_that_they_read():
    asked = []

    @view
    def is_small(client: int) -> bool:
        asked.append(client)
        return client < 5

    @rule
    def count(client: int) -> Any:
        if client < 9:
            yield client + 1

    @always_possible("all i")
    def all_small(a: "is_small[i]") -> bool:
        return a

    spec = locks(all_small, rules=(count,), n=3, views=(is_small,))
    verdict = fast.explore(spec, liveness=True)
    assert (verdict.states, verdict.progress) == (1000, {"all_small": "violated"})
    assert len(asked) == len({*asked}) == 10


def test_a_quantifier_of_another_index_is_refused():
    with pytest.raises(SpecError, match="'j' is not an index of it"):
        locks(eventually("all j")(nobody_has_it.goal.call))
