"""The view that the terminal shows of a sweep under way: how many cells are done, what they said,
and the last ones.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from typing import TYPE_CHECKING

from attrs import Factory, define

from groupcheck.oracles.printable import printable
from groupcheck.oracles.show.text import COLOUR
from groupcheck.oracles.sweep.cells import Cell
from groupcheck.oracles.sweep.outcome import Outcome
from groupcheck.oracles.sweep.simulations import SimulationCell
from groupcheck.oracles.sweep.words import question_words
from groupcheck.traces.phrases import plural

if TYPE_CHECKING:
    from rich.console import Group

CELLS_SHOWN = 8  # cells shown


@define
class RunningSweep:
    """A sweep under way."""

    # all cells, and those that an earlier run had done
    cells: int
    resumed: int
    # the stage that it is in
    doing: str = "starting"
    began: float = Factory(time.monotonic)
    # of the cells that this run has done
    verdicts: Counter[str] = Factory(Counter)
    last: deque[tuple[Cell | SimulationCell, Outcome]] = Factory(lambda: deque(maxlen=CELLS_SHOWN))

    def see(self, cell: Cell | SimulationCell, outcome: Outcome) -> None:
        """Takes in a cell that has ended."""
        self.verdicts[outcome.verdict] += 1
        self.last.append((cell, outcome))

    def view(self) -> Group:
        """For the terminal."""
        from rich.console import Group
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        done = self.resumed + sum(self.verdicts.values())
        counts = Text(f"{done:,} of {plural(self.cells, 'cell')}  ")
        for verdict, colour in COLOUR.items():
            number = self.verdicts[verdict]
            counts.append(f"{number:,} {verdict}  ", colour if number else "dim")
        counts.append(f"{time.monotonic() - self.began:.0f} s  {self.doing}", "dim")
        lines = []
        for cell, outcome in tuple(self.last):  # the view is drawn by a thread of its own
            count = f"{outcome.states:,}" if outcome.states else ""
            words = f"{count:>12}  {printable(question_words(cell))}"
            line = Text(f"{outcome.verdict:9}", COLOUR[outcome.verdict], overflow="ellipsis")
            line.no_wrap = True
            lines.append(line.append(words, "default"))
        foot = Table.grid(padding=(0, 2, 0, 0))
        foot.add_row(ProgressBar(total=self.cells, completed=done, width=24), counts)
        return Group(*lines, foot)
