"""A comparison as rows (CSV, Parquet), as a picture, and as one HTML page."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from groupcheck.oracles.show import parquet
from groupcheck.oracles.show.files import write
from groupcheck.oracles.simulate.compare import Comparison
from groupcheck.oracles.simulate.document import assumptions, changed, number
from groupcheck.oracles.simulate.setup import MEASURES
from groupcheck.oracles.simulate.uses import tables
from groupcheck.oracles.simulate.uses.plots import (
    assumed,
    fixed,
    kind,
    needed,
    page,
    picture,
    saved,
    table,
    text,
    with_unit,
)
from groupcheck.oracles.simulate.view import MEASURED, cell, conclusion, sentences
from groupcheck.traces.phrases import plural

COLUMNS = {
    "variant": "string",
    "scenario": "string",
    "members": "int64",
    "partitions": "int64",
    "seed": "int64",
    "replications": "int64",
    "settings": "string",
    "measure": "string",
    "mean": "float64",
    "low": "float64",
    "high": "float64",
}
SHOWN = (
    "longest_pause_ms",
    "total_pause_ms",
    "stopped_total_ms",
    "settled_ms",
    "rounds",
    "requests",
)
"""The measures of the picture."""


def rows(comparison: Comparison) -> list[dict[str, Any]]:
    """One row for each variant and measure; null for what never ended, or has no interval.
    `settings`: the assumptions that are not those by default, as a JSON object.
    """
    made = []
    for row in comparison.rows:
        settings = json.dumps(changed(row.setup.assumptions), sort_keys=True)
        for measure in row.results[0].measures:
            found = row.interval(measure)
            made.append(
                {
                    "variant": row.setup.variant,
                    "scenario": row.setup.scenario,
                    "members": row.setup.members,
                    "partitions": row.setup.partitions,
                    "seed": comparison.seed,
                    "replications": comparison.replications,
                    "settings": settings,
                    "measure": measure,
                    "mean": number(found.mean),
                    "low": None if found.low is None else number(found.low),
                    "high": None if found.high is None else number(found.high),
                }
            )
    return made


def write_csv(comparison: Comparison, path: Path) -> None:
    """Writes the rows as CSV. Raises `UserError`."""
    tables.write_rows(rows(comparison), COLUMNS, path)


def write_parquet(comparison: Comparison, path: Path) -> None:
    """Writes the rows as Parquet. Raises `UserError`."""
    parquet.write_table(rows(comparison), COLUMNS, path)


def drawn(comparison: Comparison, format: str) -> bytes:
    """One panel for each measure of `SHOWN` that is not 0, one bar for each variant, with
    intervals. What had not ended has no bar. Equal comparisons give equal bytes.
    """
    needed("a plot")
    from matplotlib.figure import Figure

    names = [row.setup.variant for row in comparison.rows]
    every = {measure: [row.interval(measure) for row in comparison.rows] for measure in SHOWN}
    panels = {
        measure: found
        for measure, found in every.items()
        if any(math.isfinite(one.mean) and one.mean for one in found)
    }
    with fixed():
        figure = Figure(figsize=(12, 1.8 + 0.9 * len(names)), layout="tight")
        across = math.ceil(max(len(panels), 1) / 2)
        for at, (measure, found) in enumerate(panels.items()):
            axes = figure.add_subplot(2 if len(panels) > 1 else 1, across, at + 1)
            words, unit_of = MEASURED[measure]
            unit = unit_of(max(one.mean for one in found if math.isfinite(one.mean)))
            means = [one.mean if math.isfinite(one.mean) else 0.0 for one in found]
            errors = [
                [
                    0.0 if end is None else abs(end - one.mean) / unit.divisor
                    for one, end in zip(found, ends)
                ]
                for ends in ([one.low for one in found], [one.high for one in found])
            ]
            axes.barh(names, [mean / unit.divisor for mean in means], xerr=errors, capsize=3)
            axes.invert_yaxis()
            axes.set_xlim(left=0)
            axes.set_title(with_unit(words, unit), fontsize=10)
            axes.grid(axis="x", alpha=0.3)
        figure.suptitle(_title(comparison))
        return saved(figure, format)


def _title(comparison: Comparison) -> str:
    setup = comparison.rows[0].setup
    sizes = f"{plural(setup.members, 'member')}, {plural(setup.partitions, 'partition')}"
    return f"{setup.scenario}: {sizes}"


def write_plot(comparison: Comparison, path: Path) -> None:
    """Writes the picture. Raises `UserError`."""
    write(path, drawn(comparison, kind(path)))


def write_html(comparison: Comparison, path: Path) -> None:
    """Writes one page with the picture, all figures and the assumptions. Raises `UserError`."""
    heads = ["", *(row.setup.variant for row in comparison.rows)]
    cells = [
        [words, *(cell(row.interval(measure), unit_of) for row in comparison.rows)]
        for measure, (words, unit_of) in MEASURED.items()
        if measure in MEASURES
    ]
    parts = [
        *(text(sentence) for sentence in sentences(comparison) if sentence),
        picture(drawn(comparison, "svg")),
        text(
            f"Seed {comparison.seed}, {plural(comparison.replications, 'replication')}; in"
            " brackets: 95 % t intervals."
        ),
        table(heads, cells, "right"),
        assumed(assumptions(comparison.rows[0].setup.stated)),
    ]
    made = page(
        _title(comparison),
        conclusion(comparison),
        parts,
        unknown=comparison.verdict == "unknown",
    )
    write(path, made)
