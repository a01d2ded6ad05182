"""`--progress`: the answer, the loop of a broken promise in every form, and what is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from two_phase_commit import two_phase_commit

from groupcheck.model.engine import UserError
from groupcheck.model.engine.verdict import Progress
from groupcheck.oracles.check.run import CheckResult, check, follow
from groupcheck.oracles.command_line import cli
from groupcheck.oracles.explain.explanation import FOR_EVER

BUG: dict[str, Any] = {"mutation": "no_sync_deadline", "progress": True}
# One that goes round in a loop of several steps.
ROUNDS: dict[str, Any] = {
    "mutation": "expelled_still_counted",
    "members": 1,
    "any_faults": 1,
    "progress": True,
}


def told(result: CheckResult, promise: str) -> Any:
    return next(e for e in result.explanations if e.invariant == promise)


@pytest.mark.parametrize("engine", ["fast", "reference"])
def test_a_healthy_group_holds(engine: str) -> None:
    result = check("classic", members=1, any_faults=1, progress=True, engine=engine)
    assert result.holds and len(result.document()["progress"]) == 8
    assert set(result.verdict.progress.values()) == {"holds"}
    assert "8 of 8 promises hold" in str(result)


def test_a_callable_still_hears_of_the_search_and_judges_no_progress() -> None:
    heard: list[Progress] = []
    result = check("classic", members=1, generations=1, engine="reference", progress=heard.append)
    assert heard and not result.verdict.progress and "progress" not in result.document()


def test_the_answer_says_what_repeats() -> None:
    still, round_ = check("classic", **BUG), check("classic", **ROUNDS)
    assert "After step 4 the run may stay as it is for ever" in told(still, "group_settles").prose
    lasso = told(round_, "member_gets_share")
    first, last = lasso.path.loop_from + 1, len(lasso.path.steps)
    assert first < last and f"Steps {first} to {last} repeat for ever." in lasso.prose
    assert "From here no way leads" in told(round_, "group_can_settle").prose
    assert "4 of 8 promises hold, 4 are violated" in str(round_)
    assert FOR_EVER in round_.html()


def test_the_documents_name_the_loop() -> None:
    result = check("classic", **ROUNDS)
    shown = {v["invariant"]: v["loop_from"] for v in result.document()["violations"]}
    assert shown["group_can_settle"] is None
    assert shown["member_gets_share"] == told(result, "member_gets_share").path.loop_from
    first = result.verdict.violations[0]
    assert result.itf().get("loop") == first.path.loop_from
    assert check("classic", **BUG).itf()["loop"] == 4


def test_a_key_is_followed_to_the_same_promise(capsys: pytest.CaptureFixture[str]) -> None:
    violation = told(check("classic", **BUG), "assignment_arrives")
    assert follow("classic", violation.key, **BUG).broken["assignment_arrives"] == violation.depth
    key = ("explain", "classic", violation.key, "--progress", "--mutation", "no_sync_deadline")
    assert cli.run([*key, "--json"]) == 0
    assert "assignment_arrives" in json.loads(capsys.readouterr().out)["broken"]


def test_the_exported_test_asks_for_progress() -> None:
    text = check("classic", **BUG).pytest()
    names: dict[str, Any] = {}
    exec(compile(text, "exported", "exec"), names)
    tests = [function for name, function in names.items() if name.startswith("test_")]
    assert len(tests) == 5 and "progress=True" in text
    for function in tests:
        function()


@pytest.mark.parametrize(
    "more", [["--spark", "local[1]"], ["--random-walks", "3"], ["--conformed"]], ids=str
)
def test_what_needs_no_whole_graph_is_refused(
    more: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(["check", "classic", "--members", "1", "--progress", *more]) == 2
    assert f"{more[0]}: cannot be combined with --progress" in capsys.readouterr().err


def test_an_invariant_of_an_ordinary_check_is_refused() -> None:
    with pytest.raises(UserError, match="and no invariants"):
        check("classic", progress=True, invariants=["hand_off"])


def test_one_promise_that_is_named_is_judged_alone() -> None:
    scope = {"members": 2, "partitions": 1}
    every = check("consumer", progress=True, **scope).verdict
    one = check("consumer", progress=True, invariants=["can_converge"], **scope).verdict
    assert len(every.progress) > 2 and {*every.progress.values()} == {"holds"}
    assert one.progress == {"can_converge": "holds"}
    assert every.states == one.states


def test_a_spec_that_promises_nothing_is_refused() -> None:
    with pytest.raises(UserError, match="promises nothing about progress"):
        check(two_phase_commit(2), progress=True)


def test_list_shows_the_promises_of_variants_that_say_what_is_fair(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert cli.run(["list", "progress", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    fair = {"classic", "cooperative", "cooperative_static", "static_membership", "triggers"}
    fair |= {"offsets", "static_triggers", "cooperative_triggers"}
    fair |= {"classic+unsubscribe", "classic+offsets+several_groups"}
    fair |= {"consumer", "migration", "share", "streams"}
    assert {row["variant"] for row in rows} == fair
    kinds = {row["name"]: row["kind"] for row in rows}
    assert (kinds["group_settles"], kinds["group_can_settle"]) == ("settles", "always possible")
