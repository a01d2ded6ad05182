"""Lines are much alike: most differ from earlier ones by digits alone. What does not depend on the
digits themselves is found out once for each shape of lines, and remembered.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar

MOST_SHAPES, LONGEST = 1 << 13, 2_000
"""So many shapes are remembered, of lines of at most so many bytes."""
_ZEROS = bytes.maketrans(b"123456789", b"000000000")
K = TypeVar("K")
T = TypeVar("T")


def shape_of(text: str) -> bytes:
    """The text with zeros for all digits. Each character stands where it stands in the text."""
    return text.encode("utf-8", "surrogatepass").translate(_ZEROS)


def shown(shape: bytes) -> str:
    """The shape as text."""
    return shape.decode("utf-8", "surrogatepass")


def by_shape(read: Callable[[str], T]) -> Callable[[bytes], T]:
    """`read`, which must not depend on which digits the text has, as a function of shapes."""
    known: dict[bytes, T] = {}

    @wraps(read)
    def of(shape: bytes) -> T:
        found = known.get(shape)
        if found is None:
            found = read(shown(shape))
            if len(shape) <= LONGEST:
                remember(known, shape, found)
        return found

    return of


def remember(known: dict[K, T], key: K, found: T) -> None:
    """Adds an entry; when there are too many, all others are forgotten."""
    if len(known) >= MOST_SHAPES:
        known.clear()
    known[key] = found
