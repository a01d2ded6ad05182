"""Sizes of messages on the wire, in bytes: the answer to JoinGroup, which lists all members for the
leader.

Kafka: JoinGroupResponse version 9 (flexible), ConsumerProtocolSubscription version 3.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from groupcheck.oracles.simulate.running import Group

MEMBER_ID = 46  # clientId-UUID with a client id of 9 characters
TOPIC = 20  # characters of the topic's name
PROTOCOL = 18  # cooperative-sticky, as long as any


def subscription_bytes(owned: int, instance: bool = False) -> int:
    """A member's subscription to one topic, with so many owned partitions."""
    version, array, user_data, generation, rack = 2, 4, 4, 4, 2
    topics = array + 2 + TOPIC
    claimed = array + ((2 + TOPIC + array + 4 * owned) if owned else 0)
    return version + topics + user_data + claimed + generation + rack


def join_answer_bytes(group: Group, leads: bool) -> int:
    """The answer to one JoinGroup, with its header and length."""
    length, header, throttle, error, generation, skip, tags = 4, 5, 4, 2, 4, 1, 1
    own = 2 * (1 + MEMBER_ID) + 2 * (1 + PROTOCOL)
    size = length + header + throttle + error + generation + skip + tags + own + 1
    if not leads:
        return size
    metadata = int(group.assumptions.metadata_bytes)
    listed = 0
    for index in range(group.size):
        seats = group.seats(index)
        for _, seat in seats:
            if seat.member:
                told = subscription_bytes(seat.owned.bit_count()) + metadata
                instance = 1 + (MEMBER_ID if seats.static else 0)
                listed += 1 + MEMBER_ID + instance + (1 if told < 127 else 2) + told + 1
    return size + 2 + listed
