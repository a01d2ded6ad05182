"""`groupcheck record` at the terminal: its options, progress on stderr, the files that were
written, the exit code.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from groupcheck.model.engine import UserError
from groupcheck.oracles.kafka.versions import known as known_version
from groupcheck.oracles.printable import as_text, printable
from groupcheck.oracles.record import clients, scenarios
from groupcheck.oracles.record.recording import (
    Recorded,
    Recording,
    folder,
    name_of,
    record_command,
    record_scenario,
)
from groupcheck.oracles.record.settings import checked
from groupcheck.traces.causes.evidence import Evidence
from groupcheck.traces.causes.scan_log import scan_log
from groupcheck.traces.reading import source_of

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")
MOST_PARTITIONS = 1000


TURN_ON = (
    "to keep them, turn on the client's logging: in Python logging.basicConfig(level=logging.INFO),"
    " with pytest -o log_cli=true -o log_cli_level=INFO"
)


def run(
    command: Sequence[str],
    *,
    scenario: str | None,
    client: str | None,
    group_protocol: str,
    out: Path | None,
    name: str | None,
    kafka: str,
    topics: Mapping[str, int],
    settings: Mapping[str, str],
    as_json: bool,
) -> int:
    """Records a command or a scenario and returns the exit code: the command's own; of a scenario
    0, or 3 if it did not take place. Raises `UserError` unless it is given one of the two, for a
    name that files cannot have, and for a program that is not found.
    """
    if bool(command) == bool(scenario):
        raise UserError(
            "needs either a command or a scenario",
            where="record",
            do="give `-- COMMAND...` or `--scenario NAME`",
        )
    _alone(bool(scenario), client, topics)
    if command and group_protocol == "consumer":
        raise UserError(
            "a command brings its own clients",
            where="--group-protocol",
            do="set group.protocol=consumer in the program, or give --scenario",
        )
    if name is not None and not NAME.fullmatch(name):
        raise UserError(
            f"{name[:40]!r} cannot be the name of files",
            where="--name",
            do="use letters, digits, dots, dashes and underscores",
        )
    given, version = checked(settings), known_version(kafka)
    if scenario:
        what, whose = scenarios.known(scenario), clients.known(client or clients.DEFAULT)
        whose.installed(version)
        if group_protocol == "consumer":
            what, whose = scenarios.with_consumer(what), whose.with_consumer()
        else:
            what = scenarios.without_consumer(what)
    elif shutil.which(command[0]) is None:
        raise UserError(f"no program {command[0][:200]} is found", where="COMMAND")
    with folder(out or Path(f"record-{datetime.now():%Y%m%d-%H%M%S}")) as place:
        about = Recording(name or scenario or name_of(command), place, version, given)
        if scenario:
            done = record_scenario(about, what, whose, _say)
        else:
            echo = sys.stderr if as_json else sys.stdout
            done = record_command(about, command, topics, getattr(echo, "buffer", None), _say)
    _show(done, as_json)
    if command and not _has_client_lines(done.files["command"]):
        _say(f"{done.files['command']} holds no line of a client ({TURN_ON})")
    return done.exit_code


def _has_client_lines(output: Path) -> bool:
    """Did the command print lines that say something about its clients?"""
    with suppress(UserError):  # an output that is no log
        return scan_log(source_of(str(output)), Evidence(), None, ()) is not None
    return False


def _alone(scenario: bool, client: str | None, topics: Mapping[str, int]) -> None:
    if client and not scenario:
        raise UserError(
            "a command brings its own clients",
            where="--client",
            do="leave it out, or give --scenario",
        )
    if topics and scenario:
        raise UserError("a scenario has a topic of its own", where="--topic", do="leave it out")
    for topic, partitions in topics.items():
        if not NAME.fullmatch(topic):
            raise UserError(f"{topic[:40]!r} cannot be the name of a topic", where="--topic")
        if not 1 <= partitions <= MOST_PARTITIONS:
            raise UserError(
                f"{topic} needs 1 to {MOST_PARTITIONS} partitions",
                where="--topic",
                do="give --topic NAME=N",
            )


def _say(message: str) -> None:
    print(f"groupcheck: {printable(message)}", file=sys.stderr, flush=True)


def _show(done: Recorded, as_json: bool) -> None:
    if as_json:
        sys.stdout.write(as_text(done.document()))
        return
    # stdout has the command's own output, or the result of the scenario.
    out = sys.stdout if done.scenario else sys.stderr
    for line in summary(done):
        print(printable(line), file=out)


def summary(done: Recorded) -> list[str]:
    about = done.recording
    said = [f"not staged  {about.name}: {done.reason}"] if done.reason else []
    lines = ", ".join(f"{count:,} {kind} lines" for kind, count in done.lines.items())
    said.append(
        f"recorded  {about.name}, Kafka {about.kafka}{f', {done.client}' if done.client else ''}:"
        f" {lines}, {done.seconds:.1f} s"
    )
    if done.facts:
        said.append(
            "  "
            + ", ".join(f"{name.replace('_', ' ')} {count}" for name, count in done.facts.items())
        )
    said += [f"  {path}" for path in done.files.values()]
    return said
