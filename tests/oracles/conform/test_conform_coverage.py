"""What a comparison executes of Kafka's own classes: one JVM with JaCoCo's agent."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from attrs import evolve

from groupcheck.model.engine import UserError
from groupcheck.oracles.command_line.cli import run
from groupcheck.oracles.conform.covering import Coverage, coverage_view, covered
from groupcheck.oracles.kafka.commands import Heartbeat
from groupcheck.oracles.kafka.coverage.measuring import COUNTED, JACOCO, Line, Method, read
from groupcheck.oracles.kafka.coverage.reasons import FAMILIES, Reason, explained, table
from groupcheck.oracles.kafka.driver import Driver
from groupcheck.oracles.kafka.pins import pinned
from groupcheck.oracles.kafka.schedule import Schedule
from groupcheck.oracles.kafka.versions import VERSIONS
from groupcheck.oracles.show.text import as_plain


def one_heartbeat(driver: Driver) -> None:
    driver.run(Schedule([Heartbeat(member="x", generation=1)]))


def executed(found: Coverage, class_name: str, method: str) -> tuple[bool, ...]:
    return tuple(
        line.executed for m in found.of(class_name) if m.name == method for line in m.lines
    )


def test_the_lines_that_a_heartbeat_executes_are_counted_and_no_others():
    _, found = covered("4.3.0", one_heartbeat)
    assert found.classes.keys() == COUNTED.keys()
    assert any(executed(found, "GroupCoordinatorService", "heartbeat"))
    assert not any(executed(found, "GroupCoordinatorService", "joinGroup"))


def test_every_version_has_pins_for_the_same_jacoco():
    (wanted,) = {tuple(pinned(JACOCO.jar, version).items()) for version in VERSIONS}
    assert any(name.startswith("org.jacoco.agent-") for name, _ in wanted)


def test_counts_that_were_lost_are_an_error(tmp_path: Path):
    with pytest.raises(UserError, match="counted nothing"):
        read("4.3.0", tmp_path / "counts")


METHOD = Method("classic/ClassicGroup", "remove", (Line(7, True, 4, 1), Line(9, True, 2, 2)))
GUARD = Reason(
    class_name="classic/ClassicGroup",
    method="remove",
    line=7,
    branches=2,
    family="guard",
    why="nobody",
)


def test_a_branch_without_a_reason_and_a_reason_without_a_branch_are_named():
    place = GUARD.place
    assert explained([METHOD], [GUARD]).without == ((place, 1),)
    both = explained([METHOD], [GUARD, evolve(GUARD, branches=1, family="left")])
    assert (both.without, both.outdated, both.out_of_reach) == ((), (), 2)
    assert explained([METHOD], [evolve(GUARD, branches=5)]).outdated == ((place, 2),)
    assert explained([METHOD], [evolve(GUARD, line=9)]).outdated == (((*place[:2], 9), 2),)


def test_of_a_version_without_a_table_nothing_is_explained():
    shown = as_plain(coverage_view(Coverage("4.0.0", (METHOD,), None)))
    assert "is known of Kafka 4.3.0 only" in shown and "7 remove" in shown
    assert "JVMs broke" not in shown


def test_the_report_groups_branches_by_their_reason_and_says_what_was_lost():
    why = explained([METHOD], [GUARD, evolve(GUARD, line=9, branches=1)])
    shown = as_plain(coverage_view(Coverage("4.3.0", (METHOD,), why, lost=2)))
    assert "2 JVMs broke; what they executed is missing." in shown
    assert "3 branches not executed: an internal guard" in shown and "ClassicGroup 7, 9" in shown
    assert "reachable, and not executed yet" not in shown
    assert "classic/ClassicGroup.remove, line 7: 1" in shown  # no reason
    assert "classic/ClassicGroup.remove, line 9: 1" in shown  # outdated


def test_coverage_is_of_a_comparison_with_one_coordinator(capsys: pytest.CaptureFixture[str]):
    for arguments in (["assignors"], ["classic", "--diff", "4.0.0", "4.3.0"], ["--live"]):
        assert run(["conform", *arguments, "--coverage"]) == 2
        assert "--coverage" in capsys.readouterr().err


def test_every_branch_within_reach_is_executed_and_every_other_has_a_reason(
    capsys: pytest.CaptureFixture[str], misfits
):
    small = ["conform", "classic", "--members", "1", "--generations", "1"]
    assert run([*small, "--coverage", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert misfits(document) == []
    told = document["coverage"]
    assert (told["without_reason"], told["outdated_reasons"]) == ([], [])
    assert told["total"]["branches_executed"] == told["branches_within_reach"] > 500
    assert not any(r["family"] == "left" for r in told["reasons"])
    assert document["situations"]["agreeing"] == document["situations"]["executed"]


def test_a_reason_says_in_a_few_words_why():
    for reason in table():
        assert reason.family in FAMILIES and reason.branches > 0
        assert 8 < len(reason.why) < 90 and reason.class_name in COUNTED
