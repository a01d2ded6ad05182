"""Compiles kernels in a process of its own, while a search in plain Python goes on. What it has
compiled is kept for the next run, so it goes on if the search ends before it: otherwise a scope
that plain Python answers in ten seconds would never get kernels.

In CI and in pytest it ends with the program: nobody expects a process there that outlives its job
or its test. `GROUPCHECK_COMPILE_LATER` decides otherwise: 1 for yes, 0 for no.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from groupcheck.model.engine.fast.cache import cache_directory
from groupcheck.model.engine.fast.compiling import compiling
from groupcheck.model.engine.fast.kernels.compiled import Unit, is_kept, load

VARIABLE = "GROUPCHECK_COMPILE_LATER"
NICER = 5  # than the search that goes on meanwhile
LONGEST_S = 300  # that it runs, however slow the machine is
_running: dict[tuple[Unit, ...], Background] = {}  # what this process has started


def in_background(units: Sequence[Unit]) -> Background:
    """A process that compiles units: one that does so already, or a new one."""
    known = _running.get(tuple(units))
    if known is None or known.has_ended:
        known = _running[tuple(units)] = Background(units)
    return known


def outlives() -> bool:
    """May the process outlive the program that has started it?"""
    chosen = os.environ.get(VARIABLE)
    if chosen in ("0", "1"):
        return chosen == "1"
    is_tested = not {"PYTEST_VERSION", "PYTEST_CURRENT_TEST"}.isdisjoint(os.environ)
    return not is_tested and os.environ.get("CI", "").lower() in ("", "0", "false")


class Background:
    """A process that compiles units."""

    def __init__(self, units: Sequence[Unit]) -> None:
        self.units = tuple(units)
        compiling.announce(cache_directory(), meanwhile=True)
        # It finds modules where this process does, but not a `queue.py` of the user's in place of
        # Python's: -P leaves the folder in which it runs out, and other folders come last.
        more = [folder for folder in sys.path if folder]
        start = f"import sys; sys.path += {more}; from {__name__} import main; main(sys.argv[1:])"
        self._process: subprocess.Popen[bytes] | None = None
        # In a session of its own: Ctrl-C is meant for the search. If the system refuses a process,
        # it counts as one that has failed.
        with contextlib.suppress(OSError):
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", start, *map(_text, units)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
            if outlives():
                compiling.started(self._process.pid)

    @property
    def has_ended(self) -> bool:
        """Has it compiled all of them, or failed to?"""
        return self._process is None or self._process.poll() is not None

    def wait(self) -> None:
        """Waits until it has ended."""
        if self._process is not None:
            self._process.wait()

    def leave(self) -> None:
        """Lets it run on when this process ends (Python would warn of it), or ends it."""
        if self._process is None or self.has_ended:
            return
        if outlives():
            self._process.returncode = 0
        else:
            self._process.kill()
            self._process.wait()


@atexit.register
def _leave_all() -> None:
    for started in _running.values():
        started.leave()


def _text(unit: Unit) -> str:
    return f"{unit.words}:{int(unit.urgent)}:{unit.what}"


def can_compile(units: Sequence[Unit]) -> bool:
    """Is there a folder that keeps what another process compiles?"""
    return all(map(is_kept, units))


def main(given: Sequence[str]) -> None:
    """Compiles units, each given as words:urgent:what, and keeps them."""
    if hasattr(signal, "alarm"):  # by default it ends the process even inside the compiler
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(LONGEST_S)
    if hasattr(os, "nice"):
        os.nice(NICER)
    with contextlib.suppress(OSError):  # Linux: its session, too, gives way to others
        Path("/proc/self/autogroup").write_text(str(NICER))
    for text in given:
        words, urgent, what = text.split(":")
        load(Unit.named(int(words), bool(int(urgent)), what))
