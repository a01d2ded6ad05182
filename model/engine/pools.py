"""Interning: the values that a slot (or view) has taken, numbered in order of discovery. Equal
values have one number, so they must be the same (`sameness`).
"""

from __future__ import annotations

import enum
import operator
import sys
from collections.abc import Callable, Iterable
from typing import Any

import attrs

from groupcheck.model.engine.functions import AnswerError
from groupcheck.model.engine.sameness import SURE, unending, unlike

Parts = Any  # a `Spec`: its own file imports this one
_FROZEN_BUILTINS = (int, float, complex, str, bytes, bool, frozenset, tuple, type(None), enum.Enum)


def _is_generated(cls: type, *names: str) -> bool:
    """Did attrs write these methods (so that they compare all fields, and a tuple of the fields may
    stand for the value)?
    """
    functions = [getattr(cls, name, None) for name in names]
    return all(
        getattr(getattr(f, "__code__", None), "co_filename", "").startswith("<attrs generated")
        for f in functions
    )


def is_value(cls: type, *written: str) -> bool:
    """Is it an attrs class with plain equality of all fields? `written`: more methods that attrs
    must have written.
    """
    return (
        attrs.has(cls)
        and _is_generated(cls, "__eq__", "__hash__", *written)
        and all(
            f.eq is True and f.eq_key is None and f.hash in (None, True) for f in attrs.fields(cls)
        )
    )


def key_function(cls: type) -> Callable[[Any], Any] | None:
    """A getter of all fields, hashed and compared in C, for attrs classes with plain equality;
    None: the value is its own key.
    """
    if not is_value(cls) or not attrs.fields(cls):
        return None
    return operator.attrgetter(*(f.name for f in attrs.fields(cls)))


def is_frozen(cls: type) -> bool:
    """Is a change of such a value by mistake out of the question (frozen attrs or dataclass, named
    tuple, builtin)?
    """
    parameters = getattr(cls, "__dataclass_params__", None)
    if attrs.has(cls):
        return getattr(cls.__setattr__, "__name__", "") == "_frozen_setattrs"
    return issubclass(cls, _FROZEN_BUILTINS) or bool(parameters and parameters.frozen)


def flaw(value: Any, other: Any) -> str:
    """Why a value cannot be in one pool with another one; empty if it can."""
    if type(value) in SURE:
        return ""
    try:
        hash(value)
    except TypeError:
        return "cannot be hashed"
    except Exception as error:
        return f"raises {type(error).__name__} when it is hashed"
    try:
        bool(value == other)
    except Exception as error:
        return f"raises {type(error).__name__} when it is compared"
    return "can be read only once" if hasattr(value, "__next__") else ""


class Taken:
    """The values that slots and views have taken in a search."""

    def __init__(self, spec: Parts, views: Iterable[str] = ()) -> None:
        """The initial values of all slots, and none of these views yet."""
        self.pools = {name: Pool(name) for name in (*spec.slots, *views)}
        for name in spec.slots:
            for value in spec.initial_values(name):
                self.pools[name].number(value)

    def flaw(self, name: str, value: Any) -> str:
        """Why a value cannot be one of a slot or view in this search; empty if it can. It continues
        "a value which".
        """
        pool = self.pools.get(name)
        return "" if pool is None else pool.flaw(value)


class Pool:
    """The values of one slot. `by_id` finds a value that is itself in `values` (alive, so its id is
    its own); `number` any value.
    """

    def __init__(self, name: str, is_mixed: bool = False) -> None:
        self.name = name
        # Was it declared that values may have several types?
        self.is_mixed = is_mixed
        self.values: list[Any] = []
        self.by_id: dict[int, int] = {}
        self.is_uniform = True  # values of one type alone
        self.is_frozen = True
        self._plain: dict[Any, int] = {}
        self._shapes: dict[type, tuple[Callable[[Any], Any] | None, dict[Any, int]]] = {}

    def number(self, value: Any) -> int:
        """The number of a value, a new one if it was never met. Raises TypeError if it cannot be
        hashed, `AnswerError` if it equals a known one and is not the same, or does not equal
        itself: the text continues "a value which".
        """
        known = self.by_id.get(id(value))
        if known is not None:
            return known
        key, seen = self._shapes.get(type(value)) or self._shape(type(value))
        new = len(self.values)
        what = value if key is None else key(value)
        found = seen.setdefault(what, new)
        if found == new:
            if problem := unending(value):
                del seen[what]
                raise AnswerError(problem)
            self.values.append(value)
            self.by_id[id(value)] = new
        elif problem := unlike(self.values[found], value):
            raise AnswerError(problem)
        return found

    def flaw(self, value: Any) -> str:
        """Why a value cannot be in the pool; empty if it can, and then it is."""
        try:
            self.number(value)
        except AnswerError as error:
            return str(error)
        except Exception as error:
            return f"raises {type(error).__name__} when it is compared"
        return ""

    @property
    def bytes_of_lists(self) -> int:
        """Bytes of the list and the dicts, and of the keys of attrs values."""
        made = [s for key, s in self._shapes.values() if key is not None]
        keys = sum(sys.getsizeof(next(iter(s))) * len(s) for s in made if s)
        shapes = sum(sys.getsizeof(s) for s in made) + sys.getsizeof(self._plain)
        return sys.getsizeof(self.values) + sys.getsizeof(self.by_id) + shapes + keys

    def _shape(self, cls: type) -> tuple[Callable[[Any], Any] | None, dict[Any, int]]:
        key = key_function(cls)
        shape = self._shapes[cls] = (key, self._plain if key is None else {})
        self.is_uniform = len(self._shapes) == 1
        self.is_frozen = self.is_frozen and is_frozen(cls)
        return shape

    def fingerprint(self, value: Any) -> int:
        """A hash of the value's content, to see whether a call changed it."""
        key, _ = self._shapes.get(type(value)) or self._shape(type(value))
        return hash(value if key is None else key(value))
