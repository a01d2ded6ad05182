"""Starts a broker and ends it. A program of `programs` gets one JSON object as its argument, with
`topics`, `settings` and perhaps `port`, prints one with `address` and `version` when it serves, and
ends when its input ends.
"""

from __future__ import annotations

import json
import selectors
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from attrs import frozen

from groupcheck.model.engine import OutageError, UserError
from groupcheck.oracles.judge.brokers.kinds import KAFKA, Kind, known
from groupcheck.oracles.judge.installing.installing import installed
from groupcheck.oracles.kafka import versions
from groupcheck.oracles.processes import process_groups
from groupcheck.oracles.processes.supervisor import temporary_folder
from groupcheck.oracles.record.processes import Interrupts, Processes
from groupcheck.oracles.record.running import running
from groupcheck.oracles.record.settings import checked
from groupcheck.oracles.show import terminal
from groupcheck.oracles.wire.sockets import free_ports

Say = Callable[[str], None]
START_S = 60.0
TAIL = 2000
TOPICS: Mapping[str, int] = {"t": 1}
"""Topic -> number of its partitions."""
# Rounds begin at once, sessions may be short, and what is sent first is carried out first.
QUICK = {
    "auto.create.topics.enable": "false",
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "100",
    "num.io.threads": "1",
}


@frozen
class Broker:
    # Of the broker, as it says it itself.
    version: str
    # HOST:PORT.
    address: str
    # The error, if it has ended or was stopped; None as long as it runs.
    outage: Callable[[], OutageError | None]


@contextmanager
def start(
    name: str,
    settings: Mapping[str, str] | None = None,
    topics: Mapping[str, int] = TOPICS,
    version: str | None = None,
    say: Say = terminal.say,
) -> Iterator[Broker]:
    """A broker with these topics, on a port of the loopback. `settings`: Kafka's names of a
    broker's properties, on top of those that make groups quick. `version`: another one than the
    pinned one. Raises `UserError` if it cannot be installed, does not start, or lacks a setting.
    """
    kind = known(name)
    given = checked(settings or {})
    if kind.settings is not None and (foreign := min(given.keys() - kind.settings, default="")):
        raise UserError(
            f"{kind.title} has no setting {foreign}",
            where="--set",
            do=f"leave it out; it has {', '.join(sorted(kind.settings)) or 'none'}",
        )
    serve = _kafka if kind.name == KAFKA else _program
    with serve(kind, given, topics, version, say) as broker:
        yield broker


@contextmanager
def _kafka(
    kind: Kind, given: Mapping[str, str], topics: Mapping[str, int], version: str | None, say: Say
) -> Iterator[Broker]:
    release = versions.known(version or versions.DEFAULT)
    with running(release, QUICK | dict(given), say) as on:
        for topic, partitions in topics.items():
            on.broker.ask("topic", topic, partitions)
        on.broker.ask("group", "groupcheck")  # until its coordinator is there
        about = f"Apache Kafka {release}"
        yield Broker(about, on.broker.address, on.broker.outage)


@contextmanager
def _program(
    kind: Kind, given: Mapping[str, str], topics: Mapping[str, int], version: str | None, say: Say
) -> Iterator[Broker]:
    assert kind.recipe
    command = installed(kind.recipe, version, say)
    quick = {name: value for name, value in QUICK.items() if name in (kind.settings or ())}
    told: dict[str, object] = {"topics": dict(topics), "settings": quick | dict(given)}
    if kind.takes_port:
        told["port"] = free_ports(1)[0]
    with (
        Interrupts() as interrupts,
        temporary_folder("groupcheck-broker-") as place,
        Processes(interrupts) as processes,
    ):
        log = place / "broker.log"
        with log.open("wb") as output:
            process = processes.start(
                [*command, json.dumps(told)],
                cwd=place,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=output,
            )
        said = _answer(process, kind, log)
        say(f"{kind.title} serves on {said['address']}")
        yield Broker(
            said["version"],
            said["address"],
            lambda: process_groups.outage(process, kind.title),
        )


def _answer(process: subprocess.Popen[bytes], kind: Kind, log: Path) -> dict[str, str]:
    """What the program says when it serves. Raises `UserError` with the end of its log, if it does
    not.
    """
    assert process.stdout
    with selectors.DefaultSelector() as waiting:
        waiting.register(process.stdout, selectors.EVENT_READ)
        line = process.stdout.readline(TAIL) if waiting.select(START_S) else b""
    try:
        said = json.loads(line)
        return {"address": str(said["address"]), "version": str(said["version"])}
    except (ValueError, KeyError, TypeError):
        tail = log.read_bytes()[-TAIL:].decode("utf-8", "replace").strip().splitlines()
        why = tail[-1].strip() if tail else f"no answer within {START_S:.0f} s"
        raise UserError(f"{kind.title} does not start: {why[:300]}") from None
