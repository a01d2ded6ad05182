"""Where each value's number stands in a packed state: as few 64-bit words as the widths allow, no
field across two words.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from attrs import Factory, field, frozen

from groupcheck.model.engine.fast.store import Words


@frozen
class Field:
    """Some bits of a packed state."""

    # The number of the word.
    word: int
    # The lowest of its bits.
    shift: int
    # How many bits there are.
    width: int
    # As many bits, from 0 on.
    mask: int = field(
        init=False, default=Factory(lambda self: (1 << self.width) - 1, takes_self=True)
    )


def width_of(values: int) -> int:
    """Bits for so many values; at least one."""
    return max(1, (values - 1).bit_length())


def _first_fit(widths: Sequence[int], order: Sequence[int]) -> list[Field]:
    used: list[int] = []
    fields: dict[int, Field] = {}
    for k in order:
        word = next((w for w, bits in enumerate(used) if bits + widths[k] <= 64), len(used))
        if word == len(used):
            used.append(0)
        fields[k] = Field(word, used[word], widths[k])
        used[word] += widths[k]
    return [fields[k] for k in range(len(widths))]


def arrange(widths: Sequence[int]) -> tuple[int, list[Field]]:
    """(words, a field for each width). In the given order where that needs no more words than the
    widest first.
    """
    plain = _first_fit(widths, range(len(widths)))
    dense = _first_fit(widths, sorted(range(len(widths)), key=lambda k: -widths[k]))
    best = min((plain, dense), key=lambda fields: max((f.word for f in fields), default=0))
    return max((f.word for f in best), default=0) + 1, best


def moved(states: Words, old: Sequence[Field], new: Sequence[Field], words: int) -> Words:
    """States x words from the old fields to the new ones."""
    out = np.zeros((len(states), words), np.uint64)
    for before, after in zip(old, new, strict=True):
        number = (states[:, before.word] >> np.uint64(before.shift)) & np.uint64(before.mask)
        out[:, after.word] |= number << np.uint64(after.shift)
    return out
