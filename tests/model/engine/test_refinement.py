"""Refinements: each step is one of a smaller spec, or changes nothing there."""

from itertools import islice
from unittest.mock import patch

import attrs
import pytest
from judged import specs
from two_phase_commit import Manager, two_phase_commit

from groupcheck.model.engine import (
    Limits,
    Predicate,
    Spec,
    SpecError,
    UserError,
    array,
    evolve,
    reference,
    refines,
    rule,
    single,
    urgent,
    view,
)
from groupcheck.model.engine.fast import explore, search, threads
from groupcheck.model.engine.fast import loop as loops
from groupcheck.model.engine.fast.shards.distribute import distribute
from groupcheck.model.engine.fast.walks import Walks, walk
from groupcheck.model.engine.plain import plain_explore


def by_threads(spec, limits=Limits()):
    with patch.object(threads, "WORTH", 2), patch.object(search, "cores", lambda: 2):
        return explore.explore(spec, limits, workers=2)


def in_small_pieces(spec, limits=Limits()):
    with patch.object(loops, "STEPS_AT_ONCE", 1):
        return explore.explore(spec, limits)


ENGINES = {
    "reference": reference.explore,
    "plain": plain_explore.explore,
    "fast": explore.explore,
    "threads": by_threads,
    "pieces": in_small_pieces,
}


@pytest.fixture(params=list(ENGINES))
def explored(request):
    return ENGINES[request.param]


# Transaction commit (Gray and Lamport): what two-phase commit implements.


@rule("commit", "abort")
def decides(me, phases):
    now = phases[me]
    if now == "prepared" and {*phases} <= {"prepared", "committed"}:
        yield "commit", (*phases[:me], "committed", *phases[me + 1 :])
    if now in ("working", "prepared") and "committed" not in phases:
        yield "abort", (*phases[:me], "aborted", *phases[me + 1 :])


@rule
def prepares(me, phases):
    if phases[me] == "working":
        yield (*phases[:me], "prepared", *phases[me + 1 :])


def transaction_commit(managers: int) -> Spec:
    """The managers' phases as one tuple; an array beside it says how many there are."""
    slots = {"phases": single(("working",) * managers), "seat": array(managers, 0)}
    return Spec("transaction commit", slots, [prepares, decides], deadlock=False)


MAPPING = {"phases": lambda state: tuple(m.phase for m in state.manager), "seat": lambda manager: 0}


def claim(managers):
    return refines(transaction_commit(managers), MAPPING)


def test_two_phase_commit_implements_transaction_commit(explored):
    spec = two_phase_commit(3)
    found = explored(attrs.evolve(spec, refinements=[claim(3)]))
    assert (found.verdict, found.states, found.transitions) == ("holds", 288, 1145)


def test_a_step_that_is_none_of_the_smaller_spec_is_violated(explored):
    @rule("commit", "abort")
    def decide(coordinator, network, scope):
        if coordinator.phase == "init" and coordinator.prepared:  # not all of them
            yield (
                "commit",
                evolve(coordinator, phase="committed"),
                evolve(network, decision="committed"),
            )

    hasty = attrs.evolve(
        two_phase_commit(2).replaced(decide), refinements=[claim(2)], invariants=()
    )
    found = explored(hasty)
    (broken,) = found.violations
    assert (broken.invariant, broken.depth) == ("refines transaction commit", 4)
    assert broken.path.steps[-1].firing.name == "obey"
    assert "is a step of transaction commit or changes nothing there" in broken.statement


def test_an_initial_state_must_be_one_of_the_smaller_spec(explored):
    late = [{"manager": (Manager("prepared"), Manager())}]
    found = explored(attrs.evolve(two_phase_commit(2), initial=late, refinements=[claim(2)]))
    (broken,) = found.violations
    assert (broken.invariant, broken.depth, broken.path.steps) == (
        "refines transaction commit", 0, (),
    )  # fmt: skip


@pytest.mark.parametrize(("by", "verdict"), [(1, "holds"), (2, "holds"), (4, "violated")])
def test_arrays_are_mapped_element_by_element(explored, by, verdict):
    @rule
    def up(half):
        if half < 3:
            yield half + 1

    @rule
    def grow(n):
        if n + by < 8:
            yield n + by

    def half(n: "n[i]"):
        return n // 2

    smaller = Spec("halves", {"half": array(2, 0)}, [up])
    slots = {"n": array(2, 0), "other": single(0)}
    claimed = refines(smaller, {"half": half})
    spec = Spec("numbers", slots, [grow], deadlock=False, refinements=[claimed])
    assert explored(spec).verdict == verdict


def test_steps_of_urgent_rules_are_seen_as_one(explored):
    @rule
    def begin(x):
        if x == 0:
            yield 1

    @urgent
    def go_on(x):
        if x == 1:
            yield 2

    @rule
    def at_once(x):
        if x == 0:
            yield 2

    smaller = Spec("at once", {"x": single(0)}, [at_once], deadlock=False)
    spec = Spec("in two", {"x": single(0)}, [begin, go_on], deadlock=False)
    same = refines(smaller, {"x": lambda x: x})
    assert explored(attrs.evolve(spec, refinements=[same])).verdict == "holds"
    slow = attrs.evolve(spec, rules=[begin, rule(go_on.call)], refinements=[same])
    assert explored(slow).violations[0].depth == 1


def test_steps_to_border_states_are_looked_at_and_those_from_them_are_not(explored):
    @rule
    def up(x):
        if x < 5:
            yield x + (1 if x < 3 else 2)

    @rule
    def by_one(x):
        if x < 9:
            yield x + 1

    same = refines(Spec("by one", {"x": single(0)}, [by_one]), {"x": lambda x: x})
    spec = Spec("x", {"x": single(0)}, [up], deadlock=False, refinements=[same])
    for most, verdict in ((2, "holds"), (3, "violated")):
        small = Predicate("small", most.__ge__, (("x", None),), False, "", kind="constraint")
        assert explored(attrs.evolve(spec, constraints=[small])).verdict == verdict


def identity_of(spec, smaller):
    """The claim that each slot is what it is."""
    mapping = {
        name: Predicate(name, lambda v: v, ((name, slot.size and "i"),), False, "", kind="view")
        for name, slot in smaller.slots.items()
    }
    return refines(smaller, mapping, "itself")


@pytest.mark.parametrize("number", [3, pytest.param(24, marks=pytest.mark.night)])
def test_engines_agree_on_random_specs(number):
    verdicts, differ = set(), []
    for seed, spec, _ in islice(specs(40_000), number):
        whole = attrs.evolve(
            spec, invariants=(), goals=(), views=(), ends=(), constraints=(), deadlock=False,
            refinements=(),
        )  # fmt: skip
        for left_out in range(min(3, len(spec.rules))):
            rules = [r for k, r in enumerate(spec.rules) if k != left_out]
            claim = identity_of(whole, attrs.evolve(whole, rules=rules))
            claimed = attrs.evolve(whole, refinements=[claim])
            answers = {
                engine: (v.verdict, v.states, v.transitions, v.depth,
                         [(x.invariant, x.depth) for x in v.violations])
                for engine, run in ENGINES.items() for v in [run(claimed)]
            }  # fmt: skip
            verdicts.add(answers["fast"][0])
            differ += [(seed, left_out, answers)] if len({*map(repr, answers.values())}) > 1 else []
        itself = attrs.evolve(whole, refinements=[identity_of(whole, whole)])
        assert explore.explore(itself).verdict == "holds"
    assert differ == [] and verdicts == {"holds", "violated"}


def test_walks_see_a_step_that_breaks_a_refinement():
    spec = attrs.evolve(two_phase_commit(2), refinements=[claim(2)])
    assert walk(spec, Walks(50)).verdict == "unknown"
    late = [{"manager": (Manager("working"), Manager("committed"))}]
    begun = attrs.evolve(spec, initial=late, invariants=())
    assert walk(begun, Walks(1)).violations[0].invariant == "refines transaction commit"
    only_abort = attrs.evolve(transaction_commit(2), rules=[prepares])
    spec = attrs.evolve(spec, refinements=[refines(only_abort, MAPPING, "prepares alone")])
    assert walk(spec, Walks(5)).violations[0].invariant == "prepares alone"


def test_a_search_with_a_refinement_is_resumed_and_not_spread(tmp_path):
    spec = attrs.evolve(two_phase_commit(3), refinements=[claim(3)])
    explore.explore(spec, Limits(depth=4), checkpoint=tmp_path)
    assert explore.explore(spec, resume=tmp_path).states == 288
    other = attrs.evolve(spec, refinements=[claim(3), attrs.evolve(claim(3), name="twice")])
    with pytest.raises(UserError, match="belongs to another"):
        explore.explore(other, resume=tmp_path)
    with pytest.raises(UserError, match="cannot spread a search with a refinement"):
        distribute(spec, None, str(tmp_path / "store"))


@pytest.mark.parametrize(
    ("mapping", "problem"),
    [
        ({"phases": lambda coordinator: ()}, "'seat' is not mapped"),
        ({**MAPPING, "x": lambda manager: 0}, "'x' is not a slot of transaction commit"),
        ({**MAPPING, "seat": lambda nobody: 0}, "'nobody' is not a slot or view"),
        ({**MAPPING, "phases": lambda manager: ()}, "gives 2 values, but 'phases' has no elements"),
    ],
)
def test_a_mapping_that_does_not_fit_is_refused(mapping, problem, explored):
    with pytest.raises(SpecError, match=problem):
        claimed = refines(transaction_commit(2), mapping)
        explored(attrs.evolve(two_phase_commit(2), refinements=[claimed]))


def test_neighbours_of_a_single_element_are_no_values_of_an_array(explored):
    @rule
    def stay(cell):
        yield cell

    @view
    def pair(a: "cell[i-1]", b: "cell[i]"):
        return 0

    claimed = refines(Spec("smaller", {"m": array(1, 0)}, []), {"m": pair})
    with pytest.raises(SpecError, match="gives 0 values, but 'm' has 1 elements"):
        explored(Spec("one", {"cell": array(1, 0)}, [stay], refinements=[claimed]))


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda spec: refines("small", {}), "refines: a str and a dict are given"),
        (lambda spec: refines({}, spec), "a dict and a Spec are given"),
        (lambda spec: attrs.evolve(spec, refinements=["x"]), "'x' is not a refinement"),
    ],
)
def test_what_is_no_refinement_is_told_in_words(make, problem):
    with pytest.raises(SpecError, match=problem):
        make(two_phase_commit(2))
