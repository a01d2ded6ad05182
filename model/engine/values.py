"""Frozen values with some fields changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import attrs

from groupcheck.model.engine.pools import is_frozen, is_value

T = TypeVar("T")
MOST = 1 << 16  # results that are remembered at a time

# By class and names of changes: what makes the new value, and whether that may be remembered.
_replacers: dict[tuple[Any, ...], tuple[Callable[..., Any], bool]] = {}
# By the id of a value, and the names and values of its changes: the value, which stays alive here
# so that no other one takes its id, and what was made of it.
_made: dict[tuple[Any, ...], tuple[Any, Any]] = {}
# Of equal results the one that was made first.
_first: dict[Any, Any] = {}


def but(value: T, /, **changes: Any) -> T:
    """The same value with some fields changed: `attrs.evolve` for values without converters, as one
    generated constructor call.

    A private field has two names here, its own and that of its argument (`_x` or `x`). A field that
    the constructor does not take gets the value that the constructor gives it.

    Equal values are the same value to a search. So a value of a frozen class that was made before
    is not made again: most results are, and numbering an object that is known takes no hash.
    """
    asked = (id(value), *changes, *changes.values())
    try:
        made = _made.get(asked)
    except Exception:  # a field that cannot be hashed or compared
        return _replaced(value, changes)[0]  # type: ignore[no-any-return]
    return _remembered(asked, value, changes) if made is None else made[1]  # type: ignore[no-any-return]


def _replaced(value: Any, changes: dict[str, Any]) -> tuple[Any, bool]:
    """The new value, and whether it may be remembered."""
    key = (type(value), *changes)
    if key not in _replacers:
        _replacers[key] = _replacer(type(value), list(changes)), _may_be_remembered(type(value))
    make, is_kept = _replacers[key]
    return make(value, **changes), is_kept


def _remembered(asked: tuple[Any, ...], value: Any, changes: dict[str, Any]) -> Any:
    """The new value, or an equal one that was made before."""
    new, is_kept = _replaced(value, changes)
    if not is_kept:
        return new
    if len(_made) >= MOST:
        _made.clear()
        _first.clear()
    try:
        first = _first.setdefault(new, new)
    except Exception:  # a field that cannot be hashed or compared
        return new
    _made[asked] = value, first
    return first


def _may_be_remembered(cls: type) -> bool:
    """Is a value of this class no more than its fields? Then one cannot be told from an equal one,
    and to make it again does nothing else.
    """
    return (
        is_frozen(cls)
        and is_value(cls, "__init__")
        and not hasattr(cls, "__attrs_pre_init__")
        and not hasattr(cls, "__attrs_post_init__")
        and all(f.init and f.converter is None for f in attrs.fields(cls))
    )


def _replacer(cls: type, changes: list[str]) -> Callable[..., Any]:
    taken = [f for f in attrs.fields(cls) if f.init]
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
