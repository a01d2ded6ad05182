"""What was and what might have been, side by side: the events of a log under the group's own
protocol and settings (the baseline), and under others, from the same seeds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import get_close_matches

from attrs import evolve, frozen

from groupcheck.model.engine import UserError
from groupcheck.model.engine.verdict import VIOLATED
from groupcheck.oracles.replay.what_if.doubts import doubts
from groupcheck.oracles.replay.what_if.outside import FOLLOWS, Outside, outside
from groupcheck.oracles.replay.what_if.runs import Run, run
from groupcheck.oracles.replay.what_if.schedule import Scheduled, Shortened, scheduled, shortened
from groupcheck.oracles.replay.what_if.settings import (
    PROTOCOL,
    consistent,
    given_settings,
    settings_of,
)
from groupcheck.oracles.simulate import Assumptions, documented, intervals, with_settings
from groupcheck.oracles.simulate.intervals import Interval
from groupcheck.traces.events import Cause
from groupcheck.traces.moments import Round
from groupcheck.traces.report import GroupReport

VARIANTS = {
    # (cooperative, static) -> the variant that is simulated.
    (False, False): "classic",
    (True, False): "cooperative",
    (False, True): "static_membership",
    (True, True): "cooperative_static",
}
WORDS = {
    # A word of --what-if -> (place in the keys of VARIANTS, value).
    "cooperative": (0, True),
    "eager": (0, False),
    "static": (1, True),
    "dynamic": (1, False),
}
ENOUGH = 0.75
"""In this share of the replications at least, the baseline must have a rebalance of the log."""
MOST_AMISS = 1 / 3
"""At most this share of the rebalances may be missing in the baseline, and as many be its own."""
MOST_MEMBER_SECONDS = 100e6
MOST_EVENTS = 5_000
SETTINGS = (
    "heartbeat_interval_ms",
    "session_timeout_ms",
    "max_poll_interval_ms",
    "initial_rebalance_delay_ms",
    "restart_ms",
)


@frozen
class Change:
    """What is different: words, and assumptions by name."""

    words: tuple[str, ...]
    settings: Mapping[str, str]


@frozen
class Row:
    """A rebalance of the log: how many rounds its events began, in each replication."""

    round: Round
    # What the log shows of it can be simulated.
    simulated: bool
    baseline: tuple[int, ...]
    changed: tuple[int, ...]
    # Why nothing is said about it; empty: it is judged, if the baseline has it.
    doubt: str = ""

    @property
    def reproduced(self) -> bool:
        """Does the baseline have it?"""
        return self.simulated and _share(self.baseline) >= ENOUGH

    @property
    def judged(self) -> bool:
        """Does the baseline have it, and does the log tell enough to judge it?"""
        return self.reproduced and not self.doubt

    @property
    def avoided(self) -> float:
        """The share of replications in which it does not happen after the change."""
        return 1 - _share(self.changed)


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
        return intervals.mean([a - b for a, b in zip(self.baseline, self.changed)])


@frozen
class WhatIf:
    """The answer for one group."""

    outside: Outside
    # The name of the log.
    file: str
    change: Change
    # (variant, assumptions) of both.
    baseline: tuple[str, Assumptions]
    changed: tuple[str, Assumptions]
    partitions: int
    seed: int
    replications: int
    rows: tuple[Row, ...]
    stood: tuple[Stood, ...]
    # Rounds in each replication: all, and those that no event of a rebalance in the log began.
    rounds: tuple[tuple[int, ...], tuple[int, ...]]
    others: tuple[tuple[int, ...], tuple[int, ...]]
    # Assumptions that the log does not state and that matter: guessed or estimated.
    assumed: tuple[str, ...]

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
        others = sum(self.others[0]) / self.replications
        return self._few(max(len(self.rows) - self.reproduced, others))

    def _few(self, count: float) -> bool:
        return count <= MOST_AMISS * len(self.rows)

    @property
    def doubts(self) -> dict[str, int]:
        """Why rebalances that the baseline has are not judged -> how many."""
        return dict(Counter(row.doubt for row in self.rows if row.reproduced and row.doubt))

    @property
    def avoided(self) -> list[Row]:
        """The rebalances that would not have happened in most replications."""
        return [row for row in self.rows if row.judged and row.avoided > 0.5]

    @property
    def verdict(self) -> str:
        """`answered`, or `unknown` where the baseline is not what the log shows."""
        return "answered" if self.trusted else "unknown"


def _share(counts: Sequence[int]) -> float:
    return sum(count > 0 for count in counts) / len(counts) if counts else 0.0


def changes(given: Sequence[str]) -> Change:
    """The change that texts such as `static` and `session.timeout.ms=60000` mean. Raises
    `UserError`.
    """
    words: list[str] = []
    settings: dict[str, str] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals:
            if text not in WORDS:
                near = get_close_matches(text, WORDS, 1)
                raise UserError(
                    f"{text!r} is neither a protocol nor NAME=VALUE",
                    where="--what-if",
                    do=f"did you mean {near[0]}?"
                    if near
                    else "one of " + ", ".join(WORDS) + ", or a setting such as"
                    " session.timeout.ms=60000",
                )
            if any(WORDS[text][0] == WORDS[other][0] and other != text for other in words):
                raise UserError(f"{text} contradicts another --what-if", where="--what-if")
            words.append(text)
            continue
        known = assumption(name)
        if known in settings:
            raise UserError(f"{name} is given twice", where="--what-if")
        settings[known] = value
    if not words and not settings:
        raise UserError("is empty", where="--what-if", do="give static, for example")
    with_settings(consistent(settings))  # a wrong value is an error before anything runs
    return Change(tuple(dict.fromkeys(words)), settings)


def assumption(name: str) -> str:
    """The assumption that a setting's name means, with dots as Kafka writes it or without. Raises
    `UserError`.
    """
    plain = name.replace(".", "_")
    if plain.removeprefix("group_") in documented():
        plain = plain.removeprefix("group_")
    if plain == "rebalance_timeout_ms":
        plain = "max_poll_interval_ms"
    if plain not in documented():
        near = get_close_matches(plain, documented(), 1)
        raise UserError(
            f"there is no setting {name!r} in simulations",
            where="--what-if",
            do=f"did you mean {near[0]}?" if near else "see groupcheck list assumptions",
        )
    return plain


def what_if(
    report: GroupReport,
    file: str,
    change: Change,
    *,
    given: Mapping[str, str] | None = None,
    partitions: int | None = None,
    replications: int = 8,
    seed: int = 0,
    watch: Callable[[int, int], None] | None = None,
) -> WhatIf:
    """Simulates the events of a group twice in each replication. `given`: assumptions that replace
    what the log tells; `watch(done, all)` is told each run. Raises `UserError`.
    """
    stated, said = given_settings(given or {})
    settings = settings_of(report)
    before = with_settings(consistent({**settings.values, **stated}))
    after = with_settings(change.settings, before)
    known = {name: getattr(before, name) for name in SETTINGS}
    _too_large(report)
    _contradictory(report)
    events = outside(report, known)
    _refused(report, events)
    told = {*settings.told, *stated}
    if said is not None:
        events = evolve(events, cooperative=said)
    baseline, changed = _variants(events, change)
    unsure = doubts(
        events,
        (before.session_timeout_ms, after.session_timeout_ms),
        stated="session_timeout_ms" in told,
    )
    count = partitions or events.partitions or max(len(events.processes), 1)
    clock = shortened(events, (before, after))
    cost = clock.end / 1000 * len(events.processes) * 2 * replications
    if cost > MOST_MEMBER_SECONDS:
        raise UserError(
            f"{cost:,.0f} seconds of members would be simulated, more than"
            f" {MOST_MEMBER_SECONDS:,.0f}",
            where=events.group,
            do="give fewer --replications, or a part of the log",
        )
    courses = [scheduled(events, clock, seed + k) for k in range(replications)]
    sides: tuple[list[Run], list[Run]] = ([], [])
    for k, course in enumerate(courses):
        for runs, variant, assumed in zip(sides, (baseline, changed), (before, after)):
            runs.append(run(course, variant, count, assumed, seed + k))
            if watch is not None:
                watch(len(sides[0]) + len(sides[1]), 2 * replications)
    return WhatIf(
        outside=events,
        file=file,
        change=change,
        baseline=(baseline, before),
        changed=(changed, after),
        partitions=count,
        seed=seed,
        replications=replications,
        rows=tuple(
            evolve(row, doubt=unsure.get(k, ""))
            for k, row in enumerate(
                _rows(events, clock, courses, ((before, sides[0]), (after, sides[1])))
            )
        ),
        stood=tuple(_stood(events, sides)),
        rounds=(_rounds(sides[0]), _rounds(sides[1])),
        others=(_others(courses, sides[0]), _others(courses, sides[1])),
        assumed=tuple(_assumed(events, told)),
    )


def _variants(events: Outside, change: Change) -> tuple[str, str]:
    """The variants that are simulated: the group as it was, and after the change."""
    kinds = [bool(events.cooperative), bool(events.static)]
    baseline = VARIANTS[kinds[0], kinds[1]]
    for word in change.words:
        place, value = WORDS[word]
        kinds[place] = value
    return baseline, VARIANTS[kinds[0], kinds[1]]


def _assumed(events: Outside, told: set[str]) -> Iterator[str]:
    for name in SETTINGS:
        if name not in told and (events.away_assumed or name != "restart_ms"):
            yield name
    if events.cooperative is None:
        yield PROTOCOL


def _too_large(report: GroupReport) -> None:
    """Events are matched with each other, which takes a time that grows with their square; and a
    member that a line only counts is one that is simulated.
    """
    story = report.timeline
    largest = max((r.size or 0 for r in story.rounds), default=0)
    count = max(len(story.members), len(story.rounds), largest)
    if count > MOST_EVENTS or story.rounds_dropped or story.members_dropped:
        raise UserError(
            f"has {count:,} members or rebalances, and at most {MOST_EVENTS:,} are simulated",
            where=report.group,
            do="give a part of the log",
        )


def _contradictory(report: GroupReport) -> None:
    """What happened cannot be read from lines that contradict each other."""
    if report.verdict == VIOLATED:
        raise UserError(
            f"replay without --what-if says violated: {report.reason}",
            where=report.group,
            do="give a part of the log that it does not call so",
        )


def _refused(report: GroupReport, events: Outside) -> None:
    if report.protocol in ("consumer", "share", "streams"):
        raise UserError(
            f"is a group of the {report.protocol} protocol, and only the classic one is simulated",
            where=events.group,
        )
    if events.static is None:
        raise UserError(
            "has static and dynamic members, and a simulation has members of one kind",
            where=events.group,
        )
    times = [r.started.time for r in events.rounds if r.started is not None]
    if not times or None in times:
        raise UserError(
            "shows no rebalance with a time",
            where=events.group,
            do="give a log of the broker that coordinates the group, with times",
        )
    if not events.happenings:
        raise UserError("names no member that came or went", where=events.group)


# -- figures


def _of_round(course: Scheduled) -> dict[int, int | None]:
    """Number of an instant -> the rebalance of the log that it belongs to."""
    return {one.number: one.round for mine in course.instants for one in mine}


def _rows(
    events: Outside,
    clock: Shortened,
    courses: Sequence[Scheduled],
    sides: Sequence[tuple[Assumptions, Sequence[Run]]],
) -> list[Row]:
    known = {n for n in _of_round(courses[0]).values() if n is not None}
    starts = {k: clock(_started(events.rounds[k])) for k in known}
    counted = [
        [_counted(starts, c, one, a.heartbeat_interval_ms) for c, one in zip(courses, runs)]
        for a, runs in sides
    ]
    rows: list[Row] = []
    parent, follows = -1, 0
    for k, r in enumerate(events.rounds):
        if k in known:
            parent, follows = k, 0
            base, other = ([found[k] for found in side] for side in counted)
        elif parent >= 0 and _follows(events, r):
            follows += 1  # it happens if the events of its parent begin so many rounds more
            base, other = ([int(found[parent] > follows) for found in side] for side in counted)
        else:
            rows.append(Row(r, False, (), ()))
            continue
        rows.append(Row(r, True, tuple(base), tuple(other)))
    return rows


def _started(r: Round) -> float:
    return float(r.started.time or 0) if r.started is not None else 0.0


def _counted(
    starts: Mapping[int, float], course: Scheduled, one: Run, near_ms: float
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
    return bool(events.cooperative) and r.cause in (*FOLLOWS, Cause.NOT_TOLD)


def _rounds(runs: Sequence[Run]) -> tuple[int, ...]:
    return tuple(len(one.rounds) for one in runs)


def _others(courses: Sequence[Scheduled], runs: Sequence[Run]) -> tuple[int, ...]:
    found = []
    for course, one in zip(courses, runs):
        of = _of_round(course)
        found.append(sum(of.get(began.instant) is None for began in one.rounds))
    return tuple(found)


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
    """The mean over replications with its interval."""
    return intervals.mean(values)
