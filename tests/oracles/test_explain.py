"""Counterexamples in words: what they are made of. What a reader gets, letter for letter, stands in
`tests/transcripts`.
"""

import pytest
from attrs import evolve
from two_phase_commit import two_phase_commit

import groupcheck
from groupcheck.invariants.registry import for_families, sentences
from groupcheck.model.engine import (
    Spec,
    UserError,
    any_of,
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
from groupcheck.model.variants import names
from groupcheck.oracles.check.run import check
from groupcheck.oracles.explain import subject
from groupcheck.oracles.explain.explanation import broken_along, paragraph, rows


def test_a_bug_whose_scope_has_a_lacking_fault_asks_for_other_faults():
    with pytest.raises(UserError) as error:
        subject.subject("cooperative_rounds", mutation="sync_ignores_generation")
    assert "the scope that shows sync_ignores_generation has the fault 'delay_request'" in str(
        error.value
    )
    own = subject.subject(
        "cooperative_rounds", mutation="sync_ignores_generation", faults={"crash": 1}
    )
    assert dict(own.spec.scope.faults) == {"crash": 1}


def test_the_table_of_an_own_spec_begins_with_the_initial_state():
    @rule
    def go(seat, walker):
        if not walker:
            yield seat + 1, True

    @invariant
    def small(seat):
        return seat < 1

    slots = {"seat": single(0), "walker": array(2, False), "bag": array(2, "a")}
    told = check(Spec("walk", slots, [go], invariants=[small]), engine="reference")
    first, *_ = rows(told.explanations[0].story)
    assert (first.steps, first.who, first.words, first.broken) == ("start", "", "", ())
    assert first.changes == ("seat: 0", "walker[:]: no", "bag[:]: a")
    of_classic = check("classic", mutation="leader_forgotten").explanations[0]
    assert next(rows(of_classic.story)).steps != "start"


def test_an_initial_state_that_breaks_a_promise_is_marked():
    @rule
    def go(n):
        if n < 2:
            yield n + 1

    @invariant
    def equal(a: "seat[i]", b: "seat[j]"):
        return a == b

    slots = {"n": single(0), "seat": array(2, any_of("up", "down"))}
    told = check(Spec("count", slots, [go], invariants=[equal]), engine="reference")
    (first,) = rows(told.explanations[0].story)
    assert first.steps == "start"
    assert first.changes == ("n: 0", "seat[0]: up", "seat[1]: down")
    assert first.broken == ("equal is broken by seat 0 and seat 1",)


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
        == "Walker 0: The walker takes a step. nobody_moves is broken by walker 0: All stand still."
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
    assert told.sentence == "Nothing can happen any more."


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
    assert told.prose == told.sentence


LANES = (Lane("a", "member A", 0), Lane("c", "coordinator"))
LINES = (
    Line(1, "a", "member A joins"),
    Line(2, "a", "member A sends a heartbeat", telling=False),
    Line(3, "a", "member A sends a heartbeat", telling=False),
    Line(4, "a", "member A crashes", ("member A is gone",)),
    Line(5, "c", "the coordinator removes it; member B gets p0"),
    Line(6, "c", "the coordinator waits"),
)


def test_every_sentence_has_its_subject_and_routine_is_left_out():
    assert paragraph(Story(LANES, LINES)) == (
        "First member A joins. Then member A crashes. Then the coordinator removes it; member B"
        " gets p0. Finally the coordinator waits."
    )


def test_steps_that_repeat_and_change_nothing_share_a_row():
    told = [(row.steps, row.words) for row in rows(Story(LANES, LINES))]
    assert told[:3] == [
        ("1", "joins"),
        ("2 to 3", "sends a heartbeat (2 times)"),
        ("4", "crashes"),
    ]
    assert len(told) == 5


def test_every_invariant_has_its_sentence():
    families = {family for name in names() for family in subject.load(name).every_family}
    promises = for_families(families)
    every = (*promises.invariants, *promises.not_promised)
    templates = {p.name for p in every if p.broken}
    assert templates | {*sentences()} == {p.name for p in every}
    assert not templates & {*sentences()}


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


def test_a_sentence_that_fails_does_not_cost_the_verdict(monkeypatch):
    def stumble(invariant, broken):
        raise KeyError("client")

    monkeypatch.setattr("groupcheck.oracles.explain.explanation.filled_in", stumble)
    told = check("classic", mutation="size_cap_off_by_one", engine="reference").explanations[0]
    assert told.sentence == (
        "size_cap is broken: In CompletingRebalance and Stable the group has at most group.max.size"
        " members. PreparingRebalance is exempt: members of the previous generation count until the"
        " round completes without them."
    )
    assert "size_cap has no sentence for this; please report it: KeyError" in told.trouble


def test_whoever_acts_is_among_the_slots_that_the_rule_reads():
    @rule
    def count(turn):
        if turn < 1:
            yield turn + 1

    @rule
    def send(client, turn):
        if turn == 1 and not client:
            yield True, 2

    @rule
    def store(log_dir, client):
        if client and not log_dir:
            yield log_dir + 1, client

    @rule
    def note(broker, turn):
        if turn == 2 and not broker:
            yield 1, 3

    @rule
    def every(all: "client[:]"):
        if all == (True, False, False):
            yield (True, True, False)

    @invariant
    def unfinished(state):
        return not (state.turn == 3 and sum(state.log_dir) and sum(state.client) == 2)

    slots = {"turn": single(0), "budget": single(3), "client": array(3, False)}
    slots |= {"log_dir": array(3, 0), "broker": array(2, 0)}
    rules = [count, send, store, note, every]
    spec = Spec("brokers", slots, rules, invariants=[unfinished], deadlock=False)
    told = check(spec, engine="reference", max_depth=6).explanations[0]
    assert {(row.who, row.words) for row in rows(told.story)} >= {
        ("turn", "count"),
        ("client 0", "send"),
        ("client 0", "store"),
        ("broker 0", "note"),
        ("client", "every"),
    }
    lanes = {line.who: line.lane for line in told.story.lines}
    assert (lanes["broker 0"], lanes["turn"], lanes["client 0"]) == ("shared", "shared", "client 0")
