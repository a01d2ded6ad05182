"""The content that a sweep file may have, as classes that cattrs fills in. Fields of the scope are
left as they are: the scope itself refuses what does not fit.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, NewType, get_args, get_origin

import attrs
from attrs import field, frozen, validators
from cattrs import BaseValidationError, Converter, ForbiddenExtraKeysError, transform_error

from groupcheck.model.engine import Limits, UserError
from groupcheck.model.engine.errors import shown
from groupcheck.model.engine.verdict import Kind
from groupcheck.oracles.printable import printable
from groupcheck.oracles.quantities import MOST_REPLICATIONS, bytes_of

Size = NewType("Size", int)
"""Bytes: a number, or a text such as 512M."""
EXPECTED: tuple[Kind, ...] = ("holds", "violated", "unknown")
MOST = 100  # grids of a file, conditions of a filter
PLAIN: dict[type[Any], str] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "text",
}
FEW: Any = validators.max_len(MOST)
POSITIVE = validators.optional([validators.gt(0), validators.lt(2**62)])
EXACT = validators.optional([validators.gt(0), validators.lt(2**53)])  # as a float of a table


@frozen
class LimitsGiven:
    """Limits of each cell; None: not given. Of a simulation only the seconds count."""

    max_states: int | None = field(default=None, validator=POSITIVE)
    max_seconds: float | None = field(default=None, validator=EXACT)
    # of resident memory
    max_memory: Size | None = field(default=None, validator=POSITIVE)  # type: ignore[assignment]

    def over(self, start: Limits) -> Limits:
        """These limits, and from `start` those that are not given."""
        return Limits(
            self.max_states or start.states,
            self.max_seconds or start.seconds,
            self.max_memory or start.memory,
        )


@frozen
class Grid:
    """One grid. A single value in the place of a list is a list of one."""

    variant: tuple[str, ...]
    name: str = ""
    # ids of known bugs, "none" or "all"
    mutation: tuple[str, ...] = ()
    # names of invariants to check, or a list of names for each cell
    invariants: tuple[Any, ...] = ()
    # are promises about progress judged, as with `check --progress`?
    progress: bool = False
    # tables of the budgets of each fault, each budget a number or a list of numbers
    faults: tuple[dict[str, Any], ...] = ()
    # the verdict that its cells should have
    expect: Kind = field(default=EXPECTED[0], validator=validators.in_(EXPECTED))
    limits: LimitsGiven = LimitsGiven()
    # filters: key of the grid -> a value or a list of values
    only: tuple[dict[str, Any], ...] = field(default=(), validator=FEW)
    without: tuple[dict[str, Any], ...] = field(default=(), validator=FEW)


@frozen
class Simulate:
    """One grid of simulations. A single value in the place of a list is a list of one."""

    variant: tuple[str, ...]
    name: str = ""
    # runs of each cell, with the seeds from its `seed` on
    replications: int = field(
        default=5, validator=[validators.ge(1), validators.le(MOST_REPLICATIONS)]
    )
    # measure -> the most that its mean may be
    at_most: dict[str, float] = field(factory=dict)
    # the verdict that its cells should have
    expect: Kind = field(default=EXPECTED[0], validator=validators.in_(EXPECTED))
    # of these only `max_seconds`, for all replications of a cell together
    limits: LimitsGiven = LimitsGiven()
    # filters: key of the grid -> a value or a list of values
    only: tuple[dict[str, Any], ...] = field(default=(), validator=FEW)
    without: tuple[dict[str, Any], ...] = field(default=(), validator=FEW)


@frozen
class Document:
    """A sweep file."""

    name: str = ""
    limits: LimitsGiven = LimitsGiven()
    # the keys of each grid
    grid: tuple[dict[str, Any], ...] = field(default=(), validator=FEW)
    # the keys of each grid of simulations
    simulate: tuple[dict[str, Any], ...] = field(default=(), validator=FEW)


SIMULATE_WORDS = tuple(f.name for f in attrs.fields(Simulate))
WORDS = tuple(f.name for f in attrs.fields(Grid))  # all other keys of a grid belong to the scope


def document(given: Any, where: str) -> Document:
    """A file that has been read; None: there is nothing in it. Raises `UserError` for what is wrong
    outside its grids.
    """
    given = {} if given is None else given
    if not isinstance(given, Mapping):
        raise UserError(
            f"a table of keys such as grid is expected, not {shown(given)[:60]}",
            where=where,
            do="see docs/sweep.md",
        )
    return _structured(given, Document, where)  # type: ignore[no-any-return]


def grid(given: Mapping[str, Any], where: str) -> Grid:
    """The keys of a grid that are not fields of the scope. Raises `UserError` for a wrong value."""
    known = {name: value for name, value in given.items() if name in WORDS}
    return _structured(known, Grid, where)  # type: ignore[no-any-return]


def simulated_grid(given: Mapping[str, Any], where: str) -> Simulate:
    """The keys of a grid of simulations that are neither of the setup nor assumptions. Raises
    `UserError` for a wrong value.
    """
    known = {name: value for name, value in given.items() if name in SIMULATE_WORDS}
    return _structured(known, Simulate, where)  # type: ignore[no-any-return]


def _structured(given: Any, kind: Any, where: str) -> Any:
    try:
        return _CONVERTER.structure(given, kind)
    except (BaseValidationError, AttributeError) as error:
        what, _, path = transform_error(error, "", _words)[0].rpartition(" @ ")
    path = re.sub(r"\[.*?\]", "", path).strip(".")  # .limits.max_states, .faults[0]
    raise UserError(printable(what), where=f"{where}, {path}" if path else where)


def _words(error: BaseException, _: Any) -> str:
    if isinstance(error, KeyError):
        return "is missing"
    if isinstance(error, TypeError | AttributeError):  # from looking for keys in it
        return "a table is expected, as in {crash = 1}"
    if not isinstance(error, ForbiddenExtraKeysError):
        return str(error.args[0])
    name, known = str(min(error.extra_fields)), [f.name for f in attrs.fields(error.cl)]
    near = get_close_matches(name, known, 1)
    hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(known)}"
    return f"unknown key {name[:60]!r} ({hint})"


def _many(given: Any, kind: Any) -> tuple[Any, ...]:
    values = given if isinstance(given, list) else [given]
    each: Any = list[get_args(kind)[0]]  # type: ignore[misc]
    return tuple(_CONVERTER.structure(values, each))


def _is_tuple(kind: Any) -> bool:
    origin: Any = get_origin(kind)
    return origin is tuple


def _plain(given: Any, kind: type[Any]) -> Any:
    """A number or a text as it is written: nothing is rounded, and no text becomes a number."""
    if type(given) in (kind, int if kind is float else kind):
        return given
    raise ValueError(f"{shown(given)[:60]} is not {PLAIN[kind]}")


_CONVERTER = Converter(forbid_extra_keys=True)
for plain in PLAIN:
    _CONVERTER.register_structure_hook(plain, _plain)
_CONVERTER.register_structure_hook(Size, lambda given, _: bytes_of(given))
_CONVERTER.register_structure_hook_func(
    lambda kind: kind == Kind, lambda given, _: _plain(given, str)
)
_CONVERTER.register_structure_hook_func(_is_tuple, _many)
