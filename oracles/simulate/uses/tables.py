"""A curve as rows: for JSON, CSV and Parquet, one row for each point and measure."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from groupcheck.oracles.printable import printable
from groupcheck.oracles.show import json_schemas, parquet
from groupcheck.oracles.show.files import write
from groupcheck.oracles.simulate.document import assumptions, interval
from groupcheck.oracles.simulate.intervals import CONFIDENCE
from groupcheck.oracles.simulate.uses.curve_types import CurveDocument, Point
from groupcheck.oracles.simulate.uses.curves import CurveResult

SCHEMA = "groupcheck.curve/1"
FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠")
"""What a formula may begin with; the last four are wide forms of the others."""
COLUMNS = parquet.columns_of(Point, wide=("members", "partitions", "seed", "replications"))


def points(found: CurveResult) -> list[Point]:
    """All figures with their intervals; null for what never ended, or has no interval."""
    made = []
    for k, point in enumerate(found.curve.points):
        for measure in filter(point.answers, found.curve.measures):
            made.append(
                Point(
                    curve=found.curve.name,
                    series=point.series,
                    x=point.x,
                    measure=measure,
                    interval=interval(found.interval(k, measure)),
                    variant=point.setup.variant,
                    scenario=point.setup.scenario,
                    members=point.setup.members,
                    partitions=point.setup.partitions,
                    seed=found.seed,
                    replications=found.replications,
                )
            )
    return made


def rows(found: CurveResult) -> list[dict[str, Any]]:
    """The same as plain rows, for tables."""
    return [json_schemas.printed(one) for one in points(found)]


def document(found: CurveResult) -> dict[str, Any]:
    """The whole answer; `assumptions` are those of the first point."""
    curve = found.curve
    shown = CurveDocument(
        curve=curve.name,
        title=curve.title,
        axis=curve.axis,
        verdict="unknown" if found.reason else "answered",
        reason=found.reason or None,
        seed=found.seed,
        replications=found.replications,
        confidence=CONFIDENCE,
        assumptions=assumptions(curve.points[0].setup.stated),
        points=points(found),
    )
    return json_schemas.document(SCHEMA, shown)


def write_csv(found: CurveResult, path: Path) -> None:
    """Writes the rows as CSV. Raises `UserError`."""
    write_rows(rows(found), COLUMNS, path)


def write_rows(rows: Iterable[Mapping[str, Any]], columns: Iterable[str], path: Path) -> None:
    """Writes rows as CSV. Raises `UserError`."""
    text = io.StringIO()
    table = csv.DictWriter(text, list(columns), lineterminator="\n")
    table.writeheader()
    table.writerows({name: _inert(value) for name, value in row.items()} for row in rows)
    write(path, text.getvalue())


def _inert(value: Any) -> Any:
    """A cell that no spreadsheet takes for a formula: a text that could be one begins with an
    apostrophe. Numbers stay numbers.

    Source: OWASP, CSV Injection (https://owasp.org/www-community/attacks/CSV_Injection).
    """
    if not isinstance(value, str):
        return value
    shown = printable(value)
    return f"'{shown}" if shown.startswith(FORMULA) else shown


def cell(value: Any) -> str:
    """A figure of a page; `-` for what never ended, or has no interval."""
    return "-" if value is None else f"{value:,.6g}" if isinstance(value, float) else str(value)


def write_parquet(found: CurveResult, path: Path) -> None:
    """Writes the rows as Parquet. Raises `UserError`."""
    parquet.write_table(rows(found), COLUMNS, path)
