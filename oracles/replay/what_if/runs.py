"""One simulation of a logged group, and which event began which of its rounds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from attrs import Factory, define, evolve, frozen

from groupcheck.model.protocol.classic import client_faults, coordinator, timers
from groupcheck.model.protocol.classic.group import Phase
from groupcheck.oracles.replay.what_if.schedule import Instant, Scheduled
from groupcheck.oracles.simulate import Assumptions, Setup, simulate
from groupcheck.oracles.simulate.observer import Observer
from groupcheck.oracles.simulate.running import Group

GOING = ("close", "crash", "stall", "pause")
COMING = ("start", "resume")
WENT = (
    timers.session_timeout.name,
    timers.new_member_timeout.name,
    client_faults.poll_timeout.name,
    coordinator.leave_group.name,
)
"""Rules that begin a round because a process went."""


@frozen
class Began:
    """A round of a simulation."""

    # In ms of virtual time.
    at: float
    # The number of the instant that began it; -1: none did.
    instant: int
    # It follows from the round before, which has the same instant.
    follows: bool
    # When its join phase ended.
    until: float = float("inf")


@frozen
class Run:
    """The result of one simulation."""

    rounds: tuple[Began, ...]
    # How long each process stood still, in ms, and the longest time of that.
    stood_ms: tuple[float, ...]
    longest_ms: tuple[float, ...]
    # For how long partitions had no reader: see `stopped`.
    stopped_ms: float


@define
class Tracker:
    """Follows a simulation: it notes each round with the instant that began it. A round that
    follows from another one, such as the second of a cooperative rebalance, has its instant.
    """

    scheduled: Scheduled
    # Those of the setup; while the group is brought to rest before the course, others hold.
    assumptions: Assumptions
    began: list[Began] = Factory(list)
    # What the simulation measures; None before its first step.
    observer: Observer | None = None
    _used: set[int] = Factory(set)
    _preparing: bool = False

    def __call__(self, group: Group, rule: str, index: int) -> None:
        """Is told every rule that fires."""
        if group.assumptions is not self.assumptions:
            return
        self.observer = group.observer
        preparing = group.core.phase == Phase.PREPARING
        if preparing and not self._preparing:
            self.began.append(self._began(rule.partition(":")[0], index, group.clock.now))
        elif self._preparing and not preparing:
            self.began[-1] = evolve(self.began[-1], until=group.clock.now)
        self._preparing = preparing

    def _began(self, rule: str, index: int, now: float) -> Began:
        mine = [one for one in self.scheduled.instants[index] if one.at <= now]
        kinds = GOING if rule in WENT else COMING
        found = next((one for one in reversed(mine) if one.what in kinds), None)
        if found is None or (found.number in self._used and rule not in WENT):
            return Began(now, self.began[-1].instant if self.began else -1, True)
        self._used.add(found.number)
        self._used |= {one.number for one in self._before(found)}
        return Began(now, found.number, False)

    def _before(self, begun: Instant) -> list[Instant]:
        """The instants at which somebody came before this one: their members have joined."""
        return [
            one
            for mine in self.scheduled.instants
            for one in mine
            if one.what in COMING and one.at < begun.at
        ]


def run(
    scheduled: Scheduled, variant: str, partitions: int, assumptions: Assumptions, seed: int
) -> Run:
    """Simulates a course. Raises `UserError`."""
    tracker = Tracker(scheduled, assumptions)
    setup = Setup(
        variant=variant,
        members=scheduled.members,
        partitions=partitions,
        seed=seed,
        seconds=scheduled.seconds,
        assumptions=assumptions,
        course=scheduled.course,
    )
    result = simulate(setup, tracker)
    turns = tracker.observer.turns if tracker.observer is not None else []
    return Run(
        rounds=tuple(tracker.began),
        stood_ms=result.stood_ms,
        longest_ms=result.pauses_ms,
        stopped_ms=stopped_ms(turns, scheduled, result.ended_ms),
    )


# -- For how long nobody reads a partition, while there are processes that could.

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
