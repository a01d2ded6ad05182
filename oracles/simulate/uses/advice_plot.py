"""Advice as a picture: what a week of each alternative costs, event by event."""

from __future__ import annotations

from pathlib import Path

from groupcheck.oracles.simulate import intervals
from groupcheck.oracles.simulate.uses.advice import Advice
from groupcheck.oracles.simulate.uses.advice_document import amount, named, sentences
from groupcheck.oracles.simulate.uses.plots import (
    fixed,
    kind,
    needed,
    saved,
    write_page,
    write_picture,
)
from groupcheck.oracles.simulate.view import duration

MOST_BARS = 24


def drawn(advice: Advice, format: str) -> bytes:
    """One bar for each alternative, with a part for each event. Equal advice gives equal bytes."""
    needed("a plot")
    from matplotlib.figure import Figure

    unit = advice.cost.unit
    shown = advice.costed[:MOST_BARS]
    with fixed():
        figure = Figure(figsize=(11, 1.2 + 0.36 * len(shown)), layout="tight")
        axes = figure.add_subplot()
        names = [
            named(c.alternative) + (" (recommended)" if c is advice.recommended else "")
            for c in shown
        ]
        left = [0.0] * len(shown)
        for event in advice.events:
            widths = [c.of(event).mean * event.per_week / unit for c in shown]
            axes.barh(names, widths, left=left, label=f"{event.name} ({event.per_week:g})")
            left = [a + b for a, b in zip(left, widths)]
        axes.invert_yaxis()
        axes.set_xlabel(f"{advice.cost.unit_name} a week")
        figure.suptitle(f"Cost of a week: {advice.cost.doc}")
        axes.grid(axis="x", alpha=0.3)
        axes.legend(title="event (a week)", loc="upper right")
        return saved(figure, format)


def write_plot(advice: Advice, path: Path) -> None:
    """Writes the picture. Raises `UserError`."""
    write_picture(drawn(advice, kind(path)), path)


def write_html(advice: Advice, path: Path) -> None:
    """Writes one page with the recommendation, the picture and the alternatives."""
    mine = advice.recommended.alternative
    rows = [
        [
            named(c.alternative),
            amount(advice, intervals.mean(c.values)),
            f"{intervals.mean(c.summed('rounds')).mean:,.1f}",
            duration(c.longest_pause_ms)(c.longest_pause_ms),
        ]
        for c in advice.costed
    ]
    settings = [f"{name}={value}" for name, value in mine.settings.items()]
    write_page(
        path,
        f"Recommended: {named(mine)}",
        drawn(advice, "svg"),
        [*settings, f"Seed {advice.seed}, {advice.replications} replications, 95 % t intervals."],
        ("alternative", "a week", "rounds", "longest pause"),
        rows,
        list(sentences(advice)),
    )
