"""An adapter of a client library as a process, with the events that it prints."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

from groupcheck.model.assignors import Partition
from groupcheck.oracles.judge.client.events import (
    Assigned,
    Closed,
    Delivered,
    Event,
    Failed,
    Lost,
    MemberSettings,
    Revoked,
)
from groupcheck.oracles.judge.client.program import Program
from groupcheck.oracles.judge.libraries import Program as Adapter

PATIENCE_S = 40.0


class Run:
    """A consumer that runs until it is told to stop. Its own log is that of its `program`."""

    def __init__(self, adapter: Adapter, settings: MemberSettings) -> None:
        self.events: list[Event] = []
        environment = os.environ | dict(adapter.environment) | settings.environment()
        self.program = Program(adapter.command, environment, self.events.append)

    def __enter__(self) -> Run:
        return self

    def __exit__(self, *_: object) -> None:
        self.program.end()

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
            if time.monotonic() > end or (self.of(Failed) and self.program.code is not None):
                told = "\n".join(map(str, [*self.events[-20:], *self.program.log]))
                raise AssertionError(f"{what} did not come\n{told}")
            assert not self.program.strange, self.program.strange
            time.sleep(0.02)

    def stop(self) -> None:
        """Has it close; afterwards it has ended with 0, and its last event was `closed`."""
        self.program.stop()
        self.until("its end", lambda: self.program.code is not None, 20.0)
        self.program.end()  # all that it said is heard
        assert self.program.code == 0
        assert isinstance(self.events[-1], Closed), self.events[-5:]
