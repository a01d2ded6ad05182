"""A command that is recorded: it runs with the broker's address in its environment, its output is
shown and kept, and its end is bounded in time.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import threading
from collections.abc import Sequence
from contextlib import suppress
from io import RawIOBase
from pathlib import Path
from typing import BinaryIO

from groupcheck.oracles.processes.process_groups import tell_group
from groupcheck.oracles.record.processes import Processes

ADDRESS = ("KAFKA_BOOTSTRAP_SERVERS", "GROUPCHECK_BOOTSTRAP")
GRACE_S = 10.0  # after Ctrl-C
CHUNK = 1 << 16
TICK_MS = 100


def run_command(
    command: Sequence[str], address: str, log: Path, echo: BinaryIO | None, processes: Processes
) -> int:
    """Runs a command to its end and returns its exit code, 128 + N if signal N ended it (as shells
    do).

    Its output goes to `log` and to `echo`. Ctrl-C is passed on to it once; then it is ended, with
    all that it started in its session. Raises `UserError` if it cannot be started, and `OSError`
    if its output cannot be kept; then it is ended.
    """
    with log.open("wb", buffering=0) as kept:
        reading, writing = os.pipe()
        try:
            environment = os.environ | dict.fromkeys(ADDRESS, address)
            process = processes.start(
                command, stdout=writing, stderr=subprocess.STDOUT, env=environment
            )
        except BaseException:
            os.close(reading)
            raise
        finally:
            os.close(writing)
        ended, failures = threading.Event(), list[OSError]()
        about = (reading, kept, echo, ended, failures)
        pump = threading.Thread(target=_pump, args=about, daemon=True)
        try:
            _await(process, pump, failures)
        finally:
            processes.end(process)
            ended.set()
            pump.join()
            os.close(reading)
    if failures:
        raise OSError(failures[0].errno, failures[0].strerror, str(log))
    return process.returncode if process.returncode >= 0 else 128 - process.returncode


def _await(
    process: subprocess.Popen[bytes], pump: threading.Thread, failures: Sequence[OSError]
) -> None:
    """Waits until the command has ended, or its output cannot be kept."""
    try:
        pump.start()  # whoever sees an output can press Ctrl-C
        while not failures:
            with suppress(subprocess.TimeoutExpired):
                process.wait(TICK_MS / 1000)
                return
    except KeyboardInterrupt:
        tell_group(process, signal.SIGINT)
        with suppress(subprocess.TimeoutExpired, KeyboardInterrupt):  # a second Ctrl-C: at once
            process.wait(GRACE_S)


def _pump(
    reading: int,
    kept: RawIOBase,
    echo: BinaryIO | None,
    ended: threading.Event,
    failures: list[OSError],
) -> None:
    """Copies until the other side is closed or, once the command has ended, until nothing more
    comes: a process that it left behind may hold the pipe open. What cannot be kept is only read,
    so that the command can end.
    """
    poll = select.poll()
    poll.register(reading, select.POLLIN)
    while poll.poll(TICK_MS) or not ended.is_set():
        if not poll.poll(0):
            continue
        chunk = os.read(reading, CHUNK)
        if not chunk:
            return
        if not failures:
            try:
                left = memoryview(chunk)
                while left:  # a disk that is nearly full takes a part
                    left = left[kept.write(left) or 0 :]
            except OSError as error:
                failures.append(error)
        if echo is not None:
            try:
                echo.write(chunk)
                echo.flush()
            except (OSError, ValueError):  # nobody looks any more
                echo = None
