"""Both sides of a course, the baseline and the change, in so many replications as are wanted, or as
there is time for.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import takewhile
from time import monotonic

from attrs import frozen

from groupcheck.oracles.processes.parallel import results
from groupcheck.oracles.replay.what_if.outside import Outside
from groupcheck.oracles.replay.what_if.runs import Run, run
from groupcheck.oracles.replay.what_if.schedule import QuietTimeMap, TimedCourse, scheduled
from groupcheck.oracles.simulate import Assumptions

REPLICATIONS = 8
LEAST_REPLICATIONS = 2
"""With fewer, there is no interval."""
BUDGET_S = 60.0
"""Replications that would take longer in all are left out, unless their number is given."""


@frozen
class Course:
    """The subject of the simulations."""

    events: Outside
    clock: QuietTimeMap
    baseline: tuple[str, Assumptions]
    changed: tuple[str, Assumptions]
    partitions: int
    seed: int


def replicated(
    course: Course,
    replications: int | None,
    budget_s: float,
    workers: int,
    partial_answer: bool,
    watch: Callable[[int, int], None] | None,
) -> tuple[int, list[TimedCourse], tuple[list[Run], list[Run]], float]:
    """How many replications are wanted, the courses and the runs of both sides of those that are
    done, and how long the first one took, in s.
    """
    count = replications or REPLICATIONS
    found: dict[int, tuple[TimedCourse, Run, Run]] = {}
    done = 0

    def tell(runs: int) -> None:
        if watch is not None:
            watch(2 * done + runs, 2 * count)

    def here(number: int) -> tuple[TimedCourse, Run, Run]:
        return _replication(course, number, lambda: tell(1))

    tell(0)
    began = monotonic()
    try:
        found[0] = here(0)
        done, first_s = 1, monotonic() - began
        if replications is None and first_s * count > budget_s * workers:
            count = max(LEAST_REPLICATIONS, min(count, int(budget_s * workers / first_s)))
        tell(0)
        left = range(1, count)
        for index, one in results(partial(_replication, course), left, workers, here):
            found[left[index]] = one
            done += 1
            tell(0)
    except KeyboardInterrupt:
        if not partial_answer or not all(k in found for k in range(LEAST_REPLICATIONS)):
            raise
    whole = [found[k] for k in takewhile(found.__contains__, range(count))]
    courses, before, after = (list(one) for one in zip(*whole))
    return count, courses, (before, after), first_s


def _replication(
    course: Course, number: int, between: Callable[[], None] = lambda: None
) -> tuple[TimedCourse, Run, Run]:
    """Number `number`: the course, and the run of each side. `between` is called between them."""
    seed = course.seed + number
    events = scheduled(course.events, course.clock, seed)
    variant, assumed = course.baseline
    before = run(events, variant, course.partitions, assumed, seed)
    between()
    variant, assumed = course.changed
    return events, before, run(events, variant, course.partitions, assumed, seed)
