"""The program under test: one process, its events as they come, and its log.

What it prints is input: lines and logs are bounded, and what is no event is kept as its log.
"""

from __future__ import annotations

import signal
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

from groupcheck.oracles.judge.client.events import LONGEST_LINE, STOP, Event, read_line
from groupcheck.oracles.processes import process_groups
from groupcheck.traces.event_lines.event import BadEvent

LOG_LINES, LOG_CHARS = 200, 500
PATIENCE_S = 2.0


class Program:
    """A started program. `heard` is called by a thread of its own, with each event."""

    def __init__(
        self,
        command: Sequence[str | Path],
        environment: Mapping[str, str],
        heard: Callable[[Event], None],
    ) -> None:
        """Raises `UserError` if it cannot be started."""
        self._process = process_groups.start(
            command,
            where="COMMAND",
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=dict(environment),
        )
        self._heard = heard
        # The last lines that are no events; lines that begin as an event and are none.
        self.log: deque[str] = deque(maxlen=LOG_LINES)
        self.strange: deque[str] = deque(maxlen=LOG_LINES)
        assert self._process.stdout is not None and self._process.stderr is not None
        pipes = ((self._process.stdout, self._event), (self._process.stderr, self._logged))
        self._threads = [
            threading.Thread(target=_read, args=(pipe, hear), daemon=True) for pipe, hear in pipes
        ]
        for thread in self._threads:
            thread.start()

    def _event(self, line: str) -> None:
        try:
            events = read_line(line)
        except BadEvent as wrong:
            self.strange.append(f"{wrong}: {line[:LOG_CHARS]}")
            return
        if not events:
            self._logged(line)
        for event in events:
            self._heard(event)

    def _logged(self, line: str) -> None:
        self.log.append(line[:LOG_CHARS])

    @property
    def code(self) -> int | None:
        """Its exit code; None while it runs."""
        return self._process.poll()

    def signal(self, number: signal.Signals) -> None:
        """Sends a signal to it and to all that it has started; nothing if nobody is left."""
        process_groups.tell_group(self._process, number)

    def stop(self) -> None:
        """Asks it to close its consumer and to end."""
        assert self._process.stdin is not None
        with suppress(OSError, ValueError):
            self._process.stdin.write(f"{STOP}\n".encode())
            self._process.stdin.flush()

    def wait(self, seconds: float) -> int | None:
        """Its exit code; None if it still runs after this time."""
        until = time.monotonic() + seconds
        while (code := self.code) is None and time.monotonic() < until:
            time.sleep(0.02)
        return code

    def end(self) -> None:
        """Ends it with all that it has started. What it said has been heard then."""
        process_groups.end([self._process], 0.0 if self.code is None else PATIENCE_S)
        for thread in self._threads:
            thread.join(PATIENCE_S)


def _read(pipe: IO[bytes], hear: Callable[[str], None]) -> None:
    """Reads lines, of which each may be as long as it likes, in bounded memory."""
    with suppress(ValueError, OSError):
        whole = True
        while part := pipe.readline(LONGEST_LINE):
            if whole:
                hear(part.decode("utf-8", "replace").rstrip("\n")[:LONGEST_LINE])
            whole = part.endswith(b"\n")
