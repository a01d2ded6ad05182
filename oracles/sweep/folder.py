"""The folder of a sweep: a file for each cell that is done, the pages of counterexamples, and the
table.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import cattrs
from attrs import frozen

from groupcheck.model.engine import UserError
from groupcheck.oracles.printable import printable
from groupcheck.oracles.show.files import write
from groupcheck.oracles.sweep.cells import Cell
from groupcheck.oracles.sweep.forecast import Forecast
from groupcheck.oracles.sweep.outcome import Outcome
from groupcheck.oracles.sweep.simulations import SimulationCell

CELLS, PAGES, TABLE, PAGE = "cells", "pages", "sweep.parquet", "sweep.html"
SIMULATIONS = "simulations.parquet"


@frozen
class CellResult:
    """The result of a cell."""

    outcome: Outcome
    # made before the cell ran; None if none was made
    forecast: Forecast | None
    # its page: the path within the folder; in a cell's file the digest; "" without a page
    page: str


@frozen
class Folder:
    """Where a sweep keeps its results."""

    path: Path

    def opened(self, resume: bool) -> None:
        """Makes the folder. Raises `UserError` if it cannot, or if the folder holds results and
        `resume` is False.
        """
        try:
            (self.path / CELLS).mkdir(parents=True, exist_ok=True)
            (self.path / PAGES).mkdir(exist_ok=True)
            there = any((self.path / CELLS).glob("*.json"))
        except OSError as error:
            raise UserError(
                f"{printable(str(self.path))} cannot be used: {error.strerror}", where="--out"
            ) from None
        if there and not resume:
            raise UserError(
                f"{printable(str(self.path))} already holds results",
                where="--out",
                do="continue them with --resume, or name another folder",
            )

    def keep(
        self,
        cell: Cell | SimulationCell,
        outcome: Outcome,
        page: str,
        forecast: Forecast | None,
    ) -> CellResult:
        """Writes what became of a cell: its page, and then the file that says that it is done."""
        name = f"{PAGES}/{cell.id}.html" if page else ""
        if page:
            write(self.path / name, page)
        told = cattrs.unstructure(CellResult(outcome, forecast, _digest(page) if page else ""))
        text = json.dumps(told, allow_nan=False)
        write(self._file(cell), f"{_digest(text)}\n{text}\n")
        return CellResult(outcome, forecast, name)

    def done(self, cell: Cell | SimulationCell) -> CellResult | None:
        """The known result of a cell. None if there is none, if its file or page is damaged, or if
        the check itself had failed.
        """
        name = f"{PAGES}/{cell.id}.html"
        try:
            digest, _, text = self._file(cell).read_text("utf-8").strip("\n").partition("\n")
            if _digest(text) != digest:
                return None
            told = cattrs.structure(json.loads(text), CellResult)
            if told.page and _digest((self.path / name).read_text("utf-8")) != told.page:
                return None
        except (OSError, ValueError, cattrs.BaseValidationError):
            return None
        if told.outcome.failed:
            return None
        return CellResult(told.outcome, told.forecast, name if told.page else "")

    def _file(self, cell: Cell | SimulationCell) -> Path:
        return self.path / CELLS / f"{cell.id}.json"


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
