"""Several threads expand one level.

Each takes parts of the level, as many states as suit what is left, and enters what it finds into
log and index at once, which all share. It writes a state into a segment of the log of its own, and
then claims a slot of the index with a compare-and-swap, so no state is entered twice, nobody waits,
and nothing is copied. At the end of the level the last states move into what segments have left
free.

One thread, the caller's, also calls the rules, while the others go on with states whose rows are
known: kernels release the interpreter's lock. The others ask for no rows. They hand over what they
put off, and read tables as they were when they took their part, so that tables may grow meanwhile.
Only where fields grow wider, or the index larger, do all threads pause. Counts do not depend on the
number of threads; the order of the states in the log does.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections import defaultdict, deque
from collections.abc import Iterator
from functools import partial

import numpy as np
from attrs import define, field

from groupcheck.model.engine.fast.exploration import Exploration
from groupcheck.model.engine.fast.kernels import registers as r
from groupcheck.model.engine.fast.loop import buffered
from groupcheck.model.engine.fast.store import Words, address, joined
from groupcheck.model.engine.fast.thread_state import (
    OWN,
    QUEUES,
    SearchSnapshot,
    ThreadState,
    run_all,
)

WORTH = 1 << 13  # states of a stretch below which one thread is as quick
LEAST, MOST = 1 << 10, 1 << 14  # states of a part
MOST_OF_CALLER = 1 << 12  # the most states of a part of the caller, who comes back to fill rows
ROWS_AT_ONCE = 1 << 8  # rows that are filled at once while there is something else to do
LOOK_S = 0.02  # seconds after which one who waits looks at limits
# Seconds after which Python takes its lock from a thread that calls rules: the others need it only
# for a moment, to take their next part.
SWITCH = 0.0005
# What threads do and wait for.
EXPAND, RETRY, ROWS = "expanding states", "expanding what was put off", "filling rows"
PAUSE, END = "waiting in a pause", "waiting at the end of a level"
NOTHING = (np.zeros(0, np.uint64),) * 2


@define(eq=False)
class Threads:
    """Threads that expand together."""

    # How many there are, the caller's own included.
    workers: int
    # What each of the others has for itself; made at the first stretch.
    helpers: list[ThreadState] = field(factory=list)
    # They write into arrays now, so the caller must not leave and free them.
    are_busy: bool = False
    # Of the level in hand: parts that were given back, and what nobody has taken yet.
    back: deque[tuple[int, int]] = field(factory=deque)
    left: tuple[int, int] = (0, 0)
    # States expanded so far.
    expanded: int = 0
    # What was handed over, by queue; what waits until the rows are filled that it has asked for.
    given: list[list[Words]] = field(factory=lambda: [[] for _ in QUEUES])
    waiting: list[list[Words]] = field(factory=lambda: [[], []])
    # Successors that the index had no key for, and the nodes that were too small for them, from 1
    # on.
    left_over: list[tuple[Words, Words]] = field(factory=list)
    outgrown: set[int] = field(factory=set)
    # The search as threads see it that take their next part; None: they pause.
    snapshot: SearchSnapshot | None = None
    # How many others are at work, whether there is nothing left to do, and what one has raised.
    at_work: int = 0
    is_over: bool = False
    # Has one found no room in log or index? Then all others wait for the caller to make some.
    is_short: bool = False
    raised: BaseException | None = None
    # The caller's place and segment while threads pause; how many crowded states each may add.
    caller: ThreadState = field(factory=ThreadState)
    share: int = 0
    # Seconds in all levels so far: of all threads, by what they did or waited for.
    spent: defaultdict[str, float] = field(factory=lambda: defaultdict(float))
    changed: threading.Condition = field(factory=threading.Condition)

    def are_worth(self, states: int) -> bool:
        return self.workers > 1 and states >= WORTH

    @property
    def bytes(self) -> int:
        return sum(array.nbytes for helper in self.helpers for array in helper.arrays.values())

    def bytes_soon(self, search: Exploration) -> int:
        """The bytes that they will need, beyond what they have: queues, and room in the log."""
        if self.workers == 1:
            return 0
        arrays = search.packed.arrays
        queues = (self.workers - 1) * sum(arrays[k].nbytes for k in OWN if k in arrays)
        return max(0, queues - self.bytes) + 8 * search.packed.words * self.slack(search)

    def slack(self, search: Exploration) -> int:
        """States that threads may write after one has seen that there is room for one buffer."""
        segments = search.packed.get(r.BUFFER_SIZE) + 2 * r.SEGMENT
        return self.workers * segments if self.workers > 1 else 0

    # -- a stretch

    def stretch(self, search: Exploration, first: int, end: int) -> int:
        """Expands the states first .. end-1 completely; returns `end`."""
        self.helpers += [ThreadState() for _ in range(self.workers - 1 - len(self.helpers))]
        del self.helpers[self.workers - 1 :]
        self.left, self.is_over, self.raised = (first, end), False, None
        self.back.clear()
        self.given, self.waiting = [[] for _ in QUEUES], [[], []]
        self.left_over = []
        for state in (self.caller, *self.helpers):
            state.place = state.segment_end = search.log.states
            state.crowded = state.transitions = 0
        switch = sys.getswitchinterval()
        shared = np.zeros(r.SHARED_WORDS, np.uint64)
        shared[r.NEXT_PLACE] = search.log.states
        self.are_busy = True
        try:
            sys.setswitchinterval(SWITCH)
            self._open(search, shared)
            jobs = [partial(self._run_helper, helper) for helper in self.helpers]
            run_all([partial(self._run_caller, search), *jobs])
            if self.raised is not None:
                raise self.raised
        finally:
            sys.setswitchinterval(switch)
            self._end(search)
            self.expanded, self.are_busy = 0, False
        search.rest(joined(self.given[2]), joined(self.given[3]))
        return end

    def _open(self, search: Exploration, shared: Words) -> None:
        """From here on threads share the log."""
        log, registers = search.log, search.registers
        log.slack = self.slack(search)
        log.make_room()
        crowded, room = int(registers[r.CROWDED]), int(registers[r.CROWDED_ROOM])
        self.share = (room - crowded) // self.workers
        log.shared = shared
        numbers = {
            r.SHARED: address(shared),
            r.STATES: self.caller.place,
            r.SEGMENT_END: self.caller.segment_end,
            r.CROWDED_ROOM: crowded + self.share,
        }
        search.packed.set(numbers)
        shared[r.STOP], self.is_short = 0, False
        self._show(search)

    def publish(self, search: Exploration) -> None:
        """Rows were filled: threads that take their next part see them."""
        if self.slack(search) > search.log.slack:
            with self.paused(search):
                pass
        else:
            self._show(search)

    def _show(self, search: Exploration) -> None:
        with self.changed:
            self.snapshot = SearchSnapshot.of(search)
            self.changed.notify_all()

    def _close(self, search: Exploration) -> Words:
        """No thread is at work, and none takes a part: the log is the caller's alone, with holes.
        Returns what was shared.
        """
        log, registers, shared = search.log, search.registers, search.log.shared
        self.snapshot = None
        assert shared is not None
        self.caller.place = int(registers[r.STATES])
        self.caller.segment_end = int(registers[r.SEGMENT_END])
        every = (self.caller, *self.helpers)
        log.holes = sorted((h.place, h.segment_end) for h in every if h.place < h.segment_end)
        log.shared = None
        crowded = int(registers[r.CROWDED])
        numbers = {
            r.SHARED: 0,
            r.STATES: int(shared[r.NEXT_PLACE]),
            r.SEGMENT_END: r.HASHED,
            r.CROWDED: crowded + sum(helper.crowded for helper in self.helpers),
            r.CROWDED_ROOM: log.crowded_room,
        }
        search.packed.set(numbers)
        for helper in self.helpers:
            helper.crowded = 0
        return shared

    @contextlib.contextmanager
    def paused(self, search: Exploration) -> Iterator[None]:
        """While it is open, no other thread is at work: log, index and tables may move."""
        log, shared = search.log, search.log.shared
        assert shared is not None
        shared[r.STOP] = 1
        with self.changed:
            self.snapshot = None
            while self.at_work:
                self.changed.wait()
        shared = self._close(search)
        for number in self.outgrown:
            log.note_outgrown(number)
        self.outgrown.clear()
        search.left_over += self.left_over
        self.left_over = []
        yield
        # What was left over may have been entered meanwhile.
        shared[r.NEXT_PLACE] = search.registers[r.STATES]
        self._open(search, shared)

    def make_room(self, search: Exploration) -> None:
        """Room in log and index for one more buffer of successors of each thread."""
        log, size = search.log, search.packed.get(r.BUFFER_SIZE)
        crowded = max((helper.crowded for helper in self.helpers), default=0)
        is_crowded = crowded + 2 * size >= self.share or search.packed.get(
            r.CROWDED
        ) + 2 * size >= search.packed.get(r.CROWDED_ROOM)
        is_full = log.states + 2 * size + 2 >= search.packed.get(r.ROOM)
        if is_full or is_crowded or self.is_short or self.slack(search) > log.slack:
            with self.paused(search):
                pass

    def _end(self, search: Exploration) -> None:
        """Joins what threads have found."""
        log = search.log
        if log.shared is not None:
            self._close(search)
        log.slack = 0
        moved, findings = log.close_ranks(), search.findings
        for name, (depth, place, kind) in findings.wrong.items():
            findings.wrong[name] = (depth, moved.get(place, place), kind)
        for name, place in findings.first.items():
            findings.first[name] = moved.get(place, place)
        for helper in self.helpers:
            search.registers[r.TRANSITIONS] += helper.transitions
            if r.FIRED in helper.arrays:
                search.packed.arrays[r.FIRED][:] += helper.arrays[r.FIRED]
                helper.arrays[r.FIRED][:] = 0

    @contextlib.contextmanager
    def interruptible(self) -> Iterator[None]:
        """While it is open, an interrupt may end the caller's part at once: `stretch` waits for the
        other threads in any case.
        """
        before, self.are_busy = self.are_busy, False
        try:
            yield
        finally:
            self.are_busy = before

    # -- what threads do

    def _part(self, most: int) -> tuple[int, int] | None:
        """The states that somebody expands next. The lock is held."""
        if self.back:
            first, end = self.back.popleft()
            if end - first > most:
                self.back.appendleft((first + most, end))
            return first, min(end, first + most)
        first, end = self.left
        if first == end:
            return None
        size = min(most, max(LEAST, (end - first) // (4 * self.workers)), end - first)
        self.left = first + size, end
        return first, first + size

    def _give(self, queues: list[Words], at: int, first: int, end: int) -> None:
        """What came of a part. The lock is held."""
        for all_, queue in zip(self.given, queues):
            if len(queue):
                all_.append(queue)
        self.expanded += at - first
        if at < end:
            self.back.appendleft((at, end))
        if at == first:
            self.is_short = True

    def _run_helper(self, helper: ThreadState) -> None:
        """Takes parts until there are none."""
        while True:
            began = time.perf_counter()
            with self.changed:
                part = None
                while not self.is_over and (
                    self.snapshot is None or self.is_short or (part := self._part(MOST)) is None
                ):
                    is_paused = self.snapshot is None or self.is_short
                    self.changed.wait()
                    began = self._spent(PAUSE if is_paused else END, began)
                if self.is_over or part is None or self.snapshot is None:
                    return
                snapshot = self.snapshot
                self.at_work += 1
            queues: list[Words] = []
            at = part[0]
            left: list[tuple[Words, Words]] = []
            try:
                at = helper.expand(snapshot, *part, self.share)
                queues = helper.queues()
                if helper.registers[r.LEFT_OVER]:
                    left.append(buffered(helper.registers, helper.arrays, snapshot.words))
            except BaseException as error:
                self.raised = error
            finally:
                del snapshot
                with self.changed:
                    self._spent(EXPAND, began)
                    self._give(queues, at, *part)
                    if left:
                        self.left_over += left
                        self.outgrown.add(int(helper.registers[r.OUTGROWN]))
                        self.is_short = True
                    self.at_work -= 1
                    self.changed.notify_all()

    def _run_caller(self, search: Exploration) -> None:
        """Takes parts, too, and fills the rows that all lack: these come first where they are
        many.
        """
        began = time.perf_counter()
        try:
            while self.raised is None:
                search.pulse_in_time()
                asked = search.packed.get(r.ASKED_COUNT)
                with self.changed:
                    is_given = any(self.given[:2])
                    has_left = bool(self.left_over or search.left_over)
                    is_part = not is_given and not has_left and asked < ROWS_AT_ONCE
                    part = self._part(MOST_OF_CALLER) if is_part else None
                    is_left = is_given or asked or has_left or any(self.waiting)
                    if part is None and not is_left and self.at_work:
                        self.changed.wait(LOOK_S)
                        began = self._spent(END, began)
                        continue
                if part is not None:
                    self._expand(search, *part)
                    did = EXPAND
                elif has_left:
                    with self.paused(search):
                        search.enter_left_over()
                        self._put_aside(search)
                    did = RETRY
                elif is_given:
                    self._try_again(search)
                    did = RETRY
                elif is_left:
                    self._fill(search)
                    did = ROWS
                else:
                    return
                began = self._spent(did, began)
        finally:
            shared = search.log.shared
            if shared is not None:
                shared[r.STOP] = 1
            with self.changed:
                self.is_over = True
                self.changed.notify_all()

    def _spent(self, on: str, began: float) -> float:
        """Notes what a thread has done since some moment; returns what time it is now."""
        now = time.perf_counter()
        self.spent[on] += now - began
        return now

    def _expand(self, search: Exploration, first: int, end: int) -> None:
        search.run(search.begin_stretch(), first, end)
        at = int(search.registers[r.FROM])
        quiet = [search.taken(*queue) for queue in QUEUES[2:]]
        self._put_aside(search)
        with self.changed:
            self._give([*NOTHING, *quiet], at, first, end)

    def _put_aside(self, search: Exploration) -> None:
        """What the caller's kernels have put off waits for the rows that they have asked for."""
        for waiting, queue in zip(self.waiting, QUEUES):
            if search.packed.get(queue[1]):
                waiting.append(search.taken(*queue))

    def _try_again(self, search: Exploration) -> None:
        """What was put off, again; it asks for the rows that it lacks."""
        with self.changed:
            pairs, put_off = joined(self.given[0]), joined(self.given[1])
            self.given[:2] = [], []
        at_once = 2 * search.packed.get(r.PUT_OFF_SIZE)
        for k in range(0, len(put_off), at_once):
            some = put_off[k : k + at_once]
            search.run(r.RECHECK, 0, len(some) // 2, some)
            self._put_aside(search)
        done = 0
        while done < len(pairs) // 2:
            search.run(r.RETRY, done, len(pairs) // 2, pairs)
            self._put_aside(search)
            done = int(search.registers[r.FROM])

    def _fill(self, search: Exploration) -> None:
        """Fills the rows that were asked for; what waits for them may try again."""
        if search.packed.get(r.ASKED_COUNT):
            search.fill()
        if search.packed.get(r.OVERFLOW):
            search.more_chain_memory()
        with self.changed:
            self.given[:2] = [[*a, *b] for a, b in zip(self.given, self.waiting)]
        self.waiting = [[], []]
