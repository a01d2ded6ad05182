"""Sizes of messages on the wire, in bytes: the answer to JoinGroup, which lists all members for the
leader. They are those of messages that the codec writes.

Kafka: JoinGroupResponse version 9, ConsumerProtocolSubscription version 3; and what a worker of
Connect says in the place of a subscription (IncrementalCooperativeConnectProtocol version 2).
"""

from __future__ import annotations

import struct
from functools import cache
from typing import Any

from groupcheck.oracles.simulate.parts import Parts
from groupcheck.traces.messages.apis import api, response_bytes
from groupcheck.traces.messages.consumer_protocol import Subscription, subscription_bytes

VERSION, OF_SUBSCRIPTION = 9, 3
MEMBER = "m" * 46  # CLIENT-UUID, with a client id of nine characters
INSTANCE, TOPIC, CONNECTOR, URL = "i" * 9, "t" * 20, "c" * 20, "http://worker-0000:8083/"
CONSUMERS = ("consumer", "cooperative-sticky")  # type and name of the protocol
WORKERS = ("connect", "sessioned")


def subscription(owned: int, user_data: int = 0) -> bytes:
    """A member's subscription to one topic, of which it owns so many partitions, with so many bytes
    of user data.
    """
    claimed = tuple((TOPIC, partition) for partition in range(owned))
    return subscription_bytes(Subscription(OF_SUBSCRIPTION, (TOPIC,), b"u" * user_data, claimed))


def worker_state(tasks: int) -> bytes:
    """The state that a worker reports if it runs so many tasks of one connector. One that runs
    nothing reports no assignment, as it does before its first one.
    """
    state = struct.pack(">h", 2) + _string(URL) + struct.pack(">q", 0)
    if not tasks:
        return state + struct.pack(">i", -1)
    assignment = struct.pack(">hh", 2, 0) + _string(MEMBER) + _string(URL) + struct.pack(">q", 0)
    assignment += struct.pack(">i", 1) + _string(CONNECTOR)
    assignment += struct.pack(f">i{tasks}i", tasks, *range(tasks))
    assignment += struct.pack(">ii", 0, 0)  # nothing revoked, no delay
    return state + struct.pack(">i", len(assignment)) + assignment


def _string(text: str) -> bytes:
    return struct.pack(">h", len(text)) + text.encode()


def answer(members: list[dict[str, Any]], protocol: tuple[str, str] = CONSUMERS) -> bytes:
    """A whole answer to JoinGroup that lists these members."""
    values = {
        "protocolType": protocol[0],
        "protocolName": protocol[1],
        "leader": MEMBER,
        "memberId": MEMBER,
        "members": members,
    }
    return response_bytes(api("JoinGroup"), VERSION, 0, values)


@cache
def entry_bytes(owned: int, static: bool, user_data: int) -> int:
    """The bytes that one more member adds to the leader's answer."""
    return _entry(INSTANCE if static else None, subscription(owned, user_data))


@cache
def worker_bytes(tasks: int) -> int:
    """The bytes that one more worker adds to the leader's answer."""
    return _entry(None, worker_state(tasks))


def _entry(instance: str | None, metadata: bytes) -> int:
    member = {"memberId": MEMBER, "groupInstanceId": instance, "metadata": metadata}
    return len(answer([member])) - len(answer([]))


@cache
def empty_bytes(protocol: tuple[str, str] = CONSUMERS) -> int:
    """The answer to a member that does not lead."""
    return len(answer([], protocol))


def join_answer_bytes(group: Parts, leads: bool) -> int:
    """The answer to one JoinGroup; the length of the list of members itself counts as one byte."""
    if "worker" in group.world.first:
        of_workers = (
            worker_bytes(seat.owned.bit_count())
            for seats in map(group.seats, range(group.size))
            for _, seat in seats
            if seat.member and leads
        )
        return empty_bytes(WORKERS) + sum(of_workers)
    if not leads:
        return empty_bytes()
    user_data = int(group.assumptions.metadata_bytes)
    return empty_bytes() + sum(
        entry_bytes(seat.owned.bit_count(), seats.static, user_data)
        for seats in map(group.seats, range(group.size))
        for _, seat in seats
        if seat.member
    )
