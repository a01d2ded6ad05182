"""States moved from one layout of fields to another."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from groupcheck.model.engine.fast.layout import Field, arrange
from groupcheck.model.engine.fast.packed import Packed
from groupcheck.model.engine.fast.store import Words


def widths_of(packed: Packed) -> list[int]:
    """The widths of the fields of a state: what a block of states says of its layout."""
    return [f.width for f in packed.fields[: packed.shape.places]]


def moved(states: Words, old: Sequence[Field], new: Sequence[Field], words: int) -> Words:
    """States x words from the old fields to the new ones."""
    out = np.zeros((len(states), words), np.uint64)
    for before, after in zip(old, new, strict=True):
        number = (states[:, before.word] >> np.uint64(before.shift)) & np.uint64(before.mask)
        out[:, after.word] |= number << np.uint64(after.shift)
    return out


def in_layout(words: Words, widths: Sequence[int], packed: Packed) -> Words:
    """Packed states of any layout, as states x words of today's."""
    n_words, fields = arrange(widths)
    states = words.reshape(-1, n_words)
    return (
        states
        if list(widths) == widths_of(packed)
        else moved(states, fields, packed.fields[: packed.shape.places], packed.words)
    )
