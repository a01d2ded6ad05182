"""Everything that a recording starts, each in a process group of its own, so that nothing of it is
left at the end.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from groupcheck.model.engine import UserError
from groupcheck.oracles.record.interrupts import Interrupts

PATIENCE_S = 5.0  # after SIGTERM, before SIGKILL
POLL_S = 0.02


class Processes:
    """The processes of one recording. Leaving it ends all that still run, with everything that they
    started in their groups.
    """

    def __init__(self, interrupts: Interrupts) -> None:
        self._interrupts = interrupts
        self._started: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with self._interrupts.held():
            self.end_all()

    def start(
        self, command: Sequence[str], *, session: bool = False, **options: Any
    ) -> subprocess.Popen[bytes]:
        """Starts a program; `session` gives it a session of its own too, so that it may read from
        the terminal. `options` are Popen's.
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
        """Ends a process and its group: SIGTERM (and SIGCONT: it may be frozen), after `patience_s`
        SIGKILL.

        Also to be called for one that ended by itself, at once: its number may be given to somebody
        else later.
        """
        with self._interrupts.held():
            end_groups([process], patience_s)
            self._started.remove(process)

    def end_all(self, patience_s: float = PATIENCE_S) -> None:
        """Ends every group, all at once."""
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
    """Sends a signal to all of a process's group; nothing where there is nobody left."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


def group_lives(process: subprocess.Popen[bytes]) -> bool:
    """Is there anybody left in the group? A process that has ended is collected on the way."""
    process.poll()
    try:
        os.killpg(process.pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return process.returncode is None
    return True
