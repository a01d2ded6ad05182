"""Lines are much alike: most differ from earlier ones by digits alone, or by the hexadecimal digits
of an id. What does not depend on the digits themselves is found out once for each shape of lines,
and remembered.

Each memory of shapes is bounded: a log whose lines have no shape in common is slower, and no larger
in memory.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import TypeVar

MOST_SHAPES, LONGEST = 1 << 13, 2_000
"""So many shapes are remembered, of lines of at most so many bytes."""
_ZEROS = bytes.maketrans(b"123456789", b"000000000")
_HEX_ZEROS = bytes.maketrans(b"123456789abcdef", b"000000000000000")
_IDS = (b"00000000-0000-0000-0000-000000000000", b"0000000000000000")
"""A UUID, and the beginning of the id of a trace, with zeros for all hexadecimal digits."""
_LETTERS = {some: some.replace(b"0", b"a") for some in _IDS}
"""The character that stands for them in a shape: letters, as no number may be read there."""
K = TypeVar("K")
T = TypeVar("T")


@lru_cache(maxsize=16)
def shape_of(text: str) -> bytes:
    """The text with zeros for all digits, and letters for hexadecimal ids. Each character stands
    where it stands in the text.
    """
    shape = text.encode("utf-8", "surrogatepass").translate(_ZEROS)
    zeros = shape.translate(_HEX_ZEROS)
    for some, letters in _LETTERS.items():
        at = zeros.find(some)
        while at >= 0:
            end = at + len(some)
            if shape[at:end] != some:  # a long number is no id
                shape = shape[:at] + letters + shape[end:]
            at = zeros.find(some, end)
    return shape


def shape_text(shape: bytes) -> str:
    """The shape as text."""
    return shape.decode("utf-8", "surrogatepass")


def by_shape(read: Callable[[str], T]) -> Callable[[bytes], T]:
    """`read`, which must not depend on which digits the text has, as a function of shapes."""
    known: dict[bytes, T] = {}

    @wraps(read)
    def of(shape: bytes) -> T:
        found = known.get(shape)
        if found is None:
            found = read(shape_text(shape))
            if len(shape) <= LONGEST:
                remember(known, shape, found)
        return found

    return of


def remember(known: dict[K, T], key: K, found: T) -> None:
    """Adds an entry; when there are too many, all others are forgotten."""
    if len(known) >= MOST_SHAPES:
        known.clear()
    known[key] = found
