"""One run of one program: CPU time, wall time, peak memory, and what it said."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import frozen


class Failed(Exception):
    """A program that did not end well, or whose counts are not the pinned ones: its time is worth
    nothing.
    """


@frozen
class Run:
    """`cpu` (user and system, children included) and `wall` in seconds, `peak` resident memory in
    bytes, `said`: all it printed.
    """

    cpu: float
    wall: float
    peak: int
    said: str

    @property
    def answer(self) -> dict[str, Any]:
        """The last line as a JSON object."""
        found: dict[str, Any] = json.loads(self.said.strip().splitlines()[-1])
        return found


def run(command: Sequence[str | Path], extra: Mapping[str, str] | None = None) -> Run:
    """Runs a program to its end. The kernel's own account of it (`wait4`) is exact, however short
    the run.
    """
    with tempfile.TemporaryFile() as out:
        began = time.perf_counter()
        process = subprocess.Popen(
            command, env={**os.environ, **(extra or {})}, stdout=out, stderr=subprocess.STDOUT
        )
        try:
            _, status, used = os.wait4(process.pid, 0)
        except BaseException:
            process.kill()
            raise
        wall = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        said = out.read().decode(errors="replace")
    if process.returncode:
        raise Failed(
            f"{' '.join(map(str, command))} ended with {process.returncode}: {said[-800:]}"
        )
    return Run(used.ru_utime + used.ru_stime, wall, used.ru_maxrss * 1024, said)
