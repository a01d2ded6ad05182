"""Replications of several setups, as far as they are done: replication by replication, so that a
first figure is there early and more of them make it sharper.
"""

from __future__ import annotations

import math
import signal
import threading
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any

import attrs
from attrs import define, frozen

from groupcheck.oracles.processes.parallel import results
from groupcheck.oracles.simulate.run_cache import RunCache
from groupcheck.oracles.simulate.setup import Result, Setup
from groupcheck.oracles.simulate.simulation import simulate

Results = tuple[tuple[Result, ...], ...]
"""Of each setup those of its replications, of all setups equally many."""


@define
class Interrupts:
    """A block in which the first Ctrl-C is only noted, so that a run that is alone can end between
    two events; the second one interrupts. Only the main thread hears of it.
    """

    heard: bool = False
    _before: Any = None

    def __enter__(self) -> None:
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGINT, self._hears)

    def __exit__(self, *error: object) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def _hears(self, *_: object) -> None:
        if self.heard:
            raise KeyboardInterrupt
        self.heard = True


@frozen
class Progress:
    """How far the replications are."""

    # Runs, and the part of the one that is under way, if that is known.
    done: float
    runs: int
    results: Results
    # Of `done` those that an earlier command had kept.
    known: int = 0


def replicated(
    setups: Sequence[Setup],
    replications: int,
    seed: int,
    *,
    deadline: float = math.inf,
    workers: int = 1,
    least: int | None = None,
    report: Callable[[Progress], None] | None = None,
    kept: RunCache | None = None,
) -> Results:
    """Runs every setup with the seeds `seed` to `seed + replications - 1`, counted from its own, in
    up to `workers` processes. `least`: after Ctrl-C, that many replications or more are an answer;
    None: it raises `KeyboardInterrupt`. `report` hears of each run, and of the time that one takes.
    `kept`: runs that are there are not done again, and those that are done are added. Raises as
    `simulate` does.
    """
    tasks = [
        attrs.evolve(one, seed=one.seed + seed + k) for k in range(replications) for one in setups
    ]
    found = kept.found(tasks) if kept is not None else {}
    left, known = [k for k in range(len(tasks)) if k not in found], len(found)
    whole, n = 0, len(setups)
    complete: Results = tuple(() for _ in setups)

    def completed() -> None:
        nonlocal complete, whole
        while all(whole * n + s in found for s in range(n)):
            complete = tuple((*mine, found[whole * n + s]) for s, mine in enumerate(complete))
            whole += 1

    def under_way(part: float) -> bool:
        if report is not None:
            report(Progress(len(found) + part, len(tasks), complete, known))
        return interrupts.heard

    run = partial(simulate, deadline=deadline)
    interrupts = Interrupts()
    alone = least is not None and len(tasks) == 1
    completed()
    try:
        with interrupts if alone else nullcontext():
            under_way(0.0)
            here = partial(run, report=under_way)
            for index, result in results(run, [tasks[k] for k in left], workers, here):
                found[left[index]] = result
                if kept is not None:
                    kept.keep(tasks[left[index]], result)
                completed()
                under_way(0.0)
    except KeyboardInterrupt:
        if least is None or whole < least:
            raise
    return complete
