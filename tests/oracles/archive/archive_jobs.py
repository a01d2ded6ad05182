"""The command that replays an archive on Spark, as a process that a test may hurt."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

PATIENCE_S = 300.0


@contextlib.contextmanager
def driver(archive: Path, logs: Path) -> Iterator[subprocess.Popen[str]]:
    """The command, which commits every three packs, in a process group of its own, killed at the
    end.
    """
    script = (
        "import sys;"
        " from groupcheck.oracles.archive import pipeline; pipeline.WAVE_PACKS = 3;"
        " from groupcheck.oracles.command_line.cli import main; main()"
    )
    command = [
        sys.executable,
        "-c",
        script,
        "replay",
        "--spark",
        "local[2]",
        "--out",
        str(archive),
        str(logs),
    ]
    process = subprocess.Popen(
        command, start_new_session=True, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def logs(folder: Path) -> list[Path]:
    return sorted(p for p in folder.rglob("*.log*"))


def unfinished(folder: Path) -> list[Path]:
    return (
        list((folder / "_unfinished").glob("events-*")) if (folder / "_unfinished").is_dir() else []
    )


def wait_for(there: Callable[[], object], has_ended: Callable[[], bool]) -> None:
    """Until what is only there for a while has been seen; somebody must still be at work on it."""
    until = time.monotonic() + PATIENCE_S
    while not there():
        assert not has_ended(), "it has ended, and what comes in the middle was not seen"
        assert time.monotonic() < until, "what comes in the middle did not come"
        time.sleep(0.005)


def wait_for_parts(folder: Path, process: subprocess.Popen[str]) -> None:
    wait_for(lambda: unfinished(folder), lambda: process.poll() is not None)


def wait_for_wave(folder: Path, process: subprocess.Popen[str]) -> None:
    """The first wave is in place, the next on its way."""
    wait_for(lambda: list((folder / "verdicts").glob("0*")), lambda: process.poll() is not None)
    wait_for_parts(folder, process)


def family(root: int) -> dict[int, tuple[int, str]]:
    """Of a process and all that descend from it: process id -> (parent, command line)."""
    told: dict[int, tuple[int, str]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            told[int(stat.parent.name)] = (
                int(stat.read_text().rpartition(")")[2].split()[1]),
                (stat.parent / "cmdline").read_text(),
            )
    found = [root]
    for pid in found:
        found += [child for child, (parent, _) in told.items() if parent == pid]
    return {pid: told[pid] for pid in found}
