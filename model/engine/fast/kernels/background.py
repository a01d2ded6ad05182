"""Compiles kernels in a process of its own, while a search in plain Python goes on. What it has
compiled is kept for the next run. It goes on if the search ends before it; but the program
`groupcheck` ends with all that it has started.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import subprocess
import sys
from collections.abc import Sequence

from groupcheck.model.engine.fast.cache import cache_directory
from groupcheck.model.engine.fast.compiling import compiling
from groupcheck.model.engine.fast.kernels.compiled import Unit, is_kept, load

NICER = 5  # than the search that goes on meanwhile
_running: dict[tuple[Unit, ...], Background] = {}  # what this process has started


def in_background(units: Sequence[Unit]) -> Background:
    """A process that compiles units: one that does so already, or a new one."""
    known = _running.get(tuple(units))
    if known is None or known.has_ended:
        known = _running[tuple(units)] = Background(units)
    return known


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

    @property
    def has_ended(self) -> bool:
        """Has it compiled all of them, or failed to?"""
        return self._process is None or self._process.poll() is not None

    def forget(self) -> None:
        """Lets it run on when this process ends: Python would warn of it."""
        if self._process is not None and not self.has_ended:
            self._process.returncode = 0


@atexit.register
def _forget_all() -> None:
    for started in _running.values():
        started.forget()


def _text(unit: Unit) -> str:
    return f"{unit.words}:{int(unit.urgent)}:{unit.what}"


def can_compile(units: Sequence[Unit]) -> bool:
    """Is there a folder that keeps what another process compiles?"""
    return all(map(is_kept, units))


def main(given: Sequence[str]) -> None:
    """Compiles units, each given as words:urgent:what, and keeps them."""
    if hasattr(os, "nice"):
        os.nice(NICER)
    for text in given:
        words, urgent, what = text.split(":")
        load(Unit.named(int(words), bool(int(urgent)), what))
