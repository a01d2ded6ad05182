"""The log of states in order of discovery, and the index that finds duplicates."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from groupcheck.model.engine.kernels import registers as r
from groupcheck.model.engine.packed import Packed
from groupcheck.model.engine.store import Reserved, Words

MOST_STATES = (1 << 32) - 2  # places in the index have 32 bits
FIRST_SLOTS = 1 << 14
LOAD = 0.7
MOST_WORDS = (1 << 40) // 8 // 8

Slots = NDArray[np.uint32]


class Log:
    """States, packed, never moved, each once. `levels[d]` is the place of the first state of level d."""

    def __init__(
        self, packed: Packed, memory: Reserved | None = None, index: Callable[[int], Slots] | None = None, keeps_needs: bool = False
    ) -> None:
        """`memory` and `index` (an array of so many zeros): where they lie, if not in memory of this process alone. `keeps_needs`: of each
        state, the predicates that must be looked at because the step that led to it changed what they read."""
        self.packed, self.registers = packed, packed.registers
        self.memory = memory or Reserved(MOST_WORDS)
        self._new_index = index or (lambda slots: np.zeros(slots, np.uint32))
        self._needs = Reserved(len(self.memory.words)) if keeps_needs else None
        self.levels: list[int] = [0]
        self.slots = 0
        self.registers[r.LOG] = self.memory.address

    @property
    def states(self) -> int:
        return int(self.registers[r.STATES])

    def packed_states(self, first: int, end: int) -> Words:
        """States x words, without a copy."""
        w = self.packed.words
        return self.memory.words[first * w : end * w].reshape(-1, w)

    def needs(self, first: int, end: int) -> Words:
        """Predicates to be looked at, as bits, of the states that were found from a log that keeps them."""
        assert self._needs
        return self._needs.words[first:end]

    def chosen(self, places: Words) -> Words:
        """States x words for some places."""
        w = self.packed.words
        chosen: Words = self.memory.words[(places[:, None] * np.uint64(w)) + np.arange(w, dtype=np.uint64)]
        return chosen

    def ids(self, place: int) -> list[int]:
        """The numbers of the values in the state at a place."""
        w = self.packed.words
        words = self.memory.words[place * w : (place + 1) * w].tolist()
        return [(words[f.word] >> f.shift) & f.mask for f in self.packed.fields[: self.packed.shape.places]]

    def append(self, ids: list[int]) -> None:
        """A state known to be new, before the index is made."""
        state = [0] * self.packed.words
        for f, number in zip(self.packed.fields, ids):
            state[f.word] |= number << f.shift
        place = self.states
        self.memory.ensure((place + 1) * self.packed.words)
        self.memory.words[place * self.packed.words : (place + 1) * self.packed.words] = state
        self.registers[r.STATES] = place + 1

    def level_of(self, place: int) -> int:
        return bisect_right(self.levels, place) - 1

    def slots_for(self, states: int) -> int:
        """Slots of an index with room for so many states; the size it has, doubled as often as needed."""
        slots = max(self.slots, FIRST_SLOTS)
        while states >= int(slots * LOAD):
            slots *= 2
        return slots

    def make_room(self) -> None:
        """Room for at least one more buffer of successors."""
        more = self.states + 2 * int(self.registers[r.BUFFER_SIZE]) + 2
        self.memory.ensure(more * self.packed.words)
        self.registers[r.LOG] = self.memory.address
        if self._needs:
            self._needs.ensure(more)
        self.registers[r.NEED_LOG] = self._needs.address if self._needs else 0
        slots = self.slots_for(more)
        if slots != self.slots:
            self.reindex(slots)

    def reindex(self, slots: int) -> None:
        """A new index, from the log alone; the old one is given back first."""
        self.packed.hold(r.INDEX, np.zeros(0, np.uint32))
        self.use_index(self._new_index(slots))
        kept = [int(self.registers[k]) for k in (r.MODE, r.FROM, r.TO, r.LIVE)]
        self.registers[r.MODE], self.registers[r.FROM], self.registers[r.TO], self.registers[r.LIVE] = r.REINDEX, 0, self.states, 0
        self.packed.run_search()
        for k, value in zip((r.MODE, r.FROM, r.TO, r.LIVE), kept):
            self.registers[k] = value

    def use_index(self, index: Slots) -> None:
        """Takes an array of slots, empty or filled for this log, as the index."""
        self.packed.hold(r.INDEX, index)
        self.slots = len(index)
        room = min(int(self.slots * LOAD), MOST_STATES)
        self.registers[r.INDEX_SLOTS], self.registers[r.ROOM], self.registers[r.TAG_BITS] = self.slots, room, room.bit_length()

    @property
    def is_full(self) -> bool:
        """Would the index need places of more than 32 bits?"""
        return self.states + 4 * int(self.registers[r.BUFFER_SIZE]) >= MOST_STATES

    @property
    def bytes(self) -> int:
        return 8 * self.packed.words * self.states

    @property
    def bytes_soon(self) -> int:
        """What a larger index takes more, if one is about to be needed."""
        return 4 * (self.slots_for(self.states + 4 * int(self.registers[r.BUFFER_SIZE])) - self.slots)
