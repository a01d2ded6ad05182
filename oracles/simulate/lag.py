"""Lag: what piles up in partitions that nobody works on, and when it is gone again.

A fluid: records arrive at a rate, and an owner that works takes them away at a higher one. So the
lag of a partition is piecewise linear, and what follows is exact. It leaves out that a member with
several partitions shares its capacity between them.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from attrs import frozen

from groupcheck.oracles.simulate.assumptions import Assumptions


@frozen
class Lag:
    """The lag of all partitions of a group during a scenario."""

    # Records that arrived in stopped partitions, and the most that waited at one time.
    built_records: float
    peak_records: float
    # From the begin of the scenario until no lag is left (None: some partition is still stopped).
    recovered_ms: float | None
    # How many partitions were stopped, and for how long (ms): all together, and the longest stop.
    stopped_partitions: int
    stopped_total_ms: float
    stopped_longest_ms: float


def lag(turns: Iterable[tuple[float, int, bool]], end_ms: float, a: Assumptions) -> Lag:
    """From the times at which partitions stop and go on: (ms, partition, does it go on), in which
    every partition goes on before the first.
    """
    arrive, drain = a.records_per_s / 1000, (a.capacity_per_s - a.records_per_s) / 1000
    slopes: list[tuple[float, float]] = []  # (time, by how much the slope of the sum changes)
    total = longest = 0.0
    recovered: float | None = 0.0
    partitions = 0
    ordered = sorted(turns, key=lambda turn: (turn[1], turn[0]))
    for _, own in groupby(ordered, key=lambda turn: turn[1]):
        partitions += 1
        stops = _stops([(at, goes_on) for at, _, goes_on in own], end_ms)
        behind, drained_from = 0.0, 0.0
        for stop, resume in stops:
            total += resume - stop
            longest = max(longest, resume - stop)
            left = max(0.0, behind - (stop - drained_from) * drain)
            if behind:
                empty = min(stop, drained_from + behind / drain)
                slopes.append((empty, drain))
            slopes += [(stop, arrive), (resume, -arrive)]
            behind, drained_from = left + (resume - stop) * arrive, resume
            slopes.append((resume, -drain))
        empty = drained_from + behind / drain
        slopes.append((empty, drain))
        if stops and stops[-1][1] >= end_ms:
            recovered = None
        elif recovered is not None:
            recovered = max(recovered, empty)
    return Lag(total * arrive, _peak(slopes), recovered, partitions, total, longest)


def _stops(own: list[tuple[float, bool]], end_ms: float) -> list[tuple[float, float]]:
    """When a partition stopped and went on; one that does not go on is stopped until the end."""
    stops: list[tuple[float, float]] = []
    since: float | None = None
    for at, goes_on in own:
        if goes_on and since is not None:
            stops.append((since, at))
            since = None
        elif not goes_on and since is None:
            since = at
    return stops if since is None else [*stops, (since, end_ms)]


def _peak(slopes: list[tuple[float, float]]) -> float:
    """The highest value of a sum of piecewise linear functions that begin at 0."""
    value = peak = slope = last = 0.0
    for at, change in sorted(slopes):
        value += slope * (at - last)
        peak, slope, last = max(peak, value), slope + change, at
    return peak
