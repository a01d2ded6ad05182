"""Why arrays are not permuted is said, each time with a change that helps."""

from typing import Any

import pytest

from groupcheck.model.engine import (
    Spec,
    any_of,
    array,
    constraint,
    invariant,
    refines,
    rule,
    single,
    urgent,
)
from groupcheck.model.engine.fast.exploration import WHY
from groupcheck.model.engine.symmetry import symmetry_of


def spec_of(*rules: Any, n: int = 3, **more: Any) -> Spec:
    slots = {"lock": single(0), "client": array(n, 0), "link": array(n, 0), "part": array(2, 0)}
    return Spec("locks", slots, rules, deadlock=False, **more)


@rule(when=lambda client: client < 2)
def use(client: int, lock: int) -> Any:
    if client == 0 and lock == 0:
        yield 1, 1


@rule
def knows(me: int, client: int) -> Any:
    yield me if client == 0 else client


@rule(when=lambda me, client: client == me)
def asks(client: int) -> Any:
    yield 1


@rule
def of_itself(client: int) -> Any:
    yield 1


@rule
def passes(client: int, next: "client[me+1]") -> Any:
    yield next, client


@rule
def counts(every: "client[:]") -> Any:
    yield every


@rule
def changes_places(client: int, other: "client[other]") -> Any:
    yield other, client


@urgent
def pairs(client: int, other: "client[other]") -> Any:
    if client == other == 1:
        yield 2, 2


@urgent(when=lambda me, client: client == me + 1)
def asks_itself(client: int) -> Any:
    yield 0


@urgent(when=lambda me, lock: lock == me + 1)
def visits(lock: int, client: int) -> Any:
    yield 0, client


@urgent(when=lambda me, lock: lock == me + 1)
def visits_parts(lock: int, part: int) -> Any:
    yield 0, part


@invariant
def ranked(i: int, client: int) -> bool:
    return True


@invariant
def unequal(a: "client[i]", b: "part[j]") -> bool:
    return True


@invariant
def equal(a: "client[i]", b: "link[j]") -> bool:
    return True


@constraint
def small(lock: int) -> bool:
    return True


SMALLER = refines(
    Spec("lock", {"lock": single(0)}, [use_alone := rule(name="use")(lambda lock: [1])]),
    {"lock": lambda lock: lock},
)
ONE_BEGINS = {"initial": [{"client": (0, 0, 1)}]}
ANY_BEGINS = {"initial": [{"client": (any_of(0, 1),) * 3}]}


@pytest.mark.parametrize(
    ("without", "why", "with_it"),
    [
        (spec_of(use, knows), "rule knows takes me", spec_of(use, of_itself)),
        (spec_of(use, asks), "the guard of rule asks takes me", spec_of(use, of_itself)),
        (
            spec_of(use, asks_itself),
            "the guard of rule asks_itself takes me together with client",
            spec_of(use, visits),
        ),
        (spec_of(passes), "rule passes reads client[me+1]", spec_of(changes_places)),
        (spec_of(counts), "rule counts reads client[:]", spec_of(changes_places)),
        (spec_of(pairs), "urgent rule pairs has several indexes", spec_of(changes_places)),
        (
            spec_of(use, invariants=[ranked]),
            "invariant ranked takes i",
            spec_of(use, invariants=[equal]),
        ),
        (
            spec_of(use, invariants=[unequal]),
            "invariant unequal ranges over arrays of different sizes",
            spec_of(use, invariants=[equal]),
        ),
        (
            spec_of(use, constraints=[small]),
            "constraint small may tell indexes apart",
            spec_of(use),
        ),
        (
            spec_of(use, refinements=[SMALLER]),
            "refines lock may tell indexes apart",
            spec_of(use),
        ),
        (
            spec_of(use, visits, visits_parts),
            "walks go over several groups of arrays",
            spec_of(use, visits),
        ),
        (spec_of(use, visits, n=7), "walks over 7 elements", spec_of(use, visits, n=6)),
        (
            spec_of(use, **ONE_BEGINS),
            "initial states tell their elements apart",
            spec_of(use, **ANY_BEGINS),
        ),
        (spec_of(use, n=11), "11 elements have too many permutations", spec_of(use, n=9)),
    ],
)
def test_why_arrays_are_not_permuted_comes_with_a_change_that_helps(
    without: Spec, why: str, with_it: Spec
):
    symmetry = symmetry_of(without)
    (reason,) = [r for r in symmetry.reasons if r.startswith("client")]
    assert "client" not in symmetry.arrays
    assert f": {why}" in reason and reason.endswith(")")
    assert "client" in symmetry_of(with_it).arrays
    if "at most" in reason:
        assert f"at most {with_it.slots['client'].size} elements" in reason


def test_what_a_search_finds_against_symmetry_comes_with_a_change_too():
    assert all(" (" in reason and reason.endswith(")") for reason in WHY.values())
