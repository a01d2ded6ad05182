"""What never happened in a check: always listed, with a scope in which it does; judged only where
the user asked for it.
"""

from __future__ import annotations

import json
import shlex
from typing import Any

import pytest
from attrs import evolve
from two_phase_commit import two_phase_commit

import groupcheck
from groupcheck.model.engine import Limits, UserError, goal, rule
from groupcheck.model.engine.verdict import EXPLORED
from groupcheck.model.mutations import all_mutations
from groupcheck.model.variants import load
from groupcheck.oracles.command_line import cli
from groupcheck.oracles.explain.subject import subject
from groupcheck.oracles.explain.zeros import command
from groupcheck.oracles.pytest_plugin import Checker
from groupcheck.oracles.sweep.cells import Question
from groupcheck.oracles.sweep.running import checked

CLASSIC = load("classic")
ALONE = {"members": 1, "generations": 1}


def test_a_fault_that_was_asked_for_and_never_happened_makes_the_answer_unknown(capsys):
    asked = ["--members", "1", "--fault", "sync_timeout=1", "--fault", "rebalance_timeout=2"]
    assert cli.run(["check", "classic", *asked, "--json"]) == 3
    told = json.loads(capsys.readouterr().out)
    assert told["verdict"] == "unknown"
    assert told["reason"] == (
        "every state of the scope was explored, but what was asked for never happened: "
        "fault rebalance_timeout"
    )


@pytest.mark.parametrize(
    "scope",
    [
        {"any_faults": 1},
        {"faults": {"rebalance_timeout": 0, "crash": 1}},
        *({"faults": {fault: 1}} for fault in CLASSIC.faults if fault != "rebalance_timeout"),
    ],
    ids=str,
)
def test_a_fault_that_is_merely_allowed_or_that_happened_leaves_the_answer_green(scope):
    members = 2 if "late_commit" in scope.get("faults", {}) else 1
    assert groupcheck.check("classic", members=members, generations=2, **scope).holds


def test_a_goal_that_was_asked_for_and_not_met_makes_the_answer_unknown(capsys):
    asked = ["--goal", "stable", "--goal", "together", "--goal", "zombie_owner"]
    assert cli.run(["check", "classic", "--members", "1", *asked]) == 3
    assert "never happened: goal together, goal zombie_owner" in " ".join(
        capsys.readouterr().out.split()
    )
    assert groupcheck.check("classic", goals=["stable"], **ALONE).holds
    assert cli.run(["check", "classic", "--goal", "zombie"]) == 2
    assert "unknown goal 'zombie' (did you mean zombie_owner?)" in capsys.readouterr().err
    with pytest.raises(UserError, match="goals is 'stable', not a list of names"):
        groupcheck.check("classic", goals="stable")


def test_the_fixture_fails_where_a_goal_was_asked_for_and_not_met():
    checker = Checker("test", None)
    with pytest.raises(AssertionError, match=r"never happened: goal\s+together"):
        checker.check("classic", goals=["together"], **ALONE)
    assert checker.check("classic", goals=["stable"], **ALONE).holds


def test_a_violation_and_a_limit_say_more_than_what_did_not_happen():
    fell = groupcheck.check("classic", mutation="size_cap_off_by_one", goals=["zombie_owner"])
    assert fell.violated
    stopped = groupcheck.check("classic", goals=["zombie_owner"], max_states=5, **ALONE)
    assert stopped.unknown and "limit of 5 states" in stopped.verdict.reason


def test_the_faults_of_a_mutations_own_scope_are_not_asked_for():
    assert any(dict(m.scope).get("faults") for m in all_mutations())
    assert {subject(m.family.base, mutation=m.id).faults for m in all_mutations()} == {()}


def test_a_cell_of_a_sweep_is_judged_like_the_check_of_the_same_question():
    faults = {"rebalance_timeout": 1}
    outcome, _ = checked(Question("classic", ALONE, faults, None, (), Limits()))
    alone = groupcheck.check("classic", faults=faults, **ALONE).verdict
    assert (outcome.verdict, outcome.reason) == (alone.verdict, alone.reason)
    assert (outcome.verdict, outcome.complete) == ("unknown", True)


@rule
def misfire(coordinator):
    return
    yield coordinator


@goal
def lost(coordinator):
    return coordinator.phase == "lost"


def test_zeros_of_an_own_spec_are_listed_and_judged_only_where_a_goal_was_asked_for():
    spec = two_phase_commit(2)
    spec = evolve(spec, rules=(*spec.rules, misfire), goals=(*spec.goals, lost))
    result = groupcheck.check(spec)
    assert result.holds
    told = result.document()
    assert told["never_fired"] == [{"name": "misfire", "cover": None}]
    assert told["goals_not_met"] == [{"name": "lost", "cover": None}]
    assert groupcheck.check(spec, goals=["committed"]).holds
    assert groupcheck.check(spec, goals=["lost"]).unknown


def test_the_document_lists_every_zero_with_the_smallest_cover_scope():
    told = groupcheck.check("classic", **ALONE).document()
    never_fired = {zero["name"]: zero["cover"] for zero in told["never_fired"]}
    assert list(never_fired) == [name for name, count in told["rules"].items() if not count]
    assert never_fired["sync_timeout"] == (
        "groupcheck check classic --members 1 --generations 1 --any-faults 1"
    )
    assert never_fired["rebalance_timeout:missing"].endswith("--fault rebalance_timeout=1")
    assert {name for name, cover in never_fired.items() if cover is None} == set(CLASSIC.unreached)
    unmet = {zero["name"]: zero["cover"] for zero in told["goals_not_met"]}
    assert list(unmet) == [name for name, depth in told["goals"].items() if depth is None]
    assert unmet["together"] == "groupcheck check classic --members 2 --generations 1"


@pytest.mark.parametrize("number", range(len(CLASSIC.covers)))
def test_the_command_of_a_cover_scope_does_what_the_cover_scope_says(number, capsys):
    cover = CLASSIC.covers[number]
    words = shlex.split(command(CLASSIC, cover))
    assert cli.run([*words[1:], "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["scope"] == subject("classic", **cover.fields).scope()
    assert all(told["rules"].get(name) or told["goals"].get(name) for name in cover.reaches)


def test_people_see_how_many_and_the_page_lists_them_all():
    result = groupcheck.check("classic", **ALONE)
    shown, page = " ".join(str(result).split()), result.html()
    assert "never fired 76 outcomes (--json and --html list them, 70 with a small scope" in shown
    assert "<li>sync_timeout: <code>groupcheck check classic --members 1" in page
    assert "<li>commit_answer:dropped: no scope is known</li>" in page
    nearly = groupcheck.check("classic", members=2, any_faults=1, max_size=2)
    assert "goals not met late_join_overlap (groupcheck check classic" in " ".join(
        str(nearly).split()
    )
    stopped = groupcheck.check("classic", max_states=5, **ALONE)
    assert "never fired" not in str(stopped) and "<details>" not in stopped.html()


LARGER: list[dict[str, Any]] = [
    {"members": 2, "any_faults": 2, "two_step": False},
    {"members": 2, "any_faults": 2, "max_size": 1},
    {"members": 1, "any_faults": 3, "two_step": False},
]
ORDINARY: list[dict[str, Any]] = [
    {"members": 1, "any_faults": 3, "max_size": 1},
    {"members": 1, "any_faults": 2, "protocols": "range,sticky"},
    {"members": 2, "any_faults": 1, "two_step": False, "max_size": 1},
    {"members": 2, "any_faults": 1, "protocols": "range,sticky|sticky", "two_step": False},
]


@pytest.mark.parametrize(
    "scope",
    [*ORDINARY, *(pytest.param(larger, marks=pytest.mark.night) for larger in LARGER)],
    ids=str,
)
def test_an_ordinary_scope_with_options_is_proved_not_unknown(scope):
    result = groupcheck.check("classic", **scope)
    assert (result.verdict.verdict, result.verdict.reason) == ("holds", EXPLORED)


def test_a_promise_of_an_own_spec_without_a_case_is_noted() -> None:
    def noted(managers: int) -> str:
        return "; ".join(groupcheck.check(two_phase_commit(managers)).verdict.notes)

    assert "no case in this scope, so nothing to check: consistent" in noted(1)
    assert "no case" not in noted(2)
