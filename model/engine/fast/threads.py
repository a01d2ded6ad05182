"""Several threads expand one stretch of the log.

Each thread has queues and a stretch of the log's end of its own; tables, guards and index are
shared. A thread enters new states where the index holds remainders; it lists those that would go to
the index of places, it never asks for rows, and it reports no rule: the one thread that goes on
afterwards does that. Counts do not depend on the number of threads; the order of the states in the
log does, and with it which of several shortest paths is told.

A thread claims a place in a bucket with a compare-and-swap, so no state is entered twice. A
pipeline in which one thread expands and one inserts was refused: the waits of the two halves would
no longer overlap. Threads do not share the Python around the rules, which limits what they save.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from attrs import define, field
from numpy.typing import NDArray

from groupcheck.model.engine.fast import bounds
from groupcheck.model.engine.fast.exploration import Exploration
from groupcheck.model.engine.fast.kernels import registers as r
from groupcheck.model.engine.fast.loop import empty_sieve
from groupcheck.model.engine.fast.store import CHECKED, Words, address

WORTH = 1 << 13  # states of a stretch below which one thread is as quick
OWN = (
    r.BUFFER,
    r.HASHES,
    r.NEEDS,
    r.DEFERRED,
    r.QUIET,
    r.UNSURE,
    r.PUT_OFF,
    r.FIRED,
    r.STACK,
    r.CURRENT,
    r.CHAIN,
    r.DONE,
    r.PAIRS,
    r.ITEMS,
    r.GOING,
    r.FIRING,
    r.FRESH,
    r.LOOKS,
    r.VIEW_VALUES,
    r.SIEVE,
)
OF_SYMMETRY = (r.SORTED, r.WALK_PATHS, r.WALK_READS, r.KNOWN_WALKS)
COUNTS = (  # no room to ask: so nothing is asked for
    r.TRANSITIONS,
    r.DEFERRED_COUNT,
    r.QUIET_COUNT,
    r.UNSURE_COUNT,
    r.PUT_OFF_COUNT,
    r.ASKED_COUNT,
    r.ASKED_SIZE,
    r.CROWDED,
    r.OVERFLOW,
)


@define(eq=False)
class Hand:
    """The data that one thread needs for itself."""

    registers: Words = field(factory=lambda: np.zeros(r.COUNT, np.uint64))
    # The arrays that the registers point to.
    arrays: dict[int, NDArray[Any]] = field(factory=dict)
    # The end of its part of the stretch.
    end: int = 0
    # The place in the log at which its new states begin.
    base: int = 0

    def take_up(self, search: Exploration, first: int, end: int, base: int, room: int) -> None:
        """A part of the stretch, first .. end-1; at most `room` new states go to the log from place
        `base` on, and as many to a list.
        """
        packed = search.packed
        mode = search.begin_stretch()
        self.registers[:] = packed.registers
        for k in (*OWN, *(k for k in OF_SYMMETRY if k in packed.arrays)):
            theirs = packed.arrays[k]
            if k not in self.arrays or self.arrays[k].shape != theirs.shape:
                self.arrays[k] = own(k, np.zeros_like(theirs))
            self.registers[k] = address(self.arrays[k])
        self.arrays[r.FIRED][:] = 0
        if r.KNOWN_WALKS in self.arrays:
            self.arrays[r.KNOWN_WALKS][:] = 0  # fields may have moved
            self.arrays[r.WALK_READS][:] = packed.arrays[r.WALK_READS]
        empty_sieve(self.arrays[r.SIEVE], packed.words)
        size = room * (packed.words + 1)
        if r.LATE not in self.arrays or len(self.arrays[r.LATE]) < size:
            self.arrays[r.LATE] = own(r.LATE, np.zeros(size, np.uint64))
        numbers = dict.fromkeys(COUNTS, 0) | {
            r.LATE: address(self.arrays[r.LATE]),
            r.CROWDED_ROOM: room,
            r.MODE: mode,
            r.FROM: first,
            r.TO: end,
            r.STATES: base,
            r.ROOM: base + room,
        }
        for register, number in numbers.items():
            self.registers[register] = number
        self.end, self.base = end, base

    def queue(self, register: int, count: int, width: int = 1) -> Words:
        """The words that it put into a queue."""
        found: Words = self.arrays[register][: int(self.registers[count]) * width]
        return found


def own(register: int, array: NDArray[Any]) -> NDArray[Any]:
    """An array for one thread alone."""
    return bounds.fenced(register, array) if CHECKED else array


def cores() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run_all(kernel: Callable[[Words], None], registers: Sequence[Words]) -> None:
    """Runs a kernel for each of these registers at once, one of them here; whatever happens here,
    it returns when all have ended.

    `Thread.join` does not serve: an interrupt in the middle of it marks a thread as ended that is
    not. No kernel runs before all threads are there: an interrupt in the middle of a start does not
    tell whether there is a thread to wait for. Raises in the end what was raised here meanwhile.
    """
    ended: list[threading.Event] = []
    here = [registers[0]]
    ready, complete = threading.Event(), False
    raised: BaseException | None = None

    def there(mine: Words, end: threading.Event) -> None:
        ready.wait()
        try:
            if complete:
                kernel(mine)
        finally:
            end.set()

    try:
        for mine in registers[1:]:
            end = threading.Event()
            try:
                threading.Thread(target=there, args=(mine, end), daemon=True).start()
            except RuntimeError:  # the system has no thread for us
                here.append(mine)
            else:
                ended.append(end)
        complete = True
        ready.set()
        for mine in here:
            kernel(mine)
    finally:
        waiting = True
        while waiting:
            try:
                ready.set()
                for end in ended:
                    end.wait()
                waiting = False
            except BaseException as error:
                raised = error
        if raised:
            raise raised


@define
class Threads:
    """Threads that expand together."""

    # How many there are, the caller's own included.
    workers: int
    # What each has for itself; made at the first stretch.
    hands: list[Hand] = field(factory=list)
    # They write into arrays now, so the caller must not leave and free them.
    are_busy: bool = False

    def are_worth(self, states: int) -> bool:
        return self.workers > 1 and states >= WORTH

    def room(self, search: Exploration, share: int) -> int:
        """States that all together may find when each expands `share` states; what finds no room is
        expanded afterwards.
        """
        return (
            self.workers * (2 * share + 3 * search.packed.get(r.BUFFER_SIZE))
            if self.workers > 1
            else 0
        )

    @property
    def bytes(self) -> int:
        return sum(array.nbytes for hand in self.hands for array in hand.arrays.values())

    def bytes_soon(self, search: Exploration, share: int) -> int:
        """The bytes that they will need, beyond what they have, when each expands `share` states:
        room in the log, lists, and queues.
        """
        if self.workers == 1:
            return 0
        w = search.packed.words
        queues = self.workers * sum(search.packed.arrays[k].nbytes for k in OWN)
        lists = 8 * self.room(search, share) * (w + 1)
        return max(0, queues + lists - self.bytes) + 8 * w * self.room(search, share)

    def stretch(self, search: Exploration, first: int, end: int) -> int:
        """Expands the states first .. end-1 completely; returns `end`."""
        self._expand(search, first, end)
        unfinished = [(int(hand.registers[r.FROM]), hand.end) for hand in self.hands]
        self._collect(search)
        for at, stop in unfinished:
            while at < stop:
                at = search.stretch_alone(at, stop)
        return end

    def _expand(self, search: Exploration, first: int, end: int) -> None:
        """Lets the threads go over their parts of the stretch."""
        log, packed = search.log, search.packed
        share = -(-(end - first) // self.workers)
        room = self.room(search, share) // self.workers
        log.make_room(self.workers * room)
        packed.ensure_hash_room(packed.get(r.ASKED_SIZE))
        parts = [(a, min(a + share, end)) for a in range(first, end, share)]
        self.hands += [Hand() for _ in range(len(parts) - len(self.hands))]
        del self.hands[len(parts) :]
        for k, (hand, (a, b)) in enumerate(zip(self.hands, parts, strict=True)):
            hand.take_up(search, a, b, log.states + k * room, room)
            if CHECKED:
                bounds.check_before("search", hand.registers, hand.arrays)
        self.are_busy = True
        try:
            run_all(packed.run_search_of, [hand.registers for hand in self.hands])
        finally:
            self.are_busy = False
        if CHECKED:
            for hand in self.hands:
                bounds.check_after("search", hand.registers, hand.arrays, packed.reserved)

    def _collect(self, search: Exploration) -> None:
        """Their states into the log, side by side; then all that they put off."""
        log, registers = search.log, search.registers
        put_off, late, w = [], [], search.packed.words
        for hand in self.hands:
            n, new = log.states, int(hand.registers[r.STATES]) - hand.base
            log.memory.words[n * w : (n + new) * w] = log.memory.words[
                hand.base * w : (hand.base + new) * w
            ]
            registers[r.STATES] = n + new
            again = hand.queue(r.PUT_OFF, r.PUT_OFF_COUNT, 2).copy()
            again[::2] -= np.uint64(hand.base - n)
            put_off.append(again)
            late.append(hand.queue(r.LATE, r.CROWDED, w + 1).reshape(-1, w + 1))
            registers[r.TRANSITIONS] += hand.registers[r.TRANSITIONS]
            search.packed.arrays[r.FIRED][:] += hand.arrays[r.FIRED]
        quiet = np.concatenate([hand.queue(r.QUIET, r.QUIET_COUNT) for hand in self.hands])
        unsure = np.concatenate([hand.queue(r.UNSURE, r.UNSURE_COUNT) for hand in self.hands])
        put_off += search.take_in(np.concatenate(late))
        deferred = [hand.queue(r.DEFERRED, r.DEFERRED_COUNT, 2).copy() for hand in self.hands]
        for pairs in put_off:
            if len(pairs):
                search.run(r.RECHECK, 0, len(pairs) // 2, pairs)
                search.settle()
        for pairs in deferred:
            search.requeue(pairs)
            search.settle()
        search.rest(quiet, unsure)
