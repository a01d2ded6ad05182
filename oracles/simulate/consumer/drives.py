"""When each rule of a consumer group fires in a simulation."""

from __future__ import annotations

from groupcheck.model.engine import Spec
from groupcheck.model.protocol.consumer import client, client_faults, timers

# In a poll of the application.
SUBSCRIBES, POLLS_AGAIN = client.subscribe_all.name, client_faults.poll_again.name
TAKES, RETURNS = client.reconcile.name, client.callback_returns.name
# Each heartbeat interval, and at once where Java's member does not wait for it.
HEARTBEAT = client.send_consumer_heartbeat.name
# After the latency of a message.
REQUEST_ARRIVES, ANSWER_ARRIVES = client.request_arrives.name, client.answer_arrives.name
# The coordinator's timers.
SESSION, GHOST_SESSION = timers.session_timeout.name, timers.ghost_expires.name
REBALANCE, INTERVAL = timers.rebalance_timeout.name, timers.interval_passes.name
# A message is lost (`Assumptions.loss`).
LOSES_REQUEST = client_faults.lose_heartbeat.name
LOSES_ANSWER = client_faults.lose_answer.name
# Where a scenario says so, or the application polls too late.
CRASH, CLOSE = client_faults.crash.name, client_faults.close_consumer.name
POLL_TIMEOUT = client_faults.poll_timeout.name

DRIVEN = {
    SUBSCRIBES, POLLS_AGAIN, TAKES, RETURNS, HEARTBEAT, REQUEST_ARRIVES, ANSWER_ARRIVES,
    SESSION, GHOST_SESSION, REBALANCE, INTERVAL, LOSES_REQUEST, LOSES_ANSWER, CRASH, CLOSE,
    POLL_TIMEOUT,
}  # fmt: skip
LEFT_OUT = {
    client_faults.fail_append.name: "no append fails",
    client_faults.delay_heartbeat.name: "no message is held up for longer than its latency",
    client_faults.late_heartbeat.name: "no message is held up for longer than its latency",
    client_faults.change_subscription.name: "nobody subscribes to other topics",
    timers.move_coordinator.name: "the coordinator stays where it is",
    timers.add_partition.name: "the model adds one partition alone, the last",
}


def undriven(spec: Spec) -> list[str]:
    """The rules of a consumer group of which nothing here says when they fire."""
    return sorted(
        r.name
        for r in spec.rules
        if not r.urgent and r.name not in DRIVEN and r.name not in LEFT_OUT
    )
