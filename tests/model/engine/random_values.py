"""Values of the slots of random protocols, and dice: numbers that look random and are the same for
the same arguments in every run.
"""

import re
from zlib import crc32

from attrs import frozen

from groupcheck.model.engine import Element
from groupcheck.model.engine.element import index_of
from groupcheck.model.engine.slot import choices


@frozen
class Cell:
    """A value of a slot, in the wrapping that attrs users choose."""

    n: int
    tag: str = "x"


def number(value):
    """The number behind a value: an int, a tuple of one, a `Cell`, an element, or None for 0."""
    if isinstance(value, Element):
        return index_of(value)
    if isinstance(value, Cell):
        return value.n
    return value[0] if isinstance(value, tuple) else 0 if value is None else value


def like(slot, n):
    """A value of a slot."""
    if n == 0 and type(None) in slot.kinds:
        return None
    first = next(value for value in choices(slot.initial) if value is not None)
    if isinstance(first, Cell):
        return Cell(n, f"t{n % 3}")
    return (n,) if isinstance(first, tuple) else n


def plain(value):
    """What a die is thrown with: numbers in place of values, also inside of a whole state."""
    if hasattr(value, "__dict__"):
        return sorted((name, plain(v)) for name, v in vars(value).items())
    if isinstance(value, tuple) and len(value) != 1:
        return [number(v) for v in value]
    return number(value)


def many(value, index):
    """The numbers behind an argument: of a whole array, or of one value."""
    return [number(v) for v in value] if index == ":" else [number(value)]


def used(places, own):
    """The index variables of places, in their order."""
    indexes = [i or own for _, i in places if i != ":"]
    return [*dict.fromkeys(re.sub(r"[+-]\d+", "", i) for i in indexes)]


def as_elements(seed, name, takes):
    """Those of the indexes that a function takes that it takes as elements."""
    return takes if dice(seed, name, "elements") % 5 == 0 else ()


def dice(*what):
    return crc32(repr(what).encode())
