"""Frozen values with some fields changed, and other results of rules that come again.

`evolve` remembers what it made of a value, because most results are made again. It does so only for
frozen attrs classes that are no more than their fields. Equal values count as one (1 and True), as
they do in slots. `remembered` does the same for a function that rules call.

Both do so in bounded memory, and pause where fewer than half of the results come again.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from math import inf
from typing import Any, ParamSpec, TypeVar

import attrs
from attrs import define, field

from groupcheck.model.engine.pools import is_frozen, is_value
from groupcheck.model.engine.sameness import difference, is_clearly_same

T = TypeVar("T")
P = ParamSpec("P")
MOST = 1 << 14  # results of one kind that are remembered at a time
LOOK = 1 << 10  # results that are made between two looks at whether it pays to remember them
PAUSE = 1 << 16  # calls without memory where it does not

# Of equal results the one that was made first.
_first: dict[Any, Any] = {}


@define
class _Memory:
    """The results of one kind that are remembered. Several threads may use it: what is lost between
    them is at most a result that could have been remembered.
    """

    # Makes a result.
    make: Callable[..., Any]
    # By the ids of what a result was made of: these values, which stay alive here so that no others
    # take their ids, and the result. `evolve` knows the new fields by themselves. None: nothing is
    # remembered now.
    made: dict[tuple[Any, ...], tuple[Any, ...]] | None = field(factory=dict)
    # Results until it is looked at whether it pays to remember them, or calls until that is tried
    # again. Infinite: never.
    left: float = field(factory=lambda: LOOK)
    # Results that were not made again since it was looked at last.
    spared: int = 0

    def without(self, *given: Any, **changes: Any) -> Any:
        """A result, made while nothing is remembered."""
        self.left -= 1
        if self.left <= 0:
            self.made, self.left = {}, LOOK
        return self.make(*given, **changes)

    def keep(self, made: dict[Any, Any], asked: tuple[Any, ...], known: tuple[Any, ...]) -> None:
        """`made`: `self.made`, as it was when the call began."""
        made[asked] = known
        self.left -= 1
        if self.left <= 0:
            self._look()

    def _look(self) -> None:
        """Does it pay to remember results? It costs about as much as it saves."""
        pays, self.spared = self.spared >= LOOK, 0
        self.left = LOOK if pays else PAUSE
        if not pays or len(self.made or ()) >= MOST:
            self.made = {} if pays else None
        if len(_first) >= 4 * MOST:
            _first.clear()

    def remember(self, made: dict[Any, Any], value: Any, changes: dict[str, Any]) -> Any:
        """A value with these fields changed, or the same one that was made before."""
        new = self.make(value, **changes)
        try:
            first = _first.setdefault(new, new)
            if first is not new and difference(first, new):
                return new
        except Exception:  # a field that cannot be hashed or compared
            return new
        fields = changes.values()
        self.keep(made, (id(value), *fields), (first, value, *fields))
        return first

    def result(self, made: dict[Any, Any], given: tuple[Any, ...]) -> Any:
        """The result of a function."""
        new = self.make(*given)
        self.keep(made, (*map(id, given),), (new, given))
        return new


class _Changes(dict[tuple[str, ...], Callable[..., Any]]):
    """The functions that change fields of values of one class, by the names of the fields."""

    def __init__(self, cls: type, remembers: bool) -> None:
        self.cls, self.remembers = cls, remembers and _is_its_fields(cls)
        self.memories: dict[tuple[str, ...], _Memory] = {}

    def __missing__(self, names: tuple[str, ...]) -> Callable[..., Any]:
        make = _replacer(self.cls, names)
        if self.remembers:
            memory = self.memories.setdefault(names, _Memory(make))
            make = _remembering(memory, names)
        return self.setdefault(names, make)


class _Classes(dict[type, _Changes]):
    """The classes of values that were changed."""

    def __init__(self, remembers: bool = True) -> None:
        self.remembers = remembers

    def __missing__(self, cls: type) -> _Changes:
        return self.setdefault(cls, _Changes(cls, self.remembers))


_REMEMBERING = "<groupcheck remembered>"
_classes = _Classes()
_functions: list[_Memory] = []


@contextmanager
def unremembered() -> Iterator[None]:
    """Within it nothing is remembered: for a run whose values seldom come again."""
    global _classes
    kept, _classes = _classes, _Classes(remembers=False)
    paused = [(memory, memory.left) for memory in _functions if memory.left < inf]
    for memory, _ in paused:
        memory.made, memory.left = None, inf
    try:
        yield
    finally:
        _classes = kept
        for memory, left in paused:
            memory.left = min(left, LOOK)


def evolve(value: T, /, **changes: Any) -> T:
    """The same value with some fields changed: `attrs.evolve` for values without converters, as one
    generated constructor call.

    A private field has two names here, its own and that of its argument (`_x` or `x`). A field that
    the constructor does not take gets the value that the constructor gives it.

    Where most results were made before, they are not made again, so that numbering them takes no
    hash.
    """
    return _classes[type(value)][tuple(changes)](value, **changes)  # type: ignore[no-any-return]


def remembered(function: Callable[P, T]) -> Callable[P, T]:
    """A function of values that are never changed, which gives one of them and does nothing else:
    where most of its calls come again, with the very same objects, it is not called again. Where
    rules call such a function for the value of a field, what they make of that comes again, too,
    and is found without a look inside.
    """
    parameters = inspect.signature(function).parameters.values()
    memory = _Memory(function)
    _functions.append(memory)
    defaults = {f"default_{p.name}": p.default for p in parameters if p.default is not p.empty}
    taken, given, ids = [], [], []
    for p in parameters:
        if p.kind is p.VAR_POSITIONAL:
            taken.append(f"*{p.name}")
            given.append(f"*{p.name}")
            ids.append(f"*map_(id_, {p.name})")
        else:
            assert p.kind is p.POSITIONAL_OR_KEYWORD, f"{function} takes {p.name} by name alone"
            taken.append(p.name + f"=default_{p.name}" * (p.default is not p.empty))
            given.append(p.name)
            ids.append(f"id_({p.name})")
    lines = [
        f"def remembering({', '.join(taken)}):",
        " made_ = memory_.made",
        f" if made_ is None: return memory_.without({', '.join(given)})",
        f" known_ = made_.get(({', '.join(ids)},))",
        f" if known_ is None: return memory_.result(made_, ({', '.join(given)},))",
        " memory_.spared += 1",
        " return known_[0]",
    ]
    there: dict[str, Any] = {}
    code = compile("\n".join(lines), _REMEMBERING, "exec")
    exec(code, {"memory_": memory, "id_": id, "map_": map, **defaults}, there)
    return wraps(function)(there["remembering"])


def is_remembered(function: Any) -> bool:
    """Was it made by `remembered`? Then `__wrapped__` is the function in its source."""
    return getattr(getattr(function, "__code__", None), "co_filename", "") == _REMEMBERING


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


def _own(names: tuple[str, ...]) -> str:
    """The beginning of names that no change of these fields hides: longer than each of them."""
    return "_" * max(map(len, names), default=0)


def _remembering(memory: _Memory, names: tuple[str, ...]) -> Callable[..., Any]:
    """The function that changes these fields, where results are remembered."""
    own = _own(names)
    inner = {"memory": memory, "same": is_clearly_same, "id": id, "dict": dict}
    inner["Exception"] = Exception
    given = ", ".join(f"{name}={name}" for name in names)
    old = [f"{own}{k}" for k in range(len(names))]
    same = " and ".join(f"({k} is {name} or {own}same({k}, {name}))" for k, name in zip(old, names))
    lines = [
        f"def changed({', '.join((f'{own}o', '/', *names))}):",
        f" {own}made = {own}memory.made",
        f" if {own}made is None: return {own}memory.without({own}o, {given})",
        " try:",
        f"  {own}known = {own}made.get(({own}id({own}o), {', '.join(names)}))",
        f"  if {own}known is not None:",
        f"   {', '.join((f'{own}first', f'{own}value', *old))} = {own}known",
        f"   if {same or True}:",
        f"    {own}memory.spared += 1",
        f"    return {own}first",
        # A field that cannot be hashed or compared, or is not clearly the same.
        f"   return {own}memory.make({own}o, {given})",
        f" except {own}Exception: return {own}memory.make({own}o, {given})",
        f" return {own}memory.remember({own}made, {own}o, {own}dict({given}))",
    ]
    there: dict[str, Any] = {}
    exec("\n".join(lines), {f"{own}{name}": value for name, value in inner.items()}, there)
    return there["changed"]  # type: ignore[no-any-return]


def _replacer(cls: type, changes: tuple[str, ...]) -> Callable[..., Any]:
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
    own = _own(changes)
    given = ", ".join(f"{f.alias}={new.get(f.alias) or f'{own}o.{f.name}'}" for f in taken)
    source = f"lambda {', '.join((f'{own}o', '/', *changes))}: {own}c({given})"
    return eval(source, {f"{own}c": cls})  # type: ignore[no-any-return]
