"""Reports for people: on a terminal with colour, anywhere else as plain text of a fixed width."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterable, Iterator, Sequence

from attrs import frozen
from rich import box
from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from groupcheck.model.engine.verdict import HOLDS, UNKNOWN, VIOLATED
from groupcheck.oracles.explain.explanation import KNOWN, Explanation, rows
from groupcheck.oracles.printable import not_obeyed, printable
from groupcheck.oracles.show.report import Report

WIDTH = 100  # where nothing says how wide the output is
LEAST, MOST = 20, 1_000  # columns
NARROW = 80  # below this many columns tables are stacked
COLOUR = {HOLDS: "bold green", VIOLATED: "bold red", UNKNOWN: "bold yellow"}


def show(view: RenderableType) -> None:
    """Prints on stdout: as wide as the terminal, or COLUMNS, and with colour on a terminal or where
    FORCE_COLOR asks for it; NO_COLOR forbids it.
    """
    shown = console()
    with shown.capture() as captured:
        shown.print(view, crop=False)
    sys.stdout.write(not_obeyed(_trimmed(captured.get())))


def console(*, stderr: bool = False) -> Console:
    """The console on which views are drawn: as wide as COLUMNS says, where that is a number from 1
    up, else as the terminal, and `WIDTH` where there is none. Widths outside of `LEAST` to `MOST`
    are the nearest of these, so that a view can be read, and drawn.
    """
    # Rich reads these two otherwise: a COLUMNS of 0 gives empty lines, one of 10^9 no end.
    environ = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "LINES")}
    made = Console(stderr=stderr, highlight=False, _environ=environ)
    given = os.environ.get("COLUMNS", "").strip()
    columns = int(given[:9]) if given.isascii() and given.isdigit() else 0
    if not columns and not (sys.stderr if stderr else sys.stdout).isatty():
        columns = WIDTH
    if columns or not LEAST <= made.width <= MOST:
        made.width = min(max(columns or made.width, LEAST), MOST)
    return made


def as_plain(view: RenderableType) -> str:
    """The text that `show` prints, without colour, in lines of at most `WIDTH` characters."""
    out = io.StringIO()
    plain = Console(
        file=out,
        width=WIDTH,
        color_system=None,
        force_terminal=False,
        legacy_windows=False,
        highlight=False,
    )
    plain.print(view)
    return _trimmed(out.getvalue())


def _trimmed(text: str) -> str:
    return "".join(f"{line.rstrip()}\n" for line in text.removesuffix("\n").split("\n"))


@frozen
class StackedTable:
    """A table that becomes a block of lines for each row where there are fewer than `NARROW`
    columns.
    """

    table: Table
    # How many cells of a row stand in the first line of its block.
    lead: int
    # Whether the other cells have the name of their column before them.
    named: bool = True

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> Iterator[RenderableType]:
        if console.width >= NARROW:
            yield self.table
            return
        yield Text()
        columns = self.table.columns
        for row, *cells in zip(self.table.rows, *(column.cells for column in columns)):
            told = [Text.assemble(cell, style=row.style or "") for cell in cells]
            if any(told[: self.lead]):
                yield Text("  ").join(cell for cell in told[: self.lead] if cell)
            for column, cell in zip(columns[self.lead :], told[self.lead :]):
                if cell:
                    name = Text(f"{column.header}: " if self.named else "", "dim")
                    yield Padding(name + cell, (0, 0, 0, 4))
        yield Text()


def report_text(report: Report) -> str:
    """The whole report as plain text."""
    return as_plain(report_view(report))


def explanations_text(explanations: Sequence[Explanation]) -> str:
    """Counterexamples as plain text; empty where there is none."""
    return as_plain(Group(*map(explanation_view, explanations))) if explanations else ""


def report_view(report: Report) -> Group:
    """Verdict, what broke for whom, numbers, rules and goals, then every counterexample and the
    path to every goal that was asked for.
    """
    words = [
        (report.verdict, COLOUR.get(report.verdict, "bold")),
        (report.title, "bold"),
        (report.reason, ""),
    ]
    headline = Text("  ").join(Text(printable(text), style) for text, style in words if text)
    return Group(
        headline,
        *(_sentence(told) for told in report.explanations if told.sentence),
        Padding(facts_table(report.facts), (0, 0, 0, 2)),
        *map(_path, report.explanations),
    )


def facts_table(facts: Iterable[tuple[str, str]]) -> Table:
    """Names, which are groupcheck's own, and beside them words, which may be anybody's, each folded
    in its column.
    """
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0), pad_edge=False)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, words in facts:
        table.add_row(name, Text(printable(words)))
    return table


def explanation_view(told: Explanation) -> Group:
    """One path by itself: what broke for whom, then the path."""
    return Group(*([_sentence(told)] if told.sentence else []), _path(told))


def _path(told: Explanation) -> Group:
    """How long it is, its steps, the promise that it breaks or the goal that it meets, its key."""
    style = "bold red" if told.invariant else "bold green" if told.goal else "bold"
    head = Text.assemble("\n", (printable(told.headline), style))
    if told.source:
        head.append(f"  [{printable(told.source)}]", "dim")
    if told.trouble:
        head.append(f"\n{printable(told.trouble)}", "yellow")
    by = "met by" if told.goal else "breaks for"
    values = [(by, one) for one in told.evidence] if told.own else []
    known = [("known", KNOWN)] if told.known else []
    promise = [("promise", told.promise), ("why", told.why)]
    what = [("goal", told.statement)] if told.goal else promise
    facts = [*what, *known, *values, ("key", told.key)]
    return Group(head, _steps(told), facts_table((name, text) for name, text in facts if text))


def _sentence(told: Explanation) -> Text:
    return Text(printable(told.sentence), "bold red")


def _steps(told: Explanation) -> StackedTable:
    table = Table(box=box.SIMPLE, padding=(0, 1), pad_edge=False, show_edge=True)
    table.add_column("step", justify="right")
    table.add_column("who", no_wrap=True)
    table.add_column("what happens", overflow="fold", ratio=3)
    table.add_column("what changes", overflow="fold", ratio=2, style="dim")
    for row in rows(told.story):
        table.add_row(
            row.steps,
            Text(printable(row.who)),
            Text(printable(row.words)),
            Text("\n".join(map(printable, row.changes))),
            style="red" if row.broken else "green" if row.met else "",
        )
        for style, facts in (("bold red", row.broken), ("bold green", row.met)):
            for fact in facts:
                table.add_row("", "", Text(printable(fact), style), "")
    return StackedTable(table, lead=2, named=False)
