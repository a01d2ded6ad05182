"""The fast engine judges promises about runs as the obvious one does."""

from __future__ import annotations

import attrs
import pytest
from judge import NothingWithinError, TooLargeError
from judge_progress import graph_of, judge_progress, live_spec
from judged_progress import disagreements, taken_over
from test_progress import BY_TLC, must_be_lassos

from groupcheck.model.engine import (
    Limits,
    Spec,
    always_possible,
    array,
    constraint,
    eventually,
    infinitely_often,
    reference,
    rule,
    settles,
    single,
    weak,
)
from groupcheck.model.engine.fast import graph as graphs
from groupcheck.model.engine.fast.explore import explore
from groupcheck.model.engine.plain import plain_explore
from groupcheck.model.engine.plain.reach import broken_by
from groupcheck.model.engine.step import Semantics

ENGINES = [explore, plain_explore.explore, taken_over]


@pytest.mark.parametrize("name", BY_TLC)
def test_published_specifications_have_the_verdict_that_tlc_finds(name):
    spec, states, said = BY_TLC[name]
    judged = reference.explore(spec, liveness=True).progress
    for run in ENGINES:
        verdict = run(spec, liveness=True)
        assert (verdict.states, verdict.verdict, verdict.progress) == (states, said, judged)
        must_be_lassos(spec, verdict)


@pytest.mark.night
def test_random_specs_are_judged_alike_however_their_states_are_found():
    assert list(disagreements(2012, 3)) == []


def test_random_specs_are_judged_as_by_the_obvious_engine():
    judged = 0
    for seed in range(1000, 1006):
        spec = live_spec(seed)
        try:
            graph_of(spec, 400)
        except (TooLargeError, NothingWithinError):
            continue
        whole = reference.explore(spec, liveness=True)
        for run in (explore, ENGINES[1 + seed % 2]):
            verdict = run(spec, liveness=True)
            assert (verdict.progress, verdict.verdict) == (whole.progress, whole.verdict), seed
            must_be_lassos(spec, verdict)
            cut = run(spec, Limits(states=whole.states // 2), liveness=True)
            must_be_lassos(spec, cut)
            for name, kind in cut.progress.items():
                assert kind in ("unknown", whole.progress[name]), (seed, name)
        judged += len(spec.progress)
    assert judged > 15


def test_rows_that_plain_python_has_not_handed_over_are_filled():
    spec = live_spec(50009)
    assert taken_over(spec, liveness=True).progress == judge_progress(spec)


def clock(hours):
    """A clock, and a bell whose rule has an index although it touches a single slot alone."""

    @rule
    def tick(hour):
        yield (hour + 1) % hours

    @rule
    def ring(me, bell):
        if bell != me:
            yield me

    @infinitely_often
    def strikes(hour):
        return hour == 0

    slots = {"hour": single(0), "bell": single(0), "number": array(3, 0)}
    return Spec("clock", slots, [tick, ring], fair=[weak(tick), weak(ring)], progress=[strikes])


@infinitely_often
def second_rings(bell):
    return bell == 2


def test_instances_of_a_rule_that_read_the_same_slots_are_told_apart():
    spec = attrs.evolve(clock(4), progress=[*clock(4).progress, second_rings])
    assert explore(spec, liveness=True).progress == {"strikes": "holds", "second_rings": "holds"}
    for fair, said in (([weak("ring")], "holds"), ([weak("tick")], "violated")):
        other = attrs.evolve(spec, fair=fair)
        verdict = explore(other, liveness=True)
        assert verdict.progress["second_rings"] == said
        assert verdict.progress == reference.explore(other, liveness=True).progress
        must_be_lassos(other, verdict)


def test_counts_are_the_same_with_fairness_and_without():
    spec = clock(4)
    with_fairness, without = explore(spec), explore(attrs.evolve(spec, fair=(), progress=()))
    assert (with_fairness.states, with_fairness.rules) == (without.states, without.rules)
    assert not with_fairness.progress


def test_more_than_64_fair_actions_are_told_apart():
    @rule
    def move(me, cell):
        yield 1 - cell

    @infinitely_often
    def moves(cell):
        return cell == 1

    @rule
    def other(me, flag):
        if flag < 1:
            yield flag + 1

    slots = {"cell": array(5, 0), "flag": array(5, 0)}
    fair = [weak(move), *[weak(other) for _ in range(13)]]
    spec = Spec("many", slots, [move, other], fair=fair, progress=[moves])
    assert explore(spec, liveness=True).progress == {"moves": "holds"}
    lazy = attrs.evolve(spec, fair=fair[1:])
    verdict = explore(lazy, liveness=True)
    assert verdict.progress == {"moves": "violated"}
    must_be_lassos(lazy, verdict)


def counter(fair, *progress, constraints=()):
    @rule("up", "reset")
    def count(n):
        yield "up", n + 1
        if n == 3:
            yield "reset", 0

    return Spec("counter", {"n": single(0)}, [count], fair=fair, progress=progress,
                constraints=constraints)  # fmt: skip


@constraint
def is_small(n):
    return n < 6


@eventually
def gets_far(n):
    return n == 9


@infinitely_often
def returns(n):
    return n == 0


@always_possible
def can_return(n):
    return n == 0


@pytest.mark.parametrize("engine", [*ENGINES, reference.explore])
def test_within_constraints_the_runs_that_stay_there_are_judged(engine):
    spec = counter([weak("count")], gets_far, returns, can_return, constraints=[is_small])
    verdict = engine(spec, liveness=True)
    assert verdict.progress == {
        "gets_far": "violated",  # 0 1 2 3 0 ... stays within for ever
        "returns": "holds",
        "can_return": "unknown",
    }
    lasso = verdict.violations[0].path
    assert ([s.firing.name for s in lasso.steps], lasso.loop_from) == (
        ["count:up"] * 3 + ["count:reset"],
        0,
    )


def two_numbers(most, *progress, constraints=()):
    """Each goes up to `most` and then back to 0."""

    @rule
    def first(a):
        yield (a + 1) % (most + 1)

    @rule
    def second(b):
        yield (b + 1) % (most + 1)

    slots = {"a": single(0), "b": single(0)}
    return Spec("two numbers", slots, [first, second], fair=[weak(first), weak(second)],
                progress=progress, constraints=constraints)  # fmt: skip


@pytest.mark.parametrize("engine", [*ENGINES, reference.explore])
def test_no_run_goes_on_from_a_border_state_whose_steps_are_known(engine):
    """Beyond the constraint lies 1, 1: a loop through it would never come to 0, 0."""

    @constraint
    def not_both(a, b):
        return a + b < 2

    @infinitely_often
    def at_zero(a, b):
        return a + b == 0

    verdict = engine(two_numbers(1, at_zero, constraints=[not_both]), liveness=True)
    assert (verdict.states, verdict.border, verdict.progress) == (3, 1, {"at_zero": "holds"})


@pytest.mark.parametrize("engine", [*ENGINES, reference.explore])
def test_where_the_search_ended_a_state_may_have_steps_to_states_that_it_has_not_met(engine):
    """All rows of 1, 1 are known after two steps, but not where they lead."""

    @always_possible
    def at_three(a, b):
        return a == b == 3

    verdict = engine(two_numbers(3, at_three), Limits(depth=2), liveness=True)
    assert verdict.progress == {"at_three": "unknown"}


def test_a_search_that_was_cut_off_names_what_is_not_known():
    verdict = explore(counter([weak("count")], gets_far), Limits(states=5), liveness=True)
    assert verdict.progress == {"gets_far": "violated"}
    spec = counter([weak("count:up"), weak("count:reset")], returns)
    verdict = explore(spec, Limits(states=5), liveness=True)
    assert (verdict.verdict, verdict.progress) == ("unknown", {"returns": "unknown"})
    assert verdict.reason.startswith("stopped at the limit of 5 states")


def test_a_graph_that_finds_no_room_leaves_the_promises_unknown(monkeypatch):
    spec = BY_TLC["EWD998"][0]
    monkeypatch.setattr("groupcheck.model.engine.fast.explore.bytes_of", lambda *_: 1 << 60)
    verdict = explore(spec, Limits(memory=1 << 40), liveness=True)
    assert verdict.progress == {"all_is_quiet": "unknown"}
    assert verdict.verdict == "unknown"
    assert "goes beyond the limit of memory): all_is_quiet" in verdict.reason


def test_a_resumed_search_judges_progress(tmp_path):
    spec = BY_TLC["EWD998 where a black node keeps the token"][0]
    explore(spec, Limits(states=500), checkpoint=tmp_path)
    verdict = explore(spec, resume=tmp_path, liveness=True)
    assert (verdict.states, verdict.progress) == (1776, {"all_is_quiet": "violated"})
    must_be_lassos(spec, verdict)


def test_two_workers_give_the_same_answer():
    spec = BY_TLC["ReadersWriters where readers go first"][0]
    assert explore(spec, workers=2, liveness=True).progress == explore(spec, liveness=True).progress


def test_edges_are_written_in_pieces(monkeypatch):
    monkeypatch.setattr(graphs, "ROOM", 1)
    monkeypatch.setattr(graphs, "STRETCH", 7)
    spec = BY_TLC["EWD998"][0]
    assert explore(spec, liveness=True).verdict == "holds"


def test_a_lasso_of_a_promise_that_something_stays_true_leaves_it():
    spec = counter([weak("count")], constraints=[is_small])

    @settles
    def is_even(n):
        return n % 2 == 0

    spec = attrs.evolve(spec, progress=[is_even])
    path = explore(spec, liveness=True).violations[0].path
    assert broken_by(Semantics(spec), path)["is_even"] == {}
