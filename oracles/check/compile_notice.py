"""Says on stderr that kernels are compiled: it takes some seconds, once on a machine."""

from __future__ import annotations

import sys
from pathlib import Path

from groupcheck.model.engine.fast.cache import why_not_kept
from groupcheck.model.engine.fast.compiling import compiling, hear_of_compiling
from groupcheck.oracles.printable import printable
from groupcheck.oracles.processes.supervisor import tell


def announce_compiling() -> None:
    """Has stderr told, once, before kernels are compiled: how long, where they will be kept, and
    whether the search goes on meanwhile.
    """

    def announce(folder: Path | None, meanwhile: bool) -> None:
        kept = f"kept in {folder}" if folder else f"for this run only: {why_not_kept()}"
        goes_on = ", while plain Python searches on" if meanwhile else ""
        text = f"compiling the search for this machine, some 15 seconds{goes_on}, {kept}"
        print(printable(f"groupcheck: {text}"), file=sys.stderr, flush=True)

    hear_of_compiling(announce)
    compiling.started = lambda pid: tell("spares", pid)
