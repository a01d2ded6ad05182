"""One simulation of a logged group, and which event began which of its rounds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from attrs import Factory, define, evolve, frozen

from groupcheck.model.protocol.classic import client_faults, coordinator, timers
from groupcheck.model.protocol.classic.group import Phase
from groupcheck.model.protocol.consumer import client as consumer_client
from groupcheck.model.protocol.consumer import heartbeats
from groupcheck.model.protocol.consumer import timers as consumer_timers
from groupcheck.model.protocol.consumer.memory import Core as ConsumerCore
from groupcheck.oracles.replay.what_if.protocols import CONSUMER, is_consumer, is_static
from groupcheck.oracles.replay.what_if.schedule import Instant, TimedCourse
from groupcheck.oracles.simulate import Assumptions, Setup, simulate
from groupcheck.oracles.simulate.observer import Observer

GOING = ("close", "crash", "stall", "pause")
COMING = ("start", "resume")
WENT = (
    timers.session_timeout.name,
    timers.new_member_timeout.name,
    client_faults.poll_timeout.name,
    coordinator.leave_group.name,
    consumer_timers.session_timeout.name,
    consumer_timers.ghost_expires.name,
    consumer_timers.rebalance_timeout.name,
    heartbeats.leave_consumer_group.name,
)
"""Rules that begin a round because a process went."""
REFUSED = f"{consumer_client.hear_answer.name}:fatal"
"""A member of a group of KIP-848 is refused for good."""


@frozen
class Began:
    """A round of a simulation: in a group of KIP-848, the way to a new target."""

    # In ms of virtual time.
    at: float
    # The number of the instant that began it; -1: none did.
    instant: int
    # It follows from the round before, which has the same instant.
    follows: bool
    # When its join phase ended, or the target was there.
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
    # How often a member was refused for good.
    refused: int


@define
class Tracker:
    """Follows a simulation: it notes each round with the instant that began it. A round that
    follows from another one, such as the second of a cooperative rebalance, has its instant.
    """

    scheduled: TimedCourse
    # Those of the setup; while the group is brought to rest before the course, others hold.
    assumptions: Assumptions
    began: list[Began] = Factory(list)
    # What the simulation measures; None before its first step.
    observer: Observer | None = None
    refused: int = 0
    _used: set[int] = Factory(set)
    _preparing: bool = False

    def __call__(self, group: Any, rule: str, index: int) -> None:
        """Is told every rule that fires."""
        if group.assumptions is not self.assumptions:
            return
        self.observer = group.observer
        self.refused += rule == REFUSED
        preparing = _is_preparing(group.core)
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


def _is_preparing(core: Any) -> bool:
    """Does the group know of something that its plan does not?"""
    if isinstance(core, ConsumerCore):
        return core.pending
    return bool(core.phase == Phase.PREPARING)


def run(
    scheduled: TimedCourse, variant: str, partitions: int, assumptions: Assumptions, seed: int
) -> Run:
    """Simulates a course. Raises `UserError`."""
    tracker = Tracker(scheduled, assumptions)
    setup = Setup(
        variant=CONSUMER if is_consumer(variant) else variant,
        static=is_consumer(variant) and is_static(variant),
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
        refused=tracker.refused,
    )


# -- For how long nobody reads a partition, while there are processes that could.

Span = tuple[float, float]


def stopped_ms(
    turns: Iterable[tuple[float, int, bool]], scheduled: TimedCourse, end: float
) -> float:
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


def running(scheduled: TimedCourse, end: float) -> list[Span]:
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
