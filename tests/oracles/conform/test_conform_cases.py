"""The comparison with Kafka's coordinator and assignors as test cases: one for each kind of row."""

from __future__ import annotations

from xml.etree import ElementTree

import attrs
import pytest

from groupcheck.oracles.assignment.conform.comparing import AssignorConformance, AssignorTally
from groupcheck.oracles.command_line import cli
from groupcheck.oracles.conform.conformance import conform
from groupcheck.oracles.conform.row_comparison import Conformance
from groupcheck.oracles.conform.situations.running import SITUATIONS, execute
from groupcheck.oracles.conform.versions import Versions
from groupcheck.oracles.conform.versions_differ import Change
from groupcheck.oracles.judge.live.live import Live
from groupcheck.oracles.judge.live.walk import Disagreement, ScheduleSums
from groupcheck.oracles.kafka.driver import Driver
from groupcheck.oracles.kafka.own_build import OwnBuild
from groupcheck.oracles.show.suite import Suite
from groupcheck.oracles.show.text import as_plain, show

ONE = {"members": 1, "generations": 1, "faults": {"append_failure": 0}}
KINDS = {"JoinGroup", "SyncGroup", "Heartbeat", "OffsetCommit", "LeaveGroup", "append_committed"}


@pytest.fixture(scope="module")
def agreeing(coordinator: Driver) -> Conformance:
    return conform("classic", kafka="4.3.0", driver=coordinator, lists=True, **ONE)


def became(suite: Suite) -> dict[str, str]:
    return {case.name: case.became for case in suite.cases}


def test_each_kind_of_row_that_agrees_is_a_case_that_passes(agreeing: Conformance):
    suite = agreeing.suite()
    assert set(became(suite)) >= KINDS and set(became(suite).values()) == {"passed"}
    assert sum(case.seconds for case in suite.cases) == pytest.approx(agreeing.seconds)


def test_a_kind_that_differs_fails_with_its_schedule_and_no_other_does(coordinator: Driver):
    bug = "commit_while_syncing"
    found = conform("classic", kafka="4.3.0", driver=coordinator, lists=True, mutation=bug, **ONE)
    (case,) = [case for case in found.suite().cases if case.became != "passed"]
    assert (case.name, case.became) == ("OffsetCommit", "failure")
    assert f"{found.differing:,} of " in case.why and "-> 27" in case.text


def test_rows_that_were_not_executed_are_an_error(agreeing: Conformance):
    ledger = attrs.evolve(agreeing.ledger, executed=set(), unrealizable={"too long": 1})
    part = attrs.evolve(agreeing, ledger=ledger)
    wrong = [case for case in part.suite().cases if case.became != "passed"]
    assert {case.became for case in wrong} == {"error"}
    assert "rows were not executed: too long" in wrong[0].why


def test_a_tour_that_was_cut_short_is_an_error_although_all_its_rows_agree(tmp_path, monkeypatch):
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    out = tmp_path / "found.xml"
    options = ["--members", "1", "--generations", "1", "--max-rows", "10"]
    assert cli.run(["conform", *options, "--junit", str(out)]) == 3
    root = ElementTree.parse(out).getroot()
    (error,) = root.iter("error")
    assert error.attrib["message"] == "unknown: stopped after 10 rows"
    assert int(root.attrib["tests"]) > 1


def test_changes_between_versions_are_failures_and_without_any_one_case_passes(
    agreeing: Conformance, coordinator: Driver
):
    versions = ("4.0.0", "4.3.0")
    same = Versions(versions, agreeing, 0, ()).suite()
    assert became(same) == {"no difference": "passed"}
    (difference, *_) = conform(
        "classic", kafka="4.3.0", driver=coordinator, mutation="commit_while_syncing", **ONE
    ).differences
    change = Change("JoinGroup", ("answers",), difference.transcript, difference.transcript)
    (case,) = Versions(versions, agreeing, 1, (change,)).suite().cases
    assert (case.name, case.became, case.why) == ("1 after JoinGroup", "failure", "answers")
    assert "Kafka 4.0.0\n" in case.text and "Kafka 4.3.0\n" in case.text


def test_a_situation_in_which_a_build_differs_from_its_release_fails(
    agreeing: Conformance, coordinator: Driver
):
    (right,) = execute(coordinator, SITUATIONS[:1])
    wrong = attrs.evolve(right, differs=("step 1: the answer is 15, expected 0",))
    build = OwnBuild("4.5.0-SNAPSHOT", "abc", "4.4.0", "4.4.0", {}, "")
    versions = ("4.4.0", build.title)
    for executed, code, said in (
        ((right,), 0, "no difference"),
        ((right, wrong), 1, "1 differing"),
    ):
        tour = attrs.evolve(agreeing, situations=executed)
        result = Versions(versions, tour, 0, (), build)
        assert result.exit_code == code and result.document()["build"]["commit"] == "abc"
        shown = as_plain(result.view())
        assert shown.startswith(said) and "the driver's source for Kafka 4.4.0 and later" in shown
        suite = result.suite()
        assert suite.name == "conform --jars, Kafka 4.4.0 and build 4.5.0-SNAPSHOT"
        passed = "failure" if code else "passed"
        assert became(suite) == {"no difference": "passed", "situations": passed}


def test_each_assignor_is_a_case():
    tallies = (AssignorTally("range", inputs=5), AssignorTally("sticky", inputs=7, differing=2))
    suite = AssignorConformance(("Kafka 4.3.0", "groupcheck"), 0, tallies).suite()
    assert became(suite) == {"range": "passed", "sticky": "failure"}
    assert suite.cases[1].why == "2 of 7 inputs differ"


@pytest.mark.parametrize(
    ("schedules", "disagreement", "expected"),
    [
        (10, None, ("passed", "")),
        (4, None, ("error", "unknown: 4 of 10 schedules were run")),
        (4, Disagreement(("error is 22",), ("-> Heartbeat",), False), ("failure", "error is 22")),
    ],
)
def test_schedules_over_the_wire_are_one_case(agreeing, schedules, disagreement, expected):
    seen = ScheduleSums(schedules=schedules)
    found = Live(
        variant="classic",
        scope=agreeing.scope,
        kafka="4.3.0",
        wanted=10,
        seen=seen,
        disagreement=disagreement,
        seconds=1.0,
    )
    (case,) = found.suite().cases
    assert (case.became, case.why) == expected


def test_a_schedule_over_the_wire_is_shown_in_lines_that_are_not_folded(agreeing, capsys):
    line = f"   1. JoinGroup v5(metadata={'0' * 200})"
    found = Live(
        variant="classic",
        scope=agreeing.scope,
        kafka="4.3.0",
        wanted=10,
        seen=ScheduleSums(schedules=4),
        disagreement=Disagreement(("error is 22",), (line.strip(),), False),
        seconds=1.0,
    )
    show(found.view())
    assert f"\n\nerror is 22\n{line}\n" in capsys.readouterr().out
