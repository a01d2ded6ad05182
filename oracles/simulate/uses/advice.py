"""Recommends settings. Every alternative of protocol and timeouts is simulated in the events of a
described group's week; the cheapest one, or a simpler one that is as cheap, is recommended.

A week is stretches of rest, and stretches in which the group is not at rest. Each of these begins
with an event that meets a group at rest, and whatever else the week has happens in it as often as
described: further events, slow messages. So an event is simulated from a group at rest until the
next rest, with the others at random, and what such a stretch costs and how long it takes give the
cost of the week (the renewal-reward theorem): sum(rate * cost) / (1 + sum(rate * length)). A whole
simulated week would need hours for each alternative.

By the same formula the simulations also say at which frequency another alternative would be
recommended. What meets an event in its stretch stays there as often as it was described.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain

import attrs
from attrs import frozen

from groupcheck.model.engine import UserError
from groupcheck.oracles.simulate import intervals
from groupcheck.oracles.simulate.compare import checked_replications, checked_seed
from groupcheck.oracles.simulate.intervals import Interval
from groupcheck.oracles.simulate.progress import stopped_early
from groupcheck.oracles.simulate.replications import Progress, Results, replicated
from groupcheck.oracles.simulate.run_cache import RunCache
from groupcheck.oracles.simulate.setup import Result, Setup
from groupcheck.oracles.simulate.uses.advice_group import (
    DEFAULTS,
    Alternative,
    GroupDescription,
    alternatives,
)
from groupcheck.oracles.simulate.uses.advice_week import (
    STEADY,
    WEEK_MS,
    Event,
    away_ms,
    events,
    expected_s,
    key,
    setups,
)
from groupcheck.oracles.simulate.uses.advise_types import CostMeasure

# Costs that differ by less than this share of the best one are the same for whoever has to choose.
SAME = 0.01
# A threshold that differs by less than this share from the frequency given: no stable answer.
NEAR_SHARE = 0.1
LEAST_REPLICATIONS = 2  # one run does not say which alternatives can be told apart
# Unless somebody says how many: as many as a core simulates in so many seconds, roughly.
USUAL_S, FEWEST_USUAL, MOST_USUAL = 80.0, 3, 8
# Once in twenty years: what depends on that frequency, or a lower one, depends on nothing known.
LEAST_PER_WEEK = 0.001

# What one event costs under one alternative: a measure of `Result.measures`, or `LENGTH` -> each
# replication.
Part = Mapping[str, tuple[float, ...]]
LENGTH = "length_ms"  # from an event until the group is at rest again


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
class AlternativeCost:
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
        """The cost of the event when it happens once to a group at rest."""
        return intervals.mean(self.parts[event.name][self.cost.measure], least=0)

    def in_week(self, event: Event) -> float:
        """The part of the week's cost that begins with the event, on average."""
        return intervals.mean(self._summed(self.cost.measure, [event])).mean

    @cached_property
    def at_rest(self) -> tuple[float, ...]:
        """The share of the week in which the group is at rest, in each replication."""
        begins = [(e.per_week / WEEK_MS, self.parts[e.name][LENGTH]) for e in self._happening]
        return tuple(
            1 / (1 + math.fsum(rate * lengths[k] for rate, lengths in begins))
            for k in range(len(begins[0][1]))
        )

    @property
    def _happening(self) -> list[Event]:
        return [e for e in self.events if e.name != STEADY]

    def summed(self, measure: str) -> tuple[float, ...]:
        """A measure of a week in each replication."""
        return self._summed(measure, self.events)

    def _summed(self, measure: str, events: Sequence[Event]) -> tuple[float, ...]:
        each = [(e.per_week, self.parts[e.name][measure]) for e in events]
        return tuple(
            rest * math.fsum(rate * values[k] for rate, values in each)
            for k, rest in enumerate(self.at_rest)
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

    described: GroupDescription
    seed: int
    replications: int
    # Replications that were asked for; more than `replications` after Ctrl-C.
    asked: int
    cost: Cost
    events: tuple[Event, ...]
    # By cost, the least first.
    costed: tuple[AlternativeCost, ...]
    notes: tuple[str, ...]

    @property
    def reason(self) -> str:
        """Why this is not the answer to what was asked; empty if it is."""
        return stopped_early(self.replications, self.asked)

    @property
    def best(self) -> AlternativeCost:
        """The one with the least cost on average."""
        return self.costed[0]

    @cached_property
    def equals(self) -> tuple[AlternativeCost, ...]:
        """Those that cannot be told apart from the best one: the 95 % t intervals of the paired
        differences and ratios do not say that they cost more, or they cost less than 1 % more.
        """
        return tuple(c for c in self.costed if self._as_good(c))

    @cached_property
    def recommended(self) -> AlternativeCost:
        """Of those, the one that changes least of what the group has now, or of Kafka's defaults if
        nobody said what it has.
        """
        base = self.described.base
        return min(self.equals, key=lambda c: (c.alternative.changes(base), self.costed.index(c)))

    @property
    def default(self) -> AlternativeCost | None:
        """Kafka's defaults; None if they are no alternative, because of a slow message."""
        return next((c for c in self.costed if c.alternative == DEFAULTS), None)

    @property
    def now(self) -> AlternativeCost | None:
        """The alternative that the group has now; None if that was not said or is none."""
        return next((c for c in self.costed if c.alternative == self.described.now), None)

    @property
    def idle(self) -> bool:
        """Does nothing that was described cost anything?"""
        return not any(c.mean for c in self.costed)

    def more_than_best(self, costed: AlternativeCost) -> Interval:
        """How much more it costs than the best one in a week."""
        pairs = zip(costed.values, self.best.values, strict=True)
        return intervals.mean([mine - least for mine, least in pairs])

    def _as_good(self, costed: AlternativeCost) -> bool:
        more = self.more_than_best(costed)
        if more.mean <= SAME * self.best.mean:
            return True
        # A few runs that cost very much make the interval of the differences wide, and that of the
        # ratios tells all the same that each one costs more.
        times = intervals.ratio(costed.values, self.best.values)
        if times is not None and (times.low or 0.0) > 1:
            return False
        return more.low is not None and more.low <= 0

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


def _by_cost(costed: Sequence[AlternativeCost]) -> tuple[AlternativeCost, ...]:
    return tuple(sorted(costed, key=lambda c: (c.mean, c.alternative)))


def advised(
    described: GroupDescription,
    *,
    by: str = "stopped",
    replications: int | None = None,
    seed: int = 0,
    workers: int = 1,
    least: int | None = None,
    report: Callable[[Progress], None] | None = None,
    kept: RunCache | None = None,
) -> Advice:
    """Simulates every alternative in every event. `by` is one of `COSTS`; `replications`: None:
    `usual_replications`; `workers`, `least`, `report` and `kept` as `replicated` takes them. Equal
    arguments give an equal answer. Raises `UserError`.
    """
    if replications is None:
        replications = usual_replications(described)
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
    wanted = tuple(chain.from_iterable(_wanted(described, alternatives(described)[0]).values()))
    found = replicated(
        wanted, replications, seed, workers=workers, least=least, report=report, kept=kept
    )
    return summed(described, found, by=by, asked=replications, seed=seed)


def summed(
    described: GroupDescription, found: Results, *, by: str, asked: int, seed: int
) -> Advice:
    """The advice by simulations that are done: in each replication those of `_wanted`, at least
    `LEAST_REPLICATIONS` of `asked`.
    """
    happening = events(described)
    compared, notes = alternatives(described)
    parts: dict[tuple[object, ...], Part] = {}
    named, each = {e.name: e for e in happening}, iter(found)
    for made in _wanted(described, compared):
        event = named[str(made[0])]
        parts[made] = _part([next(each) for _ in range(event.runs)], event.times)
    cost = COSTS[by]
    costed = [
        AlternativeCost(
            a, {e.name: parts[key(described, a, e)] for e in happening}, happening, cost
        )
        for a in compared
    ]
    notes += _shortened(described, compared)
    done = len(found[0])
    return Advice(described, seed, done, asked, cost, happening, _by_cost(costed), notes)


def _part(runs: Sequence[Sequence[Result]], times: float) -> Part:
    """What an event costs, on average over its runs; of each run the replications. The whole event
    is so many times as much as what was simulated of it.
    """
    part: dict[str, tuple[float, ...]] = {}
    for measure in ("rounds", LENGTH, *(cost.measure for cost in COSTS.values())):
        values = [[_measured(one, measure) for one in run] for run in runs]
        part[measure] = tuple(times * math.fsum(of) / len(runs) for of in zip(*values))
    pauses = [[one.longest_pause_ms for one in run] for run in runs]
    part["longest_pause_ms"] = tuple(map(max, zip(*pauses)))
    return part


def _measured(result: Result, measure: str) -> float:
    return result.ended_ms if measure == LENGTH else result.measures[measure]


def usual_replications(described: GroupDescription) -> int:
    """How many replications are simulated unless somebody says it: fewer of a large group."""
    within = int(USUAL_S / expected_seconds(described, 1))
    return max(FEWEST_USUAL, min(MOST_USUAL, within))


def expected_seconds(described: GroupDescription, replications: int) -> float:
    """How long `advised` takes, roughly."""
    wanted = _wanted(described, alternatives(described)[0])
    return replications * sum(map(expected_s, chain.from_iterable(wanted.values())))


def _wanted(
    described: GroupDescription, compared: Sequence[Alternative]
) -> dict[tuple[object, ...], tuple[Setup, ...]]:
    """The simulations of one replication, each once: that of the last alternative, since what the
    group has now is the first one and may be odd.
    """
    happening = events(described)
    return {key(described, a, e): setups(described, a, e) for a in compared for e in happening}


def _shortened(described: GroupDescription, compared: Sequence[Alternative]) -> tuple[str, ...]:
    least = min(away_ms(described, a) for a in compared)
    if least == described.restart_ms:
        return ()
    return (
        f"Absences of more than {least / 60_000:.0f} min are simulated as that long, plus what a"
        " longer session adds: by then the others have the partitions, and nothing more changes.",
    )
