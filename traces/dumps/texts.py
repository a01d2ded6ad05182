"""Keys and values of `__consumer_offsets` that a tool printed as its own texts, as records:
kafka-dump-log.sh before 3.8, and the console consumer's formatters before 3.8.

Source: DumpLogSegments.scala (OffsetsMessageParser), GroupMetadataManager.scala
(formatRecordKeyAndValue, OffsetsMessageFormatter, GroupMetadataMessageFormatter),
OffsetMetadataAndError.scala, GroupMetadata.scala and MemberMetadata.scala.
"""

from __future__ import annotations

import re
from typing import Any

from groupcheck.traces.dumps.record_values import (
    MEMBERS_READ,
    PARTITIONS_READ,
    Fields,
    RecordNotUnderstood,
    whole,
)
from groupcheck.traces.dumps.records import (
    Commit,
    EpochRecord,
    GenerationRecord,
    MemberRecord,
    Record,
    StoredMember,
    Tombstone,
)

_SHARE = re.compile(
    r"(?P<member>[^={},\[\]]{1,1000})=(?:\[(?P<some>[^\[\]]*)\](?::[0-9a-fA-F]*)?|[0-9a-fA-F]*)"
    r"(?=[,}])"
)
_COMMITTED = re.compile(r"\[(?P<group>.*),(?P<topic>[^,\[\]]+),(?P<n>\d{1,9})\]::(?P<value>.*)")
_OFFSET = re.compile(
    r"(?:OffsetAndMetadata\(offset=|\[OffsetMetadata\[|\[?offset=)(?P<offset>-?\d{1,19})\b"
)
_COMMIT_TIME = re.compile(r"\b(?:commitTimestamp=|CommitTime )(?P<time>\d{1,15})\b")
_GROUP = re.compile(r"(?P<group>.+?)::GroupMetadata\(groupId=(?P<body>.*)\Z")
_STATE = re.compile(
    r",? generation=(?P<generation>-?\d{1,9}), protocolType=.{0,200}?, currentState="
)
_MEMBER = re.compile(
    r"MemberMetadata\(memberId=(?P<id>[^,]*),"
    r"(?: groupInstanceId=(?:Some\((?P<instance>[^()]*)\)|None),)?"
    r"[^()]*? sessionTimeoutMs=(?P<session>\d{1,10}), rebalanceTimeoutMs=(?P<rebalance>\d{1,10})"
)
_COMMENT = re.compile(r"\A\s*(?:#|//|>)\s*(?=\[)")
"""What people put before a line of a formatter that they quote."""
_ID = r"(?:\S{0,250}-)?(?:[\w-]{22}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})"
_OF_MEMBER = re.compile(rf"(?P<group>.{{1,250}}?):(?P<member>{_ID})\Z")
"""The key group:member of consumer and share groups: the id is a UUID of Kafka or of Java."""
_MESSAGE = re.compile(
    rf"(?P<group>.{{1,250}}?)(?::(?P<member>{_ID}))?::(?P<protocol>Consumer|Share|Streams)Group"
    r"(?P<what>MemberMetadata|Metadata)Value\((?P<body>.*)\)\Z"
)
"""A message of Kafka's coordinator as its class prints it, behind the key group or group:member."""
_EPOCH = re.compile(r"\bepoch=(?P<epoch>\d{1,9})\b(?:.*\btype='(?P<type>\w{1,30})')?")
_INSTANCE = re.compile(r"\binstanceId='(?P<instance>[^']{1,250})'")
_TIMEOUT = re.compile(r"\brebalanceTimeoutMs=(?P<ms>\d{1,10})\b")
DELETED = ("<DELETE>", "<NULL>", "NULL", "null", "")
"""The text in place of the value of a tombstone."""


def commit(place: Fields, key: str, value: str) -> Record | None:
    """`offset_commit::group=g,partition=t-0` (2.4 to 3.7) or `offset::g:t:0` (before), with its
    value `offset=5` or `5`. Raises `RecordNotUnderstood` if the key or the offset is damaged.
    """
    if key.startswith("offset_commit::group="):
        group, _, partition = key.removeprefix("offset_commit::group=").rpartition(",partition=")
        topic, _, number = partition.rpartition("-")
    elif key.startswith("offset::"):
        group, topic, number = _three(key.removeprefix("offset::"))
    else:
        return None
    if not group or not topic or not _digits(number):
        raise RecordNotUnderstood("the key is damaged")
    offset = None
    if value not in DELETED:
        told = value.removeprefix("offset=").partition(",")[0].partition(":")[0]
        if not _digits(told.removeprefix("-")):
            raise RecordNotUnderstood("the offset is damaged")
        offset = int(told)
    return Commit(**place, group=group, topic=topic, number=int(number), offset=offset)


def _three(text: str) -> tuple[str, str, str]:
    rest, _, number = text.rpartition(":")
    group, _, topic = rest.rpartition(":")
    return group, topic, number


def _digits(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 19


def generation(place: Fields, group: str, value: Any) -> Record:
    """The value `{"protocolType":..,"protocol":..,"generationId":..,"assignment":"{m=[t-0]}"}`, or
    None for a tombstone. Raises `RecordNotUnderstood` if it is no object, or if its assignment is
    no text.
    """
    if value is None:
        return Tombstone(**place, group=group)
    if not isinstance(value, dict):
        raise RecordNotUnderstood("the group is not an object")
    told = value.get("assignment") or ""
    protocol = value.get("protocol") or ""
    if not isinstance(told, str) or not isinstance(protocol, str):
        raise RecordNotUnderstood("the assignment is not text")
    members = []
    for share in _SHARE.finditer(told):
        some = share["some"]
        named = None if some is None else [p.strip() for p in some.split(",", PARTITIONS_READ)]
        members.append(
            StoredMember(
                share["member"].strip(),
                partitions=None if named is None else frozenset(filter(None, named)),
            )
        )
        if len(members) >= MEMBERS_READ:
            break
    return GenerationRecord(
        **place,
        group=group,
        generation=whole(value, "generationId"),
        protocol=protocol,
        members=tuple(members),
    )


_OLD_GENERATION = re.compile(
    r"(?P<type>[^:]{0,200}):(?P<protocol>[^:{}]{0,200}):(?P<generation>-?\d{1,9}):(?P<shares>\{.*)",
    re.DOTALL,
)


def old_generation(place: Fields, group: str, value: str) -> Record:
    """`metadata::g` with its value `consumer:range:5:{m=[t-0]}` (0.9 to 0.11). Raises
    `RecordNotUnderstood` if it is damaged.
    """
    if value in DELETED:
        return Tombstone(**place, group=group)
    told = _OLD_GENERATION.fullmatch(value)
    if told is None:
        raise RecordNotUnderstood("the group is damaged")
    protocol = told["protocol"]
    return generation(
        place,
        group,
        {
            "protocol": "" if protocol == "null" else protocol,
            "generationId": int(told["generation"]),
            "assignment": told["shares"],
        },
    )


def formatter_record(place: Fields, line: str) -> Record | None:
    """A line of a console consumer with a formatter: `[g,t,0]::OffsetAndMetadata(offset=5, ...)` or
    `g::GroupMetadata(groupId=g, generation=1, ...)`; None if it is none. Raises
    `RecordNotUnderstood` if its offset or its group is damaged.
    """
    text = _COMMENT.sub("", line).strip()
    found = _COMMITTED.match(text)
    if found is not None:
        told = _OFFSET.match(found["value"])
        if told is None and found["value"] not in DELETED:
            raise RecordNotUnderstood("the offset is damaged")
        at = _COMMIT_TIME.search(found["value"])
        return Commit(
            **place | {"time": int(at["time"]) if at else None},
            group=found["group"],
            topic=found["topic"],
            number=int(found["n"]),
            offset=int(told["offset"]) if told else None,
        )
    group, _, value = text.rpartition("::")
    if group and value in ("NULL", "null") and (of := _OF_MEMBER.match(group)):
        # A member that left, or its part of the assignment: the group lives on.
        return MemberRecord(**place, group=of["group"], protocol="", member=of["member"])
    if group and value in ("NULL", "null"):
        return Tombstone(**place, group=group)
    found = _GROUP.match(text)
    if found is None:
        return _message(place, text)
    state = _STATE.search(found["body"])
    if state is None:
        raise RecordNotUnderstood("the group is damaged")
    members = tuple(
        StoredMember(m["id"], m["instance"], int(m["session"]), int(m["rebalance"]))
        for m in _MEMBER.finditer(found["body"], state.end())
    )
    return GenerationRecord(
        **place,
        group=found["group"],
        generation=int(state["generation"]),
        members=members[:MEMBERS_READ],
    )


def _message(place: Fields, text: str) -> Record | None:
    """`g::ShareGroupMetadataValue(epoch=1)` or `g:m::ShareGroupMemberMetadataValue(...)`."""
    found = _MESSAGE.match(text)
    if found is None:
        return None
    place, protocol = place | {"group": found["group"]}, found["protocol"].lower()
    if found["what"] == "MemberMetadata" and found["member"]:
        instance, ms = _INSTANCE.search(found["body"]), _TIMEOUT.search(found["body"])
        about = StoredMember(
            found["member"],
            instance["instance"] if instance else None,
            rebalance_ms=int(ms["ms"]) if ms else 0,
        )
        return MemberRecord(**place, protocol=protocol, member=about.id, about=about)
    epoch = _EPOCH.search(found["body"])
    if epoch is None or found["member"]:
        return None
    return EpochRecord(
        **place, protocol=(epoch["type"] or protocol).lower(), epoch=int(epoch["epoch"])
    )
