"""The events of a group's week, and the simulation of each under an alternative."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import frozen

from groupcheck.oracles.simulate.background import Happens, Kind
from groupcheck.oracles.simulate.distributions import distribution
from groupcheck.oracles.simulate.setup import Setup
from groupcheck.oracles.simulate.uses.advice_group import (
    CONSUMER,
    CONSUMER_STATIC,
    OF_CONSUMER,
    STATIC,
    Alternative,
    GroupDescription,
)

HOUR_MS = 3_600_000.0
# If the events of a week take a smaller share of it, they hardly ever meet: each is then simulated
# alone, and weeks that differ in frequencies have their simulations in common.
MEETING_SHARE = 0.02
# Where messages are slow, what one event costs depends on who works on such a message just then. So
# several runs of a short event are then one replication, with seeds that are so far apart: of a
# small group many, since in a large one somebody nearly always does.
RUNS, RUNS_OF_MEMBERS, APART = 8, 40, 1_000_000_007
HOURS_OF_A_WEEK = 168.0
WEEK_MS = HOURS_OF_A_WEEK * HOUR_MS
# Of a deploy to more members, so many restarts are simulated: the others cost as much.
RESTARTS = 12
STEADY = "steady hour"
# After a round all heartbeats are in step, and each one is late by up to retry_backoff_ms. So long
# it takes by default until they are as far apart as by chance: from then on rounds cost the same.
DRIFT_MS = 2_700_000.0
# What a core of 2026 simulates in a second, roughly: heartbeats, joins, partitions given out.
HEARTBEATS_PER_S, JOINS_PER_S, SHARES_PER_S = 35_000.0, 1_200.0, 90_000.0


@frozen
class Event:
    """Something that happens to the group, and the scenario that simulates it."""

    name: str
    scenario: str
    per_week: float
    changes: Mapping[str, Any]
    until_rest: bool = True
    # By how much more it costs than what is simulated of it.
    times: float = 1.0
    # How many runs of it are one replication.
    runs: int = 1


def events(described: GroupDescription) -> tuple[Event, ...]:
    """The events that happen to the group, if only never in a week."""
    week, members = described.week, described.members
    outage = {"pause_ms": distribution(described.outage_ms), "pause_every_s": 0.0}
    restarts = min(members, RESTARTS)
    runs = 1
    if week.slow and meet(described):
        runs = max(1, min(RUNS, RUNS_OF_MEMBERS // members))
    some, times = {"changed_members": restarts}, members / restarts
    found = [
        Event("deploy", "rolling-restart", week.deploys, some, times=times),
        Event("bounce", "bounce", week.bounces, {}, runs=runs),
        Event("crash", "crash", week.crashes, {}, runs=runs),
        Event("outage", "outage", week.outages, outage, runs=runs),
    ]
    if week.hangs:
        stall = {"stall_ms": distribution(HOUR_MS)}
        found.append(Event("hang", "slow-message", week.hangs, stall))
    if described.disturbed:
        found.append(Event(STEADY, "steady", HOURS_OF_A_WEEK, {}, until_rest=False))
    return tuple(found)


def background(described: GroupDescription, alternative: Alternative) -> tuple[Happens, ...]:
    """What happens at random while an event is simulated: all that the week has, unless its events
    hardly ever meet.
    """
    if not meet(described):
        return ()
    return _happens(described, away_ms(described, alternative))


def meet(described: GroupDescription) -> bool:
    """Do the events and slow messages of a week take so much of it that they meet each other? The
    answer is the same for all alternatives, so that they are compared in the same week.
    """
    gap_ms = described.assumptions.restart_gap_ms
    deploy_ms = described.members * (described.restart_ms + gap_ms)
    happens = _happens(described, described.restart_ms)
    lengths = ((deploy_ms if h.kind == "deploy" else h.length_ms) / h.every_ms for h in happens)
    return sum(lengths) >= MEETING_SHARE


def _happens(described: GroupDescription, away: float) -> tuple[Happens, ...]:
    """All that the week has, if a process is away for so long (ms) when it restarts."""
    week = described.week
    rates: tuple[tuple[Kind, float, float], ...] = (
        ("deploy", week.deploys, away),
        ("bounce", week.bounces, away),
        ("crash", week.crashes, 0.0),
        ("outage", week.outages, described.outage_ms),
        ("hang", week.hangs, HOUR_MS),
        ("slow", week.slow, described.slow_ms),
    )
    return tuple(Happens(kind, WEEK_MS / rate, long) for kind, rate, long in rates if rate)


def key(described: GroupDescription, alternative: Alternative, event: Event) -> tuple[object, ...]:
    """The values on which a simulation of the event depends: max.poll.interval.ms only if an
    application can be slower than that.
    """
    session = (alternative.session_timeout_ms, alternative.heartbeat_interval_ms)
    poll = alternative.max_poll_interval_ms if described.week.hangs else None
    return event.name, alternative.variant, session, poll


def away_ms(described: GroupDescription, alternative: Alternative) -> float:
    """How long a process is away in a simulated restart: no longer than until the others have its
    partitions (its session, and a round that waits for the slowest message), and their heartbeats
    have drifted apart. From then on nothing changes, and only heartbeats would be simulated.
    """
    rest_ms = max(DRIFT_MS, 1.2 * described.slow_ms)
    return min(described.restart_ms, alternative.session_timeout_ms + rest_ms)


def setups(
    described: GroupDescription, alternative: Alternative, event: Event
) -> tuple[Setup, ...]:
    """The simulations of one event under one alternative that are one replication."""
    one = setup(described, alternative, event)
    return tuple(one.with_(seed=k * APART) for k in range(event.runs))


def setup(described: GroupDescription, alternative: Alternative, event: Event) -> Setup:
    """One simulation of one event under one alternative."""
    away = away_ms(described, alternative)
    most_ms = 2 * HOUR_MS + described.members * (away + 60_000)
    most_ms += alternative.session_timeout_ms + described.slow_ms + described.outage_ms
    consumer = alternative.variant in OF_CONSUMER
    return Setup(
        variant=CONSUMER if consumer else alternative.variant,
        static=alternative.variant == CONSUMER_STATIC,
        scenario=event.scenario,
        members=described.members,
        partitions=described.partitions,
        seconds=(most_ms if event.until_rest else HOUR_MS) / 1000,
        until_rest=event.until_rest,
        assumptions=described.assumptions,
        # A steady hour has losses and pauses alone: it is what is left of the week.
        background=background(described, alternative) if event.until_rest else (),
    ).with_(
        # Of KIP-848 these are the broker's, and stand among the assumptions already.
        session_timeout_ms=alternative.session_timeout_ms,
        heartbeat_interval_ms=alternative.heartbeat_interval_ms,
        max_poll_interval_ms=alternative.max_poll_interval_ms,
        restart_ms=away,
        **event.changes,
    )


def expected_s(simulated: Setup) -> float:
    """How many seconds such a simulation takes, roughly."""
    a, members = simulated.assumptions, simulated.members
    restarts = a.changed_members or 1.0
    ms = {
        "rolling-restart": restarts * (a.restart_ms + a.restart_gap_ms),
        "bounce": a.restart_ms,
        "crash": a.session_timeout_ms,
        "outage": a.pause_ms.mean,
        "slow-message": a.stall_ms.mean,
        "steady": HOUR_MS,
    }[simulated.scenario]
    heartbeats = members * ms / a.heartbeat_interval_ms
    rounds = 2 * restarts
    static = simulated.static or simulated.variant in STATIC
    if static and a.session_timeout_ms > a.restart_ms:
        rounds = 0.0 if simulated.scenario in ("rolling-restart", "bounce") else 2.0
    # A round waits for whoever works on a slow message, and the group is not at rest meanwhile.
    if rounds:
        ms += restarts * sum(b.length_ms / 2 for b in simulated.background if b.kind == "slow")
    one_round = members / JOINS_PER_S + simulated.partitions / SHARES_PER_S
    return heartbeats / HEARTBEATS_PER_S + rounds * one_round
