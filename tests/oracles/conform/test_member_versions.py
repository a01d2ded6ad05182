"""Two versions of Kafka's Java client side by side, row by row."""

from __future__ import annotations

import json

import attrs
import pytest

from groupcheck.oracles.cli import run
from groupcheck.oracles.conform.member.moves import Probe, Seen, Standing, setup
from groupcheck.oracles.conform.member.versions_differ import difference
from groupcheck.oracles.kafka.client import Thrown
from groupcheck.oracles.kafka.client_commands import Poll
from groupcheck.oracles.kafka.driver import Driver
from groupcheck.oracles.kafka.schedule import Lost

FOUR = "conform classic --side member --generations 1 --set partitions=1 --set autocommit=no"


def seen(coordinator: Driver) -> Seen:
    (told,) = coordinator.run_all([Probe(Standing(setup(1, autocommit=True)), (Poll(),))])
    assert isinstance(told, Seen)
    return told


def test_what_differs_is_named(coordinator: Driver) -> None:
    first = seen(coordinator)
    ((command, look, _),) = first.steps
    assert list(difference(first, first)) == []

    def told(**changes: object) -> list[str]:
        other = Seen(first.before, ((command, attrs.evolve(look, **changes), None),))
        return list(difference(first, other))

    assert told(state="STABLE", heart="on") == ["state", "heart"]
    assert told(sent=()) == ["requests in flight"]
    assert told(sent=(attrs.evolve(look.sent[0], v=1),)) == ["FindCoordinator: version"]
    thrown = Thrown("KafkaException", "old", -1)
    throws = Seen(first.before, ((command, look, thrown),))
    assert list(difference(first, throws)) == ["exception"]
    says = Seen(first.before, ((command, look, attrs.evolve(thrown, message="new")),))
    assert list(difference(throws, says)) == ["message of an exception"]


def test_a_row_that_one_version_cannot_carry_out_differs(coordinator: Driver) -> None:
    first = seen(coordinator)
    lost = Lost(Probe(Standing(setup(1, autocommit=True)), (Poll(),)), "died", None)
    assert list(difference(lost, first)) == ["one version cannot carry it out"]
    assert list(difference(lost, lost)) == []


def test_4_0_0_and_4_3_0_differ_in_the_message_of_one_exception(
    capsys: pytest.CaptureFixture[str], misfits
) -> None:
    code = run([*FOUR.split(), "--max-rows", "600", "--diff", "4.0.0", "4.3.0", "--json"])
    told = json.loads(capsys.readouterr().out)
    assert misfits(told) == []
    assert (code, told["side"], told["versions"]) == (1, "member", ["4.0.0", "4.3.0"])
    assert [(c["after"], c["differs"]) for c in told["changes"]] == [
        ("the application polls", ["message of an exception"])
    ]
    assert told["executed"] <= told["rows"]
    (lines,) = [c["transcripts"]["4.3.0"] for c in told["changes"]]
    assert lines[-1].startswith("InvalidGroupIdException says: ")


def test_a_version_does_not_differ_from_itself(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*FOUR.split(), "--max-rows", "600", "--diff", "4.3.0", "4.3.0"]) == 3
    said = " ".join(capsys.readouterr().out.split())
    assert "no difference" in said and "there are more than 600 rows" in said
