"""A course for the simulator from what happened to the processes of a logged group."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from random import Random

from attrs import frozen

from groupcheck.oracles.replay.what_if.outside import LASTING, Happening, Outside
from groupcheck.oracles.simulate import Action, Assumptions, Course

LEAD_MS = 10_000.0
"""How long a group that was there before is watched before the first event."""
MARGIN_MS = 30_000.0


@frozen
class Instant:
    """A moment at which something happens to a process, in ms of virtual time."""

    at: float
    # start, close, crash, stall, pause, or resume: the end of a stall or a pause.
    what: str
    # The index of the rebalance that followed it in the log; None if none did.
    round: int | None
    # Counts the instants of a course.
    number: int


@frozen
class TimedCourse:
    """A course, and the instants in it: a list for each process, in order of time."""

    course: Course
    instants: Sequence[Sequence[Instant]]
    members: int
    seconds: float


@frozen
class QuietTimeMap:
    """Maps times of the log to virtual time, with long quiet times cut out: a group at rest stays
    as it is.
    """

    times: Sequence[float]
    mapped: Sequence[float]
    limits: Sequence[float]

    def __call__(self, time: float) -> float:
        k = max(bisect_right(self.times, time) - 1, 0)
        return self.mapped[k] + min(time - self.times[k], self.limits[k])

    @property
    def end(self) -> float:
        """When whatever began last has had its effect."""
        return self.mapped[-1] + self.limits[-1]


def shortened(outside: Outside, settings: Sequence[Assumptions]) -> QuietTimeMap:
    """Cuts quiet times to what any effect of an event takes at most under these settings."""
    session = max(a.session_timeout_ms for a in settings)
    poll = max(a.max_poll_interval_ms for a in settings)
    rest = MARGIN_MS + max(
        4 * a.heartbeat_interval_ms + 5 * a.processing_ms.mean + a.initial_rebalance_delay_ms
        for a in settings
    )
    ends = [h.until for h in outside.happenings if h.until is not None]
    times = sorted({h.at for h in outside.happenings} | {*ends})
    stalls = [h for h in outside.happenings if h.what in LASTING]
    limits = []
    for time in times:
        stalled = any(h.at <= time and (h.until is None or time < h.until) for h in stalls)
        limits.append(rest + session + (poll if stalled else 0.0))
    there = any(process.there for process in outside.processes)
    mapped = [LEAD_MS if there else 0.0]
    for k in range(1, len(times)):
        mapped.append(mapped[-1] + min(times[k] - times[k - 1], limits[k - 1]))
    return QuietTimeMap(times, mapped, limits)


def scheduled(outside: Outside, clock: QuietTimeMap, seed: int) -> TimedCourse:
    """The course of one replication: what the log leaves open (when exactly a process died, which
    of several members was slow) is drawn from the seed.
    """
    rng = Random(f"{seed}/outside")
    order = sorted(range(len(outside.processes)), key=lambda k: not outside.processes[k].there)
    index = {process: k for k, process in enumerate(order)}
    running = sum(process.there for process in outside.processes)
    instants: list[list[Instant]] = [[] for _ in order]
    actions = []
    number = 0
    for h in outside.happenings:
        drawn, which = rng.random(), rng.random()
        process = h.one_of[int(which * len(h.one_of))] if h.one_of else h.process
        at = clock(min(h.at + h.slack * drawn, _next(outside, h) - 1))
        until = clock.end if h.until is None else clock(h.until)
        length = max(until - at, 0.0) if h.what in LASTING else 0.0
        actions.append(Action(at, h.what, index[process], length))
        mine = instants[index[process]]
        mine.append(Instant(at, h.what, h.round, number))
        if h.what in LASTING and h.until is not None:
            mine.append(Instant(until, "resume", h.round_after, number + 1))
        number += 2
    for mine in instants:
        mine.sort(key=lambda one: one.at)
    actions.sort(key=lambda action: action.at_ms)
    course = Course(running, tuple(actions))
    return TimedCourse(course, instants, len(order), clock.end / 1000)


def _next(outside: Outside, h: Happening) -> float:
    """When the next thing happens to the same process."""
    later = (o.at for o in outside.happenings if o.process == h.process and o.at > h.at)
    return min(later, default=float("inf"))
