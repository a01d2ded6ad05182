"""From a sweep file to its cells: each grid is the product of its choices, less what its filters
leave out.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, TypeVar

import attrs
import click
from attrs import frozen

from groupcheck.model.engine import Limits, UserError
from groupcheck.oracles.explain import subject as subjects
from groupcheck.oracles.explain.subject import mutation_named, one_of, variant_named
from groupcheck.oracles.printable import printable
from groupcheck.oracles.quantities import SIZE
from groupcheck.oracles.sweep.cells import Cell, Question, cell

MOST_CELLS = 5_000
MOST_PRODUCT = 100_000  # of one grid, before its filters
MOST_GRIDS = MOST_CONDITIONS = 100  # of a file, of a filter
EXPECTED = ("holds", "violated", "unknown")
LIMITS = {"max_states": "states", "max_seconds": "seconds", "max_memory": "memory"}
OUTER = ("name", "limits", "grid")
WORDS = (
    "name",
    "variant",
    "mutation",
    "invariants",
    "faults",
    "expect",
    "limits",
    "only",
    "without",
)  # keys of a grid beside the scope's
NOTHING = "none"
LONGEST_NAME = 200

T = TypeVar("T")
Choice = dict[str, Any]  # key of a grid -> the value chosen


@frozen
class Sweep:
    """What a file asks: a title, the names of its grids, and all cells in the order of the file."""

    title: str
    grids: tuple[str, ...]
    cells: tuple[Cell, ...]


def grown(document: Mapping[str, Any], where: str) -> Sweep:
    """The sweep that a document describes. Raises `UserError` for unknown keys and names, wrong
    types, no cell, too many, or the same twice.
    """
    _known_keys(document, OUTER, where)
    limits = _limits(document.get("limits", {}), Limits(), f"{where}, limits")
    grids = document.get("grid")
    if (
        not isinstance(grids, list)
        or not grids
        or not all(isinstance(grid, dict) for grid in grids)
    ):
        raise UserError(
            "there is no grid", where=where, do="write one under [[grid]]; see docs/sweep.md"
        )
    if len(grids) > MOST_GRIDS:
        raise UserError(f"more than {MOST_GRIDS} grids", where=where)
    cells: list[Cell] = []
    names = []
    for index, grid in enumerate(grids):
        place = f"{where}, grid {index + 1}"
        names.append(_text(grid.get("name", ""), f"{place}, name"))
        asked = _placed(place, _questions, grid, limits, place)
        if len(cells) + len(asked) > MOST_CELLS:
            raise UserError(
                f"more than {MOST_CELLS:,} cells",
                where=place,
                do="filter with only or without, or make several files",
            )
        for question, expect in asked:
            given = {
                **question.fields,
                **({"faults": dict(question.faults)} if question.faults else {}),
            }
            shown = ", ".join([place, *(f"{name} {value}" for name, value in given.items())])
            cells.append(_placed(shown, cell, len(cells) + 1, index, question, expect))
    _must_differ(cells, where)
    return Sweep(_text(document.get("name", ""), f"{where}, name"), tuple(names), tuple(cells))


def _placed(place: str, step: Callable[..., T], *arguments: Any) -> T:
    """A step whose complaints say where in the file, if they do not yet."""
    try:
        return step(*arguments)
    except UserError as error:
        where = error.where if error.where.startswith(place) else place
        raise UserError(error.what, where=where, do=error.do) from None


def _must_differ(cells: Sequence[Cell], where: str) -> None:
    seen: dict[str, Cell] = {}
    for one in cells:
        first = seen.setdefault(one.asked, one)
        if first is not one:
            raise UserError(
                f"cells {first.number} and {one.number} ask the same"
                f" (grids {first.grid + 1} and {one.grid + 1})",
                where=where,
                do="leave one out with without",
            )


def _questions(grid: Mapping[str, Any], limits: Limits, place: str) -> list[tuple[Question, str]]:
    variants = [_text(name, f"{place}, variant") for name in _many(grid.get("variant", []))]
    if not variants:
        raise UserError("no variant is named", where=place, do='as in variant = "classic"')
    for name in variants:
        _fields_of(name, grid, place)
    limits = _limits(grid.get("limits", {}), limits, f"{place}, limits")
    expect = _text(grid.get("expect", "holds"), f"{place}, expect")
    if expect not in EXPECTED:
        raise UserError(
            f"{_shown(expect)} is no verdict",
            where=f"{place}, expect",
            do=f"one of {', '.join(EXPECTED)}",
        )
    axes = dict(_axes(grid, variants, place))
    size = math.prod(len(values) for values in axes.values())
    if size > MOST_PRODUCT:
        raise UserError(
            f"a product of {size:,} cells",
            where=place,
            do=f"at most {MOST_PRODUCT:,}, {MOST_CELLS:,} after the filters",
        )
    only = _conditions(grid.get("only"), axes, f"{place}, only")
    without = _conditions(grid.get("without"), axes, f"{place}, without")
    asked = []
    for values in itertools.product(*axes.values()):
        choice = dict(zip(axes, values))
        kept = (not only or any(_fits(choice, c) for c in only)) and not any(
            _fits(choice, c) for c in without
        )
        if kept and _fits_variant(choice):
            asked.append((_question(choice, limits), expect))
    if not asked:
        raise UserError("no cell is left", where=place, do="look at its lists and filters")
    return asked


def _question(choice: Choice, limits: Limits) -> Question:
    fields = {
        name: value for name, value in choice.items() if name not in WORDS and value is not None
    }
    return Question(
        choice["variant"],
        fields,
        choice.get("faults"),
        choice.get("mutation"),
        choice.get("invariants", ()),
        limits,
    )


def _fits_variant(choice: Choice) -> bool:
    """With several variants, `mutation = "all"` means those of each."""
    return (
        choice.get("mutation") is None
        or mutation_named(choice["mutation"]).variant == choice["variant"]
    )


def _fields_of(variant: str, grid: Mapping[str, Any], place: str) -> None:
    """Every key of a grid is a word of ours or a field of the variant's scope, with values of the
    field's type.
    """
    types = {
        f.name: str(f.type)
        for f in attrs.fields(variant_named(variant).scope_type)
        if f.name != "faults"
    }
    for key, given in grid.items():
        if key in WORDS:
            continue
        if key not in types:
            _known_keys({key: given}, [*WORDS, *types], place)
        for value in _many(given):
            kind = types[key]
            nothing = value == NOTHING and "None" in kind
            right = (
                isinstance(value, bool) == ("bool" in kind)
                and isinstance(value, str) == ("str" in kind)
                and not isinstance(value, float)
            )
            if not nothing and not (right and not isinstance(value, list | dict)):
                raise UserError(
                    f"{_shown(value)} is no value for it ({kind})", where=f"{place}, {key}"
                )


def _axes(
    grid: Mapping[str, Any], variants: list[str], place: str
) -> Iterator[tuple[str, list[Any]]]:
    for key, given in grid.items():
        where = f"{place}, {key}"
        if key == "variant":
            values: list[Any] = variants
        elif key == "mutation":
            values = _mutations(given, variants, where)
        elif key == "invariants":
            values = _invariants(given, where)
        elif key == "faults":
            tables = [_budgets(table, where) for table in _many(given)]
            if sum(math.prod(map(len, table.values())) for table in tables) > MOST_PRODUCT:
                raise UserError("too large a product of budgets", where=where)
            values = [faults for table in tables for faults in _faults(table)]
        elif key in WORDS:
            continue
        else:
            values = [None if value == NOTHING else value for value in _many(given)]
        if not values:
            raise UserError("an empty list leaves no cell", where=where)
        yield key, values


def _mutations(given: Any, variants: list[str], where: str) -> list[str | None]:
    if given == "all":
        return [m.id for m in subjects.every_mutation() if m.variant in variants]
    names = [_text(name, where) for name in _many(given)]
    for name in names:
        if name != NOTHING and mutation_named(name).variant not in variants:
            raise UserError(
                f"mutation {name} belongs to variant {mutation_named(name).variant}", where=where
            )
    return [None if name == NOTHING else name for name in names]


def _invariants(given: Any, where: str) -> list[tuple[str, ...]]:
    """A list of names is one choice; a list of such lists is one for each. The empty list means
    all.
    """
    choices = (
        given
        if isinstance(given, list) and given and all(isinstance(one, list) for one in given)
        else [given]
    )
    return [tuple(_text(name, where) for name in _many(choice)) for choice in choices]


def _budgets(table: Any, where: str) -> dict[str, list[int]]:
    """A table of faults with a list of budgets for each."""
    if not isinstance(table, dict):
        raise UserError(
            f"{_shown(table)} is no table",
            where=where,
            do="as in faults = {crash = 1} or a list of such tables",
        )
    for name, budgets in table.items():
        for budget in _many(budgets):
            if isinstance(budget, bool) or not isinstance(budget, int) or budget < 0:
                raise UserError(
                    f"the budget of {_shown(name)} is {_shown(budget)}, not 0 or more", where=where
                )
    return {name: _many(budgets) for name, budgets in table.items()}


def _faults(table: Mapping[str, list[int]]) -> Iterator[dict[str, int]]:
    """Each choice of budgets; a budget of none is the same as no such fault."""
    for budgets in itertools.product(*table.values()):
        yield {name: n for name, n in zip(table, budgets) if n}


def _conditions(given: Any, axes: Mapping[str, Any], where: str) -> list[Mapping[str, Any]]:
    """Filters: a table, or a list of tables, of keys that the grid gives."""
    conditions = [] if given is None else _many(given)
    if len(conditions) > MOST_CONDITIONS:
        raise UserError(f"more than {MOST_CONDITIONS} conditions", where=where)
    for condition in conditions:
        if not isinstance(condition, dict) or not condition:
            raise UserError(
                f"{_shown(condition)} is no table of values",
                where=where,
                do="as in without = [{members = 3, generations = [3, 4]}]",
            )
        for key in condition:
            if key not in axes:
                raise one_of("key of the grid's choices", key, axes)
    return conditions


def _fits(choice: Choice, condition: Mapping[str, Any]) -> bool:
    """Has the choice all these values, or one of each list? A table of faults asks for those
    budgets alone, the empty one for no fault.
    """
    return all(
        any(_same(choice[key], value) for value in _many(wanted))
        for key, wanted in condition.items()
    )


def _same(chosen: Any, wanted: Any) -> bool:
    if isinstance(chosen, dict):
        return (
            isinstance(wanted, dict)
            and all(chosen.get(name, 0) in _many(n) for name, n in wanted.items())
            and bool(wanted or not chosen)
        )
    if isinstance(chosen, tuple):
        return wanted in chosen
    return bool(chosen == (None if wanted == NOTHING else wanted))


def _limits(given: Any, start: Limits, where: str) -> Limits:
    if not isinstance(given, dict):
        raise UserError(
            f"{_shown(given)} is no table", where=where, do="as in limits = {max_states = 100000}"
        )
    _known_keys(given, tuple(LIMITS), where)
    wanted: dict[str, Any] = {}
    for key, value in given.items():
        whole = isinstance(value, int) and not isinstance(value, bool)
        if key == "max_memory" and (whole or isinstance(value, str)):
            try:
                value, whole = SIZE.convert(value, None, None), True
            except click.BadParameter as error:
                raise UserError(error.message, where=f"{where}, {key}") from None
        right = whole or (key == "max_seconds" and isinstance(value, float))
        if not right or not 0 < value < 2**62:
            raise UserError(
                f"{_shown(value)} is no limit",
                where=f"{where}, {key}",
                do="a number above 0; max_memory also as 512M",
            )
        wanted[LIMITS[key]] = float(value) if key == "max_seconds" else value
    return attrs.evolve(start, **wanted)


def _known_keys(given: Mapping[str, Any], known: Sequence[str], where: str) -> None:
    for key in given:
        if key not in known:
            near = get_close_matches(key, known, 1)
            raise UserError(
                f"unknown key {_shown(key)}",
                where=where,
                do=f"did you mean {near[0]}?" if near else f"known: {', '.join(known)}",
            )


def _many(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _text(value: Any, where: str) -> str:
    if not isinstance(value, str) or len(value) > LONGEST_NAME:
        raise UserError(
            f"{_shown(value)} is no text of at most {LONGEST_NAME} characters", where=where
        )
    return value


def _shown(value: Any) -> str:
    text = printable(
        repr(value)
        if not isinstance(value, int) or abs(value) < 10**18
        else "a number of many digits"
    )
    return text if len(text) <= 60 else f"{text[:57]}..."
