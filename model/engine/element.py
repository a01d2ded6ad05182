"""Indexes that may be stored: what they are, and what a value says of each of them.

A rule that takes `me: Element` gets its index as a value of this class. It can be stored, compared
with other elements and looked for in sets, and nothing else: it is no number, and it has no order.
So a rule cannot tell which of the elements it has, and values that hold elements can be permuted
together with the arrays (`exchange`), as model values are in TLC.
"""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import Any

import attrs
from attrs import frozen

from groupcheck.model.engine.errors import AsymmetryError, shown
from groupcheck.model.engine.pools import is_value
from groupcheck.model.engine.values import evolve

_LEAVES = (int, bool, float, complex, str, bytes, range, type, type(None))


class Occurrence(enum.Enum):
    """Stands for an element in a mark: this one, or any other."""

    SELF = "self"
    OTHER = "other"


@frozen(repr=False)
class Element:
    """The element of an array with this index (from 0), for rules that store it: `me: Element`."""

    _number: int

    def __repr__(self) -> str:
        return f"Element({self._number})"


def index_of(element: Element) -> int:
    """The index for which an element stands, for who shows it. No rule may ask."""
    return element._number


def given_as(
    elements: Container[str], binding: Mapping[str, int], takes: Iterable[str]
) -> tuple[int | Element, ...]:
    """The values of the index variables that a function takes. `elements`: those of them that it
    takes as elements.
    """
    return tuple(Element(binding[v]) if v in elements else binding[v] for v in takes)


def permuted(value: Any, order: Sequence[int]) -> Any:
    """The value with Element(order[i]) in place of Element(i). Itself, if it holds no element.
    Raises `AsymmetryError` for a value that is not made of elements, tuples, frozensets, attrs
    values, numbers, texts and enumerations.
    """
    if type(value) is Element:
        return Element(_of_these(value, len(order), order))
    return _made(value, lambda part: permuted(part, order))


def holds_elements(value: Any) -> bool:
    """Is there an element in the value? Raises `AsymmetryError` as `permuted` does."""
    found: list[Element] = []

    def look(part: Any) -> Any:
        if type(part) is Element:
            found.append(part)
            return part
        return _made(part, look)

    look(value)
    return bool(found)


def _of_these(element: Element, size: int, numbers: Sequence[int]) -> int:
    number = element._number
    if not isinstance(number, int) or not 0 <= number < size:
        raise AsymmetryError(f"{element!r} is none of the {size} elements that there are")
    return numbers[number]


def _made(value: Any, change: Callable[[Any], Any]) -> Any:
    """The value with its parts changed. Raises `AsymmetryError` where it cannot be made again."""
    cls = type(value)
    if cls in _LEAVES:
        return value
    if isinstance(value, enum.Enum) and change(value.value) is value.value:
        return value
    if cls is tuple or hasattr(cls, "_fields"):  # or a named tuple
        parts = [change(part) for part in value]
        if all(a is b for a, b in zip(parts, value)):
            return value
        return tuple(parts) if cls is tuple else cls(*parts)
    if cls is frozenset:
        changed = {part: change(part) for part in value}
        return value if all(a is b for a, b in changed.items()) else frozenset(changed.values())
    if is_value(cls):
        return _made_of_fields(value, change)
    raise AsymmetryError(f"{shown(value)} is a {cls.__name__}, which may hold elements unseen")


def _made_of_fields(value: Any, change: Callable[[Any], Any]) -> Any:
    now = {f.name: getattr(value, f.name) for f in attrs.fields(type(value))}
    then = {name: change(part) for name, part in now.items()}
    changes = {name: part for name, part in then.items() if part is not now[name]}
    if not changes:
        return value
    made = {f.name for f in attrs.fields(type(value)) if f.init}
    new = evolve(value, **{name: part for name, part in changes.items() if name in made})
    if any(getattr(new, name) != part for name, part in then.items()):
        raise AsymmetryError(f"{shown(value)} is not the same {type(value).__name__} if made again")
    return new


def mark(value: Any, number: int) -> Any:
    """The role of Element(number) in a value, whatever the elements are called: equal for two
    elements if a permutation of the value has the one where it had the other, though not only then.
    """
    if type(value) is Element:
        return Occurrence.SELF if value._number == number else Occurrence.OTHER
    if isinstance(value, frozenset):
        return frozenset(Counter(mark(part, number) for part in value).items())
    if isinstance(value, tuple):
        return tuple([mark(part, number) for part in value])
    if attrs.has(type(value)) and not isinstance(value, enum.Enum):
        return tuple([mark(getattr(value, f.name), number) for f in attrs.fields(type(value))])
    return value
