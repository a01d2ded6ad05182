"""What every variant has to keep, whatever its protocol: the engines agree on it, its cover scopes
fire every outcome, each outcome has words and a place in the picture, faults are its own. Each
check is shown to fail on a variant that breaks it.

The same over Spark is in `tests/oracles/spark/test_contract_spark.py`, the real coordinator in
`tests/oracles/conform/test_contract_conform.py`, broken promises in `tests/mutations`, the pages in
`tests/test_docs_reference.py`.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any, ClassVar

import attrs
import pytest
from attrs import frozen
from contract import (
    MOST_STATES,
    by_night,
    explored,
    generated,
    happened,
    lost,
    not_covered,
    promised,
    untold,
    written,
)
from variations import outcomes_changed, rebuilt

from groupcheck.model.engine import ScopeError, Spec, reference, rule
from groupcheck.model.engine.fast import threads
from groupcheck.model.engine.fast.explore import explore
from groupcheck.model.engine.step import Semantics
from groupcheck.model.engine.verdict import HOLDS, Verdict
from groupcheck.model.protocol.classic.client import send_sync
from groupcheck.model.protocol.classic.group import Phase
from groupcheck.model.protocol.classic.step_words import DOES, Words
from groupcheck.model.protocol.classic.story import story
from groupcheck.model.protocol.classic.timers import sync_timeout
from groupcheck.model.protocol.covers import REACHED, Cover, covers_of
from groupcheck.model.protocol.variant import Variant
from groupcheck.model.variants import every_name, load, names
from groupcheck.oracles.explain.subject import subject

ROOT = Path(__file__).parents[3]
CLASSIC = load("classic")
MOST_TWICE = 800  # states of a variant that the obvious engine explores, too
NAPS = (Cover({"members": 1, "generations": 1}, ("nap",)),)


@cache
def verdicts_of(name: str) -> list[Verdict]:
    return explored(load(name), load(name).spec)


def test_each_cover_scope_is_one_that_the_features_show(request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--rewrite"):
        REACHED.write_text(written({n: generated(load(n)) for n in every_name()}), "utf-8")
        return
    assert REACHED.read_text("utf-8") == written({n: list(covers_of(n)) for n in every_name()})
    for name in every_name():
        variant = load(name)
        assert variant.covers == covers_of(name)
        order = [variant.shows.index(cover.fields) for cover in variant.covers]
        assert order == sorted(order), name


@pytest.mark.parametrize("name", by_night(every_name()))
def test_the_cover_scopes_fire_every_outcome_and_meet_every_goal(name: str) -> None:
    assert lost(load(name), verdicts_of(name)) == set()


@pytest.mark.parametrize("name", by_night(every_name()))
def test_each_cover_scope_is_small_holds_and_is_the_first_that_reaches_what_it_lists(
    name: str,
) -> None:
    variant = load(name)
    verdicts = verdicts_of(name)
    assert [v.verdict for v in verdicts] == [HOLDS] * len(verdicts)
    assert max(v.states for v in verdicts) < MOST_STATES
    before: set[str] = set()
    for cover, verdict in zip(variant.covers, verdicts, strict=True):
        assert set(cover.reaches) == happened(verdict) - before, cover.fields
        before |= happened(verdict)
    assert not before & set(variant.unreached)


def showing(*outcomes: str) -> Variant:
    """`classic` with the cover scopes alone that list one of these outcomes."""
    kept = [cover for cover in CLASSIC.covers if {*outcomes} & {*cover.reaches}]
    rest = {name for cover in CLASSIC.covers if cover not in kept for name in cover.reaches}
    return attrs.evolve(
        CLASSIC, covers=kept, unreached=dict.fromkeys({*CLASSIC.unreached} | rest, "")
    )


def with_sync_in_the_step_of_the_join_answer(scope: Any) -> Spec:
    """A wrong merge: SyncGroup is sent in the step in which its JoinGroup is answered. A member
    that lives is never late with it.
    """
    return rebuilt(CLASSIC.spec(scope), [attrs.evolve(send_sync, urgent=True)])


def test_a_merge_that_makes_the_sync_timer_unreachable_keeps_every_promise_but_is_seen() -> None:
    needed = {
        "former_sync_group:not_coordinator",
        "former_sync_group:rebalancing",
        "former_sync_group:stable",
        "lose_request:sync",
        "sync_answer:fatal",
        "sync_answer:refused",
        "sync_group:illegal_generation",
        "sync_group:loading",
        "sync_group:rebalancing",
        "sync_group:stable",
        "sync_group:unknown",
        "sync_timeout",
    }
    variant = showing(*needed)
    verdicts = explored(variant, with_sync_in_the_step_of_the_join_answer)
    assert {v.verdict for v in verdicts} == {HOLDS}
    assert lost(variant, verdicts) == needed


def with_the_sync_timer_in_the_wrong_phase(scope: Any) -> Spec:
    """The sync timer fires in PreparingRebalance only, where it is never armed."""

    def change(before: dict[str, Any], label: str, after: dict[str, Any]) -> dict[str, Any] | None:
        return after if before["core"].phase == Phase.PREPARING else None

    return rebuilt(CLASSIC.spec(scope), [outcomes_changed(sync_timeout, change)])


def test_a_rule_that_never_fires_keeps_every_promise_but_is_seen() -> None:
    variant = showing("sync_timeout", "join_group:added")
    verdicts = explored(variant, with_the_sync_timer_in_the_wrong_phase)
    assert {v.verdict for v in verdicts} == {HOLDS}
    assert lost(variant, verdicts) == {"sync_timeout"}


@rule
def never(walk: Any) -> Iterator[Any]:
    return
    yield walk


def test_a_new_outcome_has_to_be_covered() -> None:
    variant = showing("join_group:added")
    assert not_covered(variant, lambda scope: rebuilt(CLASSIC.spec(scope), [], [never])) == {
        "never"
    }


def counted(verdict: Verdict) -> Verdict:
    """What must not depend on who searched."""
    return attrs.evolve(verdict, seconds=0.0, rule_calls=0, bytes_per_state=0.0)


def few(name: str) -> list[Verdict]:
    """The largest cover scopes that have few states, together; none has half of them."""
    found: list[Verdict] = []
    for verdict in sorted(verdicts_of(name), key=lambda v: -v.states):
        together = sum(v.states for v in (*found, verdict))
        if together < MOST_TWICE and 2 * verdict.states < MOST_TWICE:
            found.append(verdict)
    return found


@pytest.mark.parametrize("name", by_night(every_name()))
def test_both_engines_tell_the_same_of_the_cover_scopes(name: str) -> None:
    variant = load(name)
    assert len(few(name)) > 2
    for verdict in few(name):
        spec = promised(variant, variant.spec(verdict.scope))
        assert counted(reference.explore(spec)) == counted(verdict)


@pytest.mark.parametrize("name", ["classic", pytest.param("offsets", marks=pytest.mark.night)])
def test_two_threads_count_as_one_does(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for bound, number in {"WORTH": 2, "LEAST": 16}.items():
        monkeypatch.setattr(threads, bound, number)  # even the shortest level is divided
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: range(2))
    variant = load(name)
    verdict = few(name)[0]
    spec = promised(variant, variant.spec(verdict.scope))
    assert counted(explore(spec, workers=2)) == counted(verdict)


@pytest.mark.parametrize("name", by_night(every_name()))
def test_each_outcome_has_words_and_a_place_in_the_picture(name: str) -> None:
    assert untold(load(name), load(name).spec) == {}


@rule
def nap(core: Any) -> Iterator[Any]:
    """The coordinator does nothing, which nobody has words for."""
    yield core


def with_a_nap(scope: Any) -> Spec:
    return rebuilt(CLASSIC.spec(scope), [], [nap])


def test_an_outcome_without_words_is_seen() -> None:
    assert untold(attrs.evolve(CLASSIC, covers=NAPS), with_a_nap) == {"nap": "KeyError('nap')"}


def test_an_outcome_that_is_told_and_not_drawn_is_seen() -> None:
    words = Words(does={**DOES, "nap": "does nothing"})
    told = attrs.evolve(CLASSIC, covers=NAPS, tell=words.tell, story=partial(story, words=words))
    assert untold(told, with_a_nap) == {"nap": "nothing is drawn"}


@pytest.mark.parametrize("name", by_night(every_name()))
def test_every_fault_says_which_outcomes_spend_it(name: str) -> None:
    assert set(load(name).spent_by) == set(load(name).faults)


def never_spent(variant: Variant) -> set[str]:
    """The faults none of whose outcomes fires in a cover scope."""
    reached = {name for cover in variant.covers for name in cover.reaches}
    return {fault for fault, outcomes in variant.spent_by.items() if not reached & {*outcomes}}


@pytest.mark.parametrize("name", by_night(every_name()))
def test_every_fault_is_spent_in_some_cover_scope(name: str) -> None:
    assert never_spent(load(name)) == set()


def test_a_fault_that_no_rule_spends_is_seen() -> None:
    """As one whose rule a feature takes out, without saying that the variant lacks the fault."""
    gone = {*CLASSIC.spent_by["close"]}
    kept = [attrs.evolve(c, reaches=tuple({*c.reaches} - gone)) for c in CLASSIC.covers]
    variant = attrs.evolve(CLASSIC, covers=kept)
    assert never_spent(variant) == {"close"}


@pytest.mark.parametrize("name", by_night(every_name()))
def test_a_scope_allows_the_faults_of_the_variant_and_no_other(name: str) -> None:
    variant = load(name)
    base = load(variant.families[0].base)
    more = variant.scope_type.MORE
    assert {*variant.faults, *variant.lacks} == {*base.faults, *more}
    budget = variant.scope_type(any_faults=1).budget
    allowed = {fault for fault in (*base.faults, *more) if budget.allows(fault)}
    assert allowed == set(variant.faults) - set(getattr(variant.scope_type, "APART", ()))
    assert not any(budget.spend("crash").allows(fault) for fault in base.faults)
    for fault in variant.faults:
        assert variant.scope_type(faults={fault: 1}).budget.allows(fault)
    for fault, why in variant.lacks.items():
        with pytest.raises(ScopeError, match=f"there is no fault '{fault}' here: {why}"):
            variant.scope_type(faults={fault: 1})
        with pytest.raises(ScopeError, match="there is no fault"):
            subject(name, faults={fault: 1})


@pytest.mark.parametrize("name", by_night(every_name()))
def test_what_a_scope_is_asked_for_is_what_its_rules_see(name: str) -> None:
    """A property of a base would hide the field of the same name that a feature adds."""
    of = load(name).scope_type
    assert not [f.name for f in attrs.fields(of) if isinstance(getattr(of, f.name, None), property)]


@frozen(slots=False)
class Unbreakable(CLASSIC.scope_type):
    """A scope of a variant that lacks a fault."""

    LACKS: ClassVar = {"disconnect": "nothing breaks"}


def test_any_fault_is_none_that_the_variant_lacks() -> None:
    def disconnects(scope_type: type[Any]) -> int:
        scope = scope_type(members=1, generations=1, any_faults=2)
        return explore(CLASSIC.spec(scope)).rules["disconnect"]

    assert disconnects(CLASSIC.scope_type) > 0 == disconnects(Unbreakable)


PAIRS = (
    ("close", "lose_request"),
    ("poll_timeout", "lose_request"),
    ("close", "delay_request"),
)
NEEDS_TWO = ("rebalance_timeout", "late_commit")  # members and generations


@pytest.mark.parametrize("faults", [*((fault,) for fault in CLASSIC.faults), *PAIRS], ids=" ".join)
def test_a_fault_is_spent_by_just_the_outcomes_that_are_named(faults: tuple[str, ...]) -> None:
    """Every step is looked at: an outcome that is named for a fault spends it, and where a fault is
    spent at all one that is named fires.
    """
    size = 2 if set(faults) & set(NEEDS_TWO) else 1
    scope = CLASSIC.scope_type(members=size, generations=size, faults=dict.fromkeys(faults, 1))
    see = Semantics(CLASSIC.spec(scope))
    budget = see.places.index(("budget", None))
    frontier = [state for _, _, state in see.starts()]
    seen, spent, named = set(frontier), set(), set()
    while frontier:
        state = frontier.pop()
        for step, _ in see.steps(state):
            before, after = dict(state[budget].left), dict(step.state[budget].left)
            gone = {fault for fault, n in before.items() if after.get(fault, 0) < n}
            fired = {firing.name for firing in (step.firing, *step.urgent)}
            told = {fault for fault, outcomes in CLASSIC.spent_by.items() if fired & set(outcomes)}
            assert told <= gone, step.firing
            spent |= gone
            named |= told
            if step.state not in seen:
                seen.add(step.state)
                frontier.append(step.state)
    assert named == spent == set(faults)


def named_elsewhere(folder: Path) -> list[str]:
    """Where a file names a rule or an outcome of some variant as a text. Faults have the same names
    as some rules, and a few words mean something else, too.
    """
    every = {
        name
        for variant in map(load, names())
        for r in variant.spec(variant.scope_type()).rules
        for name in (r.name, *r.names)
    }
    every -= {fault for name in names() for fault in load(name).faults}
    every -= {"heartbeat", "closed", "append_failed"}
    found = []
    for path in sorted(folder.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Constant) and node.value in every:
                found.append(f"{path.relative_to(folder)}:{node.lineno}: {node.value}")
    return found


@pytest.mark.parametrize("folder", ["invariants", "traces", "oracles"])
def test_no_other_folder_names_a_rule_as_a_text(folder: str) -> None:
    assert named_elsewhere(ROOT / folder) == []


def test_a_rule_that_is_named_as_a_text_is_seen(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text("""if rule == "join_group:added":\n    pass\n""")
    assert named_elsewhere(tmp_path) == ["own.py:1: join_group:added"]
