"""The beginning of what `groupcheck assign FILE` prints at the terminal, for an assignment and for
a sequence: the verdict, the facts, what is wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from groupcheck.oracles.assignment.judge.judging import RIGHT
from groupcheck.oracles.printable import printable
from groupcheck.oracles.show.text import facts_table

FEW = 20  # violations, members and moves that are printed
SHORT = 400  # characters of a line


def beginning(
    verdict: str, title: str, facts: Iterable[tuple[str, str]], wrong: Sequence[str]
) -> list[RenderableType]:
    """Lines for the terminal. `facts` are names and words; `wrong` has a line for each violation,
    of which the first `FEW` are printed.
    """
    headline = Text.assemble(
        (verdict, "bold green" if verdict == RIGHT else "bold red"),
        "  ",
        (printable(title), "bold"),
    )
    lines = [Text(short(f"  {words}"), "red") for words in wrong[:FEW]]
    if len(wrong) > FEW:
        lines.append(left_out(len(wrong) - FEW))
    return [headline, Padding(facts_table(facts), (0, 0, 0, 2)), *lines]


def plain_table() -> Table:
    """A table without lines."""
    return Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")


def left_out(count: int) -> Text:
    """The line in place of `count` others."""
    return Text(f"  and {count:,} more (--json has them)", "dim")


def short(text: str) -> str:
    """The text made fit to be shown, in at most `SHORT` characters."""
    text = printable(text)
    return text if len(text) <= SHORT else f"{text[: SHORT - 1]}…"
