"""A sweep in words: questions, forecasts before the run, and the answer on stdout."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import Group
from rich.table import Table
from rich.text import Text

from groupcheck.oracles.printable import printable
from groupcheck.oracles.show.text import COLOUR, StackedTable
from groupcheck.oracles.sweep import sweep_types
from groupcheck.oracles.sweep.cells import Cell
from groupcheck.oracles.sweep.forecast import Forecast
from groupcheck.oracles.sweep.simulation_rows import SHOWN as MEASURES_SHOWN
from groupcheck.oracles.sweep.simulation_rows import amount
from groupcheck.oracles.sweep.simulations import SimulationCell
from groupcheck.oracles.sweep.sweep_types import Row
from groupcheck.traces.phrases import plural

SHOWN = 60  # cells; of a larger sweep only those that are not as expected
FORECASTS = 20  # lines
LONGEST_REASON = 200


def question_words(cell: Cell | SimulationCell) -> str:
    """`classic, members 2, crash 1, with leader_forgotten`: what the file says of a cell."""
    if isinstance(cell, SimulationCell):
        return cell.question.words()
    q = cell.question
    given = [f"{name.replace('_', ' ')} {word(value)}" for name, value in q.fields.items()]
    given += [f"{name} {n}" for name, n in (q.faults or {}).items()] or (
        ["no faults"] if q.faults is not None else []
    )
    given += [f"with {q.mutation}"] if q.mutation else []
    given += [", ".join(q.invariants) + " alone"] if q.invariants else []
    given += ["progress"] if q.progress else []
    return ", ".join([q.variant, *given])


def word(value: Any) -> str:
    """A value of the scope."""
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def forecast_lines(forecasts: Sequence[tuple[Cell, Forecast]]) -> Iterator[str]:
    """The forecasts for cells that are not checked yet, one line each."""
    if forecasts:
        yield (
            f"forecast of {plural(len(forecasts), 'larger scope')} from smaller ones,"
            f" {sum(f.seconds for _, f in forecasts):,.0f} s of searching in all:"
        )
    for cell, f in forecasts[:FORECASTS]:
        beyond = _beyond(cell, f)
        yield (
            f"  {printable(question_words(cell))}:"
            f" {f.states:,} states ({f.states_low:,} to {f.states_high:,}), "
            f"{f.seconds:,.1f} s ({f.seconds_low:,.1f} to {f.seconds_high:,.1f}){beyond}"
        )
    if len(forecasts) > FORECASTS:
        yield f"  and {len(forecasts) - FORECASTS} more; see the table"


def _beyond(cell: Cell, f: Forecast) -> str:
    limits = cell.question.limits
    if limits.states is not None and f.states > limits.states:
        return ", beyond its max_states"
    too_long = limits.seconds is not None and f.seconds > limits.seconds
    return ", beyond its max_seconds" if too_long else ""


def held_words(rows: Sequence[Row]) -> str:
    """How many of the forecasts came true; "" if none was made of a cell that ended."""
    checks = [row for row in rows if isinstance(row, sweep_types.Cell)]
    held = [row.states_as_forecast for row in checks if row.states_as_forecast is not None]
    quick = [row.seconds_as_forecast for row in checks if row.seconds_as_forecast is not None]
    if not held:
        return ""
    states = f"{sum(held)} of {len(held)} forecasts of states held"
    return f"{states}, {sum(quick)} of {len(quick)} of seconds"


def not_judged_words(rows: Sequence[Row]) -> str:
    """In how many cells promises about progress were not judged; "" if in none."""
    count = sum(isinstance(row, sweep_types.Cell) and bool(row.progress_not_judged) for row in rows)
    return f"not judged in {plural(count, 'cell')} (progress = true)" if count else ""


def answer_view(
    title: str,
    verdict: str,
    cells: Sequence[Cell | SimulationCell],
    rows: Sequence[Row],
    seconds: float,
) -> Group:
    """The answer for stdout: the worst verdict, the cells, and what is not as expected."""
    counts = Counter(row.verdict for row in rows)
    told = ", ".join(f"{n:,} {name}" for name, n in sorted(counts.items()))
    unexpected = sum(not row.as_expected for row in rows)
    head = Text.assemble(
        (verdict, COLOUR[verdict]),
        f"  sweep {printable(title)}  " if title else "  sweep  ",
        f"{plural(len(rows), 'cell')}: {told}; ",
        f"{unexpected:,} not as expected" if unexpected else "all as expected",
    )
    listed = Table.grid(padding=(0, 2, 0, 0))
    listed.add_column(no_wrap=True)
    listed.add_column(no_wrap=True, justify="right")
    listed.add_column(overflow="fold")
    for cell, row in zip(cells, rows):
        if len(rows) <= SHOWN or not row.as_expected:
            mark = Text("  ").append(row.verdict, COLOUR[row.verdict])
            listed.add_row(mark, _size(row), _found(cell, row))
    checking = sum(row.task_seconds for row in rows)
    left_aside = not_judged_words(rows)
    foot = [
        f"progress: {left_aside}" if left_aside else "",
        held_words(rows),
        f"{seconds:,.1f} s, {checking:,.1f} s of checking",
    ]
    return Group(
        head,
        StackedTable(listed, lead=2, named=False),
        *(Text(f"  {words}") for words in foot if words),
    )


def _size(row: Row) -> str:
    if isinstance(row, sweep_types.Cell):
        return plural(row.states, "state")
    return plural(row.replications, "run")


def _measured(row: sweep_types.Simulation) -> str:
    """The measures that people look for first."""
    some = [f"{name} {amount(row, name)}" for name in MEASURES_SHOWN]
    return "; ".join(some) if row.measures else ""


def _found(cell: Cell | SimulationCell, row: Row) -> Text:
    text = Text(printable(question_words(cell)))
    if not row.as_expected:
        text.append(f" (expected: {cell.expect})", "bold")
    if isinstance(row, sweep_types.Simulation):
        told = (printable(row.reason)[:LONGEST_REASON], _measured(row))
        text.append(": " + "; ".join(filter(None, told)))
    elif row.broken:
        text.append(f": {', '.join(row.broken)} after {plural(row.steps or 0, 'step')}")
    elif row.verdict == "unknown":
        text.append(f": {printable(row.reason)[:LONGEST_REASON]}")
    return text
