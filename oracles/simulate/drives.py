"""When each rule of a variant fires in a simulation.

The rules say what may happen, this table says when. A rule that stands nowhere here stops the
simulation of a variant that has it (`undriven`), so nothing is left out by mistake.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping

from attrs import frozen

from groupcheck.model.engine import Spec
from groupcheck.model.protocol.classic.group import Core, Phase
from groupcheck.oracles.simulate.assumptions import Assumptions

# The poll thread, in this order.
AT_POLL = ("send_join", "join_complete")
# As soon as the answer before it was read: the handler of that answer sends it.
AT_ONCE = ("send_sync",)
HEARTBEAT = "send_heartbeat"
# Each heartbeat.interval.ms.
BEATS = (HEARTBEAT,)
# The timer of each id at the coordinator.
SESSIONS = ("session_timeout", "new_member_timeout")
# A message is lost (`Assumptions.loss`).
BY_LOSS = ("lose_request", "lose_response")
# Where a scenario says so, or the application polls too late.
BY_SCENARIO = ("crash", "close", "poll_timeout", "add_partitions")
# Each metadata.max.age.ms.
REFRESHES = "refresh_metadata"
# A request that stood behind a parked one is read once that is answered.
READS = ("read_next",)
# The coordinator never answers: after request.timeout.ms.
GIVES_UP = ("request_timeout",)
# Connect: when the leader's delay is over, and when that of a worker is (see `workers`).
DELAY, AFTER_DELAY = "delay_over", "scheduled_rejoin"
# An append is committed: after the time of an append, at the index of its seats.
APPENDS = ("takeover_committed",)


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
    "initial_delay": Timer(
        lambda core: core.generation if core.phase == Phase.PREPARING and core.initial else None,
        lambda core, a: min(a.initial_rebalance_delay_ms, a.max_poll_interval_ms),
    ),
    "rebalance_timeout": Timer(
        lambda core: (
            (core.generation, not core.members)
            if core.phase == Phase.PREPARING and not core.initial
            else None
        ),
        _rebalance_timeout,
    ),
    "sync_timeout": Timer(
        lambda core: core.generation if core.deadline else None,
        lambda core, a: a.max_poll_interval_ms,
    ),
}
# A timer whose delay is drawn: the append of the assignment.
COMMIT = "append_committed"


def commit_key(core: Core) -> Hashable:
    """As `Timer.key`."""
    return core.generation if core.appending else None


LEFT_OUT = {
    "append_failed": "no append fails",
    "takeover_failed": "no append fails",
    "fail_over": "the coordinator stays where it is",
    "load": "the coordinator stays where it is",
    "disconnect": "no connection breaks under a parked request",
    "delay_request": "no message is held up for longer than its latency",
    "late_request": "no message is held up for longer than its latency",
    "late_commit": "nothing is committed",
    "send_commit": "nothing is committed",
    "fetch_offset": "nothing is committed, so no offset is fetched",
    "process_record": "processing is a rate (see `lag`)",
    "create_topic": "no topic comes",
    "delete_topic": "no topic goes",
    "change_subscription": "no member subscribes to other topics",
    "change_assignors": "no process lists other assignors",
    "lower_max_size": "group.max.size stays as it is",
    "read_config": "no connector changes",
    "update_config": "no connector changes",
    "lose_coordinator": "the coordinator answers in time",
    "remove_instance": "no administrator removes a member",
}


def undriven(spec: Spec) -> list[str]:
    """The rules of a spec of which nothing here says when they fire."""
    driven = {
        *AT_POLL, *AT_ONCE, *BEATS, *SESSIONS, *BY_LOSS, *BY_SCENARIO, *READS, *GIVES_UP, *APPENDS,
        *TIMERS, REFRESHES, COMMIT, DELAY, AFTER_DELAY, *LEFT_OUT,
    }  # fmt: skip
    return sorted(r.name for r in spec.rules if not r.urgent and r.name not in driven)
