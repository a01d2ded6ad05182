"""The statements of a member about itself in its requests, as bytes and names: its instance id, the
assignors that it lists, its subscription with the partitions that it claims.
"""

from __future__ import annotations

from groupcheck.model.protocol import messages
from groupcheck.model.protocol.classic.group import Core, Seat, Seats
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.oracles.conform.takeovers import instance
from groupcheck.oracles.conform.whole.fitting import listed_by_all
from groupcheck.traces.messages.consumer_protocol import Subscription, subscription_bytes

__all__ = ["TOPIC", "instance", "listed", "subscription", "voted"]

TOPIC = "t"
VERSION = 2  # of the subscription: the newest without racks


def subscription(said: messages.JoinGroup | Seat) -> bytes:
    """A consumer's subscription to the topic: the partitions that it claims, and their
    generation.
    """
    owned = tuple((TOPIC, p) for p in range(said.owned.bit_length()) if said.owned >> p & 1)
    return subscription_bytes(Subscription(VERSION, (TOPIC,), b"", owned, said.claimed))


def listed(seats: Seats, scope: Scope) -> tuple[str, ...]:
    """The assignors that a process lists in JoinGroup."""
    return seats.listed or (listed_by_all(scope),)


def voted(core: Core, scope: Scope) -> str:
    """The assignor of the group's last round."""
    return listed_by_all(scope) if core.assignor is None else scope.assignors_listed[core.assignor]
