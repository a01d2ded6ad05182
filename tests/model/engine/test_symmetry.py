"""Symmetry: which arrays may be permuted, and that a search with one state for each orbit answers
what a search of all states answers.
"""

import tempfile
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import attrs
import pytest
from in_process import InProcess
from judge import NothingWithinError, TooLargeError, judge
from judged import answer
from random_specs import random_spec

from groupcheck.model.engine import (
    CheckpointError,
    Limits,
    Spec,
    UserError,
    Verdict,
    array,
    end,
    goal,
    invariant,
    leads_to,
    reference,
    rule,
    single,
    urgent,
    weak,
)
from groupcheck.model.engine.fast import explore as fast
from groupcheck.model.engine.fast import search, symmetry_arrays, threads
from groupcheck.model.engine.fast.shards.distribute import distribute
from groupcheck.model.engine.step import Semantics
from groupcheck.model.engine.symmetry import ON_PROGRESS, Orbits, symmetry_of
from groupcheck.oracles.explain.subject import subject

Engine = Callable[..., Verdict]


def by_shards(spec: Spec, **more: Any) -> Verdict:
    """By a cluster of this process that repeats calls and loses caches."""
    with tempfile.TemporaryDirectory() as there, pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPARK_LOCAL_DIRS", f"{there}/local")
        return distribute(spec, InProcess(2, 0.05), f"{there}/store", widest=0, **more)


ENGINES = [reference.explore, fast.explore, by_shards]


@rule(when=lambda client: client < 2)
def use(client: int, lock: int) -> Any:
    if client == 0 and lock == 0:
        yield 1, 1
    elif client == 1:
        yield 2, 0


@end
def anything(lock: int) -> bool:
    return True


def spec_of(*rules: Any, n: int = 3, initial: Any = ({},), **more: Any) -> Spec:
    slots = {"lock": single(0), "client": array(n, 0), "link": array(n, 0), "part": array(2, 0)}
    return Spec("locks", slots, rules, ends=[anything], initial=initial, **more)


def numbers(verdict: Verdict) -> dict[str, Any]:
    return {**answer(verdict), "verdict": verdict.verdict, "reason": verdict.reason}


# -- what may be permuted


def test_arrays_of_one_rule_are_permuted_together():
    @rule
    def send(client: int, link: int) -> Any:
        yield client, 1 - link

    groups = symmetry_of(spec_of(use, send)).groups
    assert [(g.arrays, g.size) for g in groups] == [(("client", "link"), 3), (("part",), 2)]


def test_a_predicate_over_two_indexes_ties_their_arrays_together():
    @invariant
    def differ(a: "client[i]", b: "link[j]") -> bool:
        return True

    assert symmetry_of(spec_of(use)).groups[0].arrays == ("client",)
    assert symmetry_of(spec_of(use, invariants=[differ])).groups[0].arrays == ("client", "link")


def test_initial_states_may_differ_if_every_permutation_is_among_them():
    starts = [{"client": tuple(int(i == k) for i in range(3))} for k in range(3)]
    assert "client" in symmetry_of(spec_of(use, initial=starts)).arrays
    assert "client" not in symmetry_of(spec_of(use, initial=starts[:2])).arrays


def test_an_orbit_has_a_state_for_each_order_of_its_blocks():
    spec = spec_of(use)
    orbits = Orbits(Semantics(spec), symmetry_of(spec).groups)
    state = Semantics(spec).state({"client": (0, 1, 1), "part": (0, 1)})
    assert orbits.size(state) == len(orbits.images(state)) == 3 * 2
    assert {orbits.key(image) for image in orbits.images(state)} == {orbits.key(state)}
    assert orbits.key(state) != orbits.key(Semantics(spec).state({"client": (0, 0, 1)}))


# -- the answers


@pytest.mark.parametrize("explore", ENGINES)
def test_the_numbers_are_those_of_all_states(explore: Engine):
    for n in (2, 3, 4):
        spec = spec_of(use, n=n)
        plain, reduced = explore(spec), explore(spec, symmetry=True)
        assert numbers(reduced) == numbers(plain)
        assert not plain.symmetry.used
        assert reduced.symmetry.used
        assert 0 < reduced.symmetry.representatives < plain.states


@pytest.mark.parametrize("explore", ENGINES)
def test_a_step_to_a_permutation_of_a_state_is_no_rest(explore: Engine):
    @rule
    def swap(left: int, right: int) -> Any:
        yield right, left

    spec = Spec("swap", {"left": array(2, 0), "right": array(2, 0)}, [swap, lift], initial=[{}])
    plain, reduced = explore(spec), explore(spec, symmetry=True)
    assert numbers(reduced) == numbers(plain)


@rule
def lift(left: int) -> Any:
    if left == 0:
        yield 1


@pytest.mark.parametrize("explore", ENGINES)
def test_a_predicate_of_the_whole_state_may_tell_indexes_apart(explore: Engine):
    @invariant
    def last_is_never_first(state: Any) -> bool:
        return bool(state.client != (0, 0, 2))

    @goal
    def middle(state: Any) -> bool:
        return bool(state.client == (0, 1, 0))

    spec = spec_of(use, invariants=[last_is_never_first], goals=[middle])
    plain, reduced = explore(spec), explore(spec, symmetry=True, goals=["middle"])
    (reached,) = reduced.reached
    assert Semantics(spec).named(reached.path.states[-1])["client"] == (0, 1, 0)
    assert numbers(reduced) == numbers(plain)
    assert reduced.symmetry.used
    violation = reduced.violations[0]
    assert Semantics(spec).named(violation.path.states[-1])["client"] == (0, 0, 2)
    assert Semantics(spec).follow(violation.key) == violation.path


# -- urgent rules


@rule
def wait(client: int) -> Any:
    if client == 0:
        yield 5
        yield 6


@rule
def open_up(lock: int) -> Any:
    if lock == 0:
        yield 1


@urgent(when=lambda client: client in (5, 6))
def first_come(client: int, lock: int) -> Any:
    if lock == 1:
        yield client + 10, 2


@pytest.mark.parametrize("explore", ENGINES)
def test_two_urgent_indexes_at_once_are_refused(explore: Engine):
    spec = spec_of(wait, open_up, first_come)
    plain, reduced = explore(spec), explore(spec, symmetry=True)
    assert numbers(reduced) == numbers(plain)
    assert not reduced.symmetry.used
    assert "first_come" in reduced.symmetry.reason


def test_a_compiled_search_that_begins_again_keeps_its_clock():
    pauses = [0.1]

    @urgent(when=lambda client: client in (5, 6))
    def slow_at_first(client: int, lock: int) -> Any:
        if pauses:
            time.sleep(pauses.pop())
        if lock == 1:
            yield client + 10, 2

    verdict = fast.explore(spec_of(wait, open_up, slow_at_first), symmetry=True)
    assert not verdict.symmetry.used and verdict.seconds > 0.1


def walk_spec(visited: Callable[[int, int], int]) -> Spec:
    """Clients that are visited one after the other when one of them rings: `lock` is 100 * (next
    index + 1) + what the visits have found.
    """

    @rule(when=lambda lock: lock < 100)
    def ring(client: int, lock: int) -> Any:
        if client < 2:
            yield client + 1, 100 + lock % 7

    @urgent(when=lambda me, lock: lock // 100 == me + 1)
    def visit(client: int, lock: int) -> Any:
        found = visited(lock % 100, client) % 7
        after = lock // 100 + 1
        yield client, (after * 100 if after < 4 else 0) + found

    return spec_of(ring, visit)


@pytest.mark.parametrize("explore", ENGINES)
def test_a_walk_is_allowed_if_every_order_of_its_visits_comes_to_the_same(explore: Engine):
    commutes, keeps_the_last = walk_spec(lambda n, c: n + c), walk_spec(lambda n, c: 2 * n + c)
    assert symmetry_of(commutes).directing == ("lock",)
    assert explore(commutes, symmetry=True).symmetry.used
    for spec in (commutes, keeps_the_last):
        assert numbers(explore(spec, symmetry=True)) == numbers(explore(spec))
    assert not explore(keeps_the_last, symmetry=True).symmetry.used


@pytest.mark.parametrize("explore", ENGINES)
@pytest.mark.parametrize("between", [0, 14, 15, 16])
def test_a_walk_whose_labels_show_the_order_of_its_visits_is_no_symmetry(
    explore: Engine, between: int
):
    labels = ["even", *(f"unused_{n}" for n in range(between)), "odd"]

    @rule
    def ring(lock: int) -> Any:
        if lock == 0:
            yield 100

    @urgent(*labels, when=lambda me, lock: lock // 100 == me + 1)
    def visit(client: int, lock: int) -> Any:
        index, found = divmod(lock, 100)
        after = 100 * (index + 1) + found + client
        yield "odd" if found % 2 else "even", client, after if index < 3 else 1

    @rule
    def choose(client: int) -> Any:
        if client == 0:
            yield 1
            yield 2

    spec = spec_of(choose, ring, visit)
    reduced = explore(spec, symmetry=True)
    assert numbers(reduced) == numbers(explore(spec))
    assert not reduced.symmetry.used


@pytest.mark.parametrize("explore", ENGINES)
def test_a_guard_that_takes_the_index_of_one_element_directs_no_walk(explore: Engine):
    @urgent(when=lambda me, alone: alone > me + 1)
    def wake(alone: int) -> Any:
        yield alone - 1

    @rule
    def set_alone(alone: int) -> Any:
        if alone == 0:
            yield 3

    walk = walk_spec(lambda n, c: n + c)
    slots = {**walk.slots, "alone": array(1, 0)}
    spec = attrs.evolve(walk, slots=slots, rules=[*walk.rules, wake, set_alone])
    reduced = explore(spec, symmetry=True)
    assert symmetry_of(spec).directing == ("lock",)
    assert numbers(reduced) == numbers(explore(spec))
    assert reduced.symmetry.used


# -- random specs


@cache
def blind_specs(first: int, count: int) -> list[tuple[int, Spec, Any]]:
    """Seeds with their specs and what the judge says."""
    found: list[tuple[int, Spec, Any]] = []
    seed = first - 1
    while len(found) < count:
        seed += 1
        spec = random_spec(seed, is_blind=True)
        try:
            said = judge(spec, 80)
        except (TooLargeError, NothingWithinError):
            continue
        if said["states"] >= 8:
            found.append((seed, spec, said))
    return found


@pytest.mark.parametrize("explore", ENGINES)
def test_random_specs_have_the_numbers_that_the_judge_gives_without_symmetry(explore: Engine):
    used = 0
    for seed, spec, said in blind_specs(1, 6):
        if explore is by_shards and (spec.constraints or spec.refinements):
            continue  # which it refuses
        verdict = explore(spec, symmetry=True)
        assert answer(verdict) == said, seed
        used += verdict.symmetry.used
        for violation in verdict.violations:
            assert Semantics(spec).follow(violation.key) == violation.path, seed
    assert used >= 2


@rule
def together(client: int, link: int) -> Any:
    if client == link < 2:
        yield client + 1, link + 1


def test_blocks_that_leave_out_a_slot_are_noticed(monkeypatch: pytest.MonkeyPatch):
    spec = spec_of(together)
    plain = numbers(fast.explore(spec))
    assert numbers(fast.explore(spec, symmetry=True)) == plain
    whole = symmetry_arrays.parts
    monkeypatch.setattr(
        symmetry_arrays,
        "parts",
        lambda fields, group: whole(fields, [block[:1] for block in group]),
    )
    assert numbers(fast.explore(spec, symmetry=True)) != plain


def test_a_wrong_orbit_is_noticed(monkeypatch: pytest.MonkeyPatch):
    spec = spec_of(use)
    monkeypatch.setattr(Orbits, "size", lambda self, state: 1)
    assert reference.explore(spec, symmetry=True).states != reference.explore(spec).states


# -- progress


@rule
def ask(client: int) -> Any:
    if client == 0:
        yield 1


@rule
def serve(client: int, lock: int) -> Any:
    if client == 1 and lock == 0:
        yield 2, 1


@rule
def give_back(client: int, lock: int) -> Any:
    if client == 2:
        yield 0, 0


def waits(a: "client[i]") -> bool:
    return a == 1


@leads_to(when=waits)
def everybody_is_served(a: "client[i]") -> bool:
    """Who asks is served."""
    return a == 2


@pytest.mark.parametrize("explore", ENGINES[:2])
def test_starvation_of_one_member_is_found_among_all_states(explore: Engine):
    fair = [weak(ask), weak(serve), weak(give_back)]
    spec = spec_of(ask, serve, give_back, fair=fair, progress=[everybody_is_served])
    plain, asked = (explore(spec, liveness=True, symmetry=s) for s in (False, True))
    assert numbers(asked) == numbers(plain)
    assert asked.progress == plain.progress == {"everybody_is_served": "violated"}
    (why,) = ON_PROGRESS.reasons
    assert asked.symmetry.reason == why
    states = asked.violations[0].path.states
    loop = states[asked.violations[0].path.loop_from :]
    served = [{Semantics(spec).named(s)["client"][k] for s in loop} for k in range(3)]
    assert any(1 in values and 2 not in values for values in served)
    assert any(2 in values for values in served)
    assert explore(spec, symmetry=True).symmetry.used


# -- threads, checkpoints


def classic(**scope: Any) -> Spec:
    return subject("classic", **scope).spec


def test_the_classic_group_needs_a_sixth_of_the_states():
    spec = classic(members=3, faults={"crash": 1})
    plain, reduced = fast.explore(spec), fast.explore(spec, symmetry=True)
    assert numbers(reduced) == numbers(plain)
    assert 5 * reduced.symmetry.representatives < plain.states
    assert reduced.symmetry.arrays == (("seats", "client", "link"),)


@pytest.mark.night
def test_four_members_need_a_twentieth_of_the_states():
    verdict = fast.explore(classic(members=4, any_faults=1), symmetry=True)
    whole = verdict.states, verdict.transitions, verdict.depth  # as counted without symmetry
    assert whole == (6_121_182, 29_511_376, 42)
    assert verdict.symmetry.representatives == 285_052


def test_threads_store_the_same_representatives(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(threads, "WORTH", 2)
    monkeypatch.setattr(search, "cores", lambda: 2)
    spec = classic(members=3)
    alone, both = (fast.explore(spec, symmetry=True, workers=n) for n in (1, 2))
    assert numbers(both) == numbers(alone) == numbers(fast.explore(spec))
    assert both.symmetry == alone.symmetry


def test_a_search_with_symmetry_is_resumed_with_symmetry(tmp_path: Path):
    spec = classic(members=3)
    stopped = fast.explore(spec, Limits(states=300), checkpoint=tmp_path, symmetry=True)
    assert stopped.verdict == "unknown"
    with pytest.raises(CheckpointError, match="--no-symmetry"):
        fast.explore(spec, resume=tmp_path)
    resumed = fast.explore(spec, resume=tmp_path, symmetry=True)
    assert numbers(resumed) == numbers(fast.explore(spec))
    assert resumed.symmetry.used


def test_a_search_that_keeps_checkpoints_begins_again_without_symmetry(tmp_path: Path):
    spec = spec_of(wait, open_up, first_come)
    plain = fast.explore(spec)
    kept = fast.explore(spec, checkpoint=tmp_path, symmetry=None)
    assert numbers(kept) == numbers(plain) and not kept.symmetry.used
    assert "first_come is possible at two indexes at once" in kept.symmetry.reason
    # what the folder holds is the second search; whoever continues it does not ask about symmetry
    resumed = fast.explore(spec, resume=tmp_path, symmetry=None)
    assert numbers(resumed) == numbers(plain) and "without it" in resumed.symmetry.reason


def test_a_search_that_is_continued_with_symmetry_begins_again_without_it(tmp_path: Path):
    spec = spec_of(wait, open_up, first_come)
    fast.explore(spec, Limits(depth=1), checkpoint=tmp_path, symmetry=True)
    resumed = fast.explore(spec, checkpoint=tmp_path, resume=tmp_path, symmetry=None)
    assert numbers(resumed) == numbers(fast.explore(spec)) and not resumed.symmetry.used


@pytest.mark.parametrize("explore", ENGINES)
def test_symmetry_that_is_required_is_there_or_an_error(explore: Engine):
    @rule
    def knows(me: int, client: int) -> Any:
        yield me

    for spec, why in (
        (spec_of(knows), "client: rule knows takes me"),
        (spec_of(wait, open_up, first_come), "first_come"),
    ):
        slots = {name: spec.slots[name] for name in ("lock", "client")}
        one = attrs.evolve(spec, slots=slots)
        with pytest.raises(UserError, match=f"cannot be used for locks: .*{why}"):
            explore(one, symmetry=True, required=True)


def test_processes_and_assignments_that_differ_are_not_exchanged():
    unequal = symmetry_of(classic(members=2, protocols="range,sticky|sticky"))
    (reason,) = unequal.reasons
    assert reason.startswith("seats, client, link: initial states tell their elements apart (let")
    by_rank = fast.explore(classic(members=2, partitions=2), symmetry=True)
    assert "answer_syncs" in by_rank.symmetry.reason or "walk" in by_rank.symmetry.reason
    assert numbers(by_rank) == numbers(fast.explore(classic(members=2, partitions=2)))


@pytest.mark.parametrize("explore", ENGINES)
def test_a_permutation_that_may_not_rest_is_a_deadlock(explore: Engine):
    @end
    def rests(state: Any) -> bool:
        return state.client[1] == 0

    @rule
    def take(client: int, lock: int) -> Any:
        if client == 0 and lock == 0:
            yield 1, 1

    slots = {"lock": single(0), "client": array(3, 0)}
    spec = Spec("locks", slots, [take], ends=[rests])
    found = explore(spec, symmetry=True)
    assert found.symmetry.used
    assert [(v.invariant, v.depth) for v in found.violations] == [("deadlock", 1)]
    assert found.violations[0].path.steps[-1].state == (1, 0, 1, 0)
