"""Runs of the search kernel over a log, with the queues and buffers that it needs. It knows no
rules: rows come from elsewhere.

Narrow levels pass inside the kernel: where all states of a level are expanded, nothing was asked
and no state rests, the kernel begins the next level by itself and lists where it began, because a
call costs more than such a level.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from groupcheck.model.engine.fast.kernels import registers as r
from groupcheck.model.engine.fast.log import Log
from groupcheck.model.engine.fast.packed import Packed
from groupcheck.model.engine.fast.store import Words, address, joined

BLOCK = 512  # successors expanded before they are inserted: what the cache can load ahead
QUEUE = 1 << 16
LEVELS = 1 << 12  # levels that the kernel begins by itself before it returns
STEPS_AT_ONCE = 1 << 18  # steps listed by one call of the kernel
AT_ONCE = 256  # pairs (state, table) whose chains go on side by side
LOOKS = 1 << 8  # cells of predicates and views that are loaded at once
ITEMS = 1 << 12  # steps of chains that are kept meanwhile
STRETCH = 1 << 16  # states for each call of the kernel: then limits and interrupts are looked at
APPENDING = frozenset({r.EXPAND, r.LISTED, r.RETRY, r.TAKE_IN})  # modes that add states to the log
SIEVE_BITS = 15  # as many recent states as fit into the inner caches


def empty_sieve(sieve: Words, words: int) -> None:
    """Empties a sieve of states of this many words. An entry of 0 is empty, except in the place of
    the state 0: there an entry that belongs elsewhere stands for empty.
    """
    sieve[:] = 0
    sieve[:words] = 1


def buffered(
    registers: Words, arrays: Mapping[int, NDArray[Any]], words: int
) -> tuple[Words, Words]:
    """A copy of what a kernel has left in its buffer: states x words, and the predicates to be
    looked at.
    """
    n = int(registers[r.LEFT_OVER])
    states = arrays[r.BUFFER][: n * words].reshape(-1, words).copy()
    return states, arrays[r.NEEDS][:n].copy()


class Loop:
    """Tables, a log, and memory for what the kernel reports."""

    def __init__(self, packed: Packed, log: Log) -> None:
        self.packed, self.registers, self.log = packed, packed.registers, log
        # Successors (states x words) that were not entered, with the predicates to be looked at:
        # the index had no key for one of them.
        self.left_over: list[tuple[Words, Words]] = []
        self._queues()

    def _queues(self) -> None:
        self.deferred_room(QUEUE)
        self.packed.hold(r.QUIET, np.zeros(QUEUE, np.uint64))
        self.packed.hold(r.LEVELS, np.zeros(LEVELS, np.uint64))
        self.packed.set({r.QUIET_SIZE: QUEUE, r.ASKED_SIZE: QUEUE // 4, r.BLOCK: BLOCK})
        self.registers[r.LEVEL_SIZE] = LEVELS
        self._chain_memory(1 << 10)
        self._buffers(8192)

    def deferred_room(self, pairs: int) -> Words:
        """Room for so many pairs that are put off, and as many states whose rest is unsure: each of
        these has put off a pair, too.
        """
        self.packed.hold(r.UNSURE, np.zeros(pairs, np.uint64))
        queue = self.packed.hold(r.DEFERRED, np.zeros(2 * pairs, np.uint64))
        self.registers[r.DEFERRED_SIZE] = pairs
        return queue

    def _chain_memory(self, size: int) -> None:
        with self.packed.changing():
            self.packed.set({r.STACK_SIZE: size, r.DONE_SIZE: size})
            self.packed.hold(r.DONE, np.zeros(size + r.LONGEST_CHAIN, np.uint16))
            self.packed.hold(r.CHAIN, np.zeros(r.LONGEST_CHAIN + 2, np.uint16))
            self.sized_by_words()

    def more_chain_memory(self) -> None:
        """After chains of urgent rules did not fit."""
        self.registers[r.OVERFLOW] = 0
        self._buffers(2 * int(self.registers[r.BUFFER_SIZE]))
        self._chain_memory(2 * int(self.registers[r.STACK_SIZE]))

    def _buffers(self, size: int) -> None:
        with self.packed.changing():
            self.packed.set({r.BUFFER_SIZE: size, r.PUT_OFF_SIZE: 4 * size})
            lengths = {r.HASHES: size, r.NEEDS: size, r.PUT_OFF: 8 * size, r.FRESH: 2 * size}
            self.packed.hold_all({k: np.zeros(n, np.uint64) for k, n in lengths.items()})
            self.sized_by_words()

    def resize(self) -> None:
        """Queues and buffers for the tables as they are."""
        self.sized_by_words()
        if BLOCK + self.packed.out_degree + 2 > int(
            self.registers[r.BUFFER_SIZE]
        ):  # it must hold a block and all successors of one more state
            self._buffers(2 * (BLOCK + self.packed.out_degree + 2))

    @property
    def _looks(self) -> int:
        """Room for cells of predicates and views: of some states, and of all that there are."""
        return LOOKS + self.packed.shape.predicates + self.packed.shape.views

    def sized_by_words(self) -> None:
        p = self.packed
        lengths = {
            r.BUFFER: max(1, p.get(r.BUFFER_SIZE)) * p.words,
            r.STACK: (p.get(r.STACK_SIZE) + 1) * (p.words + 4),
            r.CURRENT: p.words,
            r.ITEMS: ITEMS * (p.words + r.ITEM_WORDS),
            r.GOING: ITEMS,
            r.FIRING: ITEMS,
            r.LOOKS: self._looks,
            r.PAIRS: (AT_ONCE + p.get(r.TABLES)) * r.PAIR_WORDS,
            r.ASKED: p.get(r.ASKED_SIZE) * (p.words + p.view_words + 2),
        }
        p.hold_all({k: np.zeros(n, np.uint64) for k, n in lengths.items()})
        p.set({r.AT_ONCE: AT_ONCE, r.ITEMS_SIZE: ITEMS, r.LOOKS_SIZE: self._looks})
        self.clear_sieve()

    def clear_sieve(self) -> None:
        """A new sieve with nothing in it."""
        words = self.packed.words
        sieve = self.packed.hold(r.SIEVE, np.zeros((1 << SIEVE_BITS) * words, np.uint64))
        empty_sieve(sieve, words)
        self.registers[r.SIEVE_SHIFT] = 64 - SIEVE_BITS

    def hold_only(self, states: Words) -> None:
        """The log in hand with these states (states x words, all different) and nothing else."""
        log, n = self.log, len(states)
        log.memory.ensure((n + 1) * self.packed.words)
        log.memory.words[: n * self.packed.words] = states.reshape(-1)
        self.packed.point(r.LOG, log.memory)
        self.registers[r.STATES] = n
        log.slots = self.registers[r.CROWDED] = 0
        log.reindex(log.slots_for(2 * n))
        self.clear_sieve()

    def run(self, mode: int, first: int, end: int, queue: Words | None = None) -> None:
        if mode in APPENDING:
            self.make_room()
        # A hash of rows that grows forgets which were asked for. These count already, so it grows
        # only while there are none; or rows would be filled twice.
        asked = int(self.registers[r.ASKED_COUNT])
        self.packed.ensure_hash_room(int(self.registers[r.ASKED_SIZE]) - asked)
        self.packed.set({r.MODE: mode, r.FROM: first, r.TO: end})
        if queue is not None:
            self.registers[r.LIST] = address(queue)
        self.packed.run_search()
        endless = int(self.registers[r.ENDLESS])
        if endless:
            self.never_rests(endless - 1)
        if self.registers[r.UNEQUAL]:
            self.unequal(int(self.registers[r.UNEQUAL]), int(self.registers[r.UNEQUAL_AT]))
        if self.registers[r.LEFT_OVER]:
            self.log.note_outgrown()
            self.left_over.append(buffered(self.registers, self.packed.arrays, self.packed.words))
            self.registers[r.LEFT_OVER] = 0

    def enter_left_over(self) -> None:
        """Enters what was left over, as far as there is room for what that asks."""
        left, self.left_over = self.left_over, []
        for k, (states, needs) in enumerate(left):
            done = 0
            while done < len(states):
                self.registers[r.SOURCE] = address(needs)
                self.run(r.TAKE_IN, done, len(states), states)
                if int(self.registers[r.FROM]) == done:  # a queue is full
                    self.left_over += [(states[done:].copy(), needs[done:].copy()), *left[k + 1 :]]
                    return
                done = int(self.registers[r.FROM])

    def make_room(self) -> None:
        """Room in log and index for one more buffer of successors."""
        self.log.make_room()

    def never_rests(self, place: int) -> None:
        """Urgent rules do not come to rest in a step from the state at this place. Raises
        `AssertionError`; a subclass raises an error that says more.
        """
        raise AssertionError(f"no rest after the state at {place}")

    def unequal(self, why: int, table: int) -> None:
        """Permutations make a difference: why, and the urgent table in which that shows. Raises
        `AssertionError`; a subclass raises an error that says more.
        """
        raise AssertionError(f"permutations make a difference in table {table}: {why}")

    def taken(self, register: int, count: int, width: int = 1) -> Words:
        """A copy of a queue, which is then empty."""
        n = int(self.registers[count])
        self.registers[count] = 0
        return self.packed.arrays[register][: n * width].copy()

    @contextlib.contextmanager
    def uncounted(self) -> Iterator[None]:
        """Outcomes that fire meanwhile do not count."""
        fired = self.packed.arrays[r.FIRED]
        self.packed.hold(r.FIRED, np.zeros_like(fired))
        try:
            yield
        finally:
            self.packed.hold(r.FIRED, fired)

    def without_successors(self, places: Words) -> Words:
        """Which of these states, whose rows are all there now, have no successor but themselves."""
        found = []
        done = 0
        with self.uncounted():
            while done < len(places):
                self.run(r.CHECK, done, len(places), places)
                if int(self.registers[r.OVERFLOW]):
                    self.registers[r.DEFERRED_COUNT] = self.registers[r.QUIET_COUNT] = 0
                    self.more_chain_memory()
                    continue
                done = int(self.registers[r.FROM])
                found.append(self.taken(r.QUIET, r.QUIET_COUNT))
        return joined(found)

    def predecessor(self, first: int, end: int, target: int) -> int | None:
        """The place of a state from first .. end-1 that has the state at `target` as a successor;
        None if there is none.
        """
        block, self.registers[r.BLOCK] = int(self.registers[r.BLOCK]), 1
        self.registers[r.TARGET] = target
        try:
            with self.uncounted():
                while first < end:
                    self.run(r.BACKWARD, first, end)
                    found = int(self.registers[r.FOUND_AT])
                    if found != r.HASHED:
                        return found
                    # States of a level that was cut off may lack rows.
                    self.registers[r.DEFERRED_COUNT] = 0
                    self.drop_asked()
                    if int(self.registers[r.OVERFLOW]):
                        # The same states again: what did not fit was not looked at.
                        self.more_chain_memory()
                    else:
                        first = int(self.registers[r.FROM])
        finally:
            self.registers[r.BLOCK] = block
        return None

    def steps_of(self, places: Words) -> Iterator[tuple[Words, Words]]:
        """The steps of states that have been expanded, in pieces: (successors x words, the place
        of the state that each follows). `places`: of these states.
        """
        w = self.packed.words
        size = max(STEPS_AT_ONCE, 2 * self.packed.out_degree)
        block, done = int(self.registers[r.BLOCK]), 0
        try:
            while done < len(places):
                self.packed.set({r.FOLLOWED_COUNT: 0, r.FOLLOWED_SIZE: size, r.BLOCK: 1})
                held = self.packed.arrays.get(r.FOLLOWED)
                if held is None or len(held) < size * (w + 1):
                    self.packed.hold(r.FOLLOWED, np.zeros(size * (w + 1), np.uint64))
                with self.uncounted():
                    self.run(r.FOLLOW, done, len(places), places)
                if int(self.registers[r.OVERFLOW]):
                    self.registers[r.DEFERRED_COUNT] = 0
                    self.more_chain_memory()
                    continue
                assert not int(self.registers[r.DEFERRED_COUNT]), "a state that was not expanded"
                if int(self.registers[r.FROM]) == done:
                    size *= 2
                    continue
                done = int(self.registers[r.FROM])
                found = self.taken(r.FOLLOWED, r.FOLLOWED_COUNT, w + 1).reshape(-1, w + 1)
                if len(found):
                    yield np.ascontiguousarray(found[:, :-1]), found[:, -1]
        finally:
            self.packed.set({r.FOLLOWED_COUNT: 0, r.FOLLOWED_SIZE: 0, r.BLOCK: block})

    def drop_asked(self) -> None:
        """Forgets which rows were asked for."""
        self.registers[r.ASKED_COUNT] = 0
