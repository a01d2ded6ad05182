"""What a member says about itself in its requests, and what the leader gives away, as bytes of the
consumer protocol and as names: instance id, assignors, subscription, shares.
"""

from __future__ import annotations

import struct

from groupcheck.model.protocol import messages
from groupcheck.model.protocol.classic.group import Core, Seat, Seats
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.oracles.conform.takeovers import instance
from groupcheck.oracles.conform.whole.fitting import listed_by_all
from groupcheck.traces.messages.consumer_protocol import _ASSIGNMENT, SUBSCRIPTION
from groupcheck.traces.messages.message_bytes import encode

__all__ = ["TOPIC", "instance", "listed", "share_bytes", "subscription", "voted"]

TOPIC = "t"
SUBSCRIPTION_VERSION = 2  # the newest without racks
ASSIGNMENT_VERSION = 0


def subscription(said: messages.JoinGroup | Seat, topic: str = TOPIC) -> bytes:
    """A consumer's subscription to the topic: the partitions that it claims, and their
    generation.
    """
    claimed = [p for p in range(said.owned.bit_length()) if said.owned >> p & 1]
    owned = [{"topic": topic, "partitions": claimed}] if claimed else []
    given = {"topics": [topic], "owned": owned, "generation": said.claimed}
    return struct.pack(">h", SUBSCRIPTION_VERSION) + encode(
        SUBSCRIPTION, SUBSCRIPTION_VERSION, given
    )


def share_bytes(share: int, topic: str = TOPIC) -> bytes:
    """A share (bit mask) as the bytes of an assignment, which the coordinator does not look into;
    an empty share has none.
    """
    if not share:
        return b""
    numbers = [p for p in range(share.bit_length()) if share >> p & 1]
    given = {"assigned": [{"topic": topic, "partitions": numbers}], "user_data": None}
    return struct.pack(">h", ASSIGNMENT_VERSION) + encode(_ASSIGNMENT, ASSIGNMENT_VERSION, given)


def listed(seats: Seats, scope: Scope) -> tuple[str, ...]:
    """The assignors that a process lists in JoinGroup."""
    return seats.listed or (listed_by_all(scope),)


def voted(core: Core, scope: Scope) -> str:
    """The assignor of the group's last round."""
    return listed_by_all(scope) if core.assignor is None else scope.assignors_listed[core.assignor]
