"""The model's coordinator of consumer groups beside Kafka's own: the rows of small scopes, and what
a difference looks like.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import attrs
import pytest

from groupcheck.model.mutations import mutation
from groupcheck.oracles.command_line import cli
from groupcheck.oracles.consumer.comparing import ConsumerConformance, compare
from groupcheck.oracles.consumer.families import EVERY, Family, families, spec_of
from groupcheck.oracles.kafka import install
from groupcheck.oracles.kafka.driver import shared

SMALL = {
    "full group": None,
    "new partition": None,
    "static member": 700,
    "patterns": 240,
    "expressions": 700,
    "expressions of two members": 300,
    "offsets": 300,
    "late commits": 1_100,
    "named assignors": 160,
    "two transactions": 500,
    "expiry and a static member": 400,
}
VERSIONS = ("4.3.1", "4.0.0")
DIFFER = {
    *("group ahead of its target", "error", "epoch", "assignment", "at the epoch of the target"),
    *("away", "records written", "session timer", "rebalance timer"),
}
OTHERS = ("4.1.1", "4.2.0", "4.4.0")


def some(**most: int | None) -> list[Family]:
    return [attrs.evolve(f, most=most[f.name]) for f in EVERY if f.name in most]


def compared(kafka: str, asked: list[Family], rules: str = "", **more: Any) -> ConsumerConformance:
    """`rules`: the version whose rules the model has, if it is another one."""
    specs = [(family, spec_of(family, rules or kafka)) for family in asked]
    return compare(shared(kafka), specs, **more)


@pytest.mark.parametrize(
    "kafka", [*VERSIONS, *(pytest.param(v, marks=pytest.mark.night) for v in OTHERS)]
)
def test_the_rows_of_small_scopes_agree(kafka: str) -> None:
    result = compared(kafka, some(**SMALL))
    assert [tally.differences for tally in result.tallies] == [{}] * len(SMALL)
    assert sum(tally.inputs for tally in result.tallies) > 3_200


@pytest.mark.night
@pytest.mark.parametrize("kafka", [*VERSIONS, *OTHERS])
def test_every_row_agrees_and_every_outcome_is_executed(kafka: str) -> None:
    result = compared(kafka, [*families(kafka)])
    assert (result.verdict, result.never_executed) == ("agrees", ())
    assert sum(tally.inputs for tally in result.tallies) > 10_000


@pytest.mark.parametrize(
    ("kafka", "rules", "family"),
    [
        ("4.3.1", "4.4.0", "full group"),
        ("4.3.1", "4.1.1", "static member"),
        ("4.0.0", "4.3.1", "static member"),
    ],
)
def test_the_rules_of_another_version_are_told_from_each_other(
    kafka: str, rules: str, family: str
) -> None:
    result = compared(kafka, some(**{family: 1_500}), rules)
    assert (result.verdict, result.exit_code) == ("differs", 1)


def test_what_a_run_has_not_executed_makes_its_answer_unknown() -> None:
    result = compared("4.3.1", some(**{"full group": None}))
    assert (result.verdict, result.exit_code) == ("unknown", 3)
    assert "interval_passes" in result.never_executed
    stopped = compared("4.3.1", some(**{"full group": None}), max_rows=20)
    assert (stopped.verdict, stopped.reason) == ("unknown", "stopped after 20 rows")


def test_a_known_bug_is_told_with_its_shortest_schedule(
    capsys: pytest.CaptureFixture[str], misfits: Any
) -> None:
    command = "conform consumer --kafka 4.3.1 --members 1 --mutation rejoin_is_refused"
    assert cli.run([*command.split(), "--max-rows", "700", "--json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert misfits(document) == []
    assert document["mutation"] == "rejoin_is_refused"
    first = min(document["families"][0]["differences"], key=lambda one: len(one["input"]))
    assert first["Kafka 4.3.1"]["error"] == 0 and first["groupcheck"]["error"] == 110
    assert '"epoch":0' in first["input"][-1]


def test_the_bug_of_a_member_and_what_is_not_compared_are_refused(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for options, said in (
        ("--mutation reports_less_than_it_holds", "changes the member"),
        ("--mutation size_cap_off_by_one", "is no bug of consumer groups"),
        ("--generations 2", "nothing bounds its rows"),
        ("--coverage", "for classic groups alone"),
        ("--diff 4.2.0 4.3.1 --mutation return_rebalances", "not of two versions"),
        ("--diff 4.2.0 3.9.0", "no driver for Kafka"),
        ("--kafka 3.9.0", "no driver for Kafka"),
    ):
        assert cli.run(["conform", "consumer", *options.split()]) == 2
        assert said in capsys.readouterr().err


def test_a_bug_of_the_coordinator_is_in_the_rows() -> None:
    bug = mutation("return_rebalances")
    (family,) = some(**{"full group": 150})
    asked = [(family, spec_of(family, "4.3.1", bug))]
    assert compare(shared("4.3.1"), asked).differing > 0


def test_two_versions_differ_where_the_model_says_so_and_nowhere_else() -> None:
    """`--diff`: 4.3.1 and 4.4.0 in full groups."""
    asked = [(family, spec_of(family, "4.3.1")) for family in some(**{"full group": None})]
    result = compare(shared("4.4.0"), asked, older=shared("4.3.1"), max_differences=0)
    assert (result.sides, result.exit_code) == (("Kafka 4.3.1", "Kafka 4.4.0"), 1)
    (tally,) = result.tallies
    assert ("group ahead of its target",) in tally.differences
    ((kind, (number, let_in)),) = [d for d in tally.differences.items() if d[1][0] == 2][:1]
    assert "error" in kind and number == 2
    shown = let_in.answers_shown(result.sides)
    assert [shown[side]["error"] for side in result.sides] == [81, 0]
    assert {name for kind in tally.differences for name in kind} < DIFFER


@pytest.mark.night
def test_a_build_is_compared_with_a_release(
    capsys: pytest.CaptureFixture[str], misfits: Any
) -> None:
    """`--jars`: those of 4.4.0 stand for a build."""
    jars = Path(install.classpath("4.4.0").split(os.pathsep)[1]).parent
    command = f"conform consumer --jars {jars} --kafka 4.3.1 --members 1 --max-rows 40 --json"
    assert cli.run(command.split()) == 1
    document = json.loads(capsys.readouterr().out)
    assert misfits(document) == []
    assert document["compared"] == ["Kafka 4.3.1", "Kafka build 4.4.0"]
    assert document["build"]["version"] == "4.4.0" and document["differing"] == 2
