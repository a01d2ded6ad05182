"""Advice as one HTML page: all that the terminal shows, and the picture. It loads nothing."""

from __future__ import annotations

from pathlib import Path

from groupcheck.oracles.show.files import write
from groupcheck.oracles.simulate.uses.advice import Advice
from groupcheck.oracles.simulate.uses.advice_document import (
    EVENTS_TOLD,
    alternatives_table,
    assumed,
    cost_told,
    events_table,
    recommendation,
    sentences,
    told,
)
from groupcheck.oracles.simulate.uses.advice_plot import drawn
from groupcheck.oracles.simulate.uses.plots import page, picture, table, text


def write_html(advice: Advice, path: Path) -> None:
    """Writes the page; every text is escaped. Raises `UserError`."""
    mine = advice.recommended.alternative
    parts = [
        ("settings", [f"{name}={value}" for name, value in mine.settings.items()]),
        *map(text, sentences(advice)),
        picture(drawn(advice, "svg")),
        text(cost_told(advice)),
        table(*alternatives_table(advice), "right"),
        text(EVENTS_TOLD),
        table(*events_table(advice), "right"),
        ("assumptions", assumed(advice)),
    ]
    says = f"Recommended: {recommendation(advice)}."
    if advice.reason:
        says = f"{advice.reason}. {says}"
    write(path, page(told(advice), says, parts, unknown=bool(advice.reason)))
