"""The log of states in order of discovery, and the index that finds duplicates.

States are exact and have no parent links: a shortest path is found by expanding backwards, level by
level. `kernels/index.py` says how the index works. A large index is built a little early if that
makes the remainder of a state fit into it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from groupcheck.model.engine.fast.disk_log import DiskWords
from groupcheck.model.engine.fast.kernels import registers as r
from groupcheck.model.engine.fast.packed import Packed
from groupcheck.model.engine.fast.store import (
    Reserved,
    Words,
    address,
    aligned_zeros,
)
from groupcheck.model.engine.resident import has_limited_address_space

MOST_STATES = (1 << 32) - 2  # places in the index have 32 bits
FIRST_SLOTS = 1 << 15
CHEAP_SLOTS = 1 << 23  # up to here an index grows fourfold at once
# An index that is larger than needed, up to this size, is taken where it can hold remainders.
WORTH_SLOTS = 1 << 25
LOAD = 0.7
BUCKET = 8  # slots of a bucket of remainders
# With fewer bits too many states have the remainder 0, which stands for an empty slot; more bits do
# not fit into a slot.
LEAST_REMAINDER, MOST_REMAINDER = 8, 32
# An index of remainders has one more slot for this many slots: when it is full, some 3 % of the
# states find no room in their bucket.
CROWDED = 16
MOST_WORDS = (1 << 40) // 8 // 8

Slots = NDArray[np.uint32]


class Log:
    """States, packed, never moved, each once. `levels[d]` is the place of the first state of level
    d.
    """

    def __init__(
        self,
        packed: Packed,
        memory: Reserved | None = None,
        index: Callable[[int], Slots] | None = None,
        keeps_needs: bool = False,
    ) -> None:
        """`memory` and `index` (returns that many zeros, aligned to 32 bytes) say where log and
        index are, if not in memory of this process alone. `keeps_needs`: also keep, for each state,
        the predicates to look at because the step that led to it changed what they read.
        """
        self.packed, self.registers = packed, packed.registers
        self.memory = memory or Reserved(MOST_WORDS)
        self._new_index = index or (lambda slots: aligned_zeros(slots, np.uint32))
        self._needs = Reserved(len(self.memory.words)) if keeps_needs else None
        self.levels: list[int] = [0]
        self.size = self.slots = (
            0  # of the index in all, and those that a state is looked for in first
        )
        # where memory is limited, an index is no larger than it must be
        self.is_thrifty, self._is_short = False, has_limited_address_space()
        self.holds_places = False  # in any case, so that the index tells where a state is
        self.index_room = 0  # states that the index has room for
        # Where threads share the log: the words that they share, how many they are, and the states
        # that they may write beyond ROOM; places that are not written yet, in order.
        self.shared: Words | None = None
        self.sharers, self.slack = 1, 0
        self.holes: list[tuple[int, int]] = []
        self.disk: DiskWords | None = None  # where it lies there
        self.is_indexed = False  # are all states in the index?
        self.crowded_room = 0  # crowded states that the index has room for
        packed.point(r.LOG, self.memory)

    @property
    def states(self) -> int:
        """How many there are; where threads share the log, at most."""
        return int(self.registers[r.STATES] if self.shared is None else self.shared[r.NEXT_PLACE])

    def packed_states(self, first: int, end: int) -> Words:
        """States x words, without a copy."""
        w = self.packed.words
        return self.memory.words[first * w : end * w].reshape(-1, w)

    def needs(self, first: int, end: int) -> Words:
        """Predicates to be looked at, as bits, of the states that were found from a log that keeps
        them.
        """
        assert self._needs
        return self._needs.words[first:end]

    def chosen(self, places: Words) -> Words:
        """States x words for some places."""
        w = self.packed.words
        chosen: Words = self.memory.words[
            (places[:, None] * np.uint64(w)) + np.arange(w, dtype=np.uint64)
        ]
        return chosen

    def ids(self, place: int) -> list[int]:
        """The numbers of the values in the state at a place."""
        w = self.packed.words
        words = self.memory.words[place * w : (place + 1) * w].tolist()
        return [(words[f.word] >> f.shift) & f.mask for f in self.packed.state_fields]

    def append(self, ids: list[int]) -> None:
        """A state known to be new, before the index is made."""
        place = self.states
        self.memory.ensure((place + 1) * self.packed.words)
        self.memory.words[place * self.packed.words : (place + 1) * self.packed.words] = (
            self.packed.pack(ids)
        )
        self.registers[r.STATES] = place + 1

    def level_of(self, place: int) -> int:
        return bisect_right(self.levels, place) - 1

    def slots_for(self, states: int) -> int:
        """Slots of an index with room for so many states: the size it has, grown as often as
        needed.
        """
        is_thrifty = self.is_thrifty or self._is_short
        slots = max(self.slots, FIRST_SLOTS)
        while states >= int(slots * LOAD):
            slots *= 4 if slots < CHEAP_SLOTS and not is_thrifty else 2
        worth = BUCKET << max(0, self.packed.state_bits - MOST_REMAINDER)
        is_worth = slots >= CHEAP_SLOTS and not is_thrifty and self.packed.words == 1
        return worth if is_worth and slots < worth <= WORTH_SLOTS else slots

    def holds_remainders(self, slots: int) -> bool:
        """Can the slots of an index of this size hold remainders: what is left of a state's bits
        when its bucket is known?
        """
        if self.holds_places:
            return False
        bits = self.packed.state_bits - (slots // BUCKET).bit_length() + 1
        return self.packed.words == 1 and LEAST_REMAINDER <= bits <= MOST_REMAINDER

    def size_for(self, slots: int) -> int:
        """The length of an index with this many slots, including those for crowded states: states
        that find no room in their bucket.
        """
        if not self.holds_remainders(slots):
            return slots
        buffer, crowded = int(self.registers[r.BUFFER_SIZE]), int(self.registers[r.CROWDED])
        return slots + max(
            slots // CROWDED, int((4 * buffer * self.sharers + 2 * crowded) / LOAD) + 1
        )

    @property
    def is_crowded(self) -> bool:
        """Might the next buffer of each thread bring more crowded states than there are slots
        for?
        """
        soon = 2 * self.sharers * int(self.registers[r.BUFFER_SIZE])
        return int(self.registers[r.CROWDED]) + soon > int(self.registers[r.CROWDED_ROOM])

    def make_room(self, states: int = 0) -> None:
        """Room for so many more states, and at least for one more buffer of successors."""
        more = self.states + states + self.slack + 2 * int(self.registers[r.BUFFER_SIZE]) + 2
        self.memory.ensure(more * self.packed.words)
        self.packed.point(r.LOG, self.memory)
        if self._needs:
            self._needs.ensure(more)
        self.packed.point(r.NEED_LOG, self._needs)
        self._index_for(more)
        self._bound()

    def _index_for(self, states: int) -> None:
        """An index with room for so many states in all."""
        slots = self.slots_for(states)
        if slots != self.slots or self.is_crowded:
            self.reindex(slots)

    def _bound(self) -> None:
        """Sets the number of states at which the kernel stops: one of its arrays is full then."""
        room = min(self.index_room, self.memory.room // self.packed.words)
        room = min(room, self._needs.room) if self._needs else room
        self.registers[r.ROOM] = max(0, room - self.slack)

    def reindex(self, slots: int) -> None:
        """Makes a new index from the log; the old one is freed first. Where more states are crowded
        than it has slots for, a larger one is made.
        """
        registers = self.registers
        self.is_indexed = is_complete = False
        while not is_complete:
            size = self.size_for(slots)
            self.packed.hold(r.INDEX, np.zeros(0, np.uint32))
            self.use_index(self._new_index(size), slots)
            is_complete = True
            for first, end in self._written():
                self.packed.set({r.MODE: r.REINDEX, r.FROM: first, r.TO: end})
                self.packed.run_search()
                is_complete = is_complete and int(registers[r.FROM]) == end
            is_complete = is_complete and not self.is_crowded
        self.is_indexed = True

    def _written(self) -> Iterator[tuple[int, int]]:
        """The parts of the log that hold states."""
        first = 0
        for begin, end in self.holes:
            yield first, begin
            first = end
        yield first, self.states

    def close_ranks(self) -> dict[int, int]:
        """Moves the last states into the holes: from which place to which."""
        dense = self.states - sum(end - begin for begin, end in self.holes)
        free = [k for begin, end in self.holes for k in range(begin, min(end, dense))]
        left = {k for begin, end in self.holes for k in range(max(begin, dense), end)}
        moved = dict(zip((k for k in range(dense, self.states) if k not in left), free))
        pairs = np.array([*moved.items()], np.uint64).reshape(-1)
        if self._finds_places:
            numbers = {r.MODE: r.RELOCATE, r.FROM: 0, r.TO: len(moved), r.LIST: address(pairs)}
            self.packed.set(numbers)
            self.packed.run_search()
        else:  # the index holds keys alone, or memory ran out and nobody looks a state up any more
            every = self.memory.words[: self.states * self.packed.words]
            states = every.reshape(-1, self.packed.words)
            states[pairs[1::2]] = states[pairs[::2]]
        self.registers[r.STATES], self.holes = dense, []
        return moved

    @property
    def _finds_places(self) -> bool:
        """Does the index tell where states are?"""
        return self.is_indexed

    def hold_places(self) -> None:
        """From now on the index holds places, for states of one word, too."""
        if not self.holds_places:
            self.holds_places = True
            if int(self.registers[r.BUCKETS]):
                self.reindex(self.slots_for(self.states))

    def use_index(self, index: Slots, slots: int, crowded: int = 0) -> None:
        """Takes an array, empty or filled for this log, as the index: `slots` of it, and, where
        these hold remainders, the rest for the states that find no room there, of which `crowded`
        are in it.
        """
        index = self.packed.hold(r.INDEX, index)
        self.size, self.slots, more = len(index), slots, len(index) - slots
        self.crowded_room = int(more * LOAD) if more else MOST_STATES
        self.index_room = min(int(slots * LOAD), MOST_STATES)
        numbers = {
            r.TAG_BITS: self.index_room.bit_length(),
            r.INDEX_SLOTS: slots,
            r.CROWDED: crowded,
            r.CROWDED_ROOM: self.crowded_room,
            r.BUCKETS: 0,
            r.BUCKET_BITS: 0,
            r.UNUSED_BITS: 64 - self.packed.state_bits if self.packed.words == 1 else 0,
        }
        if more:  # remainders in buckets, and behind them an index of places for crowded states
            numbers |= {
                r.INDEX: address(index[slots:]),
                r.INDEX_SLOTS: more,
                r.BUCKETS: address(index),
                r.BUCKET_BITS: (slots // BUCKET).bit_length() - 1,
            }
        self.packed.set(numbers)
        self._bound()

    @property
    def is_full(self) -> bool:
        """Would the index need places of more than 32 bits?"""
        return self.states + 4 * int(self.registers[r.BUFFER_SIZE]) >= MOST_STATES

    def note_outgrown(self, number: int | None = None) -> bool:
        """Notes what a kernel has found too small in an index of keys; False: nothing."""
        return False

    def let_go(self) -> None:
        """Gives pages of a log on disk back to the system, now and then."""
        if self.disk is not None:
            self.disk.let_go()

    @property
    def bytes(self) -> int:
        return 8 * self.packed.words * self.states

    def bytes_soon(self, states: int) -> int:
        """Additional bytes of a larger index, if this many more states and two buffers need one."""
        slots = self.slots_for(self.states + states + 4 * int(self.registers[r.BUFFER_SIZE]))
        return 4 * (self.size_for(slots) - self.size) if slots != self.slots else 0
