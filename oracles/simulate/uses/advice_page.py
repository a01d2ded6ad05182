"""Advice as one HTML page: all that the terminal shows, and the picture. It loads nothing."""

from __future__ import annotations

from pathlib import Path

from groupcheck.oracles.show.files import write
from groupcheck.oracles.simulate.uses.advice import Advice
from groupcheck.oracles.simulate.uses.advice_document import (
    EVENTS_TOLD,
    alternatives_table,
    assumed,
    cost_words,
    description,
    events_table,
    named,
    recommendation,
    sentences,
)
from groupcheck.oracles.simulate.uses.plots import (
    fixed,
    kind,
    needed,
    page,
    picture,
    saved,
    table,
    text,
)


def write_html(advice: Advice, path: Path) -> None:
    """Writes the page; every text is escaped. Raises `UserError`."""
    mine = advice.recommended.alternative
    parts = [
        ("settings", [f"{name}={value}" for name, value in mine.settings.items()]),
        *map(text, sentences(advice)),
        picture(drawn(advice, "svg")),
        text(cost_words(advice)),
        table(*alternatives_table(advice), "right"),
        text(EVENTS_TOLD),
        table(*events_table(advice), "right"),
        ("assumptions", assumed(advice)),
    ]
    says = f"Recommended: {recommendation(advice)}."
    if advice.reason:
        says = f"{advice.reason}. {says}"
    write(path, page(description(advice), says, parts, unknown=bool(advice.reason)))


# -- Advice as a picture: what a week of each alternative costs, event by event.

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
            widths = [c.in_week(event) / unit for c in shown]
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
    write(path, drawn(advice, kind(path)))
