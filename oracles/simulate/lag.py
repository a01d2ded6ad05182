"""Lag: what piles up in partitions that nobody works on, and when it is gone again.

A fluid: records arrive in each partition at a rate, and whoever works on it takes them away at a
higher one. If the members share something (`Assumptions.shared_spare`), all partitions that are
behind drain at an equal rate, which shrinks with their number. The lag of a partition is piecewise
linear, and what follows is exact. It leaves out that a member with several partitions divides its
own capacity between them.

Records arrive at one rate, so a partition whose lag is L records is L / rate behind in time: the
oldest record that waits arrived so long ago. A group may be behind from the begin on
(`Assumptions.backlog_s`).
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Sequence

from attrs import frozen

from groupcheck.oracles.simulate.assumptions import Assumptions

Turn = tuple[float, int, bool]  # (ms, partition, does it go on)


@frozen
class Lag:
    """The lag of all partitions of a group from the begin of a scenario on."""

    # Records that arrived in stopped partitions, and the most that waited at one time.
    built_records: float
    peak_records: float
    # How long the oldest record of any partition had waited at most (ms).
    peak_behind_ms: float
    # Until no lag is left (ms); None: some partition is still stopped.
    recovered_ms: float | None
    # How many partitions were stopped, and for how long (ms): all together, and the longest stop.
    stopped_partitions: int
    stopped_total_ms: float
    stopped_longest_ms: float


def lag(turns: Iterable[Turn], partitions: int, end_ms: float, a: Assumptions) -> Lag:
    """From the times at which partitions stop and go on, in order; all go on before the first. A
    partition that does not go on counts as stopped until `end_ms`.
    """
    fluid = _Fluid(partitions, a)
    for at, partition, goes_on in turns:
        fluid.until(at)
        if goes_on:
            fluid.goes_on(partition)
        else:
            fluid.stops(partition)
    still = bool(fluid.stopped)
    fluid.until(max(fluid.now, end_ms))
    for partition in sorted(fluid.stopped):
        fluid.goes_on(partition)
    stops = fluid.stops_ms
    total = math.fsum(stops)
    fluid.until(math.inf)
    return Lag(
        built_records=total * fluid.arrive,
        peak_records=fluid.peak,
        peak_behind_ms=fluid.behind_ms(fluid.deepest),
        recovered_ms=None if still else fluid.emptied,
        stopped_partitions=len(fluid.touched),
        stopped_total_ms=total,
        stopped_longest_ms=max(stops, default=0.0),
    )


def course(
    turns: Iterable[Turn], partitions: int, times_ms: Sequence[float], a: Assumptions
) -> list[tuple[float, float]]:
    """How far the partitions are behind at these times, in ascending order: on average, and the one
    that is most behind (ms).
    """
    fluid, left, found = _Fluid(partitions, a), [*turns][::-1], []
    for time in times_ms:
        while left and left[-1][0] <= time:
            at, partition, goes_on = left.pop()
            fluid.until(at)
            (fluid.goes_on if goes_on else fluid.stops)(partition)
        fluid.until(time)
        lags = fluid.lags()
        mean, most = math.fsum(lags) / partitions, max(lags, default=0.0)
        found.append((fluid.behind_ms(mean), fluid.behind_ms(most)))
    return found


class _Fluid:
    """All partitions at one moment. Rates are records in a millisecond.

    Partitions that drain do so at a common rate. `drained` is how much one that had drained from
    the begin on would have lost; a partition is empty once that reaches its mark.
    """

    def __init__(self, partitions: int, a: Assumptions) -> None:
        self.partitions = partitions
        self.arrive = a.records_per_s / 1000
        self.fastest = (a.capacity_per_s - a.records_per_s) / 1000
        self.shared = a.shared_spare
        self.now = self.drained = self.total = self.peak = self.emptied = 0.0
        self.stopped: dict[int, tuple[float, float]] = {}  # partition -> (since, lag then)
        self.marks: dict[int, float] = {}  # partition that drains -> its mark
        self.order: list[tuple[float, int]] = []  # of the marks
        self.stops_ms: list[float] = []
        self.touched: set[int] = set()
        self.deepest = backlog = a.backlog_s * a.records_per_s  # the most records of one partition
        if backlog:
            self.marks = dict.fromkeys(range(partitions), backlog)
            self.order = [(backlog, p) for p in range(partitions)]
            self.total = self.peak = backlog * partitions

    def behind_ms(self, records: float) -> float:
        """How long ago the oldest of so many records of a partition arrived."""
        return records / self.arrive if records else 0.0

    def lags(self) -> list[float]:
        """The records that wait in the partitions that are behind."""
        stopped = (left + (self.now - at) * self.arrive for at, left in self.stopped.values())
        return [*stopped, *(max(mark - self.drained, 0.0) for mark in self.marks.values())]

    def rate(self) -> float:
        """At which each partition that is behind drains now."""
        if not self.shared or not self.marks:
            return self.fastest
        # The spare capacity of the whole group, and what arrives in stopped partitions.
        spare = self.arrive * (self.partitions * self.shared + len(self.stopped))
        return min(self.fastest, spare / len(self.marks))

    def until(self, at: float) -> None:
        """Time passes; partitions that are empty meanwhile leave."""
        while self.marks:
            mark, partition = self.order[0]
            if self.marks.get(partition) != mark:
                heapq.heappop(self.order)
                continue
            rate = self.rate()
            empty = self.now + max(mark - self.drained, 0.0) / rate
            if empty > at:
                break
            self._pass(empty, rate)
            del self.marks[partition]
            self.emptied = max(self.emptied, empty)
        if at < math.inf:
            self._pass(at, self.rate())

    def _pass(self, at: float, rate: float) -> None:
        length = at - self.now
        self.now = at
        self.drained += length * rate
        self.total += length * (self.arrive * len(self.stopped) - rate * len(self.marks))
        self.peak = max(self.peak, self.total)

    def stops(self, partition: int) -> None:
        if partition not in self.stopped:
            mark = self.marks.pop(partition, None)
            left = 0.0 if mark is None else max(mark - self.drained, 0.0)
            self.stopped[partition] = (self.now, left)
            self.touched.add(partition)

    def goes_on(self, partition: int) -> None:
        if partition in self.stopped:
            since, left = self.stopped.pop(partition)
            self.stops_ms.append(self.now - since)
            behind = left + (self.now - since) * self.arrive
            self.deepest = max(self.deepest, behind)
            mark = self.marks[partition] = self.drained + behind
            heapq.heappush(self.order, (mark, partition))
