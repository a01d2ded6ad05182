"""The processes that a recording starts, each in a process group of its own, so that none is left
at the end, not even after Ctrl-C or a request to end.
"""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any, Self

from groupcheck.model.engine import UserError

PATIENCE_S = 5.0  # after SIGTERM, before SIGKILL
POLL_S = 0.02
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
        """The block runs to its end, so it must be bounded in time. A signal that arrived meanwhile
        is raised after it, unless the block raised an error.
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

    def start(
        self, command: Sequence[str], *, session: bool = False, **options: Any
    ) -> subprocess.Popen[bytes]:
        """Starts a program. `session`: in a session of its own, so that it may read from the
        terminal; `options` are Popen's. Raises `UserError` if it cannot be started.
        """
        grouped = {"start_new_session": True} if session else {"process_group": 0}
        with self._interrupts.held():
            try:
                process = subprocess.Popen(command, **grouped, **options)
            except (OSError, ValueError) as error:
                why = (
                    error.strerror if isinstance(error, OSError) and error.strerror else str(error)
                )
                raise UserError(f"cannot start {Path(command[0]).name}: {why}") from None
            self._started.append(process)
        return process

    def end(self, process: subprocess.Popen[bytes], patience_s: float = PATIENCE_S) -> None:
        """Ends a process and its group: SIGTERM (and SIGCONT, as it may be frozen), after
        `patience_s` SIGKILL.

        Call it as well, and at once, for a process that ended by itself: the system may give its
        number to another process later.
        """
        with self._interrupts.held():
            end_groups([process], patience_s)
            self._started.remove(process)

    def end_all(self, patience_s: float = PATIENCE_S) -> None:
        """Ends every group, all at the same time."""
        end_groups(self._started, patience_s)
        self._started.clear()


def end_groups(processes: Sequence[subprocess.Popen[bytes]], patience_s: float) -> None:
    """Asks these process groups to end, waits for them together, then kills what is left."""
    for process in processes:
        tell_group(process, signal.SIGTERM)
        tell_group(process, signal.SIGCONT)
    until = time.monotonic() + patience_s
    while time.monotonic() < until and any(group_lives(p) for p in processes):
        time.sleep(POLL_S)
    for process in processes:
        tell_group(process, signal.SIGKILL)
        process.wait()
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe:
                with suppress(OSError):
                    pipe.close()


def tell_group(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    """Sends a signal to a process's whole group; does nothing if nobody is left."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


def group_lives(process: subprocess.Popen[bytes]) -> bool:
    """Is anybody left in the group? Collects the process if it has ended."""
    process.poll()
    try:
        os.killpg(process.pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return process.returncode is None
    return True
