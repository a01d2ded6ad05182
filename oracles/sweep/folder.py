"""The folder of a sweep: a file for each cell that is done, whole or not at all, the pages of
counterexamples, and at last the table.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import attrs
from attrs import frozen

from groupcheck.model.engine import UserError
from groupcheck.oracles.printable import printable
from groupcheck.oracles.show.files import write
from groupcheck.oracles.sweep.cells import Cell
from groupcheck.oracles.sweep.forecast import Forecast
from groupcheck.oracles.sweep.running import Outcome

CELLS, PAGES, TABLE, PAGE = "cells", "pages", "sweep.parquet", "sweep.html"
LARGEST = 1 << 20  # bytes of a cell's file


@frozen
class Done:
    """A cell's outcome with the forecast that was made before, if there was one, and its page's
    path within the folder ("" without one).
    """

    outcome: Outcome
    forecast: Forecast | None
    page: str


@frozen
class Folder:
    """Where a sweep keeps its results."""

    path: Path

    def opened(self, resume: bool) -> None:
        """Makes the folder. Raises `UserError` where it cannot, or where it holds results and
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
                f"{printable(str(self.path))} holds results already",
                where="--out",
                do="--resume goes on from them, or name another folder",
            )

    def keep(self, cell: Cell, outcome: Outcome, page: str, forecast: Forecast | None) -> Done:
        """Writes what became of a cell: its page, and then the file that says that the cell is
        done.
        """
        name = f"{PAGES}/{cell.id}.html" if page else ""
        if page:
            write(self.path / name, page)
        told = {
            "outcome": attrs.asdict(outcome),
            "forecast": attrs.asdict(forecast) if forecast else None,
            "page": _digest(page) if page else "",
        }
        text = json.dumps(told, allow_nan=False)
        write(self._file(cell), f"{_digest(text)}\n{text}\n")
        return Done(outcome, forecast, name)

    def done(self, cell: Cell) -> Done | None:
        """What is known of a cell; None if nothing is, its file or page is torn or another's, or
        the check itself had failed.
        """
        file, name = self._file(cell), f"{PAGES}/{cell.id}.html"
        try:
            with file.open(encoding="utf-8") as opened:
                digest, _, text = opened.read(LARGEST).rstrip("\n").partition("\n")
            if _digest(text) != digest:
                return None
            told: dict[str, Any] = json.loads(text)
            outcome = Outcome(**{**told["outcome"], "broken": tuple(told["outcome"]["broken"])})
            forecast = (
                Forecast(**{**told["forecast"], "basis": tuple(told["forecast"]["basis"])})
                if told["forecast"]
                else None
            )
            if (
                told["page"]
                and _digest((self.path / name).read_text(encoding="utf-8")) != told["page"]
            ):
                return None
        except (OSError, ValueError, TypeError, KeyError):
            return None
        return None if outcome.failed else Done(outcome, forecast, name if told["page"] else "")

    def _file(self, cell: Cell) -> Path:
        return self.path / CELLS / f"{cell.id}.json"


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=16).hexdigest()
