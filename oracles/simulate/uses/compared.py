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
from groupcheck.oracles.simulate.uses import tables
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
from groupcheck.traces.findings.anomalies import plural

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
    """One panel for each measure of `SHOWN`, one bar for each variant, with intervals. What never
    ended has no bar. Equal comparisons give equal bytes.
    """
    needed("a plot")
    from matplotlib.figure import Figure

    names = [row.setup.variant for row in comparison.rows]
    with fixed():
        figure = Figure(figsize=(12, 1.8 + 0.9 * len(names)), layout="tight")
        for at, measure in enumerate(SHOWN):
            axes = figure.add_subplot(2, math.ceil(len(SHOWN) / 2), at + 1)
            found = [row.interval(measure) for row in comparison.rows]
            means = [one.mean if math.isfinite(one.mean) else 0.0 for one in found]
            errors = [
                [0.0 if end is None else abs(end - one.mean) for one, end in zip(found, ends)]
                for ends in ([one.low for one in found], [one.high for one in found])
            ]
            axes.barh(names, means, xerr=errors, capsize=3)
            axes.invert_yaxis()
            axes.set_xlim(left=0)
            axes.set_title(measure.replace("_", " "), fontsize=10)
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
    assumed = assumptions(comparison.rows[0].setup.stated)
    remark = (
        f"Seed {comparison.seed}, {plural(comparison.replications, 'replication')}; low and"
        " high: 95 % t intervals."
    )
    cells = [
        [
            row["variant"],
            row["measure"].replace("_", " "),
            *(tables.cell(row[end]) for end in ("mean", "low", "high")),
        ]
        for row in rows(comparison)
    ]
    parts = [
        picture(drawn(comparison, "svg")),
        text(remark),
        table(("variant", "measure", "mean", "low", "high"), cells),
        text(", ".join(f"{name}={value}" for name, value in assumed.items())),
    ]
    write(path, page(_title(comparison), parts))
