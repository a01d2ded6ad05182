"""A sweep under way, on stderr and on a terminal only: how many cells are done, what they said, and
the last ones.
"""

from __future__ import annotations

import sys
import time
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from attrs import Factory, define

from groupcheck.oracles.printable import printable
from groupcheck.oracles.sweep.cells import Cell
from groupcheck.oracles.sweep.running import Outcome
from groupcheck.oracles.sweep.words import question_words

LAST = 8  # cells shown
COLOURS = {"holds": "green", "violated": "red", "unknown": "yellow"}


@define
class Watched:
    """What the view shows."""

    cells: int
    resumed: int
    doing: str = "starting"
    began: float = Factory(time.monotonic)
    verdicts: Counter[str] = Factory(Counter)
    last: deque[tuple[Cell, Outcome]] = Factory(lambda: deque(maxlen=LAST))

    def see(self, cell: Cell, outcome: Outcome) -> None:
        """Takes in a cell that has ended."""
        self.verdicts[outcome.verdict] += 1
        self.last.append((cell, outcome))

    def view(self) -> Any:
        """For the terminal."""
        from rich.console import Group
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        done = self.resumed + sum(self.verdicts.values())
        counts = Text(f"{done:,} of {self.cells:,} cells  ")
        for verdict, colour in COLOURS.items():
            counts.append(
                f"{self.verdicts[verdict]:,} {verdict}  ",
                colour if self.verdicts[verdict] else "dim",
            )
        counts.append(f"{time.monotonic() - self.began:.0f} s  {self.doing}", "dim")
        lines = [
            Text.assemble(
                (f"{outcome.verdict:9}", COLOURS.get(outcome.verdict, "")),
                f"{outcome.states:>12,}  ",
                printable(question_words(cell)),
            )
            for cell, outcome in tuple(self.last)  # the view is drawn by a thread of its own
        ]
        for line in lines:
            line.no_wrap, line.overflow = True, "ellipsis"
        foot = Table.grid(padding=(0, 2, 0, 0))
        foot.add_row(ProgressBar(total=self.cells, completed=done, width=24), counts)
        return Group(*lines, foot)


@contextmanager
def watching(watched: Watched) -> Iterator[None]:
    """Shows it four times a second; nothing where stderr is no terminal."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console
    from rich.live import Live

    with Live(
        get_renderable=watched.view,
        console=Console(stderr=True),
        refresh_per_second=4,
        transient=True,
    ):
        yield
