"""The records of the offsets log as plain values."""

from __future__ import annotations

import json as text
from typing import Any

from attrs import frozen

from groupcheck.oracles.kafka.answers import Subscribed, assigned, subscribed
from groupcheck.oracles.kafka.values import Partitions


@frozen
class Record:
    """What every record has: its place in the log. `producer`: of the transaction that it is part
    of.
    """

    offset: int
    producer: int | None


@frozen
class LoggedMember:
    """A member in a group's metadata (`MemberMetadata` of GroupMetadataValue)."""

    member: str
    instance: str | None
    session_timeout_ms: int
    rebalance_timeout_ms: int
    subscription: Subscribed
    assigned: Partitions | str | None


@frozen
class GroupRecord(Record):
    """A classic group's metadata, members sorted by name; `tombstone`: the group is deleted."""

    group: str
    tombstone: bool
    type: str | None = None
    generation: int = 0
    protocol: str | None = None
    leader: str | None = None
    timestamp_ms: int = -1
    members: tuple[LoggedMember, ...] = ()


@frozen
class OffsetRecord(Record):
    """A committed offset; None where it is deleted."""

    group: str
    topic: str
    partition: int
    committed: int | None


@frozen
class MarkerRecord(Record):
    """The end of the producer's transaction."""

    commit: bool


@frozen
class OtherRecord(Record):
    """A record of another protocol: its kind, and key and value as Kafka's own JSON (names for ids,
    keys sorted); None for a tombstone.
    """

    kind: str
    key: str
    value: str | None


def _sorted(value: Any) -> str:
    return text.dumps(value, sort_keys=True)


def record(json: dict[str, Any]) -> Record:
    """A record's JSON as a value."""
    offset, producer, kind = json["offset"], json.get("producer"), json["kind"]
    if kind == "marker":
        return MarkerRecord(offset, producer, json["commit"])
    key, value = json["key"], json["value"]
    if kind == "GroupMetadata":
        return _group(offset, producer, key["group"], value)
    if kind == "OffsetCommit":
        return OffsetRecord(
            offset,
            producer,
            key["group"],
            key["topic"],
            key["partition"],
            None if value is None else value["offset"],
        )
    return OtherRecord(
        offset, producer, kind, _sorted(key), None if value is None else _sorted(value)
    )


def _group(
    offset: int, producer: int | None, group: str, value: dict[str, Any] | None
) -> GroupRecord:
    if value is None:
        return GroupRecord(offset, producer, group, True)
    members = tuple(
        LoggedMember(
            m["member"],
            m["instance"],
            m["sessionTimeoutMs"],
            m["rebalanceTimeoutMs"],
            subscribed(m),
            assigned(m["assigned"]),
        )
        for m in sorted(value["members"], key=lambda m: str(m["member"]))
    )
    head = (
        value["type"],
        value["generation"],
        value["protocol"],
        value["leader"],
        value["timestamp"],
    )
    return GroupRecord(offset, producer, group, False, *head, members)
