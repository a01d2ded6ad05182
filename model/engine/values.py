"""Frozen values with some fields changed.

`evolve` remembers what it made of a value, because most results are made again. It does so only for
frozen attrs classes that are no more than their fields, in bounded memory, and pauses where fewer
than half of the results come again. Equal values count as one (1 and True), as they do in slots.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import inf
from operator import is_
from typing import Any, TypeVar

import attrs
from attrs import define

from groupcheck.model.engine.pools import is_frozen, is_value
from groupcheck.model.engine.sameness import difference, is_clearly_same

T = TypeVar("T")
MOST = 1 << 14  # results of one kind that are remembered at a time
LOOK = 1 << 10  # results that are made between two looks at whether it pays to remember them
PAUSE = 1 << 16  # calls without memory where it does not

# Of equal results the one that was made first.
_first: dict[Any, Any] = {}


@define
class _Replacer:
    """Changes some fields of values of one class. Several threads may use it: what is lost between
    them is at most a result that could have been remembered.
    """

    make: Callable[..., Any]
    # By the id of a value, and its changes: the value, which stays alive here so that no other one
    # takes its id, what was made of it, and these changes. None: nothing is remembered now.
    made: dict[tuple[Any, ...], tuple[Any, Any, tuple[Any, ...]]] | None
    # Results until it is looked at whether it pays to remember them, or calls until that is tried
    # again. Infinite: never.
    left: float
    # Results that were not made again since it was looked at last.
    spared: int = 0

    def without_memory(self, value: Any, changes: dict[str, Any]) -> Any:
        self.left -= 1
        if self.left <= 0:
            self.made, self.left = {}, LOOK
        return self.make(value, **changes)

    def remember(
        self, made: dict[Any, Any], asked: tuple[Any, ...], value: Any, changes: dict[str, Any]
    ) -> Any:
        """The new value, or the same one that was made before. `made`: `self.made`, as it was when
        the call began.
        """
        new = self.make(value, **changes)
        try:
            first = _first.setdefault(new, new)
            if first is not new and difference(first, new):
                return new
        except Exception:  # a field that cannot be hashed or compared
            return new
        made[asked] = value, first, (*changes.values(),)
        self.left -= 1
        if self.left <= 0:
            self._look()
        return first

    def _look(self) -> None:
        """Does it pay to remember results? It costs about as much as it saves."""
        pays, self.spared = self.spared >= LOOK, 0
        self.left = LOOK if pays else PAUSE
        if not pays or len(self.made or ()) >= MOST:
            self.made = {} if pays else None
        if len(_first) >= 4 * MOST:
            _first.clear()


# By class and names of changes.
_replacers: dict[tuple[Any, ...], _Replacer] = {}


@contextmanager
def unremembered() -> Iterator[None]:
    """Within it `evolve` remembers nothing: for a run whose values seldom come again."""
    global _replacers
    kept, _replacers = _replacers, _Forgetful()
    try:
        yield
    finally:
        _replacers = kept


def evolve(value: T, /, **changes: Any) -> T:
    """The same value with some fields changed: `attrs.evolve` for values without converters, as one
    generated constructor call.

    A private field has two names here, its own and that of its argument (`_x` or `x`). A field that
    the constructor does not take gets the value that the constructor gives it.

    Where most results were made before, they are not made again, so that numbering them takes no
    hash.
    """
    key = (type(value), *changes)
    replacer = _replacers.get(key) or _replacers.setdefault(key, _new(type(value), list(changes)))
    made = replacer.made
    if made is None:
        return replacer.without_memory(value, changes)  # type: ignore[no-any-return]
    asked = (id(value), *changes.values())
    try:
        known = made.get(asked)
        is_same = known is None or (
            all(map(is_, known[2], changes.values()))
            or all(map(is_clearly_same, known[2], changes.values()))
        )
    except Exception:  # a field that cannot be hashed or compared
        return replacer.make(value, **changes)  # type: ignore[no-any-return]
    if known is None:
        return replacer.remember(made, asked, value, changes)  # type: ignore[no-any-return]
    if not is_same:  # or not clearly
        return replacer.make(value, **changes)  # type: ignore[no-any-return]
    replacer.spared += 1
    return known[1]  # type: ignore[no-any-return]


class _Forgetful(dict[tuple[Any, ...], _Replacer]):
    """Replacers that remember nothing."""

    def setdefault(self, key: Any, default: Any = None) -> Any:
        default.made, default.left = None, inf
        return super().setdefault(key, default)


def _new(cls: type, changes: list[str]) -> _Replacer:
    make = _replacer(cls, changes)
    return _Replacer(make, {}, LOOK) if _is_its_fields(cls) else _Replacer(make, None, inf)


def _is_its_fields(cls: type) -> bool:
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
