"""What a change costs that the rebalances of a log do not show: deaths that are noticed later, what
brokers refuse, what the new protocol needs.
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import fmean

from groupcheck.oracles.replay.what_if.answer import WhatIf
from groupcheck.oracles.replay.what_if.change import LEAST_SESSION_MS, MOST_SESSION_MS
from groupcheck.oracles.replay.what_if.protocols import is_consumer, is_static, paced

LEAST_CONSUMER_SESSION_MS, MOST_CONSUMER_SESSION_MS = 45_000, 60_000
LEAST_CONSUMER_HEARTBEAT_MS, MOST_CONSUMER_HEARTBEAT_MS = 5_000, 15_000
"""Kafka 4.3.0 (GroupCoordinatorConfig): defaults of group.consumer.min.session.timeout.ms and so
on. A broker whose own setting lies outside of them does not start.
"""


def noticed(w: WhatIf) -> Iterator[str]:
    """The cost of a longer session, which a log without deaths does not show, and what members of
    KIP-848 meet.
    """
    (base, _), (variant, _) = w.baseline, w.changed
    before, after = (paced(*side).session_timeout_ms for side in (w.baseline, w.changed))
    session, other = f"{after / 1000:,g} s", f"{before / 1000:,g} s"
    consumer = is_consumer(variant)
    if is_static(variant) and not is_static(base):
        name = "group.consumer.session.timeout.ms" if consumer else "session.timeout.ms"
        yield (
            f"A static member that closes and does not come back is missed after up to {session}"
            f" ({name}); nobody reads its partitions until then."
        )
    elif after > before:
        yield (
            f"A process that dies is missed after up to {session} instead of {other}; nobody reads"
            f" its partitions until then.{_ends_before(w, after)}"
        )
    if times := fmean(w.refused[1]):
        seconds = w.changed[1].restart_ms / 1000
        yield (
            "Under KIP-848 a static member that died and is back before its session ends is refused"
            f" (UNRELEASED_INSTANCE_ID): {times:.1f} times on average its process ends and is"
            f" started again {seconds:,g} s later (restart_ms)."
        )
    if consumer and not is_consumer(base):
        yield (
            "group.protocol=consumer needs brokers of Kafka 4.0 or newer and clients that have it"
            " (Java 4.0, librdkafka 2.12). Heartbeats and sessions are then the broker's"
            " (group.consumer.heartbeat.interval.ms, group.consumer.session.timeout.ms), and the"
            " assignor is (group.remote.assignor)."
        )


def _ends_before(w: WhatIf, session_ms: float) -> str:
    """Says so where the log ends before the death of a process would have been noticed."""
    crashes = [h.at for h in w.outside.happenings if h.what == "crash"]
    last = max(h.at if h.until is None else h.until for h in w.outside.happenings)
    if crashes and max(crashes) + session_ms > last:
        return " The log ends before that, so more time is lost than is counted here."
    return ""


def bounds_of_sessions(w: WhatIf) -> Iterator[str]:
    """Values of the change that brokers refuse."""
    assumed = w.changed[1]
    session = assumed.session_timeout_ms
    known = "session_timeout_ms" in w.change.settings
    if known and not LEAST_SESSION_MS <= session <= MOST_SESSION_MS:
        yield (
            f"Brokers refuse a session.timeout.ms of {session:,.0f} by default:"
            f" group.min.session.timeout.ms is {LEAST_SESSION_MS:,}, and"
            f" group.max.session.timeout.ms {MOST_SESSION_MS:,}."
        )
    for what, least, most in (
        ("session.timeout", LEAST_CONSUMER_SESSION_MS, MOST_CONSUMER_SESSION_MS),
        ("heartbeat.interval", LEAST_CONSUMER_HEARTBEAT_MS, MOST_CONSUMER_HEARTBEAT_MS),
    ):
        name = f"consumer_{what.replace('.', '_')}_ms"
        value = getattr(assumed, name)
        if name in w.change.settings and not least <= value <= most:
            yield (
                f"A broker does not start with a group.consumer.{what}.ms of {value:,.0f} unless"
                f" others change with it: group.consumer.min.{what}.ms is {least:,} by default, and"
                f" group.consumer.max.{what}.ms {most:,}."
            )
