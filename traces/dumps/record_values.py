"""Keys and values of `__consumer_offsets` that a tool printed as JSON (`{"type":"2","data":...}`,
Kafka 3.8 on), as records. Values come from outside: what does not fit is `RecordNotUnderstood`.

Source: CoordinatorRecordType and the message definitions of kafka-group-coordinator.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping
from typing import Any

from groupcheck.traces.dumps.records import (
    AssignmentRecord,
    Commit,
    EpochRecord,
    GenerationRecord,
    MemberRecord,
    OtherRecord,
    Partitions,
    Record,
    StoredMember,
    TargetRecord,
    Tombstone,
)
from groupcheck.traces.messages.consumer_protocol import assignment
from groupcheck.traces.messages.message_bytes import Malformed

Fields = dict[str, Any]
_LARGEST = 1 << 63
MEMBERS_READ = 20_000
PARTITIONS_READ = 200_000
"""Of one record."""


class RecordNotUnderstood(ValueError):
    """A line of a dump that does not have the form that it should have."""


def record(place: Fields, key: Any, value: Any) -> Record | None:
    """The record of a key and its value (None: a tombstone); None if it concerns no group. `place`:
    the fields that all records have, without the group.
    """
    kind, data = _typed(key)
    if kind is None:
        return None
    read = _READERS.get(kind)
    group = _text(data, "group") or _text(data, "groupId")
    if read is None or not group:
        return None
    body = None if value is None else _part(value, "data")
    return read(place | {"group": group}, data, body)


def _typed(key: Any) -> tuple[int | None, Fields]:
    """The number of the key's type, which some versions call its version, and its fields."""
    if not isinstance(key, dict):
        raise RecordNotUnderstood("the key is not an object")
    told = key.get("type", key.get("version"))
    number = str(told)
    if not number.isascii() or not number.isdigit():
        return None, {}
    return int(number[:9]), _part(key, "data")


# -- values of a file that is not trusted


def _part(fields: Any, name: str) -> Fields:
    value = fields.get(name) if isinstance(fields, dict) else None
    if not isinstance(value, dict):
        raise RecordNotUnderstood(f"{name} is missing")
    return value


def whole(fields: Mapping[str, Any], name: str, default: int | None = None) -> int:
    """A field that is a whole number. Raises `RecordNotUnderstood` if it is none."""
    value = fields.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) > _LARGEST:
        raise RecordNotUnderstood(f"{name} is not a number")
    return value


def _text(fields: Fields, name: str) -> str:
    value = fields.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise RecordNotUnderstood(f"{name} is not text")
    return value


def _list(fields: Fields, name: str, most: int) -> list[Fields]:
    value = fields.get(name)
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value[:most]):
        raise RecordNotUnderstood(f"{name} is not a list")
    return value[:most]


def _shares(fields: Fields, name: str) -> Partitions:
    """`[{"topic": "t", "partitions": [0, 1]}]` as names."""
    found = [
        (_text(t, "topic") or _text(t, "topicId"), n)
        for t in _list(fields, name, PARTITIONS_READ)
        for n in (t.get("partitions") or ())
    ]
    if not all(isinstance(n, int) for _, n in found):
        raise RecordNotUnderstood(f"{name} are not partitions")
    return frozenset(f"{topic}-{n}" for topic, n in found[:PARTITIONS_READ])


def _since(fields: Fields, name: str) -> int | None:
    time = whole(fields, name, -1)
    return time if time >= 0 else None


def _dated(place: Fields, time: int | None) -> Fields:
    """With a time that the value tells, if the tool prints no other."""
    return place | {"time": time} if place["time"] is None else place


# -- one reader for each type of key


def _commit(place: Fields, key: Fields, value: Fields | None) -> Record:
    told = None if value is None else _since(value, "commitTimestamp")
    return Commit(
        **_dated(place, told),
        topic=_text(key, "topic"),
        number=whole(key, "partition"),
        offset=None if value is None else whole(value, "offset"),
        topic_id="" if value is None else _text(value, "topicId"),
    )


def _generation(place: Fields, key: Fields, value: Fields | None) -> Record:
    if value is None:
        return Tombstone(**place)
    members = tuple(_member(m) for m in _list(value, "members", MEMBERS_READ))
    since = _since(value, "currentStateTimestamp")
    return GenerationRecord(
        **_dated(place, since),
        generation=whole(value, "generation"),
        protocol=_text(value, "protocol"),
        leader=_text(value, "leader"),
        members=members,
        since=since,
    )


def _member(m: Fields) -> StoredMember:
    return StoredMember(
        _text(m, "memberId"),
        m.get("groupInstanceId") and _text(m, "groupInstanceId"),
        whole(m, "sessionTimeout", 0),
        whole(m, "rebalanceTimeout", 0),
        _assigned(m.get("assignment")),
        _subscribed(m.get("subscription")),
    )


def _subscribed(told: Any) -> frozenset[str] | None:
    """The topics, where the tool decoded them."""
    topics = told.get("topics") if isinstance(told, dict) else None
    return frozenset(map(str, topics)) if isinstance(topics, list) else None


def _assigned(told: Any) -> Partitions | None:
    """A share, decoded by the tool, or its bytes in base64."""
    if isinstance(told, dict):
        return _shares(told, "assignedPartitions")
    if not isinstance(told, str):
        return None
    try:
        return frozenset(f"{t}-{n}" for t, n in assignment(base64.b64decode(told, validate=True)))
    except (Malformed, binascii.Error, ValueError):
        return None


def _epoch(protocol: str, name: str) -> Callable[[Fields, Fields, Fields | None], Record]:
    target = name == "assignmentEpoch"

    def read(place: Fields, key: Fields, value: Fields | None) -> Record:
        if value is None:
            return OtherRecord(**place) if target else Tombstone(**place, protocol=protocol)
        return EpochRecord(**place, protocol=protocol, epoch=whole(value, name), target=target)

    return read


def _joined(protocol: str) -> Callable[[Fields, Fields, Fields | None], Record]:
    def read(place: Fields, key: Fields, value: Fields | None) -> Record:
        id = _text(key, "memberId")
        if value is None:
            return MemberRecord(**place, protocol=protocol, member=id)
        about = StoredMember(
            id,
            value.get("instanceId") and _text(value, "instanceId"),
            rebalance_ms=max(whole(value, "rebalanceTimeoutMs", 0), 0),
        )
        return MemberRecord(**place, protocol=protocol, member=id, about=about)

    return read


_STATES = {0: "STABLE", 1: "UNREVOKED_PARTITIONS", 2: "UNRELEASED_PARTITIONS"}
"""org.apache.kafka.coordinator.group.modern.MemberState."""


def _given(protocol: str) -> Callable[[Fields, Fields, Fields | None], Record]:
    def read(place: Fields, key: Fields, value: Fields | None) -> Record:
        told: Fields = {"protocol": protocol, "member": _text(key, "memberId")}
        if value is None:
            return AssignmentRecord(**place, **told)
        revoking = _shares(value, "partitionsPendingRevocation")
        # Members of share groups have no state, and those of streams groups have others.
        state = _STATES.get(whole(value, "state", 0), "") if protocol == "consumer" else ""
        return AssignmentRecord(
            **place,
            **told,
            epoch=whole(value, "memberEpoch"),
            partitions=_shares(value, "assignedPartitions") | revoking,
            revoking=revoking,
            stable=value.get("state", 0) == 0 and not revoking,
            state=state,
        )

    return read


def _planned(place: Fields, key: Fields, value: Fields | None) -> Record:
    some = None if value is None else _shares(value, "topicPartitions")
    return TargetRecord(**place, member=_text(key, "memberId"), partitions=some)


def _ignored(place: Fields, key: Fields, value: Fields | None) -> Record:
    return OtherRecord(**place)


_READERS: dict[int, Callable[[Fields, Fields, Fields | None], Record]] = {
    0: _commit,
    1: _commit,
    2: _generation,
    3: _epoch("consumer", "epoch"),
    4: _ignored,
    5: _joined("consumer"),
    6: _epoch("consumer", "assignmentEpoch"),
    7: _planned,
    8: _given("consumer"),
    10: _joined("share"),
    11: _epoch("share", "epoch"),
    12: _epoch("share", "assignmentEpoch"),
    13: _ignored,
    14: _given("share"),
    15: _ignored,
    16: _ignored,
    17: _epoch("streams", "epoch"),
    18: _ignored,
    19: _joined("streams"),
    20: _epoch("streams", "assignmentEpoch"),
    21: _ignored,
    22: _given("streams"),
    23: _ignored,
}
