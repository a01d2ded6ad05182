"""From what a broker wrote to the files of a recording: also if the scenario did not take place,
or the broker was gone. The broker here only writes.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from groupcheck.model.engine import OutageError, UserError
from groupcheck.oracles.command_line import cli
from groupcheck.oracles.record import command as recording_command
from groupcheck.oracles.record import recording
from groupcheck.oracles.record.processes import Interrupts, Processes
from groupcheck.oracles.record.recording import Recording, record_command, record_scenario
from groupcheck.oracles.record.running import Running
from groupcheck.oracles.record.scenario import Scenario
from groupcheck.oracles.record.settings import Setup
from groupcheck.oracles.record.stage import NotStaged, Stage


class WritingBroker:
    """Writes a request of the group and one of another kind, with a line of the coordinator, when
    it is asked to flush or to end.
    """

    address, version = "127.0.0.1:9", "4.3.0"

    def __init__(self, place: Path) -> None:
        self.place, self.gone = place, False
        (place / "broker.log").write_text(
            "[2020-01-01 00:00:00,000] INFO Replayed TopicRecord for topic orders with topic ID ID."
            " (x)\n"
        )

    def outage(self) -> OutageError | None:
        return OutageError("the broker was killed") if self.gone else None

    def ask(self, *words: object) -> None:
        if words == ("flush",):
            self.write()

    def write(self) -> None:
        now = datetime.now(UTC)
        at = f"{now:%Y-%m-%d %H:%M:%S},{now.microsecond // 1000:03}"
        said = {
            "requestHeader": {"clientId": "a\u2028", "requestApiKeyName": "HEARTBEAT"},
            "request": {},
            "response": {"errorCode": 27},
            "totalTimeMs": 0,
        }
        line = json.dumps(said, separators=(",", ":"), ensure_ascii=False)
        with (self.place / "requests.log").open("a") as log:
            for text in (line, line.replace("HEARTBEAT", "FETCH")):
                log.write(f"[{at}] DEBUG Completed request:{text} (kafka.request.logger)\n")
        with (self.place / "broker.log").open("a") as log:
            log.write(
                f"[{at}] INFO [GroupCoordinator id=1] x"
                f" (org.apache.kafka.coordinator.group.X)\n[{at}] INFO other (kafka.Other)\n"
            )

    def end(self) -> None:
        self.write()
        if self.gone:
            raise UserError("the broker has ended")


class Sleeper:
    """A library whose members tell nothing."""

    name, commits_on_revoke = "sleeper", True

    def installed(self, kafka: str) -> str:
        return "sleeper 1"

    def options(self, setup: Setup) -> dict[str, Any]:
        return {"x": setup.session}

    def command(self, *given: object) -> list[str]:
        return [
            sys.executable,
            "-c",
            "import sys; print('log', file=sys.stderr); sys.stdin.readline()",
        ]


@pytest.fixture
def broker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> WritingBroker:
    (tmp_path / "place").mkdir()
    (tmp_path / "out").mkdir()
    made = WritingBroker(tmp_path / "place")

    @contextmanager
    def runs(
        version: str, settings: Mapping[str, str], say: object, proxy_port: int | None = None
    ) -> Iterator[Running]:
        with Interrupts() as interrupts, Processes(interrupts) as processes:
            yield Running(made, processes, tmp_path / "place")  # type: ignore[arg-type]

    monkeypatch.setattr(recording, "running", runs)
    return made


def quiet(message: str) -> None:
    pass


def about(tmp_path: Path, name: str) -> Recording:
    return Recording(name, tmp_path / "out", "4.3.0")


PLAYED = Scenario("s", "What.", (("start", "a"), ("trouble",), ("over",)), "poll_timeout", ("a",))
CALM = Scenario("s", "What.", (("start", "a"), ("commits", "a")))


def test_a_scenario_leaves_its_logs_and_the_truth(tmp_path: Path, broker: WritingBroker):
    done = record_scenario(about(tmp_path, "s"), PLAYED, Sleeper(), quiet)  # type: ignore[arg-type]
    assert (done.exit_code, done.reason, dict(done.lines)) == (0, "", {"broker": 1, "requests": 1})
    assert {p.name for p in (tmp_path / "out").iterdir()} == {
        "s.broker.log",
        "s.requests.log",
        "s.client.a.log",
        "s.truth.json",
    }
    assert (tmp_path / "out" / "s.client.a.log").read_text() == "log\n"
    truth = json.loads((tmp_path / "out" / "s.truth.json").read_text())
    assert (
        truth["what"] == "What."
        and truth["topic_ids"] == {"orders": "ID"}
        and truth["facts"]["requests"] == {"HEARTBEAT": 1}
    )
    assert [(a["who"], a["do"]) for a in truth["actions"]] == [
        ("a", "start"),
        ("scenario", "trouble begins"),
        ("scenario", "trouble is over"),
        ("a", "command stop"),
        ("a", "ended"),
    ]
    assert truth["clients"]["a"]["kind"] == "sleeper 1" and truth["clients"]["a"]["options"] == {
        "x": 3000
    }
    cause = truth["cause"]
    assert (cause["kind"], cause["who"], cause["or"]) == ("poll_timeout", ["a"], [])
    assert [cause["from_ms"], cause["to_ms"]] == [a["t"] for a in truth["actions"][1:3]]


@pytest.mark.parametrize(
    ("gone", "why"), [(False, "a never came"), (True, "the broker was killed")]
)
def test_a_scenario_that_did_not_come_about_says_so_and_leaves_what_there_is(
    tmp_path: Path, broker: WritingBroker, monkeypatch: pytest.MonkeyPatch, gone: bool, why: str
):
    broker.gone = gone

    def commits(stage: Stage, name: str) -> None:
        raise NotStaged(f"{name} never came")

    monkeypatch.setattr(Stage, "commits", commits)
    done = record_scenario(about(tmp_path, "s"), CALM, Sleeper(), quiet)  # type: ignore[arg-type]
    assert done.exit_code == 3 and done.reason == f"the scenario did not take place: {why}"
    truth = json.loads((tmp_path / "out" / "s.truth.json").read_text())
    assert truth["actions"][0]["do"] == "start" and truth["cause"] is None


def test_a_broker_that_its_command_has_ended_does_not_cost_the_recording(
    tmp_path: Path, broker: WritingBroker
):
    broker.gone, said = True, list[str]()
    done = record_command(about(tmp_path, "c"), ["sh", "-c", "exit 4"], {}, None, said.append)
    assert done.exit_code == 4 and said[-1] == "the broker has ended"
    assert dict(done.lines) == {"broker": 1, "requests": 1}
    assert done.document()["files"] == {
        kind: str(tmp_path / "out" / f"c.{kind}.log") for kind in ("broker", "requests", "command")
    }


def test_a_command_whose_clients_print_nothing_is_told_how_to_keep_their_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """As pytest prints kafka-python's lines, and without."""
    said = (
        "INFO     kafka.coordinator:base.py:1 Successfully joined group g <Generation 1>\n",
        "1 passed in 4.84s\n",
    )
    for output, hint in zip(said, (False, True)):
        log = tmp_path / "python.command.log"
        log.write_text(output)

        def recorded(about: Recording, command: Any, *_: object, log: Path = log) -> Any:
            return recording.Recorded(about, 0, 1.0, {"command": log}, {}, command=command)

        monkeypatch.setattr(recording_command, "record_command", recorded)
        assert cli.run(["record", "--out", str(tmp_path), "--", sys.executable]) == 0
        err = capsys.readouterr().err
        assert ("holds no line of a client" in err) is hint
        assert ("-o log_cli=true -o log_cli_level=INFO" in err) is hint
