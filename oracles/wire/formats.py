"""The five group APIs as data: the fields of each request and answer, and a whole request or answer
as bytes.

Source: the message definitions of Apache Kafka (clients/src/main/resources/common/message,
JoinGroupRequest.json and so on).
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any

from attrs import frozen

from groupcheck.traces.message_bytes import Field, Malformed, Reader, written


@frozen
class Api:
    key: int
    name: str
    # The first version with compact lengths and tagged fields (KIP-482).
    flexible: int
    # The versions that are spoken here.
    oldest: int
    newest: int
    request: tuple[Field, ...]
    response: tuple[Field, ...]


_INSTANCE = "nullable_string"
_THROTTLE = "throttle_time_ms"
_HEADER = (
    Field("key", "int16"),
    Field("version", "int16"),
    Field("number", "int32"),
    Field("client", "string"),
)

JOIN_GROUP = Api(
    key=11,
    name="JoinGroup",
    flexible=6,
    oldest=4,
    newest=9,
    request=(
        Field("group", "string"),
        Field("session_timeout_ms", "int32"),
        Field("rebalance_timeout_ms", "int32", 1),
        Field("member", "string"),
        Field("instance", _INSTANCE, 5),
        Field("protocol_type", "string"),
        Field("protocols", (Field("name", "string"), Field("metadata", "bytes"))),
        Field("reason", "nullable_string", 8),
    ),
    response=(
        Field(_THROTTLE, "int32", 2),
        Field("error", "int16"),
        Field("generation", "int32"),
        Field("protocol_type", "nullable_string", 7),
        Field("protocol", "nullable_string"),
        Field("leader", "string"),
        Field("skip_assignment", "int8", 9),
        Field("member", "string"),
        Field(
            "members",
            (
                Field("member", "string"),
                Field("instance", _INSTANCE, 5),
                Field("metadata", "bytes"),
            ),
        ),
    ),
)
SYNC_GROUP = Api(
    key=14,
    name="SyncGroup",
    flexible=4,
    oldest=0,
    newest=5,
    request=(
        Field("group", "string"),
        Field("generation", "int32"),
        Field("member", "string"),
        Field("instance", _INSTANCE, 3),
        Field("protocol_type", "nullable_string", 5),
        Field("protocol", "nullable_string", 5),
        Field("assignments", (Field("member", "string"), Field("assignment", "bytes"))),
    ),
    response=(
        Field(_THROTTLE, "int32", 1),
        Field("error", "int16"),
        Field("protocol_type", "nullable_string", 5),
        Field("protocol", "nullable_string", 5),
        Field("assignment", "bytes"),
    ),
)
HEARTBEAT = Api(
    key=12,
    name="Heartbeat",
    flexible=4,
    oldest=0,
    newest=4,
    request=(
        Field("group", "string"),
        Field("generation", "int32"),
        Field("member", "string"),
        Field("instance", _INSTANCE, 3),
    ),
    response=(Field(_THROTTLE, "int32", 1), Field("error", "int16")),
)
LEAVE_GROUP = Api(
    key=13,
    name="LeaveGroup",
    flexible=4,
    oldest=0,
    newest=5,
    request=(
        Field("group", "string"),
        Field("member", "string", 0, 2),
        Field(
            "members",
            (
                Field("member", "string"),
                Field("instance", _INSTANCE),
                Field("reason", "nullable_string", 5),
            ),
            3,
        ),
    ),
    response=(
        Field(_THROTTLE, "int32", 1),
        Field("error", "int16"),
        Field(
            "members",
            (Field("member", "string"), Field("instance", _INSTANCE), Field("error", "int16")),
            3,
        ),
    ),
)
OFFSET_COMMIT = Api(
    key=8,
    name="OffsetCommit",
    flexible=8,
    oldest=2,
    newest=9,
    request=(
        Field("group", "string"),
        Field("generation", "int32"),
        Field("member", "string"),
        Field("instance", _INSTANCE, 7),
        Field("retention_ms", "int64", 2, 4),
        Field(
            "topics",
            (
                Field("topic", "string"),
                Field(
                    "partitions",
                    (
                        Field("partition", "int32"),
                        Field("offset", "int64"),
                        Field("leader_epoch", "int32", 6),
                        Field("metadata", "nullable_string"),
                    ),
                ),
            ),
        ),
    ),
    response=(
        Field(_THROTTLE, "int32", 3),
        Field(
            "topics",
            (
                Field("topic", "string"),
                Field("partitions", (Field("partition", "int32"), Field("error", "int16"))),
            ),
        ),
    ),
)
APIS = (JOIN_GROUP, SYNC_GROUP, HEARTBEAT, LEAVE_GROUP, OFFSET_COMMIT)


def request_bytes(
    api: Api, version: int, number: int, client: str, values: Mapping[str, Any]
) -> bytes:
    """A whole request with its length, header and body; a field that has no value has its default.
    `version` may be one that does not exist.
    """
    flexible = version >= api.flexible
    head = {"key": api.key, "version": version, "number": number, "client": client}
    body = written(_HEADER, 0, head) + (b"\0" if flexible else b"")
    body += written(api.request, version, values, flexible)
    return struct.pack(">i", len(body)) + body


def response_values(api: Api, version: int, body: bytes) -> dict[str, Any]:
    """The fields of an answer, without its length and its correlation id. Raises `Malformed`."""
    reader = Reader(body, version >= api.flexible)
    if reader.flexible:
        reader.tags()
    values = reader.fields(api.response, version)
    if reader.left():
        raise Malformed(
            f"{reader.left()} bytes too many in an answer to {api.name} version {version}"
        )
    return values
