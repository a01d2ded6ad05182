"""Real members: consumers of one release of Kafka's client in one JVM (java/src/.../Main.java)."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from attrs import frozen

from groupcheck.model.engine import OutageError, UserError
from groupcheck.oracles.kafka import install
from groupcheck.oracles.kafka.install import Program
from groupcheck.oracles.museum.exhibits import EXHIBITS, releases
from groupcheck.oracles.museum.network import HOST, Network
from groupcheck.oracles.processes import process_groups
from groupcheck.oracles.show import terminal
from groupcheck.oracles.wire.loop import CHUNK

MEMBERS = Program(
    "the consumers of an old client",
    Path(__file__).parent / "java",
    "museum.jar",
    "museum",
    versions=releases(one for one in EXHIBITS if not one.on_broker),
)
OPTIONS = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData", "-Xmx256m")
TAIL = 600


@frozen
class Event:
    """An event that happened to the application of a member."""

    member: str
    # assigned, revoked, lost, processed, or failed.
    what: str
    # Partitions such as t-0; records such as t-0@5; the words of an exception.
    of: tuple[str, ...]


class Members:
    """A JVM with consumers. A context manager."""

    def __init__(
        self,
        release: str,
        network: Network,
        heard: Callable[[Event], None],
        say: Callable[[str], None] = terminal.say,
    ) -> None:
        """Raises `UserError` without a JDK or Maven."""
        self._network, self._heard, self.release = network, heard, release
        command = (
            *install.launcher(MEMBERS),
            *OPTIONS,
            "-cp",
            install.classpath(release, say, MEMBERS),
            "groupcheck.museum.Main",
        )
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 (open as long as the process)
        self._process = process_groups.start(
            command,
            do="install a JDK 17 or newer",
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            bufsize=0,
        )
        assert self._process.stdout
        self._out = self._process.stdout.fileno()
        os.set_blocking(self._out, False)
        self._rest = b""
        self._busy: dict[str, int] = {}
        network.watch(self._out, self._read)

    def __enter__(self) -> Members:
        return self

    def __exit__(self, kind: object, error: object, where: object) -> None:
        """Raises `OutageError` if the JVM was killed or stopped: then nothing is known of it."""
        outage = self.outage()
        process_groups.end([self._process])
        self._errors.close()
        if outage and not isinstance(error, UserError):
            raise outage from None

    def outage(self) -> OutageError | None:
        """The error for a JVM that was killed or stopped, or that has ended."""
        name = f"the JVM with the consumers of Kafka {self.release}"
        return process_groups.outage(self._process, name)

    def busy(self, member: str) -> bool:
        """Is a command of this member still being carried out?"""
        return self._busy.get(member, 0) > 0

    def open(self, member: str, settings: Mapping[str, object], topic: str) -> None:
        """Starts a consumer, which subscribes to a topic."""
        told = {"bootstrap.servers": f"{HOST}:{self._network.ports[member]}", **settings}
        self._tell("open", member, *(f"{key}={value}" for key, value in told.items()))
        self._tell("subscribe", member, topic)

    def poll(self, member: str, ms: int) -> None:
        self._tell("poll", member, str(ms))

    def read_network(self, member: str) -> None:
        """The member reads its answers, but does not look after its group."""
        self._tell("network", member)

    def _tell(self, *words: str) -> None:
        assert self._process.stdin
        self._busy[words[1]] = self._busy.get(words[1], 0) + 1
        with suppress(BrokenPipeError):  # `_read` finds out why nobody reads any more
            self._process.stdin.write((" ".join(words) + "\n").encode())

    def _read(self) -> None:
        chunk = os.read(self._out, CHUNK)
        if not chunk:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(2)
            if process_groups.is_from_outside(self._process) and (outage := self.outage()):
                raise outage
            self._errors.seek(0)
            said = self._errors.read().decode(errors="replace").strip()[-TAIL:]
            raise UserError(
                f"the consumers of Kafka {self.release} died: {said or 'they said nothing'}",
                do="install a JDK 17 or newer",
            )
        *whole, self._rest = (self._rest + chunk).split(b"\n")
        for line in whole:
            member, _, rest = line.decode(errors="replace").partition(" ")
            what, *of = rest.split(" ")
            if member not in self._busy:
                continue  # the words of a script that stands for java
            if what == "idle":
                self._busy[member] -= 1
            else:
                self._heard(Event(member, what, tuple(of)))
