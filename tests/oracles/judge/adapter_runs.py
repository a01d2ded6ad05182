"""An adapter of a client library as a process, with the events that it prints."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from groupcheck.oracles.judge.client.events import (
    STOP,
    Assigned,
    Closed,
    Delivered,
    Event,
    Failed,
    Lost,
    MemberSettings,
    Partition,
    Revoked,
    read_line,
)
from groupcheck.oracles.judge.libraries import Program
from groupcheck.oracles.processes import process_groups

PATIENCE_S = 40.0


class Run:
    """A consumer that runs until it is told to stop. Its own log is the file `log`."""

    def __init__(self, program: Program, settings: MemberSettings, log: Path) -> None:
        self._log = log
        self.events: list[Event] = []
        self._process = process_groups.start(
            program.command,
            env=os.environ | dict(program.environment) | settings.environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log.open("wb"),
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout
        for line in self._process.stdout:
            self.events.extend(read_line(line.decode()))

    def __enter__(self) -> Run:
        return self

    def __exit__(self, *_: object) -> None:
        process_groups.end([self._process])

    def of(self, kind: type[Any]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]

    @property
    def own(self) -> set[Partition]:
        """What it has, as its callbacks say."""
        own: set[Partition] = set()
        for event in self.events:
            if isinstance(event, Assigned):
                own = set(event.partitions) if event.whole else own | event.partitions
            elif isinstance(event, Revoked | Lost):
                own -= event.partitions
        return own

    @property
    def read(self) -> set[Partition]:
        """The partitions of which it got records."""
        return self.read_since(0)

    def read_since(self, before: int) -> set[Partition]:
        """The same, after so many events."""
        return {event.partition for event in self.events[before:] if isinstance(event, Delivered)}

    def until(self, what: str, done: Callable[[], bool], patience_s: float = PATIENCE_S) -> None:
        """Waits; fails with its events and its log if that takes too long."""
        end = time.monotonic() + patience_s
        while not done():
            if time.monotonic() > end or (self.of(Failed) and self._process.poll() is not None):
                told = "\n".join(map(str, self.events[-20:]))
                log = self._log.read_text("utf-8", "replace")[-3000:]
                raise AssertionError(f"{what} did not come\n{told}\n{log}")
            time.sleep(0.02)

    def freeze(self) -> None:
        process_groups.tell_group(self._process, signal.SIGSTOP)

    def thaw(self) -> None:
        process_groups.tell_group(self._process, signal.SIGCONT)

    def stop(self) -> None:
        """Has it close; afterwards it has ended with 0, and its last event was `closed`."""
        assert self._process.stdin
        self._process.stdin.write(f"{STOP}\n".encode())
        self._process.stdin.flush()
        self.until("its end", lambda: self._process.poll() is not None, 20.0)
        self._reader.join(5)
        assert self._process.returncode == 0
        assert isinstance(self.events[-1], Closed), self.events[-5:]
