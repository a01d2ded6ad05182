"""Curves: a figure of simulations over one assumption, for one or several variants. Four questions
of operators have a curve of their own (`QUESTIONS`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from attrs import evolve, frozen

from groupcheck.model.engine import UserError
from groupcheck.model.engine.errors import shown
from groupcheck.oracles.quantities import time_of
from groupcheck.oracles.simulate.assumptions import Assumptions, with_settings
from groupcheck.oracles.simulate.compare import SetupResults, compare
from groupcheck.oracles.simulate.distributions import Distribution
from groupcheck.oracles.simulate.intervals import Interval
from groupcheck.oracles.simulate.intervals import mean as mean_of
from groupcheck.oracles.simulate.progress import stopped_early
from groupcheck.oracles.simulate.replications import Progress
from groupcheck.oracles.simulate.run_cache import RunCache
from groupcheck.oracles.simulate.setup import Setup


@frozen
class Point:
    """One setup of a curve."""

    # A variant, or a scenario.
    series: str
    x: float
    setup: Setup
    # The measures of the curve that this point answers; empty: all.
    measures: tuple[str, ...] = ()

    def answers(self, measure: str) -> bool:
        """Is it a point of this measure's panel and column?"""
        return not self.measures or measure in self.measures


@frozen
class Curve:
    """A question, and the setups whose figures answer it."""

    name: str
    title: str
    # What the horizontal axis says, with its unit.
    axis: str
    # Names of `Result.measures`, or `false_expiries_per_member_hour`; the first is drawn first.
    measures: tuple[str, ...]
    points: tuple[Point, ...]


@frozen
class CurveResult:
    """A curve with its simulations: one row for each point, over the same seeds."""

    curve: Curve
    seed: int
    replications: int
    rows: tuple[SetupResults, ...]
    # Replications that were asked for; more than `replications` after Ctrl-C.
    asked: int

    @property
    def reason(self) -> str:
        """Why this is not the answer to what was asked; empty if it is."""
        return stopped_early(self.replications, self.asked)

    def places(self, *measures: str) -> list[int]:
        """The rows of the points that answer all these measures."""
        points = enumerate(self.curve.points)
        return [k for k, point in points if all(map(point.answers, measures))]

    def interval(self, row: int, measure: str) -> Interval:
        """A measure at a point: its mean over the replications."""
        if measure != PER_HOUR:
            return self.rows[row].interval(measure)
        results = self.rows[row].results
        hours = [r.ended_ms / 3_600_000 * r.setup.members for r in results]
        return mean_of([r.false_expiries / h for r, h in zip(results, hours)], least=0)


PER_HOUR = "false_expiries_per_member_hour"
# Until somebody else works on the partitions of a member that died.
FOUND = "stopped_longest_ms"
DEAD = "a member dies"
DYNAMIC, STATIC = "classic", "static_membership"


def _session_ratio(base: Setup, values: Sequence[float]) -> Curve:
    """Heartbeats stay as they are, and the session gets longer: fewer healthy members are removed,
    and one that is dead is found later. The second is asked of a group that loses nothing.
    """
    beat = base.assumptions.heartbeat_interval_ms
    works = evolve(base, scenario="steady", until_rest=False)
    dies = evolve(base, scenario="crash", until_rest=True).with_(
        changed_members=1, loss=0, pause_every_s=0
    )
    of_health = (PER_HOUR, "false_expiries", "rounds", "stopped_total_ms")
    points = [
        Point(series, v, one.with_(session_timeout_ms=v * beat), measures)
        for series, one, measures in (
            (base.variant, works, of_health),
            (DEAD, dies, (FOUND,)),
        )
        for v in values
    ]
    return Curve(
        "session-ratio",
        "False expiries, and a dead member, over session.timeout.ms / heartbeat.interval.ms",
        "session.timeout.ms / heartbeat.interval.ms",
        (PER_HOUR, FOUND, *of_health[1:]),
        tuple(points),
    )


def _rolling_restart(base: Setup, values: Sequence[float]) -> Curve:
    restarts = evolve(base, scenario="rolling-restart")
    restarts = restarts.with_(changed_members=base.members)
    points = [
        Point(variant, v, evolve(restarts, variant=variant).with_(restart_ms=v))
        for variant in (DYNAMIC, STATIC)
        for v in values
    ]
    return Curve(
        "rolling-restart",
        "Partitions that move in a rolling restart, dynamic and static members",
        "time that a process is away",
        ("moved_partitions", "rounds", "stopped_total_ms", "longest_pause_ms"),
        tuple(points),
    )


def _initial_delay(base: Setup, values: Sequence[float]) -> Curve:
    starts = evolve(base, scenario="cold-start")
    points = [Point(base.variant, v, starts.with_(initial_rebalance_delay_ms=v)) for v in values]
    return Curve(
        "initial-delay",
        "A cold start over group.initial.rebalance.delay.ms",
        "group.initial.rebalance.delay.ms",
        ("longest_start_ms", "rounds", "moved_partitions", "requests"),
        tuple(points),
    )


def _poll_interval(base: Setup, values: Sequence[float]) -> Curve:
    """One message takes as long as it takes (`stall_ms`), and max.poll.interval.ms varies. If
    somebody joins meanwhile, all wait for the slow member until that is over.
    """
    points = [
        Point(scenario, v, evolve(base, scenario=scenario).with_(max_poll_interval_ms=v))
        for scenario in ("slow-message", "sick-host")
        for v in values
    ]
    return Curve(
        "poll-interval",
        f"A message that takes {_length(base.assumptions.stall_ms)}, over max.poll.interval.ms",
        "max.poll.interval.ms",
        ("longest_pause_ms", "rounds", "stopped_longest_ms", "stopped_total_ms"),
        tuple(points),
    )


def _length(found: Distribution) -> str:
    """A time in words; a distribution of times as it is written."""
    if found.kind != "constant":
        return f"{found} ms"
    return f"{found.mean / 1000:g} s" if found.mean >= 1000 else f"{found.mean:g} ms"


@frozen
class Question:
    """A kind of curve: what it asks, the values of its axis, and what it assumes besides."""

    doc: str
    curve: Callable[[Setup, Sequence[float]], Curve]
    values: tuple[float, ...]
    members: int
    seconds: float
    assumed: Mapping[str, float | str]
    # Of the axis; empty: it is a number.
    unit: str = "ms"


QUESTIONS: Mapping[str, Question] = {
    "session-ratio": Question(
        "How often does the session of a healthy member expire, if heartbeats are lost or processes"
        " stand still; and how long is it until a dead one is found?",
        _session_ratio,
        (1.5, 2, 2.5, 3, 4, 5, 6),
        10,
        3600.0,
        {"loss": 0.05, "pause_every_s": 600, "pause_ms": "lognormal:1000,1"},
        unit="",
    ),
    "rolling-restart": Question(
        "How many partitions move while all members restart, one after the other?",
        _rolling_restart,
        (10_000, 30_000, 60_000),
        20,
        14_400.0,
        {},
    ),
    "initial-delay": Question(
        "What does group.initial.rebalance.delay.ms do to a cold start?",
        _initial_delay,
        (0, 1_000, 2_000, 3_000, 6_000, 10_000),
        100,
        600.0,
        {"start_spread_ms": 5_000},
    ),
    "poll-interval": Question(
        "What does max.poll.interval.ms cost, if one message takes longer or not?",
        _poll_interval,
        (60_000, 180_000, 300_000, 420_000, 600_000),
        20,
        3600.0,
        {"stall_ms": 360_000},
    ),
}


def question(name: str) -> Question:
    """The question of this name. Raises `UserError`."""
    if name not in QUESTIONS:
        raise UserError(f"there is no curve {name!r}", do="one of " + ", ".join(QUESTIONS))
    return QUESTIONS[name]


def answered(
    name: str,
    *,
    variant: str = "classic",
    members: int | None = None,
    partitions: int | None = None,
    values: Sequence[float] = (),
    assumptions: Assumptions | None = None,
    replications: int = 5,
    seed: int = 0,
    workers: int = 1,
    least: int | None = None,
    report: Callable[[Progress], None] | None = None,
    kept: RunCache | None = None,
) -> CurveResult:
    """Simulates all points of a curve. Without `assumptions`, those of the question hold.
    `workers`, `least`, `report` and `kept` as `replicated` takes them. Raises `UserError`.
    """
    asked = question(name)
    count = members or asked.members
    base = Setup(
        variant=variant,
        members=count,
        partitions=partitions or count,
        seconds=asked.seconds,
        assumptions=assumptions or with_settings(asked.assumed),
    )
    curve = asked.curve(base, tuple(values) or asked.values)
    setups = [point.setup for point in curve.points]
    found = compare(
        setups, replications, seed, workers=workers, least=least, report=report, kept=kept
    )
    return CurveResult(curve, seed, found.replications, found.rows, replications)


def values_of(name: str, given: Sequence[str]) -> tuple[float, ...]:
    """Values of a curve's axis, which may be times such as `30s`. Raises `UserError`."""
    unit = question(name).unit
    found = []
    for text in given:
        try:
            found.append(time_of(text, unit) if unit else float(text))
        except ValueError:
            found.append(math.nan)
        if not math.isfinite(found[-1]):
            what = "a time such as 30s, nor a number of ms" if unit else "a number"
            raise UserError(
                f"{shown(text)[:60]} is {'neither' if unit else 'not'} {what}", where="--at"
            )
    return tuple(found)
