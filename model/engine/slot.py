"""Slots: what a state is made of, and the values that they begin with and may hold."""

from __future__ import annotations

import types
from collections.abc import Iterable
from typing import Any, get_args, get_origin

from attrs import frozen

from groupcheck.model.engine.errors import SpecError, shown
from groupcheck.model.engine.pools import flaw

Value = Any


@frozen
class AnyOf:
    """One of several values in an initial state."""

    values: tuple[Value, ...]


def any_of(*values: Value) -> AnyOf:
    """In place of an initial value: each of these. An array whose elements begin with any of two
    values has an initial state for each combination. Raises `SpecError` if there is no value.
    """
    if not values:
        raise SpecError("any_of() is none", do="give the values: any_of(0, 1)")
    return AnyOf(values)


def choices(value: Value | AnyOf) -> tuple[Value, ...]:
    """The values that an initial value stands for."""
    return value.values if isinstance(value, AnyOf) else (value,)


@frozen
class Slot:
    """A single slot, or an array of equal ones."""

    # The value in the initial state, of each element; perhaps any of several.
    initial: Value | AnyOf
    # How many elements an array has; None: the slot is single.
    size: int | None = None
    # The types that its values may have; empty: the type of the value that it holds at the time.
    kinds: tuple[type, ...] = ()


def single(initial: Value | AnyOf, of: Any = None) -> Slot:
    """A slot with one value. `of`: the types that it may hold, where there are several, as
    `Leader | None`. Raises `SpecError` if `of` gives anything but types.
    """
    return Slot(initial, None, _kinds(of))


def array(size: int, initial: Value | AnyOf, of: Any = None) -> Slot:
    """`size` slots of one kind, indexed 0 .. size-1, all starting with `initial`. `of`: the types
    that each may hold, where there are several. Raises `SpecError` if `of` gives anything but
    types.
    """
    return Slot(initial, size, _kinds(of))


def _kinds(of: Any) -> tuple[type, ...]:
    """The types in `Leader | None`, `Leader` or a tuple of types."""
    if of is None:
        return ()
    is_union = isinstance(of, types.UnionType) or str(get_origin(of)) == "typing.Union"
    given = get_args(of) if is_union else of if isinstance(of, tuple) else (of,)
    kinds = tuple(type(None) if kind is None else kind for kind in given)
    for kind in kinds:
        if not isinstance(kind, type) or get_origin(kind) is not None:
            raise SpecError(
                f"of={shown(of)} does not say which types a slot may hold",
                do="write of=Leader, of=Leader | None or of=(Leader, Follower)",
            )
    return kinds


def type_names(kinds: Iterable[type]) -> str:
    """Types in words."""
    return " or ".join("None" if kind is type(None) else kind.__name__ for kind in kinds)


def unfit(slot: Slot, parameter: str, old: Value, new: Value) -> str:
    """Why a value cannot take the place of another one in a slot; empty if it can. `parameter`: how
    the rule calls the slot.
    """
    if problem := flaw(new, old):
        return (
            f"yielded a {type(new).__name__} for {parameter}, which {problem} (use frozen values)"
        )
    begun = f"yielded a {type(new).__name__} for {parameter}, which holds"
    if slot.kinds:
        return "" if type(new) in slot.kinds else f"{begun} {type_names(slot.kinds)} alone"
    if type(new) is type(old):
        return ""
    both = " | ".join(
        sorted((type_names([type(old)]), type_names([type(new)])), key=lambda n: n == "None")
    )
    return f"{begun} {type(old).__name__} (if it may hold both, declare the slot with of={both})"
