"""For how long nobody reads a partition, while there are processes that could."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from groupcheck.oracles.replay.what_if.schedule import Scheduled

Span = tuple[float, float]


def stopped_ms(turns: Iterable[tuple[float, int, bool]], scheduled: Scheduled, end: float) -> float:
    """The times in which a partition that was read before has no reader, summed over partitions, in
    ms, while at least one process runs. `turns`: (ms, partition, is it read from then on), in
    order; `end`: when the simulation ended.
    """
    spans = running(scheduled, end)
    since: dict[int, float] = {}
    total = 0.0
    for at, partition, is_read in turns:
        if not is_read:
            since.setdefault(partition, at)
        elif partition in since:
            total += _common(since.pop(partition), at, spans)
    return total + sum(_common(at, end, spans) for at in since.values())


def running(scheduled: Scheduled, end: float) -> list[Span]:
    """The times in which at least one process runs, in ms of virtual time."""
    steps = [(0.0, scheduled.course.running)]
    for mine in scheduled.instants:
        steps += [(one.at, 1) for one in mine if one.what == "start"]
        steps += [(one.at, -1) for one in mine if one.what in ("close", "crash")]
    spans: list[Span] = []
    count, since = 0, 0.0
    for at, step in sorted(steps):
        if not count and step > 0:
            since = at
        elif count and count + step <= 0:
            spans.append((since, at))
        count += step
    return [*spans, (since, end)] if count else spans


def _common(start: float, stop: float, spans: Sequence[Span]) -> float:
    return sum(max(min(stop, b) - max(start, a), 0.0) for a, b in spans)
