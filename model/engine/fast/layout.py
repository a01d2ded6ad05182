"""Where each value's number stands in a packed state: as few 64-bit words as the widths allow, no
field across two words.

When a field must grow, the log is packed again. Fields keep their order when they grow, so states
under symmetry stay in order: the fields of one index lie side by side where that takes no more
words, and a state is brought into order by sorting one number for each index.
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


# The words of a state, and where each of its places stands.
Layout = tuple[int, Sequence[Field]]


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


Blocks = Sequence[Sequence[Sequence[int]]]  # groups x indexes x the places of one index


def arrange(widths: Sequence[int], blocks: Blocks = ()) -> tuple[int, list[Field]]:
    """(words, a field for each width). In the given order where that needs no more words than the
    widest first.

    `blocks`: places that are permuted together. The fields of a block stand side by side, the first
    in the highest bits, so that a block is one number; or, where that would take more words, each
    by itself.
    """
    together = _fitted(widths, _runs(widths, blocks))
    if not blocks:
        return together
    apart = _fitted(widths, [[k] for k in range(len(widths))])
    return together if together[0] <= apart[0] else apart


def _runs(widths: Sequence[int], blocks: Blocks) -> list[list[int]]:
    """All places, those of a block in one run, or in several of at most 64 bits."""
    first = {block[0]: block for group in blocks for block in group}
    inside = {place for block in first.values() for place in block}
    runs: list[list[int]] = []
    for k in range(len(widths)):
        if k not in inside:
            runs.append([k])
        for n, place in enumerate(first.get(k, ())):
            if n == 0 or sum(widths[p] for p in runs[-1]) + widths[place] > 64:
                runs.append([])
            runs[-1].append(place)
    return runs


def _fitted(widths: Sequence[int], runs: Sequence[Sequence[int]]) -> tuple[int, list[Field]]:
    bits = [sum(widths[k] for k in run) for run in runs]
    plain = _first_fit(bits, range(len(runs)))
    dense = _first_fit(bits, sorted(range(len(runs)), key=lambda k: -bits[k]))
    best = min((plain, dense), key=lambda fields: max((f.word for f in fields), default=0))
    fields: dict[int, Field] = {}
    for run, there in zip(runs, best, strict=True):
        shift = there.shift + there.width
        for k in run:
            shift -= widths[k]
            fields[k] = Field(there.word, shift, widths[k])
    return max((f.word for f in best), default=0) + 1, [fields[k] for k in range(len(widths))]


def parts(fields: Sequence[Field], blocks: Sequence[Sequence[int]]) -> list[list[Field]]:
    """Of each block of a group its fields, joined where they stand side by side in all blocks."""
    found: list[list[Field]] = [[fields[block[0]]] for block in blocks]
    for k in range(1, len(blocks[0])):
        nexts = [fields[block[k]] for block in blocks]
        beside = all(
            own[-1].word == f.word and own[-1].shift == f.shift + f.width
            for own, f in zip(found, nexts, strict=True)
        )
        for own, f in zip(found, nexts, strict=True):
            if beside:
                own[-1] = Field(f.word, f.shift, own[-1].width + f.width)
            else:
                own.append(f)
    return found


def packed(states: Sequence[Sequence[int]], words: int, fields: Sequence[Field]) -> Words:
    """States, each as the numbers of its values, as states x words."""
    columns = np.array(states, np.uint64)
    out = np.zeros((len(states), words), np.uint64)
    for k, there in enumerate(fields):
        out[:, there.word] |= columns[:, k] << np.uint64(there.shift)
    return out


def moved(states: Words, old: Sequence[Field], new: Sequence[Field], words: int) -> Words:
    """States x words from the old fields to the new ones."""
    out = np.zeros((len(states), words), np.uint64)
    for before, after in zip(old, new, strict=True):
        number = (states[:, before.word] >> np.uint64(before.shift)) & np.uint64(before.mask)
        out[:, after.word] |= number << np.uint64(after.shift)
    return out
