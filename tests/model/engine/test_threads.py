"""Threads that share tables and index find what one finds, also where buckets overflow and rows are
missing everywhere.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from functools import partial

import attrs
import pytest
from small_group import small_group

from groupcheck.model.engine import (
    Limits,
    RuleError,
    Spec,
    UserError,
    array,
    end,
    invariant,
    rule,
    single,
)
from groupcheck.model.engine.fast import explore, log, loop, packed, thread_state, threads
from groupcheck.model.engine.fast.kernels import registers as r
from groupcheck.model.engine.fast.packed import Packed
from groupcheck.model.engine.fast.search import Search
from groupcheck.oracles.explain.subject import subject


@pytest.fixture
def shared(monkeypatch):
    """Even the shortest level is divided; how many were, how many states threads expanded beside
    the caller, how many that they entered found their bucket full, and how often they paused.
    """
    for name, number in {"WORTH": 2, "LEAST": 16}.items():
        monkeypatch.setattr(threads, name, number)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: range(8))
    seen = {"levels": 0, "expanded": 0, "crowded": 0, "pauses": 0}
    expand, close, pause = (
        thread_state.ThreadState.expand,
        threads.Threads._close,
        threads.Threads.paused,
    )

    def expanding(self, seen_now, first, end, room):
        at = expand(self, seen_now, first, end, room)
        seen["expanded"] += at - first
        return at

    def closing(self, search):
        seen["levels"] += 1
        seen["crowded"] += sum(helper.crowded for helper in self.helpers)
        return close(self, search)

    def pausing(self, search):
        seen["pauses"] += 1
        seen["levels"] -= 1
        return pause(self, search)

    monkeypatch.setattr(threads.Threads, "paused", pausing)
    monkeypatch.setattr(thread_state.ThreadState, "expand", expanding)
    monkeypatch.setattr(threads.Threads, "_close", closing)
    return seen


def answer(spec, workers):
    """All that must not depend on the number of threads; of the violations, not which of the
    shortest paths was found.
    """
    try:
        verdict = explore.explore(spec, workers=workers)
    except RuleError as error:
        return type(error).__name__, error.rule
    except UserError as error:
        return type(error).__name__, str(error)
    violations = [(v.invariant, v.depth, len(v.path.steps)) for v in verdict.violations]
    return attrs.evolve(verdict, seconds=0.0, bytes_per_state=0.0, violations=()), violations


def test_every_count_is_that_of_one_thread(shared):
    spec = small_group(2, 2, 4, 2, 1)
    alone = answer(spec, 1)
    assert alone[0].states == 114_418
    for workers in (2, 3, 2, 2):
        assert answer(spec, workers) == alone
    assert shared["expanded"] > 10_000
    assert shared["crowded"]


def test_states_that_find_their_bucket_full_are_entered_once(shared, monkeypatch):
    monkeypatch.setattr(log, "LOAD", 0.97)
    monkeypatch.setattr(log, "CHEAP_SLOTS", 0)  # it grows no more than it must
    spec = small_group(2, 2, 4, 2, 1)
    alone = answer(spec, 1)
    for _ in range(3):
        assert answer(spec, 2) == alone
    assert shared["crowded"] > 100


@rule
def turn(me, dial):
    if dial == 0:
        yield me + 1


def test_states_of_several_words_are_entered_once(shared):
    spec = Spec("dials", {"dial": array(16, 0)}, [turn], ends=[turned])  # 17 values, 5 bits each
    alone = answer(spec, 1)
    assert (alone[0].states, alone[0].transitions) == (1 << 16, 16 << 15)
    for workers in (2, 3, 8):
        assert answer(spec, workers) == alone
    assert shared["expanded"] > 1_000


def test_the_group_protocol_with_urgent_rules_and_predicates_does_not_either(shared):
    spec = subject("classic", members=2, faults={"crash": 1, "session_timeout": 1}).spec
    assert answer(spec, 2) == answer(spec, 1)


def test_a_violation_found_by_threads_has_a_path_of_the_shortest_length(shared):
    spec = subject(
        "classic", members=2, faults={"session_timeout": 1}, mutation="commit_ahead_of_processing"
    ).spec
    alone, theirs = answer(spec, 1), answer(spec, 2)
    assert alone[1]
    assert theirs == alone


@rule
def spread(column, wait):
    if wait == 3:
        yield 1, 0
        yield from ((c, 2) for c in range(2, 200))


@rule
def tick(wait):
    if wait in (1, 2):
        yield wait - 1


@rule
def climb(wait, height):
    if not wait and not height:
        yield from ((wait, h) for h in range(1, 300))


@end
def turned(a: dial[i]):
    return a > 0


@end
def high(height):
    return height > 0


def below_the_top_of(at):
    """An invariant that falls at the top of one column."""

    def holds(column, height):
        return (column, height) != (at, 299)

    holds.__name__ = f"below_{at}"
    return invariant(holds)


def columns(*invariants):
    """The first column climbs two steps before all others, which then find the rows of the rules
    there, and 299 successors each.
    """
    slots = {"column": single(0), "wait": single(3), "height": single(0)}
    return Spec("columns", slots, [spread, tick, climb], invariants=invariants, ends=[high])


both_forms = pytest.mark.parametrize("least_bits", [1, 20], ids=["remainders", "places"])


@both_forms
def test_room_is_made_while_threads_find_more_than_was_expected(shared, monkeypatch, least_bits):
    monkeypatch.setattr(log, "LEAST_REMAINDER", least_bits)
    alone = answer(columns(), 1)
    assert alone[0].states == 1 + 199 + 2 * 198 + 199 * 299
    assert answer(columns(), 2) == alone
    assert shared["pauses"]


@both_forms
def test_every_thread_s_violations_are_told_with_the_state_that_breaks_them(
    shared, monkeypatch, least_bits
):
    monkeypatch.setattr(log, "LEAST_REMAINDER", least_bits)
    tops = [below_the_top_of(column) for column in range(5, 200, 12)]
    verdict = explore.explore(columns(*tops), workers=2)
    ends = {v.invariant: v.path.states[-1] for v in verdict.violations}
    assert ends == {f"below_{column}": (column, 0, 299) for column in range(5, 200, 12)}


def test_a_search_by_threads_is_kept_and_continued(shared, tmp_path):
    spec = small_group(2, 2, 2, 1, 1)
    explore.explore(spec, Limits(states=2_000), workers=2, checkpoint=tmp_path)
    resumed = explore.explore(spec, workers=2, resume=tmp_path)
    whole = explore.explore(spec)
    assert (resumed.states, resumed.transitions, resumed.depth, resumed.rules) == (
        whole.states,
        whole.transitions,
        whole.depth,
        whole.rules,
    )
    assert shared["levels"] > 20


def test_what_threads_take_is_foreseen_by_the_memory_limit(shared):
    search = Search(small_group(2, 2, 4, 2, 1))
    search.begin()
    while search.log.states < 3_000:
        n = search.log.states
        search.stretch(search.log.levels[-1], n)
        search.log.levels.append(n)
    search.divide(4)
    before, soon = search.bytes, search.bytes_soon
    search.stretch(search.log.levels[-1], search.log.states)
    assert len(search.threads.helpers) == 3
    assert before + search.threads.bytes <= search.bytes <= before + soon


BOUND_S = 60  # of a wait that ends at once where all is well


def is_waiting(thread):
    """Is it in a `wait` of `run_all`, and not in that for a thread that it starts?"""
    frame, names = sys._current_frames()[thread.ident], set()
    while frame and frame.f_code.co_name != "run_all":
        names.add(frame.f_code.co_name)
        frame = frame.f_back
    return "wait" in names and "start" not in names


def test_nobody_leaves_before_every_thread_has_ended():
    """An interrupt while the caller waits for another thread, which still writes into memory that
    would be given back.
    """
    caller, interrupted, left, ended = (
        threading.main_thread(),
        threading.Event(),
        threading.Event(),
        [],
    )

    def interrupt(number, frame):
        interrupted.set()
        raise KeyboardInterrupt

    def job(mine):
        if mine == 1:
            until = time.monotonic() + BOUND_S
            while not interrupted.wait(0.01) and time.monotonic() < until:
                if is_waiting(
                    caller
                ):  # one that comes just before it sleeps is heard only when something wakes it
                    signal.pthread_kill(caller.ident, signal.SIGINT)
        if mine:
            interrupted.wait(BOUND_S)
            left.wait(0.1)  # who leaves early is gone by now
            ended.append(mine)

    before = signal.signal(signal.SIGINT, interrupt)
    try:
        with pytest.raises(KeyboardInterrupt):
            thread_state.run_all([partial(job, k) for k in range(3)])
        assert sorted(ended) == [1, 2]
    finally:
        left.set()
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("when", [1, 2])
def test_an_interrupt_in_the_middle_of_a_start_leaves_nobody_at_work(monkeypatch, when):
    """The thread may be there already, and nobody knows of it."""
    started, left, late = [], threading.Event(), []
    start = threading.Thread.start

    def is_interrupted(self):
        start(self)
        started.append(self)
        if len(started) == when:
            raise KeyboardInterrupt

    def job():
        late.append(left.wait(BOUND_S))

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(threading.Thread, "start", is_interrupted)
        thread_state.run_all([job] * 3)
    left.set()
    for thread in started:
        thread.join(BOUND_S)
    assert len(started) == when and not late


def test_where_the_system_has_no_thread_the_caller_does_it_all(shared, monkeypatch):
    def start(self):
        raise RuntimeError("can't start new thread")

    spec = small_group(2, 2, 2, 1, 1)
    alone = answer(spec, 1)
    monkeypatch.setattr(threading.Thread, "start", start)
    assert answer(spec, 2) == alone
    assert shared["levels"]
    assert not shared["expanded"]


def test_no_more_threads_explore_than_there_are_cores(shared, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0})
    assert answer(small_group(2, 2, 2, 1, 1), 64) == answer(small_group(2, 2, 2, 1, 1), 1)
    assert not shared["levels"]


@rule
def climb_slowly(cell):
    if cell == 3:
        os.kill(os.getpid(), signal.SIGINT)
    if cell < 9:
        yield cell + 1


def test_control_c_is_heard_while_threads_share_a_level(shared):
    verdict = explore.explore(Spec("slow", {"cell": array(3, 0)}, [climb_slowly]), workers=2)
    assert (verdict.verdict, verdict.reason[:11]) == ("unknown", "interrupted")
    assert shared["levels"]


@rule
def step(cell):
    if cell < 12:
        yield cell + 1


@rule
def fall_at_9(cell):
    if cell == 9:
        raise OSError("slipped")
        yield


def test_a_rule_at_fault_is_reported_as_ever(shared):
    with pytest.raises(RuleError, match="slipped") as caught:
        explore.explore(Spec("stairs", {"cell": array(2, 0)}, [step, fall_at_9]), workers=3)
    assert caught.value.rule == "fall_at_9"
    assert caught.value.key
    assert shared["levels"] > 5


def test_how_threads_spend_their_time_adds_up(shared):
    kept, began = [], time.perf_counter()
    explore.explore(small_group(2, 2, 4, 2, 1), workers=2, look=kept.append)
    passed, spent = time.perf_counter() - began, kept[0].threads.spent
    assert spent.keys() <= {
        threads.EXPAND, threads.RETRY, threads.ROWS, threads.PAUSE, threads.END
    }  # fmt: skip
    assert min(spent[threads.EXPAND], spent[threads.ROWS]) > 0
    assert sum(spent.values()) <= 2 * passed  # no second of a thread counts twice


def test_a_hash_of_rows_does_not_grow_while_rows_are_asked_for(shared, monkeypatch):
    """It would forget them: somebody would ask again, and they would be filled twice."""
    grown, ensure = [], Packed.ensure_hash_room

    def ensuring(self, more):
        before = self.get(r.KEYED_SIZE)
        ensure(self, more)
        if self.get(r.KEYED_SIZE) != before:
            grown.append(self.get(r.ASKED_COUNT))

    monkeypatch.setattr(Packed, "ensure_hash_room", ensuring)
    monkeypatch.setattr(packed, "SMALL_BITS", 1)  # nearly every table is a hash
    monkeypatch.setattr(packed, "DENSE_BITS", 1)
    monkeypatch.setattr(packed, "LEAST_ROWS", 1)
    monkeypatch.setattr(loop, "QUEUE", 1 << 10)
    spec = small_group(2, 2, 4, 2, 1)
    assert answer(spec, 2) == answer(spec, 1)
    assert len(grown) > 5
    assert not any(grown)
