"""The bytes of the consumer protocol: what a member subscribes to, and what the leader assigns to
it (ConsumerProtocolSubscription.json, ConsumerProtocolAssignment.json).

They travel opaquely inside JoinGroup and SyncGroup: a version as int16, then the fields of that
version. Of a version that is newer than 3 the known fields are read, as Kafka does
(ConsumerProtocol.deserializeSubscription).
"""

from __future__ import annotations

from typing import Any

from attrs import frozen

from groupcheck.traces.messages.message_bytes import Field, Malformed, Reader

NO_GENERATION = -1
_PARTITIONS = (Field("topic", "string"), Field("partitions", "[]int32"))
SUBSCRIPTION = (
    Field("topics", "[]string"),
    Field("user_data", "nullable_bytes"),
    Field("owned", _PARTITIONS, 1),
    Field("generation", "int32", 2),
    Field("rack", "nullable_string", 3),
)
_ASSIGNMENT = (Field("assigned", _PARTITIONS), Field("user_data", "nullable_bytes"))
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
    version, values = _read(data, SUBSCRIPTION)
    values |= {"topics": tuple(values["topics"]), "owned": _pairs(values.get("owned", ()))}
    return Subscription(version, **values)


def assignment(data: bytes) -> Partitions:
    """The partitions (topic, number) of an assignment, in the order given; no bytes mean no
    partitions. Raises `Malformed`.
    """
    return _pairs(_read(data, _ASSIGNMENT)[1]["assigned"]) if data else ()


def _read(data: bytes, fields: tuple[Field, ...]) -> tuple[int, dict[str, Any]]:
    reader = Reader(data)
    version = reader.number("int16")
    if version < 0:
        raise Malformed(f"version {version}")
    return version, reader.fields(fields, version)


def _pairs(topics: Any) -> Partitions:
    return tuple((t["topic"], number) for t in topics for number in t["partitions"])
