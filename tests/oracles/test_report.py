"""The numbers of a verdict, put together for people."""

from __future__ import annotations

import pytest
from attrs import evolve
from two_phase_commit import two_phase_commit

from groupcheck.model.engine import Spec, goal, rule
from groupcheck.model.engine.verdict import EXPLORED, Verdict
from groupcheck.oracles.check.run import CheckResult, check
from groupcheck.oracles.show.report import facts


@rule
def never(coordinator):
    """Cannot fire."""
    return
    yield coordinator


@goal
def all_at_once(coordinator, network):
    return coordinator.phase == "working" == network.decision


def told(spec: Spec, **options: object) -> dict[str, str]:
    return dict(facts(check(spec, engine="reference", **options)))


def larger() -> Spec:
    spec = two_phase_commit(2)
    return evolve(spec, rules=(*spec.rules, never), goals=(*spec.goals, all_at_once))


def test_what_never_happened_is_named():
    shown = told(larger())
    assert shown["never fired"] == "never"
    assert shown["goals not met"] == "all_at_once"
    assert shown["rules"] == "6 of 7 fired"


def test_a_search_that_was_cut_off_does_not_list_what_it_had_no_time_for():
    shown = told(larger(), max_states=5)
    assert not {"never fired", "goals not met"} & set(shown)


def test_many_goals_are_folded_into_one_line():
    result = check(two_phase_commit(2), engine="reference")
    goals = {f"goal_{k}": k for k in range(40)} | {"unmet": None}
    assert (
        dict(facts(evolve(result, verdict=evolve(result.verdict, goals=goals))))["goals met"]
        == "40 of 41, the deepest at 39"
    )


@pytest.mark.parametrize(
    ("verdict", "reason", "words"),
    [
        ("holds", EXPLORED, "1 of 1 hold"),
        ("unknown", f"{EXPLORED}, but what was asked for never happened", "1 of 1 hold"),
        ("unknown", "stopped at the limit", "1 of 1 unbroken so far"),
        ("violated", "", "1 of 1 unbroken"),
    ],
)
def test_invariants_hold_only_where_everything_was_explored(verdict, reason, words):
    result = check(two_phase_commit(2), engine="reference")
    changed = evolve(result.verdict, verdict=verdict, reason=reason)
    assert dict(facts(evolve(result, verdict=changed)))["invariants"] == words


def test_speed_memory_and_rule_calls_are_shown_where_they_were_measured():
    result = check(two_phase_commit(2), engine="reference")
    measured: Verdict = evolve(
        result.verdict, seconds=2.0, states=100_000, rule_calls=77, bytes_per_state=15.25
    )
    shown = dict(facts(CheckResult(result.subject, measured)))
    assert shown["run"] == "2.00 s, 50,000 states/s, 77 rule calls, 15.2 bytes a state"
