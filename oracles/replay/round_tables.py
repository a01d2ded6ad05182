"""The tables of a group's rebalances for a terminal, as wide as it is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from attrs import frozen
from rich import box
from rich.console import Console, ConsoleOptions
from rich.table import Table
from rich.text import Text

from groupcheck.oracles.printable import printable
from groupcheck.oracles.replay.handovers import (
    HANDOVER_COLUMNS,
    HANDOVERS_SHOWN,
    handover_rows,
)
from groupcheck.oracles.replay.rounds import COLUMNS, fold_cells, folded
from groupcheck.oracles.replay.stories import SEEN, seen_cell
from groupcheck.oracles.show.text import NARROW, StackedTable
from groupcheck.traces.members.group_story import GroupStory
from groupcheck.traces.story.moments import Round

ROUNDS_SHOWN = 24
FIXED = 52  # columns of the table of rebalances that hold no member ids
FIXED_OF_HANDOVERS = 66


@frozen
class Rounds:
    """The table of a group's rebalances, with member ids as long as there is room for them."""

    rounds: Sequence[Round]
    story: GroupStory

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[StackedTable]:
        told = self.rounds is not self.story.timeline.rounds or len(self.story.members) > 1
        seen = told and any(seen_cell([x], self.story) for x in self.rounds)
        room = (console.width - FIXED) // (3 if seen else 2)
        story = self.story if seen else None
        yield StackedTable(
            _rounds(self.rounds, room if console.width >= NARROW else None, story), 2
        )


@frozen
class HandedOver:
    """The table of the partitions that rebalances move."""

    rounds: Sequence[Round]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[StackedTable]:
        room = (console.width - FIXED_OF_HANDOVERS) // 3 if console.width >= NARROW else None
        table = Table(box=box.SIMPLE, padding=(0, 1), pad_edge=False)
        for name in HANDOVER_COLUMNS:
            table.add_column(name, overflow="fold")
        rows = handover_rows(self.rounds, room)
        for row in rows[:HANDOVERS_SHOWN]:
            table.add_row(*(Text(printable(cell)) for cell in row))
        if len(rows) > HANDOVERS_SHOWN:
            more = len(rows) - HANDOVERS_SHOWN
            table.add_row("", Text(f"... {more} more (--json has all)", "dim"))
        yield StackedTable(table, lead=2)


def _rounds(rounds: Sequence[Round], room: int | None, story: GroupStory | None) -> Table:
    """`story`: what a column tells of members, unless its one member told all the others."""
    table = Table(box=box.SIMPLE, padding=(0, 1), pad_edge=False)
    for name in (*COLUMNS, SEEN) if story else COLUMNS:
        wide = name in ("why", "held up by", SEEN)
        table.add_column(
            name,
            overflow="fold",
            ratio=3 if wide else None,
            no_wrap=name == "generation",
            min_width=12 if name == "started" else None,
            justify="right" if name in ("took", "size") else "left",
        )
    folds = folded(rounds)
    half = ROUNDS_SHOWN // 2
    left_out = folds[half:-half] if len(folds) > ROUNDS_SHOWN else []
    for k, fold in enumerate(folds):
        if not left_out or k < half or k >= len(folds) - half:
            cells = (*fold_cells(fold, room), *([seen_cell(fold.rounds, story)] if story else []))
            table.add_row(*(Text(printable(cell)) for cell in cells))
        elif k == half:
            more = Text(f"... {sum(len(f.rounds) for f in left_out)} more (--json has all)", "dim")
            table.add_row("", "", more, "", "", "")
    return table
