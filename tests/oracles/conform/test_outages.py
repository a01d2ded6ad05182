"""A JVM that somebody kills or stops tells nothing of Kafka: the verdict is unknown, and says
why.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from attrs import evolve

from groupcheck.model.engine import OutageError
from groupcheck.oracles.assignment.conform.comparing import compare as compare_assignors
from groupcheck.oracles.conform.conformance import conform
from groupcheck.oracles.conform.member.conformance import conform_member
from groupcheck.oracles.conform.whole.conformance import conform_whole
from groupcheck.oracles.connect.comparing import compare as compare_leaders
from groupcheck.oracles.kafka.driver import Driver
from groupcheck.oracles.kafka.schedule import LostSchedule
from groupcheck.oracles.museum import members as museum
from groupcheck.oracles.museum.moves import Move
from groupcheck.oracles.museum.stage import Cast, Stage

WHY = "the JVM was ended by SIGKILL"


class Fleeting(Driver):
    """One whose JVM is killed after some answers."""

    answers = 0
    ends: BaseException = OutageError(WHY)

    def run_all(self, schedules: Iterable[Any]) -> Iterator[Any]:
        for schedule in schedules:
            if not self.answers:
                raise self.ends
            self.answers -= 1
            yield LostSchedule(schedule, "no matter", None)


class Interrupted(Fleeting):
    """One during whose answers the user presses Ctrl-C."""

    ends = KeyboardInterrupt()

    def converse(self, conversations: Iterable[Any]) -> Iterator[Any]:
        raise self.ends


ENDS = pytest.mark.parametrize(("kind", "why"), [(Fleeting, WHY), (Interrupted, "interrupted")])


@ENDS
def test_a_tour_of_the_coordinators_rows_ends_with_the_reason(kind: type[Fleeting], why: str):
    found = conform(
        "classic",
        kafka="4.3.0",
        members=1,
        generations=1,
        driver=kind(),
        situations=kind is Interrupted,
    )
    assert (found.verdict, found.exit_code, found.reason) == ("unknown", 3, why)
    assert found.document()["reason"] == why


def test_schedules_of_whole_groups_end_with_what_was_seen():
    found = conform_whole("classic", kafka="4.3.0", driver=Interrupted())
    assert (found.verdict, found.exit_code, found.reason) == ("unknown", 3, "interrupted")


@ENDS
def test_a_tour_of_the_members_rows_lists_those_that_were_not_executed(
    kind: type[Fleeting], why: str
):
    driver = kind()
    driver.answers = 1
    found = conform_member(
        "classic", kafka="4.3.0", generations=1, max_differences=0, lists=True, driver=driver
    )
    (tour,) = found.tours
    assert tour.reason == why and tour.counts.executed == 1
    assert [agrees for _, agrees in tour.listed] == [False] + [None] * (len(tour.listed) - 1)
    assert len(tour.listed) == tour.counts.rows > 1


@pytest.mark.parametrize("when", ["_opened", "_move"])
@pytest.mark.parametrize(
    ("number", "told"),
    [
        (signal.SIGKILL, r"consumers of Kafka 2.8.0 was ended by SIGKILL \(signal 9\)"),
        (signal.SIGSTOP, r"consumers of Kafka 2.8.0 is stopped \(SIGSTOP\)"),
    ],
)
def test_members_of_the_museum_that_are_killed_or_stopped_show_no_bug(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, number: signal.Signals, told: str, when: str
):
    java = tmp_path / "java"
    java.write_text("#!/bin/sh\nexec sleep 600\n")
    java.chmod(0o700)

    def hurt(stage: Stage, *_: object) -> None:
        (company,) = stage._companies
        if company.outage():
            return
        company._process.send_signal(number)
        if number == signal.SIGKILL:
            company._process.wait(60)
        else:
            os.waitpid(company._process.pid, os.WUNTRACED)

    monkeypatch.setattr(museum.install, "java", lambda program: str(java))
    monkeypatch.setattr(museum.install, "classpath", lambda *_: "nothing")
    monkeypatch.setattr(Stage, "_opened", lambda *_: True)
    monkeypatch.setattr(Stage, when, hurt)
    stage = Stage(Cast({}, (0,), 1), "2.8.0", print)
    with pytest.raises(OutageError, match=told):
        stage.perform([Move(1, "appended", 0)], 0.0)


def stop(*_: object) -> Iterator[Any]:
    raise KeyboardInterrupt
    yield


def test_comparisons_of_answers_end_with_what_was_compared():
    driver: Any = SimpleNamespace(version="4.3.0", title="4.3.0", build=None)
    family: Any = SimpleNamespace(bound="any", scripts=stop)
    leaders: Any = SimpleNamespace(version="4.3.0", assign_all=lambda scripts: map(list, scripts))
    for found in (
        compare_assignors(driver, ["range"], inputs=stop, solvers={"range": stop}),
        compare_leaders(leaders, [family, family]),
    ):
        assert (found.verdict, found.exit_code, len(found.tallies)) == ("unknown", 3, 1)
        assert found.headline().plain.endswith("  interrupted")
        assert found.document()["verdict"] == "unknown"
        tally = SimpleNamespace(inputs=1, differing=1)
        assert evolve(found, tallies=[tally]).exit_code == 1
