"""Cells checked in this process, one after another."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import attrs

from groupcheck.oracles.sweep.cells import Cell
from groupcheck.oracles.sweep.outcome import TRIES, Outcome, failure, told
from groupcheck.oracles.sweep.running import checked
from groupcheck.oracles.sweep.simulations import SimulationCell

Finish = Callable[[Cell | SimulationCell, Outcome, str], None]


def check_here(cells: Sequence[Cell | SimulationCell], workers: int, finish: Finish) -> None:
    """Checks cells in their order and calls `finish` for each. A cell that raises is tried again,
    and then reported. Raises `KeyboardInterrupt`.
    """
    for cell in cells:
        finish(cell, *_tried(cell, workers))


def _tried(cell: Cell | SimulationCell, workers: int) -> tuple[Outcome, str]:
    reason = ""
    for attempt in range(1, TRIES + 1):
        try:
            outcome, page = checked(cell.question, workers=workers)
            return attrs.evolve(outcome, tries=attempt), page
        except Exception as error:  # whatever it is, it concerns this cell alone
            reason = told(error)
    return failure(f"the check failed {TRIES} times: {reason}", TRIES), ""
