"""What a member says about itself in its requests, and what the leader gives away, as bytes of the
consumer protocol and as names: instance id, assignors, subscription, shares.
"""

from __future__ import annotations

from groupcheck.model.protocol import messages
from groupcheck.model.protocol.classic.group import Seat, Seats
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.oracles.conform.takeovers import instance
from groupcheck.traces.messages.consumer_protocol import (
    Partitions,
    Subscription,
    assignment_bytes,
    subscription_bytes,
)

__all__ = ["TOPIC", "instance", "listed", "share_bytes", "subscription"]

TOPIC = "t"
SUBSCRIPTION_VERSION = 2  # the newest without racks


def subscription(said: messages.JoinGroup | Seat, topic: str = TOPIC) -> bytes:
    """A consumer's subscription to the topic: the partitions that it claims, and their
    generation.
    """
    owned = _partitions(said.owned, topic)
    return subscription_bytes(
        Subscription(SUBSCRIPTION_VERSION, (topic,), b"", owned, said.claimed)
    )


def share_bytes(share: int, topic: str = TOPIC) -> bytes:
    """A share (bit mask) as the bytes of an assignment, which the coordinator does not look into;
    an empty share has none.
    """
    return assignment_bytes(_partitions(share, topic)) if share else b""


def _partitions(mask: int, topic: str) -> Partitions:
    return tuple((topic, p) for p in range(mask.bit_length()) if mask >> p & 1)


def listed(seats: Seats, scope: Scope) -> tuple[str, ...]:
    """The assignors that a process lists in JoinGroup."""
    return seats.listed or (scope.listed_by_all,)
