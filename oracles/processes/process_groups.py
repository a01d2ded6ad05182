"""Programs that groupcheck starts: each leads a session and a process group of its own, and the
whole group ends with it. What leaves its group, or what nobody has the time to end, ends with
groupcheck (`groupcheck.oracles.processes.supervisor`).
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from groupcheck.model.engine import OutageError, UserError
from groupcheck.oracles.processes.supervisor import signal_named, tell

POLL_S = 0.02
HUNG = "hung"
OURS = (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGTRAP)
"""Signals that a program causes by its own code. Others come from outside."""


def start(
    command: Sequence[str | Path], *, where: str = "", do: str = "", **options: Any
) -> subprocess.Popen[bytes]:
    """Starts a program in a session of its own, so that the terminal neither interrupts it nor
    stops it if it reads; `options` are Popen's. Raises `UserError` if it cannot be started; `where`
    and `do` are its fields.
    """
    try:
        process = subprocess.Popen(command, start_new_session=True, **options)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise UserError(f"cannot start {command[0]}: {why}", where=where, do=do) from None
    tell("group", process.pid)
    return process


def end(processes: Sequence[subprocess.Popen[bytes]], patience_s: float = 0.0) -> None:
    """Asks these process groups to end (SIGTERM, and SIGCONT, as they may be frozen), waits for
    them together, then kills what is left, and closes the pipes to them. Without patience they are
    killed at once.

    Call it as well, and at once, for a process that ended by itself: the system may give its number
    to another process later.
    """
    for process in processes if patience_s else ():
        tell_group(process, signal.SIGTERM)
        tell_group(process, signal.SIGCONT)
    until = time.monotonic() + patience_s
    while time.monotonic() < until and any(group_lives(p) for p in processes):
        time.sleep(POLL_S)
    for process in processes:
        tell_group(process, signal.SIGKILL)
        process.wait()
        tell("ended", process.pid)
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


def is_from_outside(process: subprocess.Popen[bytes]) -> bool:
    """Has a signal ended it that its own code does not cause?"""
    code = process.poll()
    return code is not None and code < 0 and -code not in OURS


def became(process: subprocess.Popen[bytes]) -> str:
    """The fate of a process that does not answer, to come after its name."""
    code = process.poll()
    if code is None:
        import psutil

        with suppress(psutil.Error):
            if psutil.Process(process.pid).status() == psutil.STATUS_STOPPED:
                return "is stopped (SIGSTOP)"
        return HUNG
    if code < 0:
        return f"was ended by {signal_named(-code)}"
    return f"has ended (exit code {code})"


def outage(process: subprocess.Popen[bytes], name: str) -> OutageError | None:
    """The error for a process that ended, though nobody here has ended it, or that is stopped."""
    what = became(process)
    return None if what == HUNG else OutageError(f"{name} {what}", do="run it again")
