"""What has to happen in the classic group in the end: the group keeps its promises about progress
under the fairness that is stated, each promise and each fairness matters, known bugs break them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
import pytest
from hypothesis import settings

from groupcheck.invariants.registry import for_families
from groupcheck.model.engine import Spec, UserError, reference
from groupcheck.model.engine.fast.explore import explore
from groupcheck.model.engine.verdict import Verdict, Violation
from groupcheck.model.protocol.classic.client import heartbeat_answer
from groupcheck.model.variants import load, names
from groupcheck.oracles.explain.subject import every_mutation, subject

CLASSIC = load("classic")
NIGHTLY = settings.get_current_profile_name() == "nightly"
PROMISES = [p.name for p in for_families(CLASSIC.families).progress]


def spec(**scope: Any) -> Spec:
    return subject("classic", progress=True, **scope).spec


def judged(given: Spec) -> Verdict:
    """The verdict. `make nightly` asks both engines in each test."""
    verdict = explore(given, liveness=True)
    if NIGHTLY:
        assert verdict.progress == reference.explore(given, liveness=True).progress
    return verdict


def broken(given: Spec) -> set[str]:
    return {violation.invariant for violation in judged(given).violations}


@pytest.mark.parametrize(
    ("scope", "states", "transitions"),
    [
        ({"members": 1, "any_faults": 2}, 1_875, 6_121),
        ({"members": 2, "atomic_complete": False}, 222, 686),
        ({"members": 2, "max_size": 1, "faults": {"session_timeout": 1}}, 491, 1_213),
        ({"members": 2, "protocols": "range|sticky"}, 72, 158),
        ({"members": 2, "assignor": "range", "faults": {"hang": 1}}, 974, 2_392),
        ({"members": 1, "any_faults": 1, "settings": {"phases": "yes"}}, 284, 699),
    ],
    ids=str,
)
def test_a_healthy_group_keeps_every_promise(
    scope: dict[str, Any], states: int, transitions: int
) -> None:
    verdict = judged(spec(**scope))
    assert dict(verdict.progress) == dict.fromkeys(PROMISES, "holds")
    assert (verdict.states, verdict.transitions) == (states, transitions)


SMALL = {"members": 1, "any_faults": 1}
# Known bug -> what it breaks with one member and any one fault.
BREAKS = {
    "no_sync_deadline": "group_settles assignment_arrives group_can_settle",
    "id_without_timer": "group_settles pending_id_ends group_can_settle",
    "parked_sync_forgotten": (
        "group_settles member_gets_share round_completes request_answered group_can_settle"
    ),
    "rejoin_forgotten_before_sync": "member_gets_share",
    "commit_ahead_of_processing": "records_processed",
    "expelled_still_counted": "group_settles member_gets_share group_can_settle records_processed",
    "commit_ignores_generation": "",
}


@pytest.mark.parametrize("bug", BREAKS)
def test_known_bugs_break_what_they_stop(bug: str) -> None:
    assert broken(spec(mutation=bug, **SMALL)) == set(BREAKS[bug].split())


@pytest.mark.parametrize("bug", [None, "no_sync_deadline", "expelled_still_counted"])
def test_both_engines_judge_the_promises_alike(bug: str | None) -> None:
    given = spec(mutation=bug, **SMALL)
    assert judged(given).progress == reference.explore(given, liveness=True).progress


def test_every_promise_is_broken_by_some_known_bug() -> None:
    assert {name for broken in BREAKS.values() for name in broken.split()} == set(PROMISES)


IN_PHASES = {"members": 1, "faults": {"fail_over": 1}, "settings": {"phases": "yes"}}
# Scope -> the rules that somebody has to take there, or a promise is broken.
NEEDED: list[tuple[Mapping[str, Any], str]] = [
    (
        SMALL,
        "send_join send_sync fetch_offset process_record send_commit send_heartbeat"
        " request_timeout read_next late_request append_committed initial_delay nobody_will_sync"
        " session_over",
    ),
    ({"members": 1, "atomic_complete": False}, "join_complete"),
    ({"members": 2, "faults": {"hang": 1}}, "nobody_will_join"),
    ({"members": 2, "max_size": 1, "faults": {"disconnect": 1}}, "rebalance_timeout:rejected"),
    (IN_PHASES, "load_group former_learns"),
]
# What the coordinator really does, and no promise needs: something else ends the same wait.
SPARE = {"rebalance_timeout:nobody", "newcomer_gone"}


@pytest.mark.parametrize(
    ("scope", "rule"), [(scope, rule) for scope, rules in NEEDED for rule in rules.split()], ids=str
)
def test_without_one_fair_rule_a_promise_is_broken(scope: dict[str, Any], rule: str) -> None:
    given = spec(**scope)
    less = [action for action in given.fair if rule not in action.names]
    assert len(less) == len(given.fair) - 1
    assert broken(attrs.evolve(given, fair=less))


def test_every_fair_rule_is_needed_or_spare() -> None:
    fair = {action.names[0] for scope in (SMALL, IN_PHASES) for action in spec(**scope).fair}
    assert fair == {rule for _, rules in NEEDED for rule in rules.split()} | SPARE


def test_a_member_that_stays_with_a_former_coordinator_is_never_back() -> None:
    """As one that is told 16 and does not look for the coordinator: its session expires."""
    given = spec(**{**IN_PHASES, "faults": {"fail_over": 1, "session_timeout": 1}}, records=0)
    stays = [
        attrs.evolve(heartbeat_answer, slots=r.slots) if r.name == heartbeat_answer.name else r
        for r in given.rules
    ]
    assert "group_settles" in broken(attrs.evolve(given, rules=stays))


@pytest.mark.parametrize("bug", [m for m in every_mutation() if m.progress], ids=lambda m: m.id)
def test_a_known_bug_gives_a_lasso_that_a_reader_understands(bug: Any) -> None:
    about = subject(bug.family.base, progress=True, mutation=bug.id)
    violation = lasso(judged(about.spec), bug.progress)
    story, error = about.story(violation.path)
    assert not error and all(line.words for line in story.lines)
    assert violation.path.loop_from is not None


def lasso(verdict: Verdict, promise: str) -> Violation:
    return next(v for v in verdict.violations if v.invariant == promise)


def test_a_story_counts_generations_from_the_first_one() -> None:
    about = subject("classic", progress=True, mutation="expelled_still_counted", **SMALL)
    path = lasso(judged(about.spec), "member_gets_share").path
    story, _ = about.story(path)
    told = [era.text for era in story.eras]
    assert told == [f"generation {n}" for n in range(1, len(told) + 1)] and len(told) > 1
    cores = path.places.index(("core", None))
    assert {state[cores].generation for state in path.states} == {0, 1}


def test_invariants_hold_in_the_group_that_goes_on_for_ever() -> None:
    """All but the one about the numbers of generations."""
    promises = for_families(CLASSIC.families)
    given = attrs.evolve(
        spec(members=1, any_faults=2),
        invariants=[p for p in promises.invariants if p.name != "generation_only_grows"],
        views=promises.views,
    )
    assert explore(given).verdict == "holds"


def test_a_bound_on_generations_is_refused() -> None:
    with pytest.raises(UserError, match="no bound on generations"):
        spec(generations=2)


def test_a_fault_of_progress_alone_does_not_exist_elsewhere() -> None:
    with pytest.raises(UserError, match="unknown fault 'hang'"):
        subject("classic", faults={"hang": 1})


@pytest.mark.parametrize("name", [n for n in names() if load(n).progress is None])
def test_a_variant_that_does_not_say_what_is_fair_is_refused(name: str) -> None:
    with pytest.raises(UserError, match=f"{name} does not say which of its steps are fair"):
        subject(name, progress=True)
