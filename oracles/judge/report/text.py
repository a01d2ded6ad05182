"""A judgement as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from groupcheck.oracles.judge.report.verdicts import Judgement, Remark, by_root
from groupcheck.oracles.printable import printable

COLOUR = {
    "keeps": "green",
    "breaks": "bold red",
    "unsteady": "yellow",
    "not_judged": "dim",
    "known": "cyan",
    "informs": "dim",
    "unknown": "bold yellow",
}
ROOTS, ROWS, LOST, LINES = 12, 3, 5, 16  # that are shown in full


def view(told: Judgement) -> RenderableType:
    """The report for people."""
    return Group(*_parts(told))


def _parts(told: Judgement) -> Iterator[RenderableType]:
    yield Text("  ").join(
        Text(printable(text), style)
        for text, style in (
            (told.verdict, COLOUR[told.verdict]),
            (told.subject, "bold"),
            (told.reason, ""),
        )
        if text
    )
    for name, text in told.facts:
        yield Text(f"  {name:<10} {printable(text)}")
    yield Text()
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for title in ("rule", "verdict", "tried", "what must be true"):
        table.add_column(title, justify="right" if title == "tried" else "left")
    for one in told.rules:
        verdict = Text(one.became.replace("_", " "), COLOUR[one.became])
        table.add_row(one.rule.name, verdict, f"{one.tried:,}", one.rule.sentence)
    yield table
    roots = by_root(told.remarks)
    if roots:
        count = len(told.remarks)
        yield Text(f"\n{count} {'row differs' if count == 1 else 'rows differ'}, by root", "bold")
    for k, (root, some) in enumerate(list(roots.items())[:ROOTS], 1):
        yield from _root(k, root, some)
    if len(roots) > ROOTS:
        yield Text(f"\n{len(roots) - ROOTS} more roots: see --html or --json")
    for line in told.passing:
        yield Text(f"\nmet, and never at leisure: {printable(line)}", "dim")
    for line in told.slow:
        yield Text(f"\nslow: {printable(line)}")
    if told.not_reached:
        yield Text(f"\n{len(told.not_reached)} kinds of rows were not reached, such as")
        for lost in told.not_reached[:LOST]:
            yield Text(f"   {lost.profile}: {lost.row}  ({len(lost.way)} steps)")


def _root(k: int, root: str, some: list[Remark]) -> Iterator[RenderableType]:
    first = some[0]
    rules = f"  breaks {', '.join(first.rules)}" if first.rules else ""
    yield Text(f"\n{k}. {printable(root)}{rules}", COLOUR[first.became])
    told = first.became.replace("_", " ")
    if first.repeated:
        told += f", {first.again} of {first.repeated} times again"
    if first.known:
        told = f"known: {first.known}"
    yield Text(f"   {printable(told)}")
    for one in some[:ROWS]:
        yield Text(f"   in {printable(one.row)} ({printable(one.met)})")
    if more := some[ROWS:]:
        alike = sum(one.stand_in is not None for one in more)
        alone = f", {alike} of them not tried again" if alike else ""
        yield Text(f"   and in {len(more)} more rows{alone}")
    yield Text(f"   {printable(first.detail)}")
    for line in first.lines[-LINES:]:
        yield Text(f"      {printable(str(line))}", no_wrap=True, overflow="ellipsis")
