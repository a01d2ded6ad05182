"""Sets of partitions as bit masks."""

from __future__ import annotations


def numbers(mask: int) -> list[int]:
    """The partitions of a bit mask."""
    found = []
    while mask:
        low = mask & -mask
        found.append(low.bit_length() - 1)
        mask ^= low
    return found
