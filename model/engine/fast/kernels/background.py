"""Compiles kernels in a process of its own, while a search in plain Python goes on. The process
ends by itself, even if nobody waits for it any more: what it has compiled is kept for the next run.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence

from groupcheck.model.engine.fast.cache import cache_directory
from groupcheck.model.engine.fast.compiling import compiling
from groupcheck.model.engine.fast.kernels.compiled import Unit, is_kept, load

NICER = 5  # than the search that goes on meanwhile


class Background:
    """A process that compiles units."""

    def __init__(self, units: Sequence[Unit]) -> None:
        self.units = tuple(units)
        compiling.announce(cache_directory(), meanwhile=True)
        # In a session of its own: Ctrl-C is meant for the search.
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__, *map(_text, units)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    @property
    def has_ended(self) -> bool:
        """Has it compiled all of them, or failed to?"""
        return self._process.poll() is not None


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


if __name__ == "__main__":
    main(sys.argv[1:])
