"""A sweep as one HTML page: a matrix of verdicts for each grid, then every cell; no script, no
network, every text escaped by the template.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from attrs import frozen

from groupcheck.oracles.show.pages import render
from groupcheck.oracles.sweep import sweep_types
from groupcheck.oracles.sweep.cells import Cell
from groupcheck.oracles.sweep.growing import Sweep
from groupcheck.oracles.sweep.simulation_rows import SHOWN, amount
from groupcheck.oracles.sweep.sweep_types import Row, Simulation
from groupcheck.oracles.sweep.words import held_words, not_judged_words, question_words, word

Key = tuple[tuple[str, str], ...]


@frozen
class Matrix:
    """The cells of a grid: numbers of the scope that differ go across, all else that differs goes
    down. None where there is no cell.
    """

    title: str
    columns: tuple[str, ...]
    lines: tuple[tuple[str, tuple[sweep_types.Cell | None, ...]], ...]


@frozen
class SimulationGrid:
    """A grid of simulations: what each cell is, its verdict, and its measures."""

    title: str
    measures: tuple[str, ...]
    lines: tuple[tuple[str, Simulation, tuple[str, ...]], ...]


def page(
    sweep: Sweep,
    verdict: str,
    rows: Sequence[sweep_types.Cell],
    simulated: Sequence[Simulation] = (),
) -> str:
    """The whole page. `rows` and `simulated` as in the tables, in the order of the cells."""
    return render(
        "sweep.html",
        title=sweep.title,
        verdict=verdict,
        facts=list(_facts(rows, simulated)),
        simulated=list(simulations(sweep, simulated)),
        matrices=list(matrices(sweep, rows)),
        listed=[(question_words(cell), row) for cell, row in zip(sweep.cells, rows)],
        short=short,
    )


def matrices(sweep: Sweep, rows: Sequence[sweep_types.Cell]) -> Iterator[Matrix]:
    """A matrix for each grid of the sweep."""
    for index, name in enumerate(sweep.grids):
        chosen = [(cell, row) for cell, row in zip(sweep.cells, rows) if cell.grid == index]
        differing = _differing([_chosen(cell) for cell, _ in chosen])
        across = [
            name
            for name in differing
            if all(_is_number(_chosen(cell).get(name, "")) for cell, _ in chosen)
        ]
        placed: dict[tuple[Key, Key], sweep_types.Cell] = {}
        for cell, row in chosen:
            told = _chosen(cell)
            down = tuple((name, told.get(name, "")) for name in differing if name not in across)
            placed[down, tuple((name, told.get(name, "")) for name in across)] = row
        columns = sorted(
            {column for _, column in placed}, key=lambda key: [int(value or -1) for _, value in key]
        )
        downs = list(dict.fromkeys(down for down, _ in placed))
        lines = tuple(
            (_label(down), tuple(placed.get((down, column)) for column in columns))
            for down in downs
        )
        yield Matrix(
            name or f"grid {index + 1}", tuple(_label(column) for column in columns), lines
        )


def _chosen(cell: Cell) -> dict[str, str]:
    """The values that the file chose for a cell, as texts. What a mutation brings with it is not
    told: it goes with the mutation's name.
    """
    q = cell.question
    fields = {name: word(value) for name, value in q.fields.items()}
    faults = (
        ""
        if q.faults is None
        else " + ".join(f"{name} {n}" for name, n in q.faults.items()) or "no faults"
    )
    every = "progress" if q.progress else "all invariants"
    chosen = ", ".join(q.invariants) or every
    return {
        "variant": q.variant,
        "mutation": q.mutation or "no mutation",
        "faults": faults,
        "invariants": chosen,
        **fields,
    }


def _is_number(text: str) -> bool:
    return text == "" or (text.isascii() and text.isdecimal())


def _differing(told: Sequence[Mapping[str, str]]) -> list[str]:
    names = dict.fromkeys(name for one in told for name in one)
    return [name for name in names if len({one.get(name, "") for one in told}) > 1]


def _label(key: Key) -> str:
    """A column's or line's name: values, with the name of what they are where they do not say so
    themselves.
    """
    plain = {"variant", "mutation", "faults", "invariants", "assignor"}
    return ", ".join(
        value if name in plain else f"{name.replace('_', ' ')} {value or 'none'}"
        for name, value in key
    )


def simulations(sweep: Sweep, rows: Sequence[Simulation]) -> Iterator[SimulationGrid]:
    """A table for each grid of simulations."""
    for index, name in enumerate(sweep.simulated_grids):
        chosen = [
            (question_words(cell).removeprefix("simulate "), row)
            for cell, row in zip(sweep.simulations, rows)
            if cell.grid == index
        ]
        bounded = dict.fromkeys(m for _, row in chosen for m in row.at_most)
        measures = tuple(dict.fromkeys((*bounded, *SHOWN)))
        lines = tuple(
            (words, row, tuple(amount(row, m) for m in measures)) for words, row in chosen
        )
        yield SimulationGrid(name or f"simulations {index + 1}", measures, lines)


def _facts(
    rows: Sequence[sweep_types.Cell], simulated: Sequence[Simulation]
) -> Iterator[tuple[str, str]]:
    every: list[Row] = [*rows, *simulated]
    odd = sum(not row.as_expected for row in every)
    yield "cells", f"{len(every):,}, {odd:,} not as expected"
    if rows:
        yield "states", f"{sum(row.states for row in rows):,}"
    yield "checking", f"{sum(row.task_seconds for row in every):,.1f} s"
    if words := not_judged_words(rows):
        yield "progress", words
    if words := held_words(rows):
        yield "forecasts", words


def short(count: int) -> str:
    """A count in at most five characters: 999, 12.3k, 4.5M."""
    for unit, size in (("G", 10**9), ("M", 10**6), ("k", 10**3)):
        if count >= size:
            return (
                f"{count / size:.1f}{unit}" if count < 99.95 * size else f"{count / size:.0f}{unit}"
            )
    return str(count)
