"""A log on disk with an index that never looks at it (`kernels/folding.py`).

While there are few states, the index is that of any log. From `FOLD_FROM` states on it holds keys
of folded states: about 5.5 bytes a state. Where states cannot be folded into keys that fit (`why`
says so), the index of places stays, and a search whose log is larger than the memory is slow,
because every step looks at it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from groupcheck.model.engine.fast.disk_log import DiskWords
from groupcheck.model.engine.fast.folding import Folding, folding_of, sample_of
from groupcheck.model.engine.fast.kernels import registers as r
from groupcheck.model.engine.fast.log import LOAD, MOST_STATES, MOST_WORDS, Log
from groupcheck.model.engine.fast.packed import Packed
from groupcheck.model.engine.fast.store import Reserved, Words, address, aligned_zeros

FOLD_FROM = 1 << 20  # states
LINE_LOAD = 0.86  # of the lanes: then some 4 % of the states find their line full
LEAST_LINES = 1 << 10
CHEAP_LINES = 1 << 20  # up to here the number of lines doubles, then it grows by an eighth
LONGEST_KEY = 62  # bits
MOST_WIDTH = (1 << 32) - 1
AT_ONCE = 1 << 22  # states that one call of the kernel enters again
SPARE = 2  # bits at most that each node gets for combinations to come


class StoredLog(Log):
    """Packed states in a file of a folder, each once."""

    def __init__(self, packed: Packed, memory: DiskWords) -> None:
        super().__init__(packed, memory)
        self.disk: DiskWords = memory
        self.folding: Folding | None = None
        self.lines: Reserved | None = None
        self.outgrown: set[int] = set()  # nodes that have met more combinations than numbers
        self._next = 0  # states from which on folding is tried
        self._count = 0  # of lines

    @property
    def widths(self) -> list[int]:
        return self.packed.state_widths

    def _index_for(self, more: int) -> None:
        if self.folding is None and self.states >= max(FOLD_FROM, self._next):
            self._fold(more)
        if self.folding is not None and self.outgrown:
            self._refold(self._count)
        if self.folding is None:  # also where keys have turned out not to fit
            super()._index_for(more)
            return
        while more > self.index_room or self.is_crowded:
            self._grow()

    def reindex(self, slots: int) -> None:
        """As in `Log`. Where fields have moved, and states are folded, a new sample shows how."""
        if self.folding is not None:
            self.outgrown.clear()
            if not self._fold(self.states):
                self._unfold()
        else:
            super().reindex(slots)

    # -- folding

    def _fold(self, states: int) -> bool:
        """Makes an index of keys, if states can be folded so far that they fit."""
        sample = sample_of(self.packed_states(0, self.states))
        columns = [
            (sample[:, f.word] >> np.uint64(f.shift)) & np.uint64(f.mask)
            for f in self.packed.state_fields
        ]
        folding = folding_of(columns, self.widths)
        count = max(LEAST_LINES, int(1.5 * states / (LINE_LOAD * r.LANES)) + 1)
        while folding.spared < SPARE and self._fits(folding, count):
            folding.spare(1)
        while folding.spared and not self._fits(folding, count):
            folding.spare(-1)
        self._next = 2 * self.states
        if not self._fits(folding, count):
            return False
        self.folding = folding
        self._refold(count)
        return True

    def _fits(self, folding: Folding, count: int) -> bool:
        """Is the remainder of a key less than 32 bits where there are so many lines?"""
        bits = folding.key_bits(self.widths)
        return bits <= LONGEST_KEY and (1 << bits) // count + 1 <= MOST_WIDTH

    def _refold(self, count: int) -> None:
        """Makes the index of keys from the log; the old one is freed first."""
        folding = self.folding
        assert folding is not None
        self.is_indexed = is_complete = False
        self._free_index()
        while not is_complete:
            for node in self.outgrown:
                folding.nodes[node].bits += 1
            self.outgrown.clear()
            folding.cut(self.widths)
            while not self._fits(folding, count) and count < self._most_lines():
                count += count // 4
            if not self._fits(folding, count):
                self._unfold()
                return
            self._place(folding, count)
            is_complete = True
            for first, end in self._pieces():
                if is_complete:
                    self.packed.set({r.MODE: r.REINDEX, r.FROM: first, r.TO: end})
                    self.packed.run_search()
                    is_complete = int(self.registers[r.FROM]) == end
                    self.disk.let_go()
            if not is_complete and not self.note_outgrown():
                count += count // 4 + 1
        self.is_indexed = True

    def _pieces(self) -> Iterator[tuple[int, int]]:
        """The parts of the log that hold states, in pieces."""
        for first, end in self._written():
            for begin in range(first, end, AT_ONCE):
                yield begin, min(end, begin + AT_ONCE)

    def _most_lines(self) -> int:
        """Twice as many as the states need."""
        return max(LEAST_LINES, int(2 * self.states / (LINE_LOAD * r.LANES)))

    def note_outgrown(self, number: int | None = None) -> bool:
        """Notes the node that a kernel has found too small, if any: its number from 1 on."""
        found = int(self.registers[r.OUTGROWN]) if number is None else number
        self.registers[r.OUTGROWN] = 0
        if found:
            self.outgrown.add(found - 1)
        return found > 0

    def _unfold(self) -> None:
        """Goes back to an index of places, as keys no longer fit, until there are more states."""
        self._free_index()
        self.folding, self._next = None, 2 * self.states
        super().reindex(self.slots_for(self.states))

    def _free_index(self) -> None:
        if self.lines is not None:
            self.lines.free()
            self.lines = None
        self.packed.point(r.LINES, None)
        for register in (r.INDEX, r.CROWD, r.FOLD_CELLS):
            self.packed.hold(register, np.zeros(0, np.uint32))
        self.packed.set({r.BUCKETS: 0, r.INDEX_SLOTS: 0, r.LINE_COUNT: 0, r.CROWD_SIZE: 0})

    def _place(self, folding: Folding, count: int) -> None:
        """An empty index with so many lines."""
        packed = self.packed
        nodes, roots, cells = folding.arrays(packed.state_fields, packed.words)
        packed.hold_all(
            {
                r.FOLD_NODES: nodes,
                r.FOLD_ROOTS: roots,
                r.FOLD_CELLS: aligned_zeros(max(1, cells), np.uint32),
                r.FOLD_COUNTS: np.zeros(max(1, len(folding.nodes)), np.uint64),
                r.FOLDED: np.zeros(max(r.LANES, packed.words + len(folding.nodes)), np.uint64),
            }
        )
        packed.set(
            {
                r.FOLD_NODE_COUNT: len(folding.nodes),
                r.FOLD_ROOT_COUNT: len(folding.roots),
                r.UNUSED_BITS: 64 - folding.key_bits(self.widths),
                r.OUTGROWN: 0,
                r.BUCKETS: 0,
                r.CROWDED: 0,
            }
        )
        if self.lines is not None:
            self.lines.free()
        self.lines = Reserved(MOST_WORDS)
        self._size(count)

    def _size(self, count: int) -> None:
        """Takes so many lines, and an empty table beside them for keys that find theirs full."""
        assert self.folding is not None and self.lines is not None
        buffers = 4 * int(self.registers[r.BUFFER_SIZE]) * self.sharers
        crowd = max(count, int((buffers + 2 * int(self.registers[r.CROWDED])) / LOAD) + 1)
        self.lines.ensure(count * r.LINE_BYTES // 8)
        self.packed.point(r.LINES, self.lines)
        self.packed.hold(r.CROWD, aligned_zeros(crowd, np.uint64))
        bits = self.folding.key_bits(self.widths)
        self.crowded_room = int(crowd * LOAD)
        self.packed.set(
            {
                r.LINE_COUNT: count,
                r.LINE_WIDTH: (1 << bits) // count + 1,
                r.CROWD_SIZE: crowd,
                r.CROWDED: 0,
                r.CROWDED_ROOM: self.crowded_room,
            }
        )
        self._count = count
        self.index_room = min(int(count * r.LANES * LINE_LOAD), MOST_STATES)
        self.size = self.slots = 0

    def _grow(self) -> None:
        """More lines, in place."""
        old, width = self._count, int(self.registers[r.LINE_WIDTH])
        crowd = self.packed.arrays[r.CROWD]
        keys: Words = crowd[crowd != 0].astype(np.uint64)
        del crowd
        self._size(_next_count(old))
        self.packed.set({r.MODE: r.SPREAD_LINES, r.OLD_LINE_WIDTH: width, r.TO: old})
        self.packed.run_search()
        numbers = {r.MODE: r.ENTER_KEYS, r.FROM: 0, r.TO: len(keys), r.LIST: address(keys)}
        self.packed.set(numbers)
        self.packed.run_search()

    # -- the rest of a log

    @property
    def _finds_places(self) -> bool:
        return super()._finds_places and self.folding is None

    def hold_places(self) -> None:
        """Raises `AssertionError`: what needs places is refused to a search with a store."""
        raise AssertionError("an index of keys holds no places")

    @property
    def bytes(self) -> int:
        """Of the index, as far as it is not among the arrays of the kernels."""
        return r.LINE_BYTES * self._count if self.folding is not None else 0

    def bytes_soon(self, states: int) -> int:
        if self.folding is None:
            return super().bytes_soon(states)
        more = self.states + states + 4 * int(self.registers[r.BUFFER_SIZE])
        if more <= self.index_room and not self.is_crowded:
            return 0
        crowd = 8 * int(self.registers[r.CROWD_SIZE])
        return r.LINE_BYTES * (_next_count(self._count) - self._count) + 2 * crowd


def _next_count(count: int) -> int:
    return 2 * count if count < CHEAP_LINES else count + count // 8
