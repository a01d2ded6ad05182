"""The events of a group's week, and the simulation of each under an alternative."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import frozen

from groupcheck.oracles.simulate.distributions import distribution
from groupcheck.oracles.simulate.setup import Setup
from groupcheck.oracles.simulate.uses.advice_group import Alternative, Described

HOUR_MS = 3_600_000.0
HOURS_OF_A_WEEK = 168.0
STEADY = "steady hour"
# After a round all heartbeats are in step, and each one is late by up to retry_backoff_ms. So long
# it takes by default until they are as far apart as by chance: from then on rounds cost the same.
DRIFT_MS = 2_700_000.0
# What a core of 2026 simulates in a second, roughly: heartbeats, joins, partitions given out.
HEARTBEATS_PER_S, JOINS_PER_S, SHARES_PER_S = 50_000.0, 2_500.0, 180_000.0


@frozen
class Event:
    """Something that happens to the group, and the scenario that simulates it."""

    name: str
    scenario: str
    per_week: float
    # Whether it depends on session.timeout.ms and on max.poll.interval.ms.
    of_session: bool
    of_poll: bool
    changes: Mapping[str, Any]
    until_rest: bool = True


def events(described: Described) -> tuple[Event, ...]:
    """The events that happen to the group, if only never in a week."""
    week, slow, members = described.week, described.slow_ms, described.members
    outage = {"pause_ms": distribution(described.outage_ms), "pause_every_s": 0.0}
    found = [
        Event("deploy", "rolling-restart", week.deploys, True, False, {"changed_members": members}),
        Event("bounce", "bounce", week.bounces, True, False, {}),
        Event("crash", "crash", week.crashes, True, False, {}),
        Event("outage", "outage", week.outages, True, False, outage),
    ]
    if slow:
        stall = {"stall_ms": distribution(slow)}
        found.append(Event("slow message", "slow-message", week.slow, False, True, stall))
    if week.hangs:
        stall = {"stall_ms": distribution(HOUR_MS)}
        found.append(Event("hang", "slow-message", week.hangs, False, True, stall))
    if described.disturbed:
        found.append(Event(STEADY, "steady", HOURS_OF_A_WEEK, True, False, {}, until_rest=False))
    return tuple(found)


def key(alternative: Alternative, event: Event) -> tuple[object, ...]:
    """The values on which a simulation of the event depends."""
    session = (alternative.session_timeout_ms, alternative.heartbeat_interval_ms)
    return (
        event.name,
        alternative.variant,
        session if event.of_session else None,
        alternative.max_poll_interval_ms if event.of_poll else None,
    )


def away_ms(described: Described, alternative: Alternative) -> float:
    """How long a process is away in a simulated restart: no longer than until the others have its
    partitions (its session, and a round that waits for the slowest message), and their heartbeats
    have drifted apart. From then on nothing changes, and only heartbeats would be simulated.
    """
    rest_ms = max(DRIFT_MS, 1.2 * described.slow_ms)
    return min(described.restart_ms, alternative.session_timeout_ms + rest_ms)


def setup(described: Described, alternative: Alternative, event: Event) -> Setup:
    """The simulation of one event under one alternative."""
    away = away_ms(described, alternative)
    most_ms = 2 * HOUR_MS + described.members * (away + 60_000)
    most_ms += alternative.session_timeout_ms + described.slow_ms + described.outage_ms
    return Setup(
        variant=alternative.variant,
        scenario=event.scenario,
        members=described.members,
        partitions=described.partitions,
        seconds=(most_ms if event.until_rest else HOUR_MS) / 1000,
        until_rest=event.until_rest,
        assumptions=described.assumptions,
    ).with_(
        session_timeout_ms=alternative.session_timeout_ms,
        heartbeat_interval_ms=alternative.heartbeat_interval_ms,
        max_poll_interval_ms=alternative.max_poll_interval_ms,
        restart_ms=away,
        **event.changes,
    )


def expected_s(simulated: Setup) -> float:
    """How many seconds such a simulation takes, roughly."""
    a, members = simulated.assumptions, simulated.members
    ms = {
        "rolling-restart": members * (a.restart_ms + a.restart_gap_ms),
        "bounce": a.restart_ms,
        "crash": a.session_timeout_ms,
        "outage": a.pause_ms.mean,
        "slow-message": a.stall_ms.mean,
        "steady": HOUR_MS,
    }[simulated.scenario]
    heartbeats = members * ms / a.heartbeat_interval_ms
    rounds = 2 * members if simulated.scenario == "rolling-restart" else 2
    one_round = members / JOINS_PER_S + simulated.partitions / SHARES_PER_S
    return heartbeats / HEARTBEATS_PER_S + rounds * one_round
