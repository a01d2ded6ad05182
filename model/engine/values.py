"""Frozen values with some fields changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from attrs import fields

T = TypeVar("T")
_replacers: dict[tuple[Any, ...], Callable[..., Any]] = {}


def but(value: T, /, **changes: Any) -> T:
    """The same value with some fields changed: `attrs.evolve` for values without converters, as one
    generated constructor call.

    A private field has two names here, its own and that of its argument (`_x` or `x`). A field that
    the constructor does not take gets the value that the constructor gives it.
    """
    key = (type(value), *changes)
    make = _replacers.get(key)
    if make is None:
        make = _replacers[key] = _replacer(type(value), list(changes))
    return make(value, **changes)  # type: ignore[no-any-return]


def _replacer(cls: type, changes: list[str]) -> Callable[..., Any]:
    taken = [f for f in fields(cls) if f.init]
    named = {f.alias: f for f in taken} | {f.name: f for f in taken}
    unknown = [name for name in changes if name not in named]
    if unknown:
        raise TypeError(
            f"{cls.__name__} has no field {unknown[0]!r} to change, only"
            f" {', '.join(f.name for f in taken)}"
        )
    new = {named[name].alias: name for name in changes}
    if len(new) < len(changes):
        raise TypeError(f"a field of {cls.__name__} is given twice: {', '.join(changes)}")
    # Longer than the name of any change, so that no change hides it.
    own = "_" * max(map(len, changes), default=0)
    given = ", ".join(f"{f.alias}={new.get(f.alias) or f'{own}o.{f.name}'}" for f in taken)
    source = f"lambda {', '.join((f'{own}o', '/', *changes))}: {own}c({given})"
    return eval(source, {f"{own}c": cls})  # type: ignore[no-any-return]
