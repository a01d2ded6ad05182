"""Java's member of consumer groups in the model beside Kafka's own, row by row."""

from __future__ import annotations

import json
from typing import Any

import attrs
import pytest

from groupcheck.model.protocol.consumer.client import Member
from groupcheck.model.protocol.consumer.java_member import (
    Calls,
    Event,
    JavaMember,
    Phase,
    Reconciliation,
)
from groupcheck.model.protocol.consumer.messages import Link
from groupcheck.oracles.command_line import cli
from groupcheck.oracles.consumer.comparing import ConsumerConformance
from groupcheck.oracles.consumer.member.families import EVERY, compare, rows_of
from groupcheck.oracles.consumer.whole import STEPS
from groupcheck.oracles.consumer.whole import compare as compare_whole
from groupcheck.oracles.kafka.driver import shared

RELEASES = ("4.2.0", "4.3.1", "4.4.0")
BUG = "empty_assignment_is_no_news"
SMALL = {"listener": 350, "no listener": 150}


def compared(kafka: str, **most: int) -> ConsumerConformance:
    families = [attrs.evolve(f, most=most[f.name]) for f in EVERY if f.name in most]
    return compare(shared(kafka), kafka, tuple(families))


@pytest.mark.parametrize("kafka", ["4.3.1", *(pytest.param(v, marks=pytest.mark.night) for v in
                                              ("4.2.0", "4.4.0"))])  # fmt: skip
def test_the_first_rows_agree(kafka: str) -> None:
    result = compared(kafka, **SMALL)
    assert [tally.differences for tally in result.tallies] == [{}] * len(SMALL)
    assert sum(tally.inputs for tally in result.tallies) == sum(SMALL.values())


@pytest.mark.night
@pytest.mark.parametrize("kafka", RELEASES)
def test_every_row_agrees_and_every_outcome_is_executed(kafka: str) -> None:
    result = compare(shared(kafka), kafka)
    assert (result.verdict, result.never_executed) == ("agrees", ())
    assert sum(tally.inputs for tally in result.tallies) > 40_000


@pytest.mark.parametrize("kafka", ["4.3.1", *(pytest.param(v, marks=pytest.mark.night) for v in
                                              ("4.2.0", "4.4.0"))])  # fmt: skip
def test_whole_groups_follow_the_model(kafka: str) -> None:
    result = compare_whole(shared(kafka), kafka, schedules=3)
    assert [tally.differences for tally in result.tallies] == [{}] * 4
    assert sum(tally.inputs for tally in result.tallies) == 4 * 3 * STEPS


@pytest.mark.parametrize(
    ("kafka", "steps", "returns"),
    [
        ("4.2.0", ("unsubscribe_goes_on:called", "java_callback_returns:assigned"), 2),
        ("4.3.1", ("unsubscribe_goes_on:skipped",), 1),
    ],
)
def test_what_waits_in_unsubscribe_is_a_row_in_one_go(
    kafka: str, steps: tuple[str, ...], returns: int
) -> None:
    [listener] = [family for family in EVERY if family.name == "listener"]
    rows = rows_of(listener, kafka)
    taking = Reconciliation(1, gone=0, phase=Phase.ASSIGN)
    waiting = (Event(Calls.ASSIGNED, 1), Event(Calls.LEAVING, 1))
    leaves = JavaMember(
        Member.PREPARE_LEAVING, assigned=1, leaving=True, taking=taking, waiting=waiting
    )
    [row] = [row for row in rows.of((leaves, Link())) if "unsubscribe" in row.fired[0]]
    assert row.fired == (*steps, "unsubscribe_goes_on:called")
    after: JavaMember = row.after[0]
    assert (after.running, after.waiting) == (Event(Calls.LEAVING, 1), ())
    assert [command["op"] for command in rows.commands(row)].count("return") == returns


def test_a_bug_of_a_member_differs(capsys: pytest.CaptureFixture[str]) -> None:
    command = "conform consumer --side member --kafka 4.3.1 --max-rows 400 --json"
    assert cli.run([*command.split(), "--mutation", BUG, "--max-differences", "1"]) == 1
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert (document["side"], document["mutation"]) == ("member", BUG)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--mutation", "rejoin_is_refused"], "changes the coordinator"),
        (["--whole", "--mutation", BUG], "whole groups follow the model as it is"),
        (["--schedules", "3"], "add --whole"),
        (["--members", "1"], "have a number of their own"),
        (["--diff", "4.2.0", "4.3.1"], "in the rows of the coordinator alone"),
        (["--whole", "--diff", "4.2.0", "4.3.1"], "in the rows of the coordinator alone"),
        (["--kafka", "4.0.0"], "no member of consumer groups of Kafka 4.0.0 is executed"),
    ],
)
def test_what_is_not_there_is_said(
    options: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(["conform", "consumer", "--side", "member", *options]) == 2
    assert said in capsys.readouterr().err
