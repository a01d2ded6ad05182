"""Of equal values of slots the one that came first.

A value is found by its parts, as a tuple, and not by its own `__hash__` and `__eq__`: tuples are
hashed and compared without a call of Python. The length of each bit mask is a part of its own.
Python hashes integers modulo 2**61 - 1, so the masks of partitions 0, 61, 122 ... have one hash. A
group with thousands of partitions would compare each new value with dozens of others (measured with
3,000: a quarter of the time of a cooperative group).
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any

import attrs

Value = Any
Key = Callable[[Value], Any]


class Interner:
    """The values that have come so far. Values of one class are equal where their parts are: those
    of an attrs class that generates `__eq__` from its fields, the elements of a tuple, or the value
    itself.
    """

    def __init__(self) -> None:
        self._first: dict[Any, Value] = {}
        self._keys: dict[type, Key] = {
            int: lambda mask: (mask.bit_length(), mask),
            tuple: lambda value: tuple(map(self._key, value)),
        }

    def __call__(self, value: Value) -> Value:
        """The first one of those that equal this one."""
        key = self._keys.get(value.__class__) or self._learn(value.__class__)
        return self._first.setdefault(key(value), value)

    def _key(self, value: Value) -> Any:
        cls = value.__class__
        key = self._keys.get(cls) or self._learn(cls)
        return key(value)

    def _learn(self, cls: type) -> Key:
        found = self._keys[cls] = _of_fields(cls, self._key) or (lambda value: value)
        return found


def _of_fields(cls: Any, key: Key) -> Key | None:
    """The class and its fields, each as its kind wants; None if that is not what its values are."""
    made_by = getattr(getattr(vars(cls).get("__eq__"), "__code__", None), "co_filename", "")
    if "__attrs_attrs__" not in vars(cls) or not made_by.startswith("<attrs"):
        return None
    try:
        fields = attrs.fields(attrs.resolve_types(cls))
    except NameError:  # a type that only a checker of types imports
        fields = attrs.fields(cls)
    if not all(f.eq and f.eq_key is None for f in fields):
        return None
    parts = []
    for f in fields:
        if f.type is int:
            parts += [f"v.{f.name}.bit_length()", f"v.{f.name}"]
        elif isinstance(f.type, type) and issubclass(f.type, bool | int | str):
            parts.append(f"v.{f.name}")
        elif isinstance(f.type, type) and issubclass(f.type, Enum):
            parts.append(f"id(v.{f.name})")  # there is one of each, and its hash is slow
        else:
            parts.append(f"None if v.{f.name} is None else k(v.{f.name})")
    source = f"lambda v: (c, {', '.join(parts)})"
    return eval(source, {"c": cls, "k": key})  # type: ignore[no-any-return]
