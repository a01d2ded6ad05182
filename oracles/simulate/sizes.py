"""Sizes of messages on the wire, in bytes: the answer to JoinGroup, which lists all members for the
leader. They are those of messages that are written by the tables of the wire formats.

Kafka: JoinGroupResponse version 9, ConsumerProtocolSubscription version 3.
"""

from __future__ import annotations

import struct
from functools import cache
from typing import Any

from groupcheck.oracles.simulate.parts import Parts
from groupcheck.oracles.wire.formats import JOIN_GROUP
from groupcheck.traces.consumer_protocol import SUBSCRIPTION
from groupcheck.traces.message_bytes import written

VERSION, OF_SUBSCRIPTION = 9, 3
MEMBER = "m" * 46  # CLIENT-UUID, with a client id of nine characters
INSTANCE, TOPIC, PROTOCOL = "i" * 9, "t" * 20, "cooperative-sticky"


def subscription(owned: int, user_data: int = 0) -> bytes:
    """A member's subscription to one topic, of which it owns so many partitions, with so many bytes
    of user data.
    """
    claimed = [{"topic": TOPIC, "partitions": list(range(owned))}] if owned else []
    values: dict[str, Any] = {"topics": [TOPIC], "owned": claimed, "user_data": b"u" * user_data}
    return struct.pack(">h", OF_SUBSCRIPTION) + written(SUBSCRIPTION, OF_SUBSCRIPTION, values)


def answer(members: list[dict[str, Any]]) -> bytes:
    """A whole answer to JoinGroup that lists these members."""
    values = {
        "protocol_type": "consumer",
        "protocol": PROTOCOL,
        "leader": MEMBER,
        "member": MEMBER,
        "members": members,
    }
    head = struct.pack(">i", 0) + b"\0"  # the number of the request, and tagged fields
    body = head + written(JOIN_GROUP.response, VERSION, values, flexible=True)
    return struct.pack(">i", len(body)) + body


@cache
def entry_bytes(owned: int, static: bool, user_data: int) -> int:
    """What one more member adds to the leader's answer."""
    instance = INSTANCE if static else None
    member = {"member": MEMBER, "instance": instance, "metadata": subscription(owned, user_data)}
    return len(answer([member])) - len(answer([]))


@cache
def empty_bytes() -> int:
    """The answer to a member that does not lead."""
    return len(answer([]))


def join_answer_bytes(group: Parts, leads: bool) -> int:
    """The answer to one JoinGroup; the length of the list of members itself counts as one byte."""
    if not leads:
        return empty_bytes()
    user_data = int(group.assumptions.metadata_bytes)
    return empty_bytes() + sum(
        entry_bytes(seat.owned.bit_count(), seats.static, user_data)
        for seats in map(group.seats, range(group.size))
        for _, seat in seats
        if seat.member
    )
