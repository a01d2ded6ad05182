"""A sweep as test cases: one for each cell."""

from __future__ import annotations

from collections.abc import Sequence

from groupcheck.oracles.show.suite import ERROR, FAILURE, PASSED, SKIPPED, Case, Suite
from groupcheck.oracles.sweep import sweep_types
from groupcheck.oracles.sweep.cells import Cell
from groupcheck.oracles.sweep.simulations import SimulationCell
from groupcheck.oracles.sweep.sweep_types import Row
from groupcheck.oracles.sweep.words import not_judged_words, question_words


def sweep_suite(title: str, cells: Sequence[Cell | SimulationCell], rows: Sequence[Row]) -> Suite:
    """One case for each cell, in the order of the file; `rows` are what became of them. A cell
    passes if its verdict is the one that the file expects. One more is skipped where promises about
    progress were not judged.
    """
    cases = [*map(_case, cells, rows)]
    if words := not_judged_words(rows):
        cases.append(Case("promises about progress", SKIPPED, f"progress: {words}"))
    return Suite(f"sweep {title}", tuple(cases))


def _case(cell: Cell | SimulationCell, row: Row) -> Case:
    name, seconds = f"{cell.number} {question_words(cell)}", row.task_seconds
    if row.as_expected:
        return Case(name, PASSED, seconds=seconds)
    if row.verdict == "unknown":
        return Case(name, ERROR, f"unknown: {row.reason}", seconds=seconds)
    why = f"{row.verdict}, expected {row.expected}"
    broken = [f"broken: {', '.join(row.broken)}"] if row.broken else []
    broken += [f"key: {row.key}"] if isinstance(row, sweep_types.Cell) and row.key else []
    return Case(name, FAILURE, why, "\n".join([*broken, row.reason]).strip(), seconds)
