"""Simulations of a sweep as rows: an object for each cell, and a table with a row for each cell and
measure. docs/sweep.md documents every column.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from groupcheck import __version__
from groupcheck.oracles.show import parquet
from groupcheck.oracles.show.json_schemas import printed
from groupcheck.oracles.simulate.document import figure
from groupcheck.oracles.simulate.simulate_types import Interval
from groupcheck.oracles.sweep.outcome import Outcome
from groupcheck.oracles.sweep.simulations import SETUP, SimulationCell
from groupcheck.oracles.sweep.sweep_types import Simulation

SHOWN = ("longest_pause_ms", "stopped_total_ms", "rounds", "moved_partitions", "requests")
"""The measures that the page and the terminal show."""
COLUMNS = {
    "cell": "string",
    "number": "int32",
    "grid": "int32",
    "grid_name": "string",
    "variant": "string",
    "scenario": "string",
    "members": "int32",
    "partitions": "int32",
    "seed": "int64",
    "replications": "int32",
    "settings": "string",
    "max_seconds": "float64",
    "measure": "string",
    "mean": "float64",
    "low": "float64",
    "high": "float64",
    "at_most": "float64",
    "expected": "string",
    "verdict": "string",
    "as_expected": "bool",
    "failed": "bool",
    "version": "string",
}


def simulation_row(cell: SimulationCell, outcome: Outcome, grid_name: str) -> Simulation:
    """A cell and what became of it."""
    q = cell.question
    setup = q.setup()
    return Simulation(
        cell=cell.id,
        number=cell.number,
        grid=cell.grid + 1,
        grid_name=grid_name or None,
        variant=q.variant,
        scenario=setup.scenario,
        members=setup.members,
        partitions=setup.partitions,
        seed=setup.seed,
        replications=q.replications,
        settings={k: v for k, v in q.fields.items() if k not in SETUP},
        max_seconds=q.max_seconds,
        at_most=dict(q.at_most),
        expected=cell.expect,
        verdict=outcome.verdict,
        as_expected=outcome.verdict == cell.expect and not outcome.failed,
        reason=outcome.reason,
        failed=outcome.failed,
        tries=outcome.tries,
        task_seconds=outcome.task_seconds,
        broken=list(outcome.broken),
        measures={
            name: Interval(mean=mean, low=low, high=high)
            for name, (mean, low, high) in outcome.measures.items()
        },
        version=__version__,
    )


def long_rows(rows: Sequence[Simulation]) -> Iterator[dict[str, Any]]:
    """One row for each cell and measure, with the names of `COLUMNS`; one without a measure for a
    cell that failed or reached its limit.
    """
    nothing = {None: Interval(mean=None, low=None, high=None)}
    for row in rows:
        settings = json.dumps(row.settings, sort_keys=True)
        for measure, found in (row.measures or nothing).items():
            told = printed(row) | printed(found) | {"settings": settings, "measure": measure}
            told["at_most"] = row.at_most.get(measure or "")
            yield {name: told[name] for name in COLUMNS}


def write_simulations(rows: Sequence[Simulation], path: Path) -> None:
    """Writes the Parquet table whole or not at all. Raises `UserError` where it cannot."""
    parquet.write_table(list(long_rows(rows)), COLUMNS, path)


def amount(row: Simulation, measure: str) -> str:
    """`1,234 ± 34`: a mean with its 95 % t interval; `unknown` for what had not ended when some
    run did, `-` for a simulation that did not end.
    """
    found = row.measures.get(measure)
    if found is None or found.mean is None:
        return "-" if found is None else "unknown"
    text = figure(found.mean, 4)
    if found.low is None or found.high is None or found.low == found.high:
        return text
    return f"{text} ± {figure(found.high - found.mean, 3)}"
