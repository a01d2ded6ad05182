"""What may be asked of a search besides its limits."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from attrs import field, frozen


@frozen
class Options:
    """The options of one search, whichever stages it has."""

    # Threads that explore (no more than there are cores), and processes that call rules where there
    # is enough to call. Counts do not depend on it; which of several shortest paths is told does.
    workers: int = 1
    # A folder for checkpoints, from which `resume` continues to the same numbers; written at ends
    # of levels, and when the search is stopped (the last complete level). One that holds a
    # checkpoint already is refused unless `resume` names it too.
    checkpoint: str | Path | None = None
    resume: str | Path | None = None
    # The folder for checkpoints is a store: it holds the log of all states, too, and only an index
    # of them stays in memory.
    stored: bool = False
    # Called with the search that has ended, which has all states, before its memory is given back.
    look: Callable[[Any], None] | None = None
    # Judges the progress promises, too, when the search has ended.
    liveness: bool = False
    # Stores one state of each orbit where the spec allows it. The numbers stay those of all states;
    # limits are about those that are stored. None: where it is worth while.
    symmetry: bool | None = False
    # Where there is no symmetry after all, that is an error.
    required: bool = False
    # Goals whose shortest paths are told, too, once the search has ended.
    goals: Sequence[str] = ()
    # When it began, by `time.perf_counter`: a search that begins again keeps its clock.
    began: float = field(factory=lambda: time.perf_counter())
