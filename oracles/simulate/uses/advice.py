"""What should I set? Every alternative of protocol and timeouts is simulated in the events of a
described group's week; the cheapest one, or a simpler one that is as cheap, is recommended.

The cost of an alternative is linear in how often each event happens. So the same simulations also
say at which frequency another alternative would be recommended.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property

import attrs
from attrs import field, frozen

from groupcheck.model.engine import UserError
from groupcheck.oracles.simulate import intervals
from groupcheck.oracles.simulate.assumptions import Assumptions
from groupcheck.oracles.simulate.intervals import Interval
from groupcheck.oracles.simulate.setup import Setup
from groupcheck.oracles.simulate.simulation import simulate

MOST_MEMBERS = 300  # a rolling restart of more takes minutes for each alternative
STATIC = ("static_membership", "cooperative_static")
COOPERATIVE = ("cooperative", "cooperative_static")
PROTOCOLS = ("classic", "cooperative", *STATIC)
# Kafka 4.3.0: ConsumerConfig; group.min.session.timeout.ms and group.max.session.timeout.ms.
DEFAULT_SESSION_MS, DEFAULT_POLL_MS, DEFAULT_HEARTBEAT_MS = 45_000.0, 300_000.0, 3_000.0
LEAST_SESSION_MS, MOST_SESSION_MS = 6_000.0, 1_800_000.0
LEAST_POLL_MS = 60_000.0  # below a minute, ordinary work would be taken for a hang
SHORT_SESSION_MS = 10_000.0  # the default of Kafka before 3.0 (KIP-735)
HOUR_MS = 3_600_000.0
HOURS_OF_A_WEEK = 168.0
STEADY = "steady hour"
# Costs that differ by less than this share of the best one are the same for whoever has to choose.
SAME = 0.01


@frozen(kw_only=True)
class Week:
    """How often things happen to the group in a week."""

    # All members restart, one after the other.
    deploys: float = 5.0
    # A process dies and is started again.
    bounces: float = 1.0
    # A process dies and stays away.
    crashes: float = 0.2
    # One message takes as long as `Described.slow_ms`.
    slow: float = 0.0
    # An application stops polling and never goes on, while its process lives.
    hangs: float = 0.0


@frozen(kw_only=True)
class Described:
    """A group, as its owner describes it. Raises `UserError` where that makes no sense."""

    members: int = 10
    partitions: int = 10
    # How long a process is away when it restarts.
    restart_ms: float = 30_000.0
    # The longest that the application works between two polls.
    slow_ms: float = 0.0
    week: Week = field(factory=Week)
    # Everything else; the settings in it are replaced by those of each alternative.
    assumptions: Assumptions = field(factory=Assumptions)

    def __attrs_post_init__(self) -> None:
        if not 2 <= self.members <= MOST_MEMBERS:
            raise UserError(
                f"{self.members} members",
                where="--members",
                do=f"take 2 to {MOST_MEMBERS}; a larger group has the same best settings as one of"
                " a tenth of its size, as long as its restarts take the same time for each member",
            )
        for name, value in attrs.asdict(self.week, recurse=False).items():
            if not 0 <= value <= 10_000:
                raise UserError(f"{value:g} {name} in a week", do="take 0 to 10,000")
        if self.week.slow and not self.slow_ms:
            raise UserError("a slow message needs its length", do="add --slow-message, as in 6m")

    @property
    def disturbed(self) -> bool:
        """Can the session of a healthy member expire?"""
        return bool(self.assumptions.loss or self.assumptions.pause_every_s)


@frozen(order=True)
class Alternative:
    """A protocol and its settings; timeouts in ms."""

    variant: str
    session_timeout_ms: float
    heartbeat_interval_ms: float
    max_poll_interval_ms: float

    @property
    def changes(self) -> int:
        """In how many ways it differs from a consumer with Kafka's defaults."""
        return (
            (self.variant in STATIC)
            + (self.variant in COOPERATIVE)
            + (self.session_timeout_ms != DEFAULT_SESSION_MS)
            + (self.heartbeat_interval_ms != DEFAULT_HEARTBEAT_MS)
            + (self.max_poll_interval_ms != DEFAULT_POLL_MS)
        )

    @property
    def settings(self) -> dict[str, str]:
        """The consumer's settings, by Kafka's names."""
        made = {
            "partition.assignment.strategy": "org.apache.kafka.clients.consumer."
            + ("CooperativeStickyAssignor" if self.variant in COOPERATIVE else "RangeAssignor"),
            "session.timeout.ms": f"{self.session_timeout_ms:.0f}",
            "heartbeat.interval.ms": f"{self.heartbeat_interval_ms:.0f}",
            "max.poll.interval.ms": f"{self.max_poll_interval_ms:.0f}",
        }
        if self.variant in STATIC:
            made["group.instance.id"] = "<another one for each process, the same after a restart>"
        return made


@frozen
class Event:
    """Something that happens to the group, and the scenario that simulates it."""

    name: str
    scenario: str
    per_week: float
    # Whether it depends on session.timeout.ms and on max.poll.interval.ms.
    of_session: bool
    of_poll: bool
    changes: Mapping[str, float]
    until_rest: bool = True


# What one event costs under one alternative: a measure of `Result.measures` -> each replication.
Part = Mapping[str, tuple[float, ...]]


@frozen
class Cost:
    """What counts as cost."""

    # Of `Result.measures`.
    measure: str
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
    def mean(self) -> float:
        """The cost of a week."""
        return intervals.mean(self.values).mean

    @property
    def longest_pause_ms(self) -> float:
        """The longest pause of a member that nothing happens to, in any event that occurs."""
        happens = [self.parts[e.name] for e in self.events if e.per_week]
        return max((max(part["longest_pause_ms"]) for part in happens), default=0.0)

    def of(self, event: Event) -> Interval:
        """What the event costs when it happens once."""
        return intervals.mean(self.parts[event.name][self.cost.measure])

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
    instead: Alternative


@frozen
class Advice:
    """The answer. All alternatives saw the same seeds."""

    described: Described
    seed: int
    replications: int
    cost: Cost
    events: tuple[Event, ...]
    # By cost, the least first.
    costed: tuple[Costed, ...]
    notes: tuple[str, ...]

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
        """Of those, the one that changes least of Kafka's defaults."""
        return min(self.equals, key=lambda c: (c.alternative.changes, self.costed.index(c)))

    @property
    def default(self) -> Costed | None:
        """Kafka's defaults; None if they are no alternative, because of a slow message."""
        return next((c for c in self.costed if not c.alternative.changes), None)

    def more_than_best(self, costed: Costed) -> Interval:
        """How much more it costs than the best one in a week."""
        pairs = zip(costed.values, self.best.values, strict=True)
        return intervals.mean([mine - least for mine, least in pairs])

    def _as_good(self, costed: Costed) -> bool:
        more = self.more_than_best(costed)
        return more.mean <= SAME * self.best.mean or (more.low is not None and more.low <= 0)

    @cached_property
    def thresholds(self) -> tuple[Threshold, ...]:
        """For each event the nearest frequencies at which something else is recommended."""
        happening = [e for e in self.events if e.name != STEADY]  # a week has so many hours
        return tuple(
            found
            for event in happening
            for to in (0.0, *_higher(event.per_week))
            if (found := self._threshold(event, to)) is not None
            and (to == 0 or to == next(self._first(event), None))
        )

    def _first(self, event: Event) -> Iterator[float]:
        """The higher frequencies that were looked at and have another recommendation."""
        mine = self.recommended.alternative
        for rate in _higher(event.per_week):
            if self._at(event, rate).recommended.alternative != mine:
                yield rate

    def _threshold(self, event: Event, to: float) -> Threshold | None:
        """Where the recommendation changes between today's frequency and another one."""
        mine, near, far = self.recommended.alternative, event.per_week, to
        instead = self._at(event, far).recommended.alternative
        if instead == mine or near == far:
            return None
        for _ in range(30):
            middle = (near + far) / 2
            found = self._at(event, middle).recommended.alternative
            if found == mine:
                near = middle
            else:
                far, instead = middle, found
        return Threshold(event.name, far, to > event.per_week, instead)

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
    report: Callable[[int, int], None] | None = None,
) -> Advice:
    """Simulates every alternative in every event. `by` is one of `COSTS`; `report(done, all)` hears
    of each simulation. Equal arguments give an equal answer. Raises `UserError`.
    """
    if replications < 2:
        raise UserError(
            f"{replications} replication",
            where="--replications",
            do="take 2 or more: one run does not say which alternatives can be told apart",
        )
    if by not in COSTS:
        raise UserError(f"there is no cost {by!r}", do="one of " + ", ".join(COSTS))
    events = _events(described)
    alternatives, notes = _alternatives(described)
    wanted = {_key(a, e): (a, e) for a in alternatives for e in events}
    parts: dict[tuple[object, ...], Part] = {}
    for n, (key, (alternative, event)) in enumerate(wanted.items()):
        setup = _setup(described, alternative, event)
        results = []
        for k in range(replications):
            if report is not None:
                report(n * replications + k, len(wanted) * replications)
            results.append(simulate(attrs.evolve(setup, seed=seed + k)).measures)
        parts[key] = {name: tuple(m[name] for m in results) for name in results[0]}
    cost = COSTS[by]
    costed = [
        Costed(a, {e.name: parts[_key(a, e)] for e in events}, events, cost) for a in alternatives
    ]
    return Advice(described, seed, replications, cost, events, _by_cost(costed), notes)


def _events(described: Described) -> tuple[Event, ...]:
    week, slow = described.week, described.slow_ms
    found = [
        Event(
            "deploy",
            "rolling-restart",
            week.deploys,
            True,
            False,
            {"changed_members": described.members},
        ),
        Event("bounce", "bounce", week.bounces, True, False, {}),
        Event("crash", "crash", week.crashes, True, False, {}),
    ]
    if slow:
        found.append(
            Event("slow message", "slow-message", week.slow, False, True, {"stall_ms": slow})
        )
    if week.hangs:
        found.append(Event("hang", "slow-message", week.hangs, False, True, {"stall_ms": HOUR_MS}))
    if described.disturbed:
        found.append(Event(STEADY, "steady", HOURS_OF_A_WEEK, True, False, {}, until_rest=False))
    return tuple(found)


def _alternatives(described: Described) -> tuple[list[Alternative], tuple[str, ...]]:
    """All combinations of protocols and timeouts, and remarks about those that are left out."""
    notes = []
    sessions = {SHORT_SESSION_MS, DEFAULT_SESSION_MS}
    # The session began with the last heartbeat, and the process has to join, too.
    above = _rounded_up(1.2 * described.restart_ms + 2 * DEFAULT_HEARTBEAT_MS, 5_000)
    if above <= MOST_SESSION_MS:
        sessions.add(max(above, LEAST_SESSION_MS))
    else:
        notes.append(
            f"A restart of {described.restart_ms / 1000:g} s is longer than"
            " group.max.session.timeout.ms allows by default (1,800,000 ms): static membership"
            " cannot bridge it unless the broker's setting is raised."
        )
    polls = {DEFAULT_POLL_MS} if described.slow_ms < DEFAULT_POLL_MS else set()
    if described.slow_ms:
        above = max(_rounded_up(1.2 * described.slow_ms, 30_000), LEAST_POLL_MS)
        if not polls or described.week.hangs:
            polls.add(above)
        notes.append(
            "max.poll.interval.ms must be longer than the slowest message: else the next owner gets"
            " the message, and is too slow, too. It is also the rebalance timeout: a round waits"
            " for a member that works on such a message up to that long."
        )
    return [
        Alternative(variant, session, min(DEFAULT_HEARTBEAT_MS, session / 3), poll)
        for variant in PROTOCOLS
        for session in sorted(sessions)
        for poll in sorted(polls)
    ], tuple(notes)


def _rounded_up(value: float, step: int) -> float:
    return float(math.ceil(value / step) * step)


def _key(alternative: Alternative, event: Event) -> tuple[object, ...]:
    """What a simulation of the event depends on."""
    session = (alternative.session_timeout_ms, alternative.heartbeat_interval_ms)
    return (
        event.name,
        alternative.variant,
        session if event.of_session else None,
        alternative.max_poll_interval_ms if event.of_poll else None,
    )


def _setup(described: Described, alternative: Alternative, event: Event) -> Setup:
    """The simulation of one event under one alternative."""
    restarts_s = described.members * (described.restart_ms + 60_000) / 1000
    return Setup(
        variant=alternative.variant,
        scenario=event.scenario,
        members=described.members,
        partitions=described.partitions,
        seconds=7_200 + restarts_s if event.until_rest else HOUR_MS / 1000,
        until_rest=event.until_rest,
        assumptions=described.assumptions,
    ).with_(
        session_timeout_ms=alternative.session_timeout_ms,
        heartbeat_interval_ms=alternative.heartbeat_interval_ms,
        max_poll_interval_ms=alternative.max_poll_interval_ms,
        restart_ms=described.restart_ms,
        **event.changes,
    )
