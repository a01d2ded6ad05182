"""The actual course and a possible one, side by side: the events of a log under the group's own
protocol and settings (the baseline), and under others, from the same seeds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal

from attrs import evolve, field, frozen

from groupcheck.model.engine import UserError
from groupcheck.oracles.replay.what_if.accepted_changes import (
    consumers,
    simulable,
    too_large,
    without_contradictions,
)
from groupcheck.oracles.replay.what_if.caveats import doubts
from groupcheck.oracles.replay.what_if.change import Change, after
from groupcheck.oracles.replay.what_if.merged_rounds import effects, served
from groupcheck.oracles.replay.what_if.outside import FOLLOWS, Outside, outside
from groupcheck.oracles.replay.what_if.protocols import (
    CONSUMER,
    COOPERATIVE,
    EAGER,
    INTERVAL,
    PACE,
    Kind,
    each_of_a_side,
    is_consumer,
    is_static,
    paced,
)
from groupcheck.oracles.replay.what_if.runs import Run
from groupcheck.oracles.replay.what_if.schedule import QuietTimeMap, TimedCourse, shortened
from groupcheck.oracles.replay.what_if.settings import (
    PROTOCOL,
    Settings,
    consistent,
    given_settings,
    settings_of,
)
from groupcheck.oracles.replay.what_if.sides import (
    BUDGET_S,
    LEAST_REPLICATIONS,
    REPLICATIONS,
    Course,
    replicated,
)
from groupcheck.oracles.simulate import Assumptions, intervals, with_settings
from groupcheck.oracles.simulate.compare import checked_replications, checked_seed
from groupcheck.oracles.simulate.intervals import Interval
from groupcheck.oracles.simulate.progress import stopped_early
from groupcheck.traces.findings.report import GroupReport
from groupcheck.traces.story.events import RebalanceCause
from groupcheck.traces.story.moments import Round

LEAST_SHARE = 0.75
"""In this share of the replications at least, the baseline must have a rebalance of the log."""
MOST_AMISS = 1 / 3
"""At most this share of the rebalances may be missing in the baseline, and as many be its own."""
MOST_MEMBER_SECONDS = 40e6
"""Members times simulated seconds. 200 members with 401 rebalances took 28 s for each million on
one core of 2026.
"""
SETTINGS = (
    "heartbeat_interval_ms",
    "session_timeout_ms",
    "max_poll_interval_ms",
    "initial_rebalance_delay_ms",
    "restart_ms",
)


@frozen
class RebalanceRow:
    """A rebalance of the log: how many rounds its events began, in each replication."""

    round: Round
    # What the log shows of it can be simulated.
    simulated: bool
    baseline: tuple[int, ...]
    changed: tuple[int, ...]
    # After the change, a round that another event began serves its events.
    merged: tuple[bool, ...]
    # Why nothing is said about it; empty: it is judged, if the baseline has it.
    doubt: str = ""

    @property
    def reproduced(self) -> bool:
        """Does the baseline have it?"""
        return self.simulated and _share(self.baseline) >= LEAST_SHARE

    @property
    def judged(self) -> bool:
        """Does the baseline have it, and does the log tell enough to judge it?"""
        return self.reproduced and not self.doubt

    @property
    def avoided(self) -> float:
        """The share of replications in which no round serves its events after the change."""
        free = [not n and not m for n, m in zip(self.changed, self.merged)]
        return _share(free)

    @property
    def merges(self) -> bool:
        """After the change, does a round of other events serve its events in most replications?"""
        return self.judged and _share(self.merged) > 0.5


@frozen
class Stood:
    """How long a process stood still, in ms, in each replication."""

    # The names that it had.
    names: tuple[str, ...]
    baseline: tuple[float, ...]
    changed: tuple[float, ...]

    @property
    def saved(self) -> Interval:
        """How much less it stands still after the change: paired differences."""
        return difference(self.baseline, self.changed)


@frozen
class WhatIf:
    """The answer for one group."""

    outside: Outside
    # What the log tells of the group's settings.
    settings: Settings
    # The name of the log.
    file: str
    change: Change
    # (variant, assumptions) of both.
    baseline: tuple[str, Assumptions]
    changed: tuple[str, Assumptions]
    partitions: int
    seed: int
    replications: int
    # Those that were wanted; more than `replications` after Ctrl-C.
    asked: int
    rows: tuple[RebalanceRow, ...]
    stood: tuple[Stood, ...]
    # Rounds in each replication, and how often static members of a group of KIP-848 are refused.
    rounds: tuple[tuple[int, ...], tuple[int, ...]]
    refused: tuple[tuple[int, ...], tuple[int, ...]]
    # For how long partitions had no reader, in ms, in each replication.
    stopped: tuple[tuple[float, ...], tuple[float, ...]]
    # Assumptions that the log does not state and that matter: guessed or estimated.
    assumed: tuple[str, ...]
    # As many partitions as processes are assumed.
    partitions_guessed: bool = False
    # How long the first replication took, in s of real time.
    first_s: float = field(default=0.0, eq=False)
    # Fewer replications than `REPLICATIONS` were run, because they take so long.
    shortened: bool = False

    @property
    def reproduced(self) -> int:
        """How many rebalances of the log the baseline has."""
        return sum(row.reproduced for row in self.rows)

    @property
    def trusted(self) -> bool:
        """Does the baseline have most rebalances of the log, and few others, and can most of them
        be judged?
        """
        return self.like_the_log and self._few(sum(not row.judged for row in self.rows))

    @property
    def like_the_log(self) -> bool:
        """Does the baseline have most rebalances of the log, and few others?"""
        return not self.too_few and not self.too_many

    @property
    def too_few(self) -> bool:
        """Are too many rebalances of the log missing in the baseline?"""
        return not self._few(len(self.rows) - self.reproduced)

    @property
    def too_many(self) -> bool:
        """Has the baseline too many rounds that the log does not have?"""
        return not self._few(self.own_rounds)

    @property
    def own_rounds(self) -> float:
        """Rounds of the baseline beyond one for each rebalance of the log: the mean."""
        explained = sum(count > 0 for row in self.rows for count in row.baseline)
        return (sum(self.rounds[0]) - explained) / self.replications

    def _few(self, count: float) -> bool:
        return count <= MOST_AMISS * len(self.rows)

    @property
    def doubts(self) -> dict[str, int]:
        """Why rebalances that the baseline has are not judged -> how many."""
        return dict(Counter(row.doubt for row in self.rows if row.reproduced and row.doubt))

    @property
    def reason(self) -> str:
        """Why this is not the answer to what was asked; empty if it is."""
        return stopped_early(self.replications, self.asked)

    @property
    def avoided(self) -> list[RebalanceRow]:
        """The rebalances that would not have happened in most replications."""
        return [row for row in self.rows if row.judged and row.avoided > 0.5]

    @property
    def verdict(self) -> Literal["answered", "unknown"]:
        """`answered`, or `unknown` where the baseline is not what the log shows, or after
        Ctrl-C.
        """
        return "answered" if self.trusted and not self.reason else "unknown"


def _share(counts: Sequence[float]) -> float:
    return sum(count > 0 for count in counts) / len(counts) if counts else 0.0


def what_if(
    report: GroupReport,
    file: str,
    change: Change,
    *,
    given: Mapping[str, str] | None = None,
    partitions: int | None = None,
    replications: int | None = None,
    seed: int = 0,
    budget_s: float = BUDGET_S,
    workers: int = 1,
    partial_answer: bool = False,
    watch: Callable[[int, int], None] | None = None,
) -> WhatIf:
    """Simulates the events of a group twice in each replication, in up to `workers` processes.
    `given`: assumptions that replace what the log tells; `replications`: None for `REPLICATIONS`,
    or fewer if they would take longer than `budget_s`; `partial_answer`: after Ctrl-C,
    `LEAST_REPLICATIONS` or more are an answer; `watch(done, all)` is told each run. Raises
    `UserError`.
    """
    checked_seed(seed)
    if replications is not None:
        checked_replications(replications)
    stated, said = given_settings(given or {})
    settings = settings_of(report)
    known: dict[str, str | float] = {**settings.values, **stated}
    before = with_settings(consistent(known))
    changed = after(change, before, known)
    too_large(report)
    without_contradictions(report)
    consumers(report)
    pace = paced(report.protocol, before)
    events = outside(report, {name: getattr(pace, name) for name in SETTINGS})
    simulable(events)
    events = _as_said(events, said)
    course = _course(events, change, (before, changed), partitions, seed)
    _too_long(course, replications or LEAST_REPLICATIONS)
    asked, courses, sides, first_s = replicated(
        course, replications, budget_s, workers, partial_answer, watch
    )
    told = {*settings.told, *stated}
    return WhatIf(
        outside=events,
        settings=settings,
        file=file,
        change=change,
        baseline=course.baseline,
        changed=course.changed,
        partitions=course.partitions,
        seed=seed,
        replications=len(courses),
        asked=asked,
        first_s=first_s,
        shortened=replications is None and asked < REPLICATIONS,
        rows=tuple(_judged(course, courses, sides, "session_timeout_ms" in told)),
        stood=tuple(_stood(events, sides)),
        stopped=(_stopped(sides[0]), _stopped(sides[1])),
        rounds=(_rounds(sides[0]), _rounds(sides[1])),
        refused=(_refused(sides[0]), _refused(sides[1])),
        assumed=tuple(_assumed(course, told, change)),
        partitions_guessed=not (partitions or events.partitions),
    )


def _course(
    events: Outside,
    change: Change,
    assumptions: tuple[Assumptions, Assumptions],
    partitions: int | None,
    seed: int,
) -> Course:
    was = _kind(events)
    then = was.changed(change.words)
    each_of_a_side(change.settings, was, then)
    baseline, changed = ((k.variant, a) for k, a in zip((was, then), assumptions))
    return Course(
        events=events,
        clock=shortened(events, (paced(*baseline), paced(*changed))),
        baseline=baseline,
        changed=changed,
        partitions=partitions or events.partitions or max(len(events.processes), 1),
        seed=seed,
    )


def _assumed(course: Course, told: set[str], change: Change) -> Iterator[str]:
    """Of the settings that hold on either side, those that nobody states."""
    events = course.events
    sides = {is_consumer(variant) for variant, _ in (course.baseline, course.changed)}
    before = is_consumer(course.baseline[0])
    names = [
        *(name for name in SETTINGS if False in sides or name not in PACE),
        *((*PACE.values(), INTERVAL) if True in sides else ()),
    ]
    if False not in sides:
        names.remove("initial_rebalance_delay_ms")
    for name in names:
        of_change = name in change.settings and before != (name in (*PACE.values(), INTERVAL))
        if name in told or of_change:
            continue
        if events.away_assumed or name != "restart_ms":
            yield name
    if events.cooperative is None and not before:
        yield PROTOCOL


def _as_said(events: Outside, cooperative: bool | None) -> Outside:
    """What happened, with what `--set protocol` says. Raises `UserError` where the log tells it."""
    if cooperative is None:
        return events
    if events.consumer:
        raise UserError(
            "the log is that of a group of KIP-848",
            where=f"--set {PROTOCOL}",
            do="leave it out",
        )
    return evolve(events, cooperative=cooperative)


def _kind(events: Outside) -> Kind:
    classic = COOPERATIVE if events.cooperative else EAGER
    return Kind(CONSUMER if events.consumer else classic, bool(events.static))


def _judged(
    course: Course,
    courses: Sequence[TimedCourse],
    sides: tuple[list[Run], list[Run]],
    stated: bool,
) -> Iterator[RebalanceRow]:
    """The rows, with the doubts about them. `stated`: the session timeout is known."""
    before, after = paced(*course.baseline), paced(*course.changed)
    sessions = (before.session_timeout_ms, after.session_timeout_ms)
    unsure = doubts(course.events, sessions, stated=stated)
    both = (((course.baseline[0], before), sides[0]), ((course.changed[0], after), sides[1]))
    for k, row in enumerate(_rows(course.events, course.clock, courses, both)):
        yield evolve(row, doubt=unsure.get(k, ""))


def _too_long(course: Course, replications: int) -> None:
    cost = course.clock.end / 1000 * len(course.events.processes) * 2 * replications
    if cost > MOST_MEMBER_SECONDS:
        raise UserError(
            f"{cost:,.0f} seconds of members would be simulated, more than"
            f" {MOST_MEMBER_SECONDS:,.0f}",
            where=course.events.group,
            do="give fewer --replications, or a part of the log",
        )


# -- figures


def _of_round(course: TimedCourse) -> dict[int, int | None]:
    """Number of an instant -> the rebalance of the log that it belongs to."""
    return {one.number: one.round for mine in course.instants for one in mine}


def _rows(
    events: Outside,
    clock: QuietTimeMap,
    courses: Sequence[TimedCourse],
    sides: Sequence[tuple[tuple[str, Assumptions], Sequence[Run]]],
) -> list[RebalanceRow]:
    known = {n for n in _of_round(courses[0]).values() if n is not None}
    starts = {k: clock(_started(events.rounds[k])) for k in known}
    counted = [
        [_counted(starts, c, one, a.heartbeat_interval_ms) for c, one in zip(courses, runs)]
        for (_, a), runs in sides
    ]
    (variant, assumed), runs = sides[1]
    merged = [_served(course, one, variant, assumed) for course, one in zip(courses, runs)]
    rows: list[RebalanceRow] = []
    parent, follows = -1, 0
    for k, r in enumerate(events.rounds):
        if k in known:
            parent, follows = k, 0
            base, other = ([found[k] for found in side] for side in counted)
            also = [not n and k in rounds for n, rounds in zip(other, merged)]
        elif parent >= 0 and _follows(events, r):
            follows += 1  # it happens if the events of its parent begin so many rounds more
            base, other = ([int(found[parent] > follows) for found in side] for side in counted)
            also = [False] * len(courses)
        else:
            rows.append(RebalanceRow(r, False, (), (), ()))
            continue
        rows.append(RebalanceRow(r, True, tuple(base), tuple(other), tuple(also)))
    return rows


def _served(course: TimedCourse, one: Run, variant: str, a: Assumptions) -> set[int]:
    """The rebalances of the log whose events some round serves."""
    static = is_static(variant)
    found = set()
    for mine in course.instants:
        heard = effects(mine, static, a)
        for instant in mine:
            at = heard.get(instant.number)
            if instant.round is not None and at is not None and served(at, one, a):
                found.add(instant.round)
    return found


def _started(r: Round) -> float:
    return float(r.started.time or 0) if r.started is not None else 0.0


def _counted(
    starts: Mapping[int, float], course: TimedCourse, one: Run, near_ms: float
) -> dict[int, int]:
    """How many rounds the events of each rebalance of the log began. A round that follows another
    one is that of a rebalance which began at nearly the same time and has none, if there is one.
    """
    of = _of_round(course)
    found = dict.fromkeys(starts, 0)
    for began in one.rounds:
        row = of.get(began.instant)
        if row is not None and not began.follows:
            found[row] += 1
    for began in one.rounds:
        if began.follows:
            near = [k for k, at in starts.items() if not found[k] and abs(at - began.at) <= near_ms]
            row = min(near, key=lambda k: abs(starts[k] - began.at), default=of.get(began.instant))
            if row is not None:
                found[row] += 1
    return found


def _follows(events: Outside, r: Round) -> bool:
    return bool(events.cooperative) and r.cause in (*FOLLOWS, RebalanceCause.NOT_TOLD)


def _rounds(runs: Sequence[Run]) -> tuple[int, ...]:
    return tuple(len(one.rounds) for one in runs)


def _refused(runs: Sequence[Run]) -> tuple[int, ...]:
    return tuple(one.refused for one in runs)


def _stopped(runs: Sequence[Run]) -> tuple[float, ...]:
    return tuple(one.stopped_ms for one in runs)


def _stood(events: Outside, sides: tuple[list[Run], list[Run]]) -> list[Stood]:
    order = sorted(range(len(events.processes)), key=lambda k: not events.processes[k].there)
    return [
        Stood(
            tuple(events.processes[process].names),
            tuple(one.stood_ms[k] for one in sides[0]),
            tuple(one.stood_ms[k] for one in sides[1]),
        )
        for k, process in enumerate(order)
    ]


def interval(values: Sequence[float]) -> Interval:
    """The mean over replications of counts or durations, with its interval."""
    return intervals.mean(values, least=0)


def difference(more: Sequence[float], less: Sequence[float]) -> Interval:
    """The difference of two measures in the same replications, with its interval."""
    return intervals.mean([a - b for a, b in zip(more, less)])
