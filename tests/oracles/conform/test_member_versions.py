"""Two versions of Kafka's Java client side by side, row by row."""

from __future__ import annotations

import json
from typing import Any

import attrs
import pytest

from groupcheck.model.engine import UserError
from groupcheck.oracles.command_line.cli import run
from groupcheck.oracles.conform.member.moves import Observations, Probe, Standing, setup
from groupcheck.oracles.conform.member.versions_differ import begins, difference
from groupcheck.oracles.kafka.client import Thrown
from groupcheck.oracles.kafka.client_commands import Poll
from groupcheck.oracles.kafka.driver import Driver
from groupcheck.oracles.kafka.schedule import LostSchedule

FOUR = "conform classic --side member --generations 1 --set partitions=1 --set autocommit=no"


def seen(coordinator: Driver) -> Observations:
    (told,) = coordinator.run_all([Probe(Standing(setup(1, autocommit=True)), (Poll(),))])
    assert isinstance(told, Observations)
    return told


def test_what_differs_is_named(coordinator: Driver) -> None:
    first = seen(coordinator)
    ((command, look, _),) = first.steps
    assert list(difference(first, first)) == []

    def told(**changes: object) -> list[str]:
        other = Observations(first.before, ((command, attrs.evolve(look, **changes), None),))
        return list(difference(first, other))

    assert told(state="STABLE", heart="on") == ["state", "heart"]
    assert told(sent=()) == ["requests in flight"]
    assert told(sent=(attrs.evolve(look.sent[0], v=1),)) == ["FindCoordinator: version"]
    thrown = Thrown("KafkaException", "old", -1)
    throws = Observations(first.before, ((command, look, thrown),))
    assert list(difference(first, throws)) == ["exception"]
    says = Observations(first.before, ((command, look, attrs.evolve(thrown, message="new")),))
    assert list(difference(throws, says)) == ["message of an exception"]


def test_a_row_that_one_version_cannot_carry_out_differs(coordinator: Driver) -> None:
    first = seen(coordinator)
    lost = LostSchedule(Probe(Standing(setup(1, autocommit=True)), (Poll(),)), "died", None)
    assert list(difference(lost, first)) == ["one version cannot carry it out"]
    assert list(difference(lost, lost)) == []


class Unfit(Driver):
    """A driver that does not fit its client."""

    def run(self, schedule: Any) -> LostSchedule:
        return LostSchedule(schedule, "java.lang.NoSuchFieldError: heartbeat\n\tat here", Poll(), 1)


def test_a_driver_that_cannot_make_a_member_is_no_difference() -> None:
    with pytest.raises(UserError) as said:
        begins(Unfit("4.3.0"))
    assert str(said.value) == (
        "the driver cannot make a member of Kafka 4.3.0: java.lang.NoSuchFieldError: heartbeat"
    )


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


def test_the_first_rows_are_the_same_in_4_3_0_and_4_4_0(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run([*FOUR.split(), "--max-rows", "600", "--diff", "4.3.0", "4.4.0"]) == 3
    said = " ".join(capsys.readouterr().out.split())
    assert "no difference" in said and "there are more than 600 rows" in said
