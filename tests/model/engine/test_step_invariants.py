"""Step invariants are asked of every outcome at every index, however little a rule knows of its
index, and however few states and rows stand for all.
"""

from typing import Any

import pytest
from judge import judge
from judged import disagreements_on

from groupcheck.model.engine import (
    RuleError,
    Spec,
    array,
    invariant,
    reference,
    rule,
    single,
    step_invariant,
    urgent,
)
from groupcheck.model.engine.fast import explore as fast
from groupcheck.model.engine.fast.walks import Walks, walk
from groupcheck.model.engine.symmetry import symmetry_of

# -- an element beside a whole array: a call serves both indexes, but the look is at another element


@rule
def take(a: "a[i]", everybody: "b[:]") -> Any:
    if a == 0 and 1 in everybody:
        yield 1, everybody


@step_invariant("a", "b")
def only_owner(before: Any, after: Any) -> bool:
    return bool(before.a == after.a or before.b == 1)


OWNER = Spec(
    "owner",
    {"a": array(2, 0), "b": array(2, 0)},
    [take],
    2,
    [only_owner],
    initial=[{"b": (1, 0)}],
    deadlock=False,
)


@rule
def ready(me: int, a: "a[me]", turn: Any) -> Any:
    if turn == me:
        yield 1, turn + 1


@rule
def take_late(a: "a[i]", everybody: "b[:]") -> Any:
    if a == 1 and 1 in everybody:
        yield 2, everybody


@step_invariant("a", "b")
def only_owner_late(before: Any, after: Any) -> bool:
    return bool(after.a < 2 or before.a == 2 or before.b == 1)


# Index 1 calls long after index 0: a checkpoint lies between the two.
LATE = Spec(
    "late",
    {"a": array(2, 0), "b": array(2, 0), "turn": single(0)},
    [ready, take_late],
    2,
    [only_owner_late],
    initial=[{"b": (1, 0)}],
    deadlock=False,
)


# -- independent indexes into two arrays: the look is where both are the same


@rule
def pair(a: "a[i]", b: "b[j]") -> Any:
    if a == b == 0:
        yield 1, 1


@step_invariant("a", "b")
def never_both(before: Any, after: Any) -> bool:
    return bool(before.a == after.a)


def independent(**more: Any) -> Spec:
    slots = {"a": array(3, 0), "b": array(3, 0)}
    return Spec("independent", slots, [pair], 3, [never_both], deadlock=False, **more)


# The only zeros that are left stand at one index, which is not the first.
INDEPENDENT = independent(initial=[{"a": (0, 1, 0), "b": (1, 0, 0)}])


# -- arrays that only a step invariant names together: their elements are not permuted apart


@rule
def set_a(a: int, na: int) -> Any:
    if na == 0:
        yield 1, 1


@rule
def set_b(b: int, nb: int) -> Any:
    if nb == 0:
        yield 1, 1


@rule
def both(a: "a[i]", b: "b[j]", na: int, nb: int) -> Any:
    if na == nb == 1 and a == 1 and b == 0:
        yield 2, 0, 2, 1


@step_invariant("a", "b")
def apart(before: Any, after: Any) -> bool:
    return bool(before.a == after.a)


TIED = Spec(
    "tied",
    {"a": array(3, 0), "b": array(3, 0), "na": single(0), "nb": single(0)},
    [set_a, set_b, both],
    3,
    [apart],
    deadlock=False,
)


@rule
def use(a: "a[i]", c: "c[j]") -> Any:
    if a == 1:
        yield 2, c


@step_invariant("a", "c")
def unused(before: Any, after: Any) -> bool:
    return bool(before.a == 0)


# Only the first element of the longer array has a partner.
SIZES = Spec(
    "sizes",
    {"a": array(3, 0), "c": array(1, 0), "na": single(0)},
    [set_a, use],
    3,
    [unused],
    deadlock=False,
)


# -- a walk whose end does not depend on the order of its visits, while the steps on the way do


@rule
def choose(client: int) -> Any:
    if client == 0:
        yield 1
        yield 2


@rule
def ring(lock: int) -> Any:
    if lock == 0:
        yield 100


@urgent(when=lambda me, lock: lock // 100 == me + 1)
def visit(client: int, lock: int) -> Any:
    index, found = divmod(lock, 100)
    yield client, 100 * (index + 1) + found + client if index < 3 else 1


def walked(first: int, second: int) -> Spec:
    @step_invariant("lock")
    def never(before: Any, after: Any) -> bool:
        return (before.lock, after.lock) != (200 + first, 300 + first + second)

    slots = {"lock": single(0), "client": array(3, 0)}
    return Spec("walked", slots, [choose, ring, visit], None, [never], deadlock=False)


@pytest.mark.parametrize(
    ("spec", "depth", "seed"),
    [
        pytest.param(OWNER, 1, 1, id="element beside a whole array"),
        pytest.param(LATE, 3, 3, id="another index calls much later"),
        pytest.param(INDEPENDENT, 1, 3, id="independent indexes"),
        pytest.param(TIED, 3, 1, id="arrays that only a step invariant ties"),
        pytest.param(SIZES, 2, 1, id="arrays of two sizes"),
        pytest.param(walked(1, 2), 3, 1, id="a walk in one order"),
        pytest.param(walked(2, 1), 3, 3, id="a walk in the other order"),
    ],
)
def test_every_engine_finds_the_step_that_breaks_a_promise(spec: Spec, depth: int, seed: int):
    """`seed`: where shards are stopped: of 1 at once, of 3 in the middle."""
    said = judge(spec)
    assert said["violations"] == [(spec.invariants[0].name, depth)]
    assert list(disagreements_on(spec, said, seed)) == []
    assert walk(spec, Walks(100)).violations[0].invariant == spec.invariants[0].name


def test_arrays_of_two_sizes_that_a_step_invariant_names_are_not_permuted():
    (why,) = symmetry_of(SIZES).reasons
    assert why.startswith("a: step invariant unused ranges over arrays of different sizes (")


# -- initial states that come to the same rest, one of them by a step that breaks a promise


@urgent("from_one", "from_two")
def settle(x: int) -> Any:
    if x:
        yield "from_one" if x == 1 else "from_two", 0


@step_invariant("x")
def never_from_two(before: Any, after: Any) -> bool:
    return bool(before.x != 2)


def test_the_path_begins_with_the_initial_state_that_breaks_a_promise():
    spec = Spec(
        "rest",
        {"x": single(0)},
        [settle],
        None,
        [never_from_two],
        initial=[{"x": 1}, {"x": 2}],
        deadlock=False,
    )
    said = judge(spec)
    assert said["violations"] == [("never_from_two", 0)]
    assert list(disagreements_on(spec, said)) == []


# -- what else an index decides


@rule(when=lambda me, a: 1 // (1 - me) > 0)
def divide(a: int) -> Any:
    if a < 3:
        yield a + 1


@pytest.mark.parametrize("explore", [reference.explore, fast.explore])
def test_a_guard_that_raises_at_one_index_is_at_fault_although_another_one_was_called(explore: Any):
    spec = Spec("guard", {"a": array(2, 0)}, [divide], deadlock=False)
    with pytest.raises(RuleError, match=r"divide\(a=0\): raised ZeroDivisionError"):
        explore(spec)
    with pytest.raises(RuleError, match=r"divide\(a=0\): raised ZeroDivisionError"):
        walk(spec, Walks(5))


@rule
def grow(a: int) -> Any:
    if a < 3:
        yield a + 1


@invariant
def small(a: int) -> bool:
    return a < 2


def test_what_is_an_invariant_and_a_goal_is_judged_as_both():
    spec = Spec("two roles", {"a": array(2, 0)}, [grow], 2, [small], [small], deadlock=False)
    said = judge(spec)
    assert (said["violations"], said["goals"]) == ([("small", 2)], {"small": 0})
    assert list(disagreements_on(spec, said)) == []
