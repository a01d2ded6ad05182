"""Recommends settings. Every alternative of protocol and timeouts is simulated in the events of a
described group's week; the cheapest one, or a simpler one that is as cheap, is recommended.

The cost of an alternative is linear in how often each event happens. So the same simulations also
say at which frequency another alternative would be recommended.

Each event is simulated alone, from a group at rest, so one simulation serves all alternatives that
do not differ for the event. A whole simulated week would need hours for each alternative.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property

import attrs
from attrs import frozen

from groupcheck.model.engine import UserError
from groupcheck.oracles.simulate import intervals
from groupcheck.oracles.simulate.compare import checked_replications, checked_seed
from groupcheck.oracles.simulate.intervals import Interval
from groupcheck.oracles.simulate.kept import Kept
from groupcheck.oracles.simulate.progress import stopped_early
from groupcheck.oracles.simulate.replications import Progress, Results, replicated
from groupcheck.oracles.simulate.setup import Setup
from groupcheck.oracles.simulate.uses.advice_group import (
    DEFAULTS,
    Alternative,
    Described,
    alternatives,
)
from groupcheck.oracles.simulate.uses.advice_week import (
    STEADY,
    Event,
    away_ms,
    events,
    expected_s,
    key,
    setup,
)
from groupcheck.oracles.simulate.uses.advise_types import CostMeasure

# Costs that differ by less than this share of the best one are the same for whoever has to choose.
SAME = 0.01
# A threshold that differs by less than this share from the frequency given: no stable answer.
NEAR_SHARE = 0.1
LEAST_REPLICATIONS = 2  # one run does not say which alternatives can be told apart
# Once in twenty years: what depends on that frequency, or a lower one, depends on nothing known.
LEAST_PER_WEEK = 0.001

# What one event costs under one alternative: a measure of `Result.measures` -> each replication.
Part = Mapping[str, tuple[float, ...]]


@frozen
class Cost:
    """A measure that counts as cost."""

    # Of `Result.measures`.
    measure: CostMeasure
    doc: str
    # One of its unit, in units that people read, and their name.
    unit: float
    unit_name: str


COSTS: Mapping[str, Cost] = {
    "stopped": Cost(
        "stopped_total_ms",
        "time in which partitions are not worked on, summed over partitions",
        60_000.0,
        "min",
    ),
    "paused": Cost(
        "total_pause_ms",
        "time in which members stand still that nothing happens to, summed over members",
        60_000.0,
        "min",
    ),
    "moved": Cost("moved_partitions", "partitions that get another owner", 1.0, "moves"),
}


@frozen
class Costed:
    """An alternative with what a week of it costs."""

    alternative: Alternative
    # By the name of the event.
    parts: Mapping[str, Part]
    events: tuple[Event, ...]
    cost: Cost

    @cached_property
    def values(self) -> tuple[float, ...]:
        """The cost of a week in each replication."""
        return self.summed(self.cost.measure)

    @cached_property
    def of_week(self) -> Interval:
        """The cost of a week."""
        return intervals.mean(self.values, least=0)

    @property
    def mean(self) -> float:
        """The cost of a week on average."""
        return self.of_week.mean

    @property
    def longest_pause_ms(self) -> float:
        """The longest pause of a member that nothing happens to, in any event that occurs."""
        happens = [self.parts[e.name] for e in self.events if e.per_week]
        return max((max(part["longest_pause_ms"]) for part in happens), default=0.0)

    def of(self, event: Event) -> Interval:
        """The cost of the event when it happens once."""
        return intervals.mean(self.parts[event.name][self.cost.measure], least=0)

    def summed(self, measure: str) -> tuple[float, ...]:
        """A measure of a week in each replication."""
        each = [(e.per_week, self.parts[e.name][measure]) for e in self.events]
        return tuple(
            math.fsum(rate * values[k] for rate, values in each) for k in range(len(each[0][1]))
        )


@frozen
class Threshold:
    """If an event happened more often, or less often, than so, another alternative would be
    recommended.
    """

    event: str
    per_week: float
    more: bool
    # Whether that is hardly another frequency than the one given: the answer is not stable there.
    near: bool
    instead: Alternative


@frozen
class Advice:
    """The answer. All alternatives saw the same seeds."""

    described: Described
    seed: int
    replications: int
    # Replications that were asked for; more than `replications` after Ctrl-C.
    asked: int
    cost: Cost
    events: tuple[Event, ...]
    # By cost, the least first.
    costed: tuple[Costed, ...]
    notes: tuple[str, ...]

    @property
    def reason(self) -> str:
        """Why this is not the answer to what was asked; empty if it is."""
        return stopped_early(self.replications, self.asked)

    @property
    def best(self) -> Costed:
        """The one with the least cost on average."""
        return self.costed[0]

    @cached_property
    def equals(self) -> tuple[Costed, ...]:
        """Those that cannot be told apart from the best one: the 95 % t interval of the paired
        differences holds 0, or they cost less than 1 % more.
        """
        return tuple(c for c in self.costed if self._as_good(c))

    @cached_property
    def recommended(self) -> Costed:
        """Of those, the one that changes least of what the group has now, or of Kafka's defaults if
        nobody said what it has.
        """
        base = self.described.base
        return min(self.equals, key=lambda c: (c.alternative.changes(base), self.costed.index(c)))

    @property
    def default(self) -> Costed | None:
        """Kafka's defaults; None if they are no alternative, because of a slow message."""
        return next((c for c in self.costed if c.alternative == DEFAULTS), None)

    @property
    def now(self) -> Costed | None:
        """The alternative that the group has now; None if that was not said or is none."""
        return next((c for c in self.costed if c.alternative == self.described.now), None)

    @property
    def idle(self) -> bool:
        """Does nothing that was described cost anything?"""
        return not any(c.mean for c in self.costed)

    def more_than_best(self, costed: Costed) -> Interval:
        """How much more it costs than the best one in a week."""
        pairs = zip(costed.values, self.best.values, strict=True)
        return intervals.mean([mine - least for mine, least in pairs])

    def _as_good(self, costed: Costed) -> bool:
        more = self.more_than_best(costed)
        return more.mean <= SAME * self.best.mean or (more.low is not None and more.low <= 0)

    @cached_property
    def thresholds(self) -> tuple[Threshold, ...]:
        """For each event the nearest frequencies at which something else is recommended; none below
        `LEAST_PER_WEEK`.
        """
        happening = [e for e in self.events if e.name != STEADY]  # a week has so many hours
        return tuple(
            found
            for event in happening
            for to in (0.0, next(self._first(event), None))
            if to is not None
            and (found := self._threshold(event, to)) is not None
            and found.per_week >= LEAST_PER_WEEK
        )

    def _first(self, event: Event) -> Iterator[float]:
        """The higher frequencies that were looked at and have another recommendation."""
        mine = self.recommended.alternative
        for rate in _higher(event.per_week):
            if self._at(event, rate).recommended.alternative != mine:
                yield rate

    def _threshold(self, event: Event, to: float) -> Threshold | None:
        """Where the recommendation changes between today's frequency and another one."""
        mine, same, far = self.recommended.alternative, event.per_week, to
        instead = self._at(event, far).recommended.alternative
        if instead == mine or same == far:
            return None
        for _ in range(30):
            middle = (same + far) / 2
            found = self._at(event, middle).recommended.alternative
            if found == mine:
                same = middle
            else:
                far, instead = middle, found
        near = abs(far - event.per_week) <= NEAR_SHARE * event.per_week
        return Threshold(event.name, far, to > event.per_week, near, instead)

    def _at(self, event: Event, per_week: float) -> Advice:
        """The advice if the event happened so often."""
        changed = attrs.evolve(event, per_week=per_week)
        events = tuple(changed if e is event else e for e in self.events)
        costed = [attrs.evolve(c, events=events) for c in self.costed]
        return attrs.evolve(self, events=events, costed=_by_cost(costed))


def _higher(per_week: float) -> Iterator[float]:
    """Frequencies up to a hundred times as high, or to one event in ten minutes."""
    rate = max(per_week, 0.05)
    for _ in range(14):
        rate *= 1.5
        yield min(rate, 1_000.0)


def _by_cost(costed: Sequence[Costed]) -> tuple[Costed, ...]:
    return tuple(sorted(costed, key=lambda c: (c.mean, c.alternative)))


def advised(
    described: Described,
    *,
    by: str = "stopped",
    replications: int = 8,
    seed: int = 0,
    workers: int = 1,
    least: int | None = None,
    report: Callable[[Progress], None] | None = None,
    kept: Kept | None = None,
) -> Advice:
    """Simulates every alternative in every event. `by` is one of `COSTS`; `workers`, `least`,
    `report` and `kept` as `replicated` takes them. Equal arguments give an equal answer. Raises
    `UserError`.
    """
    if replications < LEAST_REPLICATIONS:
        raise UserError(
            f"{replications} replication",
            where="--replications",
            do="take 2 or more: one run does not say which alternatives can be told apart",
        )
    checked_replications(replications)
    checked_seed(seed)
    if by not in COSTS:
        raise UserError(f"there is no cost {by!r}", do="one of " + ", ".join(COSTS))
    wanted = tuple(_wanted(described, alternatives(described)[0]).values())
    found = replicated(
        wanted, replications, seed, workers=workers, least=least, report=report, kept=kept
    )
    return summed(described, found, by=by, asked=replications, seed=seed)


def summed(described: Described, found: Results, *, by: str, asked: int, seed: int) -> Advice:
    """The advice by simulations that are done: in each replication those of `_wanted`, at least
    `LEAST_REPLICATIONS` of `asked`.
    """
    happening = events(described)
    compared, notes = alternatives(described)
    parts: dict[tuple[object, ...], Part] = {}
    for made, results in zip(_wanted(described, compared), found, strict=True):
        measures = [one.measures for one in results]
        parts[made] = {name: tuple(m[name] for m in measures) for name in measures[0]}
    cost = COSTS[by]
    costed = [
        Costed(a, {e.name: parts[key(a, e)] for e in happening}, happening, cost) for a in compared
    ]
    notes += _shortened(described, compared)
    done = len(found[0])
    return Advice(described, seed, done, asked, cost, happening, _by_cost(costed), notes)


def expected_seconds(described: Described, replications: int) -> float:
    """How long `advised` takes, roughly."""
    wanted = _wanted(described, alternatives(described)[0])
    return replications * sum(map(expected_s, wanted.values()))


def _wanted(
    described: Described, compared: Sequence[Alternative]
) -> dict[tuple[object, ...], Setup]:
    """The simulations, each once: that of the last alternative, since what the group has now is the
    first one and may be odd.
    """
    return {key(a, e): setup(described, a, e) for a in compared for e in events(described)}


def _shortened(described: Described, compared: Sequence[Alternative]) -> tuple[str, ...]:
    least = min(away_ms(described, a) for a in compared)
    if least == described.restart_ms:
        return ()
    return (
        f"Absences of more than {least / 60_000:.0f} min are simulated as that long, plus what a"
        " longer session adds: by then the others have the partitions, and nothing more changes.",
    )
