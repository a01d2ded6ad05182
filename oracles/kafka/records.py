"""The records of the offsets log as plain values."""

from __future__ import annotations

import json as text

from attrs import frozen

from groupcheck.oracles.kafka.answers import Subscription
from groupcheck.oracles.kafka.reading import Assigned, Json, read


@frozen
class Record:
    """The fields that every record has."""

    # Its place in the log.
    offset: int
    # The producer of the transaction that it is part of.
    producer: int | None


@frozen
class LoggedMember:
    """A member in a group's metadata (`MemberMetadata` of GroupMetadataValue)."""

    member: str
    instance: str | None
    session_timeout_ms: int
    rebalance_timeout_ms: int
    subscription: Subscription
    assigned: Assigned


@frozen
class GroupRecord(Record):
    """A classic group's metadata."""

    group: str
    # The group is deleted; the fields below then have their defaults.
    tombstone: bool
    type: str | None = None
    generation: int = 0
    protocol: str | None = None
    leader: str | None = None
    timestamp_ms: int = -1
    # Sorted by name.
    members: tuple[LoggedMember, ...] = ()


@frozen
class OffsetRecord(Record):
    group: str
    topic: str
    partition: int
    # None: the offset is deleted.
    committed: int | None


@frozen
class MarkerRecord(Record):
    """The end of the producer's transaction."""

    commit: bool


@frozen
class OtherRecord(Record):
    """A record of another protocol."""

    kind: str
    # Key and value as Kafka's own JSON with sorted keys and names for ids; None for a tombstone.
    key: str
    value: str | None


def record(json: Json) -> Record:
    kind, key, value = json["kind"], json.get("key", {}), json.get("value")
    given = {"producer": None, **json, **key, "tombstone": value is None}
    if kind == "marker":
        return read(given, MarkerRecord)
    if kind == "GroupMetadata":
        about = value or {"timestamp": -1, "members": ()}
        members = sorted(about["members"], key=lambda m: str(m["member"]))
        given |= {**about, "timestampMs": about["timestamp"], "members": members}
        return read(given, GroupRecord)
    if kind == "OffsetCommit":
        return read({**given, "committed": value and value["offset"]}, OffsetRecord)
    texts = (None if part is None else text.dumps(part, sort_keys=True) for part in (key, value))
    return read({**given, **dict(zip(("key", "value"), texts))}, OtherRecord)
