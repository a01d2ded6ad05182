"""Awkward moments of a distributed search: each of these gave another answer than one
process once.
"""

from __future__ import annotations

import shutil

import pytest
from in_process import InProcess, manifest_in

from groupcheck.model.engine import (
    Limits,
    RuleError,
    Spec,
    UserError,
    goal,
    invariant,
    rule,
    single,
    step_invariant,
    urgent,
)
from groupcheck.model.engine.fast.explore import explore
from groupcheck.model.engine.fast.shards import working
from groupcheck.model.engine.fast.shards.distribute import distribute
from groupcheck.model.engine.fast.shards.store import StoreError
from groupcheck.oracles.explain.subject import subject


@pytest.fixture(autouse=True)
def local_disk(monkeypatch, tmp_path_factory):
    monkeypatch.setenv("SPARK_LOCAL_DIRS", str(tmp_path_factory.mktemp("local")))


class Clock:
    """In place of `time` where a search reads it: no time passes, whatever is compiled or loaded,
    but what a test says.
    """

    def __init__(self):
        self.now = 0.0

    def perf_counter(self):
        return self.now

    process_time = perf_counter


@pytest.fixture
def clock(monkeypatch):
    there = Clock()
    for module in ("explore", "exploration", "shards.distribute", "shards.spread"):
        monkeypatch.setattr(f"groupcheck.model.engine.fast.{module}.time", there)
    return there


def told(verdict):
    v = verdict
    return (
        v.verdict,
        v.reason,
        v.states,
        v.transitions,
        v.depth,
        v.goals,
        v.rule_calls,
        [(x.invariant, x.depth, len(x.path.steps)) for x in v.violations],
    )


def numbers(*rules, slots=("n",), **more):
    return Spec("numbers", {slot: single(0) for slot in slots}, rules, **more)


@rule
def fan(n):
    if n == 0:
        yield from range(1, 300)


def test_a_goal_over_the_whole_state_does_not_wake_predicates_in_the_drivers_own_log(tmp_path):
    @rule
    def up(n):
        if n < 8:
            yield n + 1

    @rule
    def bad(n, m):
        if n == 3:
            yield n + 1, 9

    @invariant
    def small(m):
        return m < 5

    @goal
    def three(state):
        return state.n == 3

    spec = numbers(up, bad, slots=("n", "m"), invariants=(small,), goals=(three,))
    assert told(distribute(spec, InProcess(2), str(tmp_path), widest=0)) == told(explore(spec))


def test_a_limit_of_seconds_is_seen_while_the_driver_calls_rules(tmp_path, clock):
    called = set()

    @rule
    def slow(n):
        if 0 < n < 300:
            clock.now += 1.0
            called.add(n)
            yield n + 1000

    found = distribute(
        numbers(fan, slow), InProcess(1), str(tmp_path), Limits(seconds=100.0), widest=0
    )
    assert found.verdict == "unknown" and "limit of 100 seconds" in found.reason
    assert clock.now > 100 and 0 < len(called) < 200  # seen between two calls, not after the last


def test_what_was_found_wrong_before_a_limit_has_its_path(tmp_path, clock):
    @invariant
    def good(state):
        return state.n != 1

    @invariant
    def slow(state):
        clock.now += 1.0
        return True

    found = distribute(
        numbers(fan, invariants=(good, slow)),
        InProcess(1),
        str(tmp_path),
        Limits(seconds=100.0),
        widest=0,
    )
    assert 100 < clock.now < 200 and "limit of 100 seconds" in found.reason
    assert found.verdict == "violated" and len(found.violations[0].path.steps) == 1


def test_what_was_found_wrong_before_ctrl_c_has_its_path(tmp_path):
    @rule
    def back(n):
        if n == 200:
            raise KeyboardInterrupt
        if 0 < n < 300:
            yield n - 1

    @step_invariant("n")
    def grows(before, after):
        return after.n >= before.n

    found = distribute(
        numbers(fan, back, invariants=(grows,)), InProcess(1), str(tmp_path), widest=0
    )
    assert found.verdict == "violated" and found.reason.startswith("interrupted")
    assert [(x.invariant, len(x.path.steps)) for x in found.violations] == [("grows", 2)]


def test_a_rule_at_fault_has_its_key_when_a_slot_has_just_become_wider(tmp_path):
    @rule
    def step(n, m):
        if m < 3:
            yield n + 1, m + 1

    @rule
    def wide(n, m):
        if m == 3:
            for k in range(1, 100):
                yield 1000 + k, 4

    @rule
    def broken(m):
        if m == 3:
            raise ValueError("x")

    spec = numbers(step, wide, broken, slots=("n", "m"))
    with pytest.raises(RuleError) as alone:
        explore(spec)
    with pytest.raises(RuleError) as spread:
        distribute(spec, InProcess(1), str(tmp_path), widest=0)
    assert (
        (spread.value.rule, spread.value.key)
        == (alone.value.rule, alone.value.key)
        == ("broken", "gc1-0.0.0.0")
    )


def branching():
    """One step has 1,500 outcomes with an urgent one each: more than the memory for chains holds at
    first.
    """

    @rule
    def many(n, m):
        if n == 0:
            for k in range(1, 1500):
                yield 1, k

    @urgent
    def settle(m):
        if 0 < m < 5000:
            yield m + 5000

    @rule
    def go(n, m):
        if n == 1:
            yield 2, m

    @invariant
    def fine(n, m):
        return not (n == 2 and m == 6400)

    return numbers(many, settle, go, slots=("n", "m"), invariants=(fine,))


class Fresh(InProcess):
    """Executors that have just begun when a path is looked for."""

    def run(self, function, arguments, pulse):
        if not hasattr(function, "__name__"):
            working._replicas.clear()
        return super().run(function, arguments, pulse)


def test_a_path_is_found_through_chains_that_do_not_fit_at_first(tmp_path):
    spec = branching()
    assert told(distribute(spec, Fresh(2), str(tmp_path), widest=0)) == told(explore(spec))


def test_a_search_that_is_resumed_finds_that_path_too(tmp_path):
    spec = branching()
    assert explore(spec, Limits(states=1600), checkpoint=tmp_path).verdict == "unknown"
    assert told(explore(spec, resume=tmp_path))[:5] == told(explore(spec))[:5]


def begun(store):
    """A search over two shards that a limit stopped."""
    spec = subject("classic", members=2, faults={"crash": 1, "session_timeout": 1}).spec
    assert (
        distribute(spec, InProcess(2), str(store), Limits(states=1000), widest=0).verdict
        == "unknown"
    )
    return spec


def test_another_block_in_the_place_of_one_is_refused(tmp_path):
    spec = begun(tmp_path)
    one, other = manifest_in(tmp_path)[1]["incoming"][:2]
    shutil.copy(tmp_path / other, tmp_path / one)
    with pytest.raises(StoreError, match="holds what was written as"):
        distribute(spec, InProcess(2), str(tmp_path), resume=True)


def test_files_of_others_in_the_store_stay(tmp_path):
    (tmp_path / "level-headed").mkdir()
    others = [
        tmp_path / "my notes.txt",
        tmp_path / ".nfs0001",
        tmp_path / "level-headed" / "states-of-mind.tex",
    ]
    for file in others:
        file.write_text("mine")
    spec = begun(tmp_path)
    assert distribute(spec, InProcess(2), str(tmp_path), resume=True).verdict == "holds"
    assert all(file.read_text() == "mine" for file in others)


def test_a_search_keeps_the_shards_that_it_was_begun_with(tmp_path):
    spec = begun(tmp_path)
    with pytest.raises(UserError, match="was begun with 2 shards"):
        distribute(spec, InProcess(2), str(tmp_path), shards=3, resume=True)


class Forgetful(InProcess):
    """Does not answer for the last shard."""

    def run(self, function, arguments, pulse):
        return [*super().run(function, arguments, pulse)[:-1], None]


def test_a_cluster_that_leaves_work_out_is_noticed(tmp_path):
    with pytest.raises(AssertionError, match="a work that the cluster did not do"):
        distribute(subject("classic", members=2).spec, Forgetful(2), str(tmp_path), widest=0)


def test_a_store_that_does_not_stay_is_not_said_to_go_on(tmp_path):
    spec = subject("classic", members=2, faults={"crash": 1, "session_timeout": 1}).spec
    found = distribute(
        spec, InProcess(2), str(tmp_path), Limits(states=1000), widest=0, lasting=False
    )
    assert "--store URI would" in found.reason and "--resume" not in found.reason
