"""Promises about runs: the language, the meaning, and the obvious engine, before TLC's answers on
published specifications and a judge that was written from the documentation.
"""

from __future__ import annotations

import re

import pytest
from judge import NothingWithinError, TooLargeError
from judge_progress import judge_progress, live_spec
from live_specs import chang_roberts, ewd840, ewd998, readers_writers

from groupcheck.model.engine import (
    Limits,
    Liveness,
    Spec,
    SpecError,
    UserError,
    always_possible,
    array,
    end,
    eventually,
    infinitely_often,
    leads_to,
    reference,
    rule,
    settles,
    single,
    urgent,
    weak,
    weak_any,
)
from groupcheck.model.engine.fast.explore import explore
from groupcheck.model.engine.lasso import actions_of, unfair_to
from groupcheck.model.engine.plain import reach
from groupcheck.model.engine.plain.reach import broken_by
from groupcheck.model.engine.step import Semantics

# Distinct states by TLC 2.19 on the originals at these sizes, and its verdict on their liveness.
BY_TLC = {
    "EWD840": (ewd840(3), 302, "holds"),
    "EWD840 where the node that passes the token stays black": (ewd840(3, True), 302, "violated"),
    "EWD998": (ewd998(2, 2), 2278, "holds"),
    "EWD998 where a black node keeps the token": (ewd998(2, 2, True), 1776, "violated"),
    "ChangRoberts": (chang_roberts(3), 137, "holds"),
    "ChangRoberts where losers forward nothing": (chang_roberts(3, True), 115, "violated"),
    "ReadersWriters": (readers_writers(2), 390, "holds"),
    "ReadersWriters where readers go first": (readers_writers(2, True), 390, "violated"),
}


def must_be_lassos(spec, verdict):
    """Each violation is a fair run that breaks its promise, and its key gives it again."""
    see = Semantics(spec)
    for v in verdict.violations:
        assert v.invariant in broken_by(see, v.path)
        assert see.follow(v.key) == v.path


@pytest.mark.parametrize("name", BY_TLC)
def test_published_specifications_have_the_states_and_the_verdict_that_tlc_finds(name):
    spec, states, said = BY_TLC[name]
    verdict = reference.explore(spec, liveness=True)
    assert (verdict.states, verdict.verdict) == (states, said)
    assert bool(verdict.violations) == (said == "violated")
    must_be_lassos(spec, verdict)


@pytest.mark.night
def test_the_obvious_engine_answers_what_the_judge_answers():
    judged = 0
    for seed in range(50):
        spec = live_spec(seed)
        try:
            said = judge_progress(spec)
        except (TooLargeError, NothingWithinError):
            continue
        verdict = reference.explore(spec, liveness=True)
        assert verdict.progress == said, seed
        must_be_lassos(spec, verdict)
        judged += len(said)
    assert judged > 200


# -- graphs with known answers: the state is a number


def graph(edges, *progress, fair=(weak_any(),), start=0):
    """A spec of one number: `edges` maps it to those that `go` leads to, `slip` is not fair."""

    @rule("go", "slip")
    def move(at):
        for label, targets in edges.items():
            for target in targets.get(at, ()):
                yield label, target

    @end
    def anywhere():
        return True

    slots = {"at": single(start)}
    return Spec("graph", slots, [move], ends=[anywhere], fair=fair, progress=progress)


@eventually
def arrives(at):
    """The last place is reached."""
    return at == 9


@settles
def stays(at):
    return at == 9


@infinitely_often
def returns(at):
    return at == 0


@leads_to(when=lambda at: at == 1)
def answers(at):
    return at == 2


@always_possible
def can_arrive(at):
    return at == 9


def only(verdict):
    (violation,) = verdict.violations
    return violation


def test_a_run_that_may_stop_stays_in_its_first_state_for_ever():
    verdict = reference.explore(graph({"go": {0: [9]}}, arrives, fair=()), liveness=True)
    assert verdict.progress == {"arrives": "violated"}
    assert (only(verdict).path.steps, only(verdict).path.loop_from) == ((), 0)
    assert only(verdict).key == "gc1-0+0"
    assert only(verdict).statement == "The last place is reached."


def test_fairness_of_a_label_is_not_fairness_of_the_others():
    edges = {"go": {0: [1]}, "slip": {1: [9]}}
    slipping = graph(edges, arrives, fair=[weak("move:slip"), weak("move:go")])
    assert reference.explore(slipping, liveness=True).verdict == "holds"
    verdict = reference.explore(graph(edges, arrives, fair=[weak("move:go")]), liveness=True)
    assert (len(only(verdict).path.steps), only(verdict).path.loop_from) == (1, 1)


def test_a_loop_is_fair_where_the_way_out_is_not_always_open():
    """Weak fairness: `slip` is possible in 0 and not in 1, so a run may go round for ever."""
    edges = {"go": {0: [1], 1: [0]}, "slip": {0: [9]}}
    fair = [weak("move:go"), weak("move:slip")]
    verdict = reference.explore(graph(edges, arrives, fair=fair), liveness=True)
    assert [s.firing.name for s in only(verdict).path.steps] == ["move:go", "move:go"]
    assert only(verdict).path.loop_from == 0
    edges["slip"][1] = [9]
    assert reference.explore(graph(edges, arrives, fair=fair), liveness=True).verdict == "holds"


def test_a_step_that_changes_nothing_makes_no_action_enabled():
    edges = {"go": {0: [0]}}
    verdict = reference.explore(graph(edges, arrives), liveness=True)
    assert (only(verdict).path.steps, only(verdict).path.loop_from) == ((), 0)


@pytest.mark.parametrize(
    ("edges", "promise", "steps", "loop_from"),
    [
        ({"go": {0: [1], 1: [0, 9], 9: [9]}}, stays, 2, 0),
        ({"go": {0: [9], 9: [3], 3: [9]}}, stays, 3, 1),
        ({"go": {0: [1], 1: [2], 2: [2]}}, returns, 2, 2),
        ({"go": {0: [1], 1: [3], 3: [4], 4: [3, 2]}}, answers, 4, 2),
        ({"go": {0: [1, 9], 1: [2], 2: [1]}}, can_arrive, 1, None),
    ],
)
def test_counterexamples_have_known_lengths(edges, promise, steps, loop_from):
    spec = graph(edges, promise, fair=[weak("move:go")])
    found = only(reference.explore(spec, liveness=True))
    assert (len(found.path.steps), found.path.loop_from) == (steps, loop_from)
    must_be_lassos(spec, reference.explore(spec, liveness=True))


@pytest.mark.parametrize(
    ("edges", "promise"),
    [
        ({"go": {0: [1], 1: [9], 9: [9]}}, stays),
        ({"go": {0: [1], 1: [0]}}, returns),
        ({"go": {0: [1], 1: [3], 3: [2], 2: [0]}}, answers),
        ({"go": {0: [1], 1: [0]}, "slip": {1: [9]}}, can_arrive),
        ({"go": {0: [3], 3: [4]}}, answers),
    ],
)
def test_promises_hold_where_every_fair_run_keeps_them(edges, promise):
    assert reference.explore(graph(edges, promise), liveness=True).verdict == "holds"


def test_a_search_that_was_cut_off_says_what_it_can():
    edges = {"go": {0: [1], 1: [0, 2], **{k: [k + 1] for k in range(2, 50)}}}
    spec = graph(edges, arrives, can_arrive, fair=[weak("move:go")])
    verdict = reference.explore(spec, Limits(states=9), liveness=True)
    assert verdict.progress == {"arrives": "violated", "can_arrive": "unknown"}
    assert verdict.verdict == "violated"


def test_a_bounded_search_is_judged_within_its_bound():
    """Beyond two steps a rule is called that raises."""

    @rule
    def walk(at):
        yield at + 1 if at < 2 else 1 // (2 - at)

    spec = Spec("walk", {"at": single(0)}, [walk], fair=[weak(walk)], progress=[arrives])
    for engine in (reference.explore, explore):
        verdict = engine(spec, Limits(depth=2), liveness=True)
        assert (verdict.verdict, verdict.progress) == ("unknown", {"arrives": "unknown"})


# -- indexes


def turns(fair):
    """Two members that move in turn or not; a third slot counts nothing."""

    @rule
    def work(me, member):
        yield 1 - member

    @infinitely_often
    def works(member):
        return member == 1

    return Spec("turns", {"member": array(2, 0)}, [work], fair=fair, progress=[works])


def test_fairness_for_each_index_serves_all_and_fairness_of_one_action_does_not():
    assert reference.explore(turns([weak("work")]), liveness=True).verdict == "holds"
    spec = turns([weak_any("work")])
    verdict = reference.explore(spec, liveness=True)
    see = Semantics(spec)
    assert verdict.progress == {"works": "violated"}
    assert len({s.firing.me for s in only(verdict).path.steps}) == 1  # one of them starves
    assert [a.name for a in actions_of(see)] == ["work"]
    assert [a.name for a in actions_of(Semantics(turns([weak("work")])))] == ["work[0]", "work[1]"]


def test_an_unfair_lasso_breaks_nothing():
    spec = turns([weak("work")])
    see = Semantics(spec)
    path = see.follow("gc1-0.0.0+0")
    assert [s.firing.me for s in path.steps] == [0, 0]
    assert [a.name for a in unfair_to(see, path)] == ["work[1]"]
    assert broken_by(see, path) == {}


# -- keys


def test_a_key_says_where_the_loop_begins():
    see = Semantics(turns([weak_any("work")]))
    assert see.key(see.follow("gc1-0.1.0.0+1")) == "gc1-0.1.0.0+1"
    with pytest.raises(UserError, match="does not return to state 1"):
        see.follow("gc1-0.1.0+1")
    with pytest.raises(UserError, match="does not return to state 9"):
        see.follow("gc1-0.1.0+9")
    for text in ("gc1-0+", "gc1-0+1.2", "gc1-0+-1"):
        with pytest.raises(UserError, match="is not a key"):
            see.follow(text)


# -- mistakes of authors


@rule
def step(at):
    yield at


@urgent
def hurry(at):
    return []


def spec_with(**more):
    return Spec("s", {"at": single(0), "a": array(2, 0), "b": array(3, 0)}, [step, hurry], **more)


@leads_to(when=lambda a: a)
def two_sizes(b):
    return b


@eventually
def unknown(nowhere):
    return nowhere


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"fair": [weak("stop")]}, "'stop' is not a rule; rules are step"),
        ({"fair": [weak("step:fast")]}, "rule step has no label 'fast', it has none"),
        ({"fair": [weak("step:")]}, "rule step has no label '', it has none"),
        ({"fair": [weak(hurry)]}, "'hurry' is urgent: it happens inside other steps"),
        ({"fair": [step]}, "Rule step is not a fairness"),
        ({"fair": weak(step)}, "a Fairness is given where a list belongs"),
        ({"progress": [lambda at: at]}, "is not a progress promise"),
        ({"progress": arrives}, "write [arrives]"),
        ({"progress": [arrives, arrives]}, "two progress promises are called 'arrives'"),
        ({"progress": [unknown]}, "'nowhere' is not a slot or view"),
        ({"progress": [two_sizes]}, "ranges over arrays of different sizes: a has 2 and b has 3"),
        ({"goals": [arrives]}, "Liveness arrives is not a predicate"),
    ],
)
def test_mistakes_are_told_in_words(more, said):
    with pytest.raises(SpecError, match=re.escape(said)):
        spec_with(**more)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: weak(), "weak: names no rule"),
        (lambda: weak([step, hurry]), "weak: a list is not a rule"),
        (lambda: weak(can_arrive.goal), "weak: Predicate can_arrive is not a rule"),
        (lambda: leads_to(lambda at: at), "leads_to: does not say when its promise begins"),
        (lambda: leads_to(), "(write @leads_to(when=lambda client: client.waits))"),
        (lambda: leads_to(when=arrives)(lambda at: at), "arrives, which is decorated already"),
        (
            lambda: eventually("any i")(lambda at: at),
            "'any i' does not say how an index is meant",
        ),
    ],
)
def test_mistakes_with_decorators_are_told_in_words(make, said):
    with pytest.raises(SpecError, match=re.escape(said)):
        make()


def test_promises_made_in_a_loop_have_names():
    promises = []
    for k in range(2):
        promises.append(eventually(name=f"first_{k}")(lambda at: at >= 0))
        promises.append(leads_to(when=lambda at: True, name=f"then_{k}")(lambda at: at == 9))
    names = [p.name for p in spec_with(progress=promises).progress]
    assert names == ["first_0", "then_0", "first_1", "then_1"]


def test_weak_names_rules():
    with pytest.raises(SpecError, match="7 is not a rule"):
        weak_any(7)


def test_promises_have_their_kind_and_source():
    @eventually(source="KIP-62")
    def done(at):
        """It ends."""
        return at

    assert isinstance(done, Liveness)
    assert (done.kind, done.statement, done.source) == ("eventually", "It ends.", "KIP-62")
    assert [p.name for p in answers.predicates] == ["<lambda>", "answers"]


@rule
def climb(n):
    if n < 30:
        yield n + 1


@always_possible
def is_at_the_foot(n):
    return n == 0


def test_what_is_out_of_reach_is_told_unless_too_many_states_would_have_to_be_seen(monkeypatch):
    spec = Spec("up", {"n": single(0)}, [climb], progress=[is_at_the_foot], deadlock=False)
    see = Semantics(spec)
    assert broken_by(see, see.follow("gc1-0")) == {}
    assert broken_by(see, see.follow("gc1-0.0")) == {"is_at_the_foot": {}}
    monkeypatch.setattr(reach, "LOOKED_AT", 5)
    assert broken_by(see, see.follow("gc1-0.0")) == {}
