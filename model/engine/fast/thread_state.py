"""What each of several threads has for itself, and how they run together."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from attrs import define, field, frozen
from numpy.typing import NDArray

from groupcheck.model.engine.fast import bounds
from groupcheck.model.engine.fast.exploration import Exploration
from groupcheck.model.engine.fast.kernels import registers as r
from groupcheck.model.engine.fast.kernels.compiled import Kernel
from groupcheck.model.engine.fast.loop import empty_sieve
from groupcheck.model.engine.fast.store import CHECKED, Words, address

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
    r.FOLDED,
)
OF_SYMMETRY = (r.SORTED, r.WALK_PATHS, r.WALK_READS, r.KNOWN_WALKS)
# Registers that are 0 when a part begins. Without room for rows to ask for (ASKED_SIZE), a thread
# asks for none.
COUNTS = (
    r.TRANSITIONS,
    r.DEFERRED_COUNT,
    r.QUIET_COUNT,
    r.UNSURE_COUNT,
    r.PUT_OFF_COUNT,
    r.FRESH_COUNT,
    r.ASKED_COUNT,
    r.ASKED_SIZE,
    r.OVERFLOW,
    r.LEFT_OVER,
    r.OUTGROWN,
)
# Queues that a thread hands over: register, count, width.
QUEUES = (
    (r.DEFERRED, r.DEFERRED_COUNT, 2),
    (r.PUT_OFF, r.PUT_OFF_COUNT, 2),
    (r.QUIET, r.QUIET_COUNT, 1),
    (r.UNSURE, r.UNSURE_COUNT, 1),
)


@frozen(eq=False)
class SearchSnapshot:
    """The search as the other threads see it: registers and arrays as they were at some moment. It
    keeps the arrays alive while a thread reads them.
    """

    registers: Words
    arrays: dict[int, NDArray[Any]]
    grown: tuple[Words, ...]
    kernel: Kernel
    words: int

    @classmethod
    def of(cls, search: Exploration) -> SearchSnapshot:
        p = search.packed
        grown = tuple(memory.words for memory in p.reserved.values())
        mode = search.begin_stretch()
        registers = p.registers.copy()
        registers[r.MODE] = mode
        return cls(registers, dict(p.arrays), grown, p.search_kernel(), p.words)


@define(eq=False)
class ThreadState:
    """The data that one thread needs for itself."""

    registers: Words = field(factory=lambda: np.zeros(r.COUNT, np.uint64))
    # The arrays that the registers point to.
    arrays: dict[int, NDArray[Any]] = field(factory=dict)
    # Of the search, those by which it began its sieve and what it knows of walks.
    begun: tuple[Any, ...] = ()
    # Where its next state goes, the end of its segment, and crowded states that it has entered.
    place: int = 0
    segment_end: int = 0
    crowded: int = 0
    transitions: int = 0

    def expand(self, snapshot: SearchSnapshot, first: int, end: int, crowded_room: int) -> int:
        """Expands states from `first` on, at most to `end`; returns the next one."""
        self._take_up(snapshot)
        numbers = dict.fromkeys(COUNTS, 0) | {
            r.FROM: first,
            r.TO: end,
            r.STATES: self.place,
            r.SEGMENT_END: self.segment_end,
            r.CROWDED: self.crowded,
            r.CROWDED_ROOM: crowded_room,
        }
        for register, number in numbers.items():
            self.registers[register] = number
        if CHECKED:
            bounds.check_before("search", self.registers, self.arrays)
        snapshot.kernel(address(self.registers))
        if CHECKED:
            bounds.check_after("search", self.registers, self.arrays, {})
        self.place, self.segment_end, self.crowded, found, at = (
            int(self.registers[k])
            for k in (r.STATES, r.SEGMENT_END, r.CROWDED, r.TRANSITIONS, r.FROM)
        )
        self.transitions += found
        return at

    def _take_up(self, snapshot: SearchSnapshot) -> None:
        self.registers[:] = snapshot.registers
        for k in (k for k in (*OWN, *OF_SYMMETRY) if k in snapshot.arrays):
            theirs = snapshot.arrays[k]
            if k not in self.arrays or self.arrays[k].shape != theirs.shape:
                self.arrays[k] = bounds.fenced(k, np.zeros_like(theirs))
            self.registers[k] = address(self.arrays[k])
        begun = snapshot.arrays[r.SIEVE], snapshot.arrays.get(r.KNOWN_WALKS)
        if not self.begun or any(a is not b for a, b in zip(begun, self.begun, strict=True)):
            self.begun = begun  # fields may have moved
            empty_sieve(self.arrays[r.SIEVE], snapshot.words)
            if r.KNOWN_WALKS in self.arrays:
                self.arrays[r.KNOWN_WALKS][:] = 0
                self.arrays[r.WALK_READS][:] = snapshot.arrays[r.WALK_READS]

    def queues(self) -> list[Words]:
        """What it has put into its queues."""
        return [
            self.arrays[register][: int(self.registers[count]) * width].copy()
            for register, count, width in QUEUES
        ]


def run_all(jobs: Sequence[Callable[[], None]]) -> None:
    """Runs these jobs at once, the first of them here; whatever happens here, it returns when all
    have ended. Where the system has no thread for a job, that job is left out.

    `Thread.join` does not serve: an interrupt in the middle of it marks a thread as ended that is
    not. No job runs before all threads are there: an interrupt in the middle of a start does not
    tell whether there is a thread to wait for. Raises in the end what was raised here meanwhile.
    """
    ended: list[threading.Event] = []
    ready, complete = threading.Event(), False
    raised: BaseException | None = None

    def there(job: Callable[[], None], end: threading.Event) -> None:
        ready.wait()
        try:
            if complete:
                job()
        finally:
            end.set()

    try:
        for job in jobs[1:]:
            end = threading.Event()
            with contextlib.suppress(RuntimeError):  # the system has no thread for us
                threading.Thread(target=there, args=(job, end), daemon=True).start()
                ended.append(end)
        complete = True
        ready.set()
        jobs[0]()
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
