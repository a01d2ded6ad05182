"""The data that the kernels need for symmetry, as arrays: where the blocks of a state stand, how
large orbits are, and whether urgent rules commute with permutations (see `kernels/orbits.py` and
`kernels/walks.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby, permutations
from math import factorial, prod

import numpy as np

from groupcheck.model.engine.fast.kernel_registers import KernelRegisters
from groupcheck.model.engine.fast.kernels import registers as r
from groupcheck.model.engine.fast.layout import Field, parts
from groupcheck.model.engine.fast.shape import Ordered, Shape, Values
from groupcheck.model.engine.fast.store import Words
from groupcheck.model.engine.tabled.tables import group_of

MOST_ENDS = 1 << 12  # of one walk
KNOWN_BITS = 16


def orbit_sizes(n: int) -> list[int]:
    """How many orders n blocks have, for each set of blocks that equal the next one (as bits)."""
    sizes = []
    for equal in range(1 << (n - 1)):
        runs = [len(list(run)) for bit, run in groupby(equal >> k & 1 for k in range(n - 1)) if bit]
        sizes.append(factorial(n) // prod(factorial(run + 1) for run in runs))
    return sizes


class Permuted:
    """The blocks of packed states. Rebuilt when fields move."""

    def __init__(self, held: KernelRegisters, shape: Shape, values: Values) -> None:
        self.held, self.shape, self.values = held, shape, values
        assert shape.ordered is not None
        self.blocks, self.ordered = shape.blocks, shape.ordered
        # Of each group, of each index, its fields; several where they do not stand side by side.
        self.fields: list[list[list[Field]]] = []
        # How many values of each slot that directs walks are known.
        self.known: list[int] = []
        sizes = [n for group in self.blocks for n in orbit_sizes(len(group))]
        held.hold_all({r.ORBITS: np.array(sizes, np.uint64)})
        held.set({r.BLOCK_GROUPS: len(self.blocks)})
        if shape.has_urgent:
            self._urgent(self.ordered)

    def _urgent(self, o: Ordered) -> None:
        shape, held = self.shape, self.held
        total = shape.to_urgent - shape.to_ordinary
        size = len(self.blocks[o.group])
        orders = [x for order in permutations(range(size)) for x in order] if o.visits else []
        bits = [group_of(k, total) for k in range(total)]
        first = shape.to_ordinary
        arrays = {
            r.URGENT_IS: o.kinds,
            r.URGENT_BIT: bits,
            r.SIBLING_BITS: [
                sum({1 << bit for bit in bits[k + 1 : last - first + 1]})
                for k, last in enumerate(o.siblings)
            ],
            r.LAST_SIBLING: o.siblings,
            r.WALK_TABLES: [x for pair in o.visits for x in pair],
            r.ORDERS: orders,
        }
        held.hold_all({k: np.array(v, np.uint64) for k, v in arrays.items()})
        numbers = {
            r.DIRECTING_COUNT: len(o.directing),
            r.WALK_COUNT: len(o.visits),
            r.ORDER_COUNT: len(orders) // size,
            r.WALK_SIZE: MOST_ENDS if o.visits else 0,
            r.KNOWN_BITS: KNOWN_BITS if o.visits else 1,
        }
        held.set(numbers)

    def place(self, fields: Sequence[Field], words: int) -> None:
        """Arrays for the fields of places as they are now, in states of so many words."""
        held = self.held
        self.fields = [parts(fields, group) for group in self.blocks]
        entries: list[int] = []
        for k, group in enumerate(self.fields):
            if k == self.ordered.group:
                held.set({r.WALK_BLOCKS: len(entries)})
            entries += [len(group), len(group[0])]
            entries += [x for block in group for f in block for x in (f.word, f.shift, f.mask)]
        most = max(len(group) * len(group[0]) for group in self.fields)
        held.hold_all({r.BLOCKS: np.array(entries, np.uint64), r.SORTED: np.zeros(most, np.uint64)})
        if self.shape.has_urgent and self.ordered.visits:
            self._place_walks(fields, words)

    def _place_walks(self, fields: Sequence[Field], w: int) -> None:
        held = self.held
        size, rules = len(self.blocks[self.ordered.group]), r.WALK_RULES_TOLD
        by_rule = np.zeros((rules, w), np.uint64)
        for k, (table, _) in enumerate(self.ordered.visits):
            by_rule[min(k // size, rules - 1)] |= held.arrays[r.MASKS][table]
        slots, first = [], 0
        for place in self.ordered.directing:
            f = fields[place]
            slots += [f.word, f.shift, f.mask, first]
            first += 1 << f.width
        size = held.get(r.WALK_SIZE)
        directing = np.zeros(w, np.uint64)
        for word, shift, mask in zip(slots[::4], slots[1::4], slots[2::4], strict=True):
            directing[word] |= np.uint64(mask << shift)
        arrays = {
            r.WALK_MASKS: by_rule,
            r.WALK_READS: np.tile(directing, slots[2] + 1),
            r.DIRECTING: np.array(slots, np.uint64),
            r.DIRECTED: np.zeros(first, np.uint64),
            r.WALK_PATHS: np.zeros(2 * w + size * (w + 2) + 2 * size * (w + 1), np.uint64),
            r.KNOWN_WALKS: np.zeros((1 << KNOWN_BITS) * (w + 1), np.uint64),
        }
        held.hold_all(arrays)
        self.known = [0] * len(self.ordered.directing)

    def extend(self) -> None:
        """Values met since: which of them direct walks."""
        if not self.known:
            return
        slots, directed = self.held.arrays[r.DIRECTING], self.held.arrays[r.DIRECTED]
        for n in range(len(self.known)):
            more = self.values.directed(n, self.known[n])
            at = int(slots[4 * n + 3]) + self.known[n]
            directed[at : at + len(more)] = more
            self.known[n] += len(more)

    def orbits(self, states: Words) -> int:
        """How many states there are in the orbits of these, whose blocks ascend. `states`: states x
        words.
        """
        total = np.ones(len(states), np.uint64)
        for group in self.fields:
            equal = np.zeros(len(states), np.uint64)
            for i in range(len(group) - 1):
                same = np.ones(len(states), bool)
                for a, b in zip(group[i], group[i + 1], strict=True):
                    same &= _numbers(states, a) == _numbers(states, b)
                equal |= same.astype(np.uint64) << np.uint64(i)
            total *= np.array(orbit_sizes(len(group)), np.uint64)[equal]
        return int(total.sum())


def _numbers(states: Words, f: Field) -> Words:
    numbers: Words = (states[:, f.word] >> np.uint64(f.shift)) & np.uint64(f.mask)
    return numbers
