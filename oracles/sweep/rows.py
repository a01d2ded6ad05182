"""The result of a sweep as rows: one for each cell, written as one Parquet table. docs/sweep.md
documents every column.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from groupcheck import __version__
from groupcheck.oracles.show import parquet
from groupcheck.oracles.show.json_schemas import printed
from groupcheck.oracles.sweep import sweep_types
from groupcheck.oracles.sweep.cells import Cell
from groupcheck.oracles.sweep.folder import CellResult

# Column -> Arrow type. docs/sweep.md says what each one means, and in which unit.
COLUMNS = parquet.columns_of(
    sweep_types.Cell,
    wide="max_states max_memory states transitions rule_calls forecast_states forecast_states_low"
    " forecast_states_high".split(),
)


def row(cell: Cell, done: CellResult, grid_name: str) -> sweep_types.Cell:
    """A cell and what became of it."""
    q, o, f = cell.question, done.outcome, done.forecast
    of_group = {} if q.is_own else cell.scope
    return sweep_types.Cell(
        cell=cell.id,
        number=cell.number,
        grid=cell.grid + 1,
        grid_name=grid_name or None,
        variant=q.variant,
        members=of_group.get("members"),
        partitions=of_group.get("partitions"),
        generations=of_group.get("generations"),
        assignor=of_group.get("assignor"),
        faults=dict(cell.faults),
        any_faults=of_group.get("any_faults"),
        scope=json.dumps(cell.scope, sort_keys=True),
        mutation=q.mutation,
        invariants=list(cell.checked),
        progress=q.progress,
        progress_not_judged=list(cell.not_judged),
        max_states=q.limits.states,
        max_seconds=q.limits.seconds,
        max_memory=q.limits.memory,
        expected=cell.expect,
        verdict=o.verdict,
        as_expected=o.verdict == cell.expect and not o.failed,
        reason=o.reason,
        failed=o.failed,
        tries=o.tries,
        complete=o.complete,
        states=o.states,
        transitions=o.transitions,
        depth=o.depth,
        rule_calls=o.rule_calls,
        bytes_per_state=o.bytes_per_state,
        seconds=o.seconds,
        task_seconds=o.task_seconds,
        broken=list(o.broken),
        steps=o.steps,
        key=o.key,
        page=done.page or None,
        forecast_by=f.by if f else None,
        forecast_states=f.states if f else None,
        forecast_states_low=f.states_low if f else None,
        forecast_states_high=f.states_high if f else None,
        forecast_seconds=f.seconds if f else None,
        forecast_seconds_low=f.seconds_low if f else None,
        forecast_seconds_high=f.seconds_high if f else None,
        states_as_forecast=f.states_held(o) if f else None,
        seconds_as_forecast=f.seconds_held(o) if f else None,
        model=cell.model,
        version=__version__,
    )


def write_table(rows: Sequence[sweep_types.Cell], path: Path) -> None:
    """Writes the Parquet table whole or not at all. Raises `UserError` where it cannot."""
    parquet.write_table(
        [{**printed(row), "faults": list(row.faults.items())} for row in rows], COLUMNS, path
    )
