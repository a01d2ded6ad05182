"""One recording of a command or of a built-in scenario, from the start of the broker to the
files.
"""

from __future__ import annotations

import re
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any, BinaryIO

from attrs import evolve, frozen

from groupcheck.model.engine import UserError
from groupcheck.oracles.record.answers import topic_ids
from groupcheck.oracles.record.clients import GROUP, Client
from groupcheck.oracles.record.proxy import Proxy
from groupcheck.oracles.record.record_types import RecordDocument
from groupcheck.oracles.record.running import running
from groupcheck.oracles.record.scenario import Scenario
from groupcheck.oracles.record.selection import of_a_coordinator, of_a_group, select_file
from groupcheck.oracles.record.settings import HASTY
from groupcheck.oracles.record.shown import run_command
from groupcheck.oracles.record.stage import PARTITIONS, TOPIC, NotStaged, Stage, now
from groupcheck.oracles.record.truth import Played, Program, as_lines, truth
from groupcheck.oracles.show.files import write
from groupcheck.oracles.show.json_schemas import document

SCHEMA = "groupcheck.record/1"
NOT_STAGED = 3
Say = Callable[[str], None]


@frozen
class Recording:
    """The recording that the user asks for."""

    # The name and the folder of its files.
    name: str
    folder: Path
    # The Kafka version.
    kafka: str
    # The user's settings of the broker.
    settings: Mapping[str, str] = {}

    def file(self, kind: str) -> Path:
        """The file of a kind: `broker.log` is FOLDER/NAME.broker.log."""
        return self.folder / f"{self.name}.{kind}"


@frozen
class Recorded:
    """The result of a recording."""

    recording: Recording
    exit_code: int
    seconds: float
    # Kind -> path.
    files: Mapping[str, Path]
    # Kind -> how many lines were selected.
    lines: Mapping[str, int]
    # Why the scenario did not take place; empty if it did.
    reason: str = ""
    command: Sequence[str] | None = None
    scenario: str | None = None
    client: str | None = None
    # Of a scenario: how often each kind of thing happened.
    facts: Mapping[str, int] = {}

    def document(self) -> dict[str, Any]:
        """The document that `--json` prints."""
        shown = RecordDocument(
            name=self.recording.name,
            folder=str(self.recording.folder),
            kafka=self.recording.kafka,
            command=None if self.command is None else list(self.command),
            scenario=self.scenario,
            client=self.client,
            exit_code=self.exit_code,
            reason=self.reason,
            seconds=round(self.seconds, 3),
            files={kind: str(path) for kind, path in self.files.items()},
            lines=dict(self.lines),
            facts=dict(self.facts),
        )
        return document(SCHEMA, shown)


def name_of(command: Sequence[str]) -> str:
    """The name of the recording of a command: the name of its program."""
    return re.sub(r"[^A-Za-z0-9._-]+", "_", Path(command[0]).name)[:60].strip("._-") or "command"


@contextmanager
def folder(path: Path) -> Iterator[Path]:
    """The folder of a recording, created if it does not exist, and removed again if it stays empty.
    Raises `UserError` if it cannot be created.
    """
    was_there = path.is_dir()
    try:
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            pass
    except OSError as error:
        raise UserError(f"cannot write to {path}: {error.strerror}", where="--out") from None
    try:
        yield path
    finally:
        if not was_there:
            with suppress(OSError):  # there is something in it
                path.rmdir()


def record_command(
    about: Recording,
    command: Sequence[str],
    topics: Mapping[str, int],
    echo: BinaryIO | None,
    say: Say,
) -> Recorded:
    """Runs a command with a broker of its own and keeps what the broker logged meanwhile. `topics`
    (name -> partitions) are created first.
    """
    began = time.monotonic()
    with running(about.kafka, about.settings, say) as on:
        broker, processes, place = on.broker, on.processes, on.place
        for topic, partitions in topics.items():
            broker.ask("topic", topic, partitions)
        # Makes the offsets topic, so that the command does not have to wait for it.
        broker.ask("group", GROUP)
        from_ms, log = now(), about.file("command.log")
        say(f"running {' '.join(command)}")
        code = run_command(command, broker.address, log, echo, processes)
        say(f"it ended with {code}")
        try:
            broker.end()
        except UserError as error:
            say(str(error))  # the command may have ended it; what it logged until then is kept
        files, lines = _kept(about, place, from_ms, None)
    return Recorded(
        about, code, time.monotonic() - began, {**files, "command": log}, lines, command=command
    )


def record_scenario(about: Recording, scenario: Scenario, client: Client, say: Say) -> Recorded:
    """Plays a scenario with members of one library, and writes what really happened beside what the
    broker logged.
    """
    began = time.monotonic()
    kind = client.installed(about.kafka)
    settings = HASTY | dict(scenario.settings) | dict(about.settings)
    with (
        Proxy(scenario.idle_s) if scenario.idle_s else nullcontext() as proxy,
        running(about.kafka, settings, say, proxy.port if proxy else None) as on,
    ):
        broker, processes, place = on.broker, on.processes, on.place
        if proxy:
            proxy.target = broker.behind_proxy
        stage = Stage(place, broker, client, processes, say, proxy)
        reason, from_ms = "", now()
        try:
            stage.prepare(scenario.topic)
            from_ms = now()
            scenario.play(stage)
            stage.close()
            broker.ask("flush")
        except (NotStaged, UserError) as error:
            reason = f"the scenario did not take place: {broker.outage() or error}"
        to_ms = now()
        processes.end_all()
        files, lines = _kept(about, place, from_ms, to_ms)
        for run in stage.runs:
            files[f"client.{run}"] = about.file(f"client.{run}.log")
            write(files[f"client.{run}"], (place / f"{run}.log").read_bytes())
        programs = {
            run.name: Program(
                _told_kind(run.events, kind), run.options, run.program, tuple(run.events)
            )
            for run in stage.runs.values()
        }
        played = Played(
            about.name,
            scenario,
            about.kafka,
            GROUP,
            {TOPIC: PARTITIONS},
            settings,
            tuple(stage.done()),
            programs,
            from_ms,
            to_ms,
        )
        with (place / "broker.log").open(encoding="utf-8", errors="replace") as log:
            ids = topic_ids(log)
    document = truth(played, _lines(files["requests"]), _lines(files["broker"]), ids)
    files["truth"] = about.file("truth.json")
    write(files["truth"], as_lines(document) + "\n")
    done = Recorded(
        about, NOT_STAGED if reason else 0, time.monotonic() - began, files, lines, reason
    )
    return evolve(done, scenario=scenario.name, client=kind, facts=_counts(document["facts"]))


def _kept(
    about: Recording, place: Path, from_ms: int, to_ms: int | None
) -> tuple[dict[str, Path], dict[str, int]]:
    files = {"broker": about.file("broker.log"), "requests": about.file("requests.log")}
    wanted = {"broker": of_a_coordinator, "requests": of_a_group}
    return files, {
        kind: select_file(place / f"{kind}.log", path, wanted[kind], from_ms, to_ms)
        for kind, path in files.items()
    }


def _lines(path: Path) -> list[str]:
    with path.open(encoding="utf-8", errors="replace", newline="\n") as lines:
        return list(lines)


def _told_kind(events: Sequence[Mapping[str, Any]], otherwise: str) -> str:
    """The library and its version as the member itself reported them."""
    told = next((event["version"] for event in events if event["ev"] == "started"), otherwise)
    return otherwise if told == "java" else str(told)


def _counts(facts: Mapping[str, Any]) -> dict[str, int]:
    return {name: len(about) for name, about in facts.items() if isinstance(about, list)}
