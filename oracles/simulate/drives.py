"""When each rule of a variant fires in a simulation.

The rules say what may happen, this table says when. Other families have rules of the same names. A
variant with a rule that this table omits cannot be simulated (`undriven`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping

from attrs import frozen

from groupcheck.model.engine import Spec
from groupcheck.model.protocol.classic import client, client_faults, failover, offsets, timers
from groupcheck.model.protocol.classic.composition import every_feature
from groupcheck.model.protocol.classic.features import takeover
from groupcheck.model.protocol.classic.features.triggers import cluster, subscription
from groupcheck.model.protocol.classic.group import Core, Phase
from groupcheck.model.protocol.connect import leader, worker
from groupcheck.model.protocol.consumer.scope import ConsumerScope
from groupcheck.oracles.simulate.assumptions import Assumptions
from groupcheck.oracles.simulate.consumer.drives import undriven as of_consumer_groups

# The poll thread, in this order.
AT_POLL = (client.send_join.name, client.join_complete.name)
# As soon as the answer before it was read: the handler of that answer sends it.
AT_ONCE = (client.send_sync.name,)
HEARTBEAT = client.send_heartbeat.name
# Each heartbeat.interval.ms.
BEATS = (HEARTBEAT,)
# The timer of each id at the coordinator.
SESSIONS = (timers.session_timeout.name, timers.new_member_timeout.name)
# A message is lost (`Assumptions.loss`).
BY_LOSS = (client_faults.lose_request.name, client_faults.lose_response.name)
# Where a scenario says so, or the application polls too late.
BY_SCENARIO = (
    client_faults.crash.name,
    client_faults.close.name,
    client_faults.poll_timeout.name,
    cluster.add_partitions.name,
)
# Each metadata.max.age.ms.
REFRESHES = subscription.refresh_metadata.name
# A request that stood behind a parked one is read once that is answered.
READS = (timers.read_next.name,)
# The coordinator never answers: after request.timeout.ms.
GIVES_UP = (client.request_timeout.name,)
# Connect: when the leader's delay is over, and when that of a worker is (see `workers`).
DELAY, AFTER_DELAY = leader.delay_over.name, worker.scheduled_rejoin.name
# An append is committed: after the time of an append, at the index of its seats.
APPENDS = (takeover.takeover_committed.name,)


@frozen
class Timer:
    """A timer of the coordinator: it runs as long as its key stays the same, and is None where it
    does not run.
    """

    key: Callable[[Core], Hashable]
    delay: Callable[[Core, Assumptions], float]


def _rebalance_timeout(core: Core, a: Assumptions) -> float:
    # With no member there is no rebalance timeout to wait for.
    return a.max_poll_interval_ms if core.members else 0.0


TIMERS: Mapping[str, Timer] = {
    timers.initial_delay.name: Timer(
        lambda core: core.generation if core.phase == Phase.PREPARING and core.initial else None,
        lambda core, a: min(a.initial_rebalance_delay_ms, a.max_poll_interval_ms),
    ),
    timers.rebalance_timeout.name: Timer(
        lambda core: (
            (core.generation, not core.members)
            if core.phase == Phase.PREPARING and not core.initial
            else None
        ),
        _rebalance_timeout,
    ),
    timers.sync_timeout.name: Timer(
        lambda core: core.generation if core.deadline else None,
        lambda core, a: a.max_poll_interval_ms,
    ),
}
# A timer whose delay is drawn: the append of the assignment.
COMMIT = timers.append_committed.name


def commit_key(core: Core) -> Hashable:
    """As `Timer.key`."""
    return core.generation if core.appending else None


LEFT_OUT = {
    timers.append_failed.name: "no append fails",
    takeover.takeover_failed.name: "no append fails",
    failover.fail_over.name: "the coordinator stays where it is",
    client_faults.disconnect.name: "no connection breaks under a parked request",
    client_faults.delay_request.name: "no message is held up for longer than its latency",
    timers.late_request.name: "no message is held up for longer than its latency",
    client_faults.late_commit.name: "nothing is committed",
    client.send_commit.name: "nothing is committed",
    offsets.fetch_offset.name: "nothing is committed, so no offset is fetched",
    offsets.process_record.name: "processing is a rate (see `lag`)",
    worker.read_config.name: "no connector changes",
    worker.update_config.name: "no connector changes",
    worker.lose_coordinator.name: "the coordinator answers in time",
    **{rule: why for f in every_feature().values() for rule, why in f.not_simulated.items()},
}


def undriven(spec: Spec) -> list[str]:
    """The rules of a spec of which nothing says when they fire."""
    if isinstance(spec.scope, ConsumerScope):
        return of_consumer_groups(spec)
    driven = {
        *AT_POLL, *AT_ONCE, *BEATS, *SESSIONS, *BY_LOSS, *BY_SCENARIO, *READS, *GIVES_UP, *APPENDS,
        *TIMERS, REFRESHES, COMMIT, DELAY, AFTER_DELAY, *LEFT_OUT,
    }  # fmt: skip
    return sorted(r.name for r in spec.rules if not r.urgent and r.name not in driven)
