"""The cover scopes of every variant: together they fire every outcome and meet every goal, so that
an abstraction that makes something unreachable is seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import attrs
import pytest
from variations import outcomes_changed, rebuilt

from groupcheck.invariants.registry import for_variant
from groupcheck.model.engine import Spec, reference, rule
from groupcheck.model.engine.fast.explore import explore
from groupcheck.model.engine.step import Semantics
from groupcheck.model.engine.verdict import HOLDS, Verdict
from groupcheck.model.protocol.classic.client import send_sync
from groupcheck.model.protocol.classic.group import Phase
from groupcheck.model.protocol.classic.timers import sync_timeout
from groupcheck.model.protocol.variant import Variant
from groupcheck.model.variants import load, names

MOST_STATES = 20_000  # of a cover scope: it has to be quick
CLASSIC = load("classic")


def promised(variant: Variant, spec: Spec) -> Spec:
    more = for_variant(variant.name)
    return attrs.evolve(spec, invariants=more.invariants, goals=more.goals, views=more.views)


def explored(variant: Variant, make: Callable[[Any], Spec]) -> list[Verdict]:
    """The verdict of each cover scope."""
    scopes = [variant.scope_type(**cover.fields) for cover in variant.covers]
    return [explore(promised(variant, make(scope))) for scope in scopes]


def happened(verdict: Verdict) -> set[str]:
    every = {*verdict.rules, *verdict.goals}
    return every - {*verdict.never_fired, *verdict.goals_not_met}


def not_covered(variant: Variant, make: Callable[[Any], Spec]) -> set[str]:
    """The outcomes and goals that do not happen in the cover scope that lists them, or that no
    cover scope lists although the variant does not say that they are out of reach.
    """
    verdicts = explored(variant, make)
    every = {*verdicts[0].rules, *verdicts[0].goals}
    listed = {name for cover in variant.covers for name in cover.reaches}
    lost = [
        set(cover.reaches) - happened(verdict)
        for cover, verdict in zip(variant.covers, verdicts, strict=True)
    ]
    return set().union(every - listed - set(variant.unreached), *lost)


@pytest.mark.parametrize("name", names())
def test_the_cover_scopes_fire_every_outcome_and_meet_every_goal(name: str) -> None:
    assert not_covered(load(name), load(name).spec) == set()


@pytest.mark.parametrize("name", names())
def test_each_cover_scope_is_small_holds_and_is_the_smallest_that_reaches_what_it_lists(
    name: str,
) -> None:
    variant = load(name)
    verdicts = explored(variant, variant.spec)
    assert [v.verdict for v in verdicts] == [HOLDS] * len(verdicts)
    states = [v.states for v in verdicts]
    assert states == sorted(states) and states[-1] < MOST_STATES
    before: set[str] = set()
    for cover, verdict in zip(variant.covers, verdicts, strict=True):
        assert set(cover.reaches) == happened(verdict) - before, cover.fields
        before |= happened(verdict)
    assert not before & set(variant.unreached)


def with_sync_in_the_step_of_the_join_answer(scope: Any) -> Spec:
    """A wrong merge: SyncGroup is sent in the step in which its JoinGroup is answered. A member
    that lives is never late with it.
    """
    return rebuilt(CLASSIC.spec(scope), [attrs.evolve(send_sync, urgent=True)])


def test_a_merge_that_makes_the_sync_timer_unreachable_keeps_every_promise_but_is_seen() -> None:
    verdicts = explored(CLASSIC, with_sync_in_the_step_of_the_join_answer)
    assert {v.verdict for v in verdicts} == {HOLDS}
    assert not_covered(CLASSIC, with_sync_in_the_step_of_the_join_answer) == {
        "lose_request:sync",
        "sync_answer:refused",
        "sync_group:illegal_generation",
        "sync_group:rebalancing",
        "sync_group:stable",
        "sync_group:unknown",
        "sync_timeout",
    }


def with_the_sync_timer_in_the_wrong_phase(scope: Any) -> Spec:
    """The sync timer fires in PreparingRebalance only, where it is never armed."""

    def change(before: dict[str, Any], label: str, after: dict[str, Any]) -> dict[str, Any] | None:
        return after if before["core"].phase == Phase.PREPARING else None

    return rebuilt(CLASSIC.spec(scope), [outcomes_changed(sync_timeout, change)])


def test_a_rule_that_never_fires_keeps_every_promise_but_is_seen() -> None:
    verdicts = explored(CLASSIC, with_the_sync_timer_in_the_wrong_phase)
    assert {v.verdict for v in verdicts} == {HOLDS}
    assert not_covered(CLASSIC, with_the_sync_timer_in_the_wrong_phase) == {"sync_timeout"}


@rule
def never(walk: Any) -> Iterator[Any]:
    return
    yield walk


def test_a_new_outcome_has_to_be_covered() -> None:
    assert not_covered(CLASSIC, lambda scope: rebuilt(CLASSIC.spec(scope), [], [never])) == {
        "never"
    }


def test_every_fault_says_which_outcomes_spend_it() -> None:
    for variant in map(load, names()):
        assert set(variant.spent_by) == set(variant.faults)


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


def test_the_judge_counts_the_same_outcomes_in_a_cover_scope() -> None:
    for cover in CLASSIC.covers[:8]:
        spec = promised(CLASSIC, CLASSIC.spec(CLASSIC.scope_type(**cover.fields)))
        assert happened(reference.explore(spec)) == happened(explore(spec))
