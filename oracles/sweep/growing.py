"""Makes the cells of a sweep file: each grid is the product of its choices, less what its filters
leave out.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from attrs import frozen

from groupcheck.model.engine import Limits, UserError
from groupcheck.oracles.explain import subject as subjects
from groupcheck.oracles.explain.own import is_own
from groupcheck.oracles.explain.subject import mutation_named, variant_named
from groupcheck.oracles.printable import printable
from groupcheck.oracles.sweep.cells import Cell, Question, cell
from groupcheck.oracles.sweep.choices import MOST_PRODUCT, NOTHING, Choice, kept, listed
from groupcheck.oracles.sweep.document import WORDS, Grid, document, grid, simulated_grid
from groupcheck.oracles.sweep.simulations import SimulationCell, cells_of

MOST_CELLS = 5_000


@frozen
class Sweep:
    """The cells that a file asks for."""

    title: str
    # the names of the grids, "" without one
    grids: tuple[str, ...]
    # all checks, in the order of the file
    cells: tuple[Cell, ...]
    # the names of the grids of simulations, "" without one, and all of their cells
    simulated_grids: tuple[str, ...] = ()
    simulations: tuple[SimulationCell, ...] = ()

    @property
    def every(self) -> tuple[Cell | SimulationCell, ...]:
        """Checks and simulations."""
        return (*self.cells, *self.simulations)


def grown(given: Any, where: str, specs: Mapping[str, str] | None = None) -> Sweep:
    """The sweep that a file describes, from its plain data. `specs`: see `cells.allowed`. Raises
    `UserError` for unknown keys and names, wrong types, no cell, too many, or the same twice.
    """
    asked = document(given, where)
    if not asked.grid and not asked.simulate:
        raise UserError(
            "there is no grid",
            where=where,
            do="write one under [[grid]] or [[simulate]]; see docs/sweep.md",
        )
    limits = asked.limits.over(Limits())
    max_seconds = None if limits.seconds is None else float(limits.seconds)
    cells: list[Cell] = []
    names = []
    for index, keys in enumerate(asked.grid):
        place = f"{where}, grid {index + 1}"
        one = grid(keys, place)
        names.append(one.name)
        questions = _questions(one, keys, limits, place, specs or {})
        _not_too_many(len(cells) + len(questions), place)
        for question in questions:
            try:
                cells.append(cell(len(cells) + 1, index, question, one.expect))
            except UserError as error:
                given = {**question.fields, "faults": dict(question.faults or {})}
                shown = ", ".join([place, *(f"{name} {v}" for name, v in given.items() if v)])
                raise UserError(error.what, where=printable(shown)[:200], do=error.do) from None
    simulations: list[SimulationCell] = []
    simulated = []
    for index, keys in enumerate(asked.simulate):
        place = f"{where}, simulate {index + 1}"
        runs = simulated_grid(keys, place)
        simulated.append(runs.name)
        start = len(cells) + len(simulations) + 1
        simulations += cells_of(runs, keys, max_seconds, index, start, place)
        _not_too_many(len(cells) + len(simulations), place)
    _must_differ(cells, where)
    _must_differ(simulations, where)
    return Sweep(asked.name, tuple(names), tuple(cells), tuple(simulated), tuple(simulations))


def _not_too_many(number: int, place: str) -> None:
    if number > MOST_CELLS:
        raise UserError(
            f"more than {MOST_CELLS:,} cells",
            where=place,
            do="filter with only or without, or make several files",
        )


def _must_differ(cells: Sequence[Cell | SimulationCell], where: str) -> None:
    seen: dict[str, Cell | SimulationCell] = {}
    for one in cells:
        first = seen.setdefault(one.asked, one)
        if first is not one:
            raise UserError(
                f"cells {first.number} and {one.number} ask the same"
                f" (grids {first.grid + 1} and {one.grid + 1})",
                where=where,
                do="leave one out with without",
            )


def _questions(
    grid: Grid, keys: Mapping[str, Any], limits: Limits, place: str, specs: Mapping[str, str]
) -> list[Question]:
    axes = dict(_axes(grid, keys, place))
    asked = [
        _question(choice, grid.limits.over(limits), grid.progress, specs)
        for choice in kept(axes, grid.only, grid.without, place)
    ]
    asked = [question for question in asked if _fits_variant(question)]
    if not asked:
        raise UserError("no cell is left", where=place, do="look at its lists and filters")
    return asked


def _question(choice: Choice, limits: Limits, progress: bool, specs: Mapping[str, str]) -> Question:
    return Question(
        choice["variant"],
        {name: v for name, v in choice.items() if name not in WORDS and v is not None},
        choice.get("faults"),
        choice.get("mutation"),
        choice.get("invariants", ()),
        limits,
        progress,
        specs,
    )


def _fits_variant(question: Question) -> bool:
    """With several variants, `mutation = "all"` means those of each."""
    bug = question.mutation
    return bug is None or _concerns(bug, question.variant)


def _axes(grid: Grid, keys: Mapping[str, Any], place: str) -> Iterator[tuple[str, Sequence[Any]]]:
    """The keys of the grid that make cells, in the order of the file, with their values."""
    for key, given in keys.items():
        values: Sequence[Any]
        if key == "variant":
            values = grid.variant
        elif key == "mutation":
            values = _mutations(grid)
        elif key == "invariants":
            several = grid.invariants and all(isinstance(one, list) for one in grid.invariants)
            values = (
                [tuple(listed(one)) for one in grid.invariants] if several else [grid.invariants]
            )
        elif key == "faults":
            values = list(itertools.islice(_faults(grid.faults), MOST_PRODUCT + 1))
        elif key in WORDS:
            continue
        else:
            values = [None if value == NOTHING else value for value in listed(given)]
        if not values:
            raise UserError("an empty list leaves no cell", where=f"{place}, {key}")
        yield key, values


@cache
def _concerns(mutation: str, variant: str) -> bool:
    if is_own(mutation) or is_own(variant):
        return True  # it is imported, and refused where it does not fit, when its cell is made
    return mutation_named(mutation).concerns(variant_named(variant))


def _mutations(grid: Grid) -> list[str | None]:
    if grid.mutation == ("all",):
        ids = [m.id for m in subjects.every_mutation()]
        return [id for id in ids if any(_concerns(id, variant) for variant in grid.variant)]
    return [
        None if name == NOTHING else name if is_own(name) else mutation_named(name).id
        for name in grid.mutation
    ]


def _faults(tables: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, int]]:
    """Each choice of budgets. A budget of 0 is the same as no such fault."""
    for table in tables:
        for budgets in itertools.product(*map(listed, table.values())):
            yield {name: n for name, n in zip(table, budgets) if n != 0}
