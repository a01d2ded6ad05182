"""The clock: a queue of events, ordered by time and then by when they were scheduled.

A plain heap, and no simulation library: an event is one call of one function, what has become
pointless is skipped when its time comes, and a run of ten minutes of 3,000 members has two million
events. A library of processes (SimPy) would resume a generator for each of them and has no use
here, because what processes do next is not theirs to say: the rules of the model say it.
"""

from __future__ import annotations

import heapq
import math
import time
from collections.abc import Callable
from typing import Any

Event = Callable[..., None]
REPORT_INTERVAL_S = 0.2
LOOK = 32  # events between two looks at the real time


class OutOfTime(Exception):
    """A run has taken as long as it may."""


class Clock:
    """Virtual time in milliseconds."""

    def __init__(self) -> None:
        self.now = 0.0
        # The moment of `time.monotonic` (s) after which a run is given up.
        self.deadline = math.inf
        # Is called every `REPORT_INTERVAL_S` of real time; True ends the run.
        self.tells: Callable[[], bool] | None = None
        self._order = 0
        self._heap: list[tuple[float, int, Event, tuple[Any, ...]]] = []

    def at(self, time_ms: float, event: Event, *args: Any) -> None:
        """Schedules an event; one of equal time that was scheduled before comes before."""
        self._order += 1
        heapq.heappush(self._heap, (time_ms, self._order, event, args))

    def step(self) -> bool:
        """The next event happens; False if there is none."""
        if not self._heap:
            return False
        self.now, _, event, args = heapq.heappop(self._heap)
        event(*args)
        return True

    def run(self, until_ms: float) -> None:
        """Everything up to and including this time happens. `stop` ends it early. Raises
        `OutOfTime` after the deadline.
        """
        heap, pop = self._heap, heapq.heappop
        self._stopped = False
        alarm = self._alarm()
        left = LOOK
        while heap and heap[0][0] <= until_ms and not self._stopped:
            self.now, _, event, args = pop(heap)
            event(*args)
            left -= 1
            if not left:
                left = LOOK
                if time.monotonic() > alarm:
                    alarm = self._rings()
        if not self._stopped:
            self.now = until_ms

    def _alarm(self) -> float:
        if self.tells is None:
            return self.deadline
        return min(self.deadline, time.monotonic() + REPORT_INTERVAL_S)

    def _rings(self) -> float:
        if time.monotonic() > self.deadline:
            raise OutOfTime
        if self.tells is not None and self.tells():
            self.stop()
        return self._alarm()

    def stop(self) -> None:
        """No event after this one."""
        self._stopped = True

    def takes(self, other: Clock) -> None:
        """What is scheduled on the other clock, which shows the same time, is scheduled here."""
        for time_ms, _, event, args in sorted(other._heap, key=lambda one: one[:2]):
            self.at(time_ms, event, *args)
        other._heap.clear()

    def reset(self) -> None:
        """Nothing is scheduled any more, and it is 0 o'clock."""
        self._heap.clear()
        self.now = 0.0
