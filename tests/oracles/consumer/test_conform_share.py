"""The model's coordinator of share groups beside Kafka's own, row by row."""

import json
from typing import Any

import attrs
import pytest

from groupcheck.model.mutations import mutation
from groupcheck.oracles.command_line import cli
from groupcheck.oracles.consumer.comparing import ConsumerConformance
from groupcheck.oracles.consumer.share.families import EVERY, Family, compare, families, spec_of
from groupcheck.oracles.kafka.driver import shared

SMALL = {"one member": 250, "new partition": 250, "two topics": 200, "simple assignor": 200}
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
        ("share_epochs_begin_anew", "one member", "previous epoch"),
        ("share_session_is_not_watched", "one member", "session timer"),
        ("share_size_is_not_checked", "full group", "error"),
    ],
)
def test_a_mistake_is_a_row_that_differs(bug: str, family: str, differs: str):
    asked = [attrs.evolve(f, most=200) for f in EVERY if f.name == family]
    (tally,) = compared("4.3.1", asked, bug, max_differences=1).tallies
    assert differs in {name for kind in tally.differences for name in kind}


@pytest.mark.parametrize("options", ["--side member", "--whole", "--kafka 4.1.1"])
def test_what_share_groups_do_not_have_is_refused(options: str):
    assert cli.run(["conform", "share", *options.split()]) == 2


def test_the_document_says_what_was_compared(capsys: pytest.CaptureFixture[str]):
    asked = ["conform", "share", "--kafka", "4.3.1", "--members", "1", "--max-rows", "50"]
    assert cli.run([*asked, "--json"]) == 3
    document = json.loads(capsys.readouterr().out)
    assert (document["side"], document["inputs"], document["differing"]) == ("share", 50, 0)
