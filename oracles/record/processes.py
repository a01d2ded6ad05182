"""The processes that a recording starts, each in a process group of its own, so that none is left
at the end, not even after Ctrl-C or a request to end.
"""

from __future__ import annotations

import signal
import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any, Self

from groupcheck.oracles.processes import process_groups

PATIENCE_S = 5.0  # after SIGTERM, before SIGKILL
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupts:
    """While it is entered, SIGINT, SIGTERM and SIGHUP raise `KeyboardInterrupt` in the main thread,
    but never between the start of a process and the moment when somebody is responsible for it:
    inside `held` they wait for its end.
    """

    def __init__(self) -> None:
        self._before: dict[signal.Signals, Any] = {}
        self._held = 0
        self._pending = False

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in SIGNALS:
                self._before[number] = signal.signal(number, self._arrived)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before.clear()

    def _arrived(self, number: int, frame: FrameType | None) -> None:
        if self._held:
            self._pending = True
        else:
            raise KeyboardInterrupt

    @contextmanager
    def held(self) -> Iterator[None]:
        """The block runs to its end, so it must be bounded in time. Raises `KeyboardInterrupt`
        after it for a signal that arrived meanwhile, unless the block failed.
        """
        self._held += 1
        try:
            yield
        finally:
            self._held -= 1
        if self._pending and not self._held:
            self._pending = False
            raise KeyboardInterrupt


class Processes:
    """The processes of one recording. At the end of the `with` block all that still run are ended,
    with everything that they started in their groups.
    """

    def __init__(self, interrupts: Interrupts) -> None:
        self._interrupts = interrupts
        self._started: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with self._interrupts.held():
            self.end_all()

    def start(self, command: Sequence[str], **options: Any) -> subprocess.Popen[bytes]:
        """Starts a program; `options` are Popen's. Raises `UserError` if it cannot be started."""
        with self._interrupts.held():
            process = process_groups.start(command, **options)
            self._started.append(process)
        return process

    def end(self, process: subprocess.Popen[bytes], patience_s: float = PATIENCE_S) -> None:
        """Ends a process and its group: SIGTERM, after `patience_s` SIGKILL. For a process that
        ended by itself, too.
        """
        with self._interrupts.held():
            process_groups.end([process], patience_s)
            self._started.remove(process)

    def end_all(self, patience_s: float = PATIENCE_S) -> None:
        """Ends every group, all at the same time."""
        process_groups.end(self._started, patience_s)
        self._started.clear()
