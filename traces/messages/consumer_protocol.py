"""The bytes of the consumer protocol: what a member subscribes to, and what the leader assigns to
it (ConsumerProtocolSubscription.json, ConsumerProtocolAssignment.json).

They travel opaquely inside JoinGroup and SyncGroup: a version as int16, then the fields of that
version. Of a version that is newer than 3 the known fields are read, as Kafka does
(ConsumerProtocol.deserializeSubscription).
"""

from __future__ import annotations

from itertools import groupby
from operator import itemgetter
from typing import Any

from attrs import frozen

from groupcheck.traces.messages.apis import Structure, structure
from groupcheck.traces.messages.message_bytes import NUMBERS, Malformed, Reader, encode

NO_GENERATION = -1
Partitions = tuple[tuple[str, int], ...]


@frozen
class Subscription:
    """A member's subscription, as it sends it."""

    version: int
    topics: tuple[str, ...]
    user_data: bytes | None = None
    # (topic, partition), from version 1 on.
    owned: Partitions = ()
    # The generation that the member was in last, from version 2 on.
    generation: int = NO_GENERATION
    # From version 3 on.
    rack: str | None = None


def subscription(data: bytes) -> Subscription:
    """Decodes a member's subscription. Raises `Malformed`."""
    version, values = _read(data, _subscription())
    return Subscription(
        version,
        tuple(values["topics"]),
        values["userData"],
        _pairs(values.get("ownedPartitions", ())),
        values.get("generationId", NO_GENERATION),
        values.get("rackId"),
    )


def subscription_bytes(said: Subscription) -> bytes:
    """A member's subscription as it sends it, with the fields of its version."""
    values = {
        "topics": said.topics,
        "userData": said.user_data,
        "ownedPartitions": _topics(said.owned),
        "generationId": said.generation,
        "rackId": said.rack,
    }
    return _written(_subscription(), said.version, values)


def assignment(data: bytes) -> Partitions:
    """The partitions (topic, number) of an assignment, in the order given; no bytes mean no
    partitions. Raises `Malformed`.
    """
    return _pairs(_read(data, _assignment())[1]["assignedPartitions"]) if data else ()


def assignment_bytes(partitions: Partitions, version: int = 3) -> bytes:
    """The assignment of a member, as its leader sends it."""
    return _written(_assignment(), version, {"assignedPartitions": _topics(partitions)})


def _subscription() -> Structure:
    return structure("ConsumerProtocolSubscription")


def _assignment() -> Structure:
    return structure("ConsumerProtocolAssignment")


def _read(data: bytes, of: Structure) -> tuple[int, dict[str, Any]]:
    reader = Reader(data)
    version = reader.number("int16")
    if version < 0:
        raise Malformed(f"version {version}")
    return version, reader.fields(of.fields, version)


def _written(of: Structure, version: int, values: dict[str, Any]) -> bytes:
    return NUMBERS["int16"].pack(version) + encode(of.fields, version, values)


def _pairs(topics: Any) -> Partitions:
    return tuple((t["topic"], number) for t in topics for number in t["partitions"])


def _topics(partitions: Partitions) -> list[dict[str, Any]]:
    return [
        {"topic": topic, "partitions": [number for _, number in some]}
        for topic, some in groupby(partitions, key=itemgetter(0))
    ]
