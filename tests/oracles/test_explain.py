"""Counterexamples in words: what a reader gets, letter for letter, and what it is made of."""

import pytest
from attrs import evolve
from two_phase_commit import two_phase_commit

import groupcheck
from groupcheck.model.engine import (
    Spec,
    array,
    end,
    invariant,
    rule,
    single,
    step_invariant,
    urgent,
    view,
)
from groupcheck.model.engine.step import Semantics
from groupcheck.model.protocol.story import Lane, Line, Story
from groupcheck.oracles.check.run import check
from groupcheck.oracles.explain import subject
from groupcheck.oracles.explain.explanation import broken_along, paragraph

GOLDEN = """\
violated  twophase with hasty  consistent
  scope       members 3, polite no, assignor range
  states      298 (1,016 transitions, 7 levels)
  run         0.00 s
  invariants  0 of 1 unbroken
  rules       6 of 6 fired
  goals met   committed at 6

consistent breaks after 7 steps
7 steps are enough. First manager 0: prepare. Then manager 1: prepare. Then manager 2: give up. Then manager
0: note prepared. Then manager 1: note prepared. Then coordinator, network: decide (commit). Finally manager
0: obey. Now consistent is broken by manager 0 and manager 2: No manager commits while another aborts.

 step   who                    what happens                            what changes
 ────────────────────────────────────────────────────────────────────────────────────────────────────────────
    1   manager 0              prepare                                 network.prepared: {} -> {0}
                                                                       manager[0].phase: working -> prepared
    2   manager 1              prepare                                 network.prepared: {0} -> {0, 1}
                                                                       manager[1].phase: working -> prepared
    3   manager 2              give up                                 manager[2].phase: working -> aborted
    4   manager 0              note prepared                           coordinator.prepared: {} -> {0}
    5   manager 1              note prepared                           coordinator.prepared: {0} -> {0, 1}
    6   coordinator, network   decide (commit)                         coordinator.phase: init -> committed
                                                                       network.decision: '' -> committed
    7   manager 0              obey                                    manager[0].phase: prepared ->
                                                                       committed
                               consistent is broken by manager 0 and
                               manager 2

it breaks for manager[0] = Manager(phase=committed)
          and manager[2] = Manager(phase=aborted)
key gc1-0.0.0.1.0.1.2.0
"""


@pytest.mark.usefixtures("small_world")
def test_a_counterexample_explains_itself():
    result = check("twophase", mutation="hasty", engine="reference")
    timeless = evolve(result, verdict=evolve(result.verdict, seconds=0.0))
    assert str(timeless) == GOLDEN
    assert GOLDEN.endswith(result.explain())


def test_the_first_sentence_of_a_rule_gives_the_words():
    @rule
    def go(me, walker):
        """The walker takes a step. It is a small one."""
        if not walker:
            yield True

    @invariant
    def nobody_moves(walker):
        """All stand still."""
        return not walker

    told = check(
        Spec("walk", {"walker": array(2, False)}, [go], invariants=[nobody_moves]),
        engine="reference",
    ).explanations[0]
    assert told.story.lines[0].words == "walker 0: The walker takes a step"
    assert (
        told.prose
        == "1 step is enough. Walker 0: The walker takes a step. Now nobody_moves is broken by"
        " walker 0: All stand still."
    )


def test_the_lanes_of_those_who_break_a_promise_are_marked():
    spec = two_phase_commit(3)

    @invariant
    def not_the_last(a: "manager[i]", b: "manager[j]"):
        return (a.phase, b.phase) != ("prepared", "aborted")

    told = check(evolve(spec, invariants=[not_the_last]), engine="reference").explanations[0]
    assert told.story.marks[0].lanes == ("manager 0", "manager 1")
    assert (told.story.marks[0].step, told.depth) == (2, 2)


def test_a_step_invariant_is_explained_at_the_step_that_breaks_it():
    @rule
    def count(n):
        if n < 3:
            yield n + 1

    @step_invariant("n", source="arithmetic")
    def small(before, after):
        """Steps end below three."""
        return after.n < 3

    @end
    def done(n):
        return n == 3

    spec = Spec("counting", {"n": single(0)}, [count], invariants=[small], ends=[done])
    told = check(spec, engine="reference").explanations[0]
    assert (told.invariant, told.depth, told.source) == ("small", 3, "arithmetic")
    assert broken_along(spec, told.path) == {"small": 3}
    assert told.evidence == ("the outcome count", "n: 2 -> 3")


def test_a_step_invariant_that_an_urgent_outcome_breaks_is_laid_to_its_own_index():
    @rule
    def ring(bell):
        if not bell:
            yield True

    @urgent
    def wake(bell, sleeper):
        if bell and sleeper == "asleep":
            yield bell, "awake"

    @step_invariant("sleeper")
    def sleeps_on(before, after):
        return before == after

    spec = Spec(
        "bells",
        {"bell": single(False), "sleeper": array(2, "asleep")},
        [ring, wake],
        invariants=[sleeps_on],
    )
    told = check(spec, engine="reference").explanations[0]
    assert told.story.marks[0].lanes == ("sleeper 0",)
    assert told.evidence == ("the outcome wake", "sleeper[0]: asleep -> awake")


def test_an_invariant_over_a_view_shows_the_value_of_the_view():
    @rule
    def grow(n):
        yield n + 1

    @view
    def doubled(n):
        return 2 * n

    @invariant
    def small(doubled):
        return doubled < 4

    told = check(
        Spec("doubling", {"n": single(0)}, [grow], invariants=[small], views=[doubled]),
        engine="reference",
    ).explanations[0]
    assert told.evidence == ("doubled = 4",)


def test_a_deadlock_is_explained_as_one():
    @rule
    def count(n):
        if n < 2:
            yield n + 1

    told = check(Spec("counting", {"n": single(0)}, [count]), engine="reference").explanations[0]
    assert told.invariant == "deadlock"
    assert "nothing can happen any more" in told.prose


def test_an_initial_state_that_breaks_a_promise_needs_no_step():
    @rule
    def stay(n):
        yield n

    @invariant
    def positive(n):
        return n > 0

    told = check(
        Spec("nothing", {"n": single(0)}, [stay], invariants=[positive]), engine="reference"
    ).explanations[0]
    assert told.headline == "positive breaks after 0 steps"
    assert told.prose.startswith("The initial state itself breaks it.")


def test_what_one_does_in_a_row_is_said_in_one_sentence_and_routine_is_left_out():
    lanes = [Lane("a", "member A", 0), Lane("c", "coordinator")]
    words = [
        ("a", "member A joins", True),
        ("a", "member A heartbeats", False),
        ("a", "member A crashes", True),
        ("c", "the coordinator waits", True),
        ("c", "the coordinator removes it", True),
    ]
    lines = [Line(k, lane, text, (), telling) for k, (lane, text, telling) in enumerate(words, 1)]
    expected = "First member A joins, then crashes. Finally the coordinator waits, then removes it."
    assert paragraph(Story("story", lanes, lines)) == expected


@pytest.mark.usefixtures("small_world")
def test_a_key_leads_to_the_same_broken_promise():
    violation = check("twophase", mutation="hasty", engine="reference").verdict.violations[0]
    followed = groupcheck.follow("twophase", violation.key, mutation="hasty")
    assert followed.path == violation.path
    assert followed.broken == {"consistent": 7}
    assert followed.steps[-1] == ("obey", 0)


@pytest.mark.usefixtures("small_world")
def test_a_key_of_another_scope_is_refused():
    with pytest.raises(groupcheck.UserError, match="does not fit at step"):
        groupcheck.follow("twophase", "gc1-0.0.0.1.0.1.2.0", members=1)


def test_every_step_of_a_followed_path_is_judged():
    spec = two_phase_commit(2)
    path = Semantics(spec).follow("gc1-0.0.1")
    assert broken_along(spec, path) == {}


@pytest.mark.usefixtures("small_world")
def test_a_story_that_fails_does_not_cost_the_verdict(monkeypatch):
    def stumble(path):
        raise KeyError("lane")

    variant = evolve(subject.load("twophase"), story=stumble)
    monkeypatch.setattr("groupcheck.oracles.explain.subject.load", lambda name: variant)
    result = check("twophase", mutation="hasty", engine="reference")
    assert result.violated
    assert "twophase could not explain this path; please report it: KeyError('lane')" in str(result)
    assert "could not explain this path" in result.html()
    assert "manager 0: prepare" in result.explanations[0].prose
