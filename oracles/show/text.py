"""Reports for people: on a terminal with colour, anywhere else as plain text of a fixed width."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence

from rich import box
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from groupcheck.model.engine.verdict import HOLDS, UNKNOWN, VIOLATED
from groupcheck.oracles.explain.explanation import Explanation, without_subject
from groupcheck.oracles.printable import printable
from groupcheck.oracles.show.report import Report

WIDTH = 110
COLOUR = {HOLDS: "bold green", VIOLATED: "bold red", UNKNOWN: "bold yellow"}


def as_plain(view: RenderableType) -> str:
    """What the terminal would show, without colour, lines of at most `WIDTH` characters."""
    out = io.StringIO()
    Console(
        file=out,
        width=WIDTH,
        color_system=None,
        force_terminal=False,
        legacy_windows=False,
        highlight=False,
    ).print(view)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def report_text(report: Report) -> str:
    """The whole report as plain text."""
    return as_plain(report_view(report))


def explanations_text(explanations: Sequence[Explanation]) -> str:
    """Counterexamples as plain text; empty where there is none."""
    return as_plain(Group(*map(explanation_view, explanations))) if explanations else ""


def report_view(report: Report) -> Group:
    """Verdict, numbers, rules and goals, then every counterexample."""
    words = [
        (report.verdict, COLOUR.get(report.verdict, "bold")),
        (report.title, "bold"),
        (report.reason, ""),
    ]
    headline = Text("  ").join(Text(printable(text), style) for text, style in words if text)
    return Group(
        headline,
        Padding(facts_table(report.facts), (0, 0, 0, 2)),
        *map(explanation_view, report.explanations),
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
    """One path: its paragraph, its steps, its key."""
    head = Text.assemble("\n", (printable(told.headline), "bold red" if told.invariant else "bold"))
    if told.source:
        head.append(f"  [{printable(told.source)}]", "dim")
    if told.trouble:
        head.append(f"\n{printable(told.trouble)}", "yellow")
    why = [Text(printable(f"Why it was promised: {told.why}"), "dim")] if told.why else []
    return Group(
        head,
        Text(printable(told.prose)),
        *why,
        _steps(told),
        *_evidence(told),
        Text.assemble(("key ", "dim"), told.key),
    )


def _evidence(told: Explanation) -> list[Text]:
    return (
        [Text.assemble(("it breaks for ", "dim"), printable(told.evidence[0]))]
        + [Text.assemble(("          and ", "dim"), printable(one)) for one in told.evidence[1:]]
        if told.evidence
        else []
    )


def _steps(told: Explanation) -> Table:
    table = Table(box=box.SIMPLE, padding=(0, 1), pad_edge=False, show_edge=True)
    table.add_column("step", justify="right")
    table.add_column("who", no_wrap=True)
    table.add_column("what happens", overflow="fold", ratio=3)
    table.add_column("what changes", overflow="fold", ratio=2, style="dim")
    marked = {mark.step for mark in told.story.marks}
    for line in told.story.lines:
        who = told.story.lane(line.lane).title
        changes = "\n".join(map(printable, line.changes))
        table.add_row(
            printable(f"{line.when} {line.step}".strip()),
            Text(printable(who)),
            Text(printable(without_subject(line.words, who))),
            Text(changes),
            style="red" if line.step in marked else "",
        )
    for mark in told.story.marks:
        table.add_row("", "", Text(printable(mark.text), "bold red"), "")
    return table
