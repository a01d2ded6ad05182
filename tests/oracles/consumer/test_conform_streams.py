"""The model's coordinator of streams groups beside Kafka's own, row by row."""

import json
from typing import Any

import attrs
import pytest

from groupcheck.model.mutations import mutation
from groupcheck.oracles.command_line import cli
from groupcheck.oracles.consumer.comparing import ConsumerConformance
from groupcheck.oracles.consumer.streams.families import EVERY, Family, compare, families, spec_of
from groupcheck.oracles.kafka.driver import shared

SMALL = {
    "one member": 32,
    "topics": 200,
    "topologies": 150,
    "full group": 66,
    "shutdown": 150,
    "standby": 250,
    "offsets": 200,
    "offsets of two tasks": 400,
    "threads of a process": 200,
    "initial delay": 150,
    "interval": 150,
}
VERSIONS = ("4.2.0", "4.3.0", "4.4.0")


def compared(kafka: str, asked: list[Family], bug: str = "", **more: Any) -> ConsumerConformance:
    seeded = mutation(bug) if bug else None
    return compare(shared(kafka), [(f, spec_of(f, kafka, seeded)) for f in asked], **more)


def test_the_rows_of_small_scopes_agree():
    asked = [attrs.evolve(f, most=SMALL[f.name]) for f in EVERY if f.name in SMALL]
    result = compared("4.3.1", asked)
    assert [tally.differences for tally in result.tallies] == [{}] * len(SMALL)
    assert sum(tally.inputs for tally in result.tallies) == sum(SMALL.values())


@pytest.mark.night
@pytest.mark.parametrize("kafka", ["4.3.1", *VERSIONS])
def test_every_row_agrees_and_every_outcome_is_executed(kafka: str):
    result = compared(kafka, list(families(kafka)))
    assert [tally.differences for tally in result.tallies] == [{}] * len(result.tallies)
    assert result.never_executed == () and result.exit_code == 0


@pytest.mark.parametrize(
    ("bug", "family", "differs"),
    [
        ("streams_owner_is_not_noted", "one member", "active tasks of processes"),
        ("streams_session_timer_is_not_started", "one member", "session timer"),
        ("streams_size_is_not_checked", "full group", "error"),
        ("streams_stop_is_not_told", "shutdown", "statuses"),
    ],
)
def test_a_mistake_is_a_row_that_differs(bug: str, family: str, differs: str):
    asked = [attrs.evolve(f, most=200) for f in EVERY if f.name == family]
    (tally,) = compared("4.3.1", asked, bug, max_differences=1).tallies
    assert differs in {name for kind in tally.differences for name in kind}


def test_kafka_does_not_take_back_who_has_a_standby():
    """The model that does differs, in what it notes and in nothing else."""
    (family,) = (f for f in EVERY if f.name == "standby")
    mended = spec_of(family, "4.3.1", undo="mended")
    rows = attrs.evolve(family, most=500)
    (differs,) = compare(shared("4.3.1"), [(rows, mended)]).tallies
    assert {*differs.differences} == {("standbys of processes",)}


def test_kafka_does_not_repeat_an_assignment_that_was_lost():
    (family,) = (f for f in EVERY if f.name == "two members")
    mended = spec_of(family, "4.3.1", repeats="mended")
    rows = attrs.evolve(family, most=500)
    (differs,) = compare(shared("4.3.1"), [(rows, mended)]).tallies
    assert {*differs.differences} == {("assignment",)}


@pytest.mark.parametrize("options", ["--side member", "--whole", "--kafka 4.1.1"])
def test_what_streams_groups_do_not_have_is_refused(options: str):
    assert cli.run(["conform", "streams", *options.split()]) == 2


@pytest.mark.night
def test_the_document_says_what_was_compared(capsys: pytest.CaptureFixture[str]):
    asked = ["conform", "streams", "--kafka", "4.3.1", "--members", "1", "--max-rows", "50"]
    assert cli.run([*asked, "--json"]) == 3
    document = json.loads(capsys.readouterr().out)
    assert (document["side"], document["inputs"], document["differing"]) == ("streams", 50, 0)
