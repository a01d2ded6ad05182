"""The five group APIs as they are spoken here, and a whole request or answer as bytes. Their fields
are those of traces/captures/apis.py, with our words for them.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any

from attrs import evolve, frozen

from groupcheck.traces.captures.apis import APIS as KNOWN
from groupcheck.traces.messages.message_bytes import Field, Malformed, Reader, encode


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

    @property
    def oldest_of_instances(self) -> int:
        """The first version in which a request names an instance (KIP-345)."""
        entries = [f.kind for f in self.request if f.name == "members"]
        every = [*self.request, *(f for kind in entries for f in kind if isinstance(f, Field))]
        return max(self.oldest, *(f.since for f in every if f.name == "instance"))


_HEADER = (
    Field("key", "int16"),
    Field("version", "int16"),
    Field("number", "int32"),
    Field("client", "string"),
)

# Kafka's name of a field -> the word for it here, as the model has it. The name of a topic is its
# topic; that of a protocol stays a name.
_WORDS = {
    "groupId": "group",
    "memberId": "member",
    "groupInstanceId": "instance",
    "generationId": "generation",
    "generationIdOrMemberEpoch": "generation",
    "sessionTimeoutMs": "session_timeout_ms",
    "rebalanceTimeoutMs": "rebalance_timeout_ms",
    "protocolType": "protocol_type",
    "protocolName": "protocol",
    "skipAssignment": "skip_assignment",
    "retentionTimeMs": "retention_ms",
    "partitionIndex": "partition",
    "committedOffset": "offset",
    "committedLeaderEpoch": "leader_epoch",
    "committedMetadata": "metadata",
    "errorCode": "error",
    "throttleTimeMs": "throttle_time_ms",
}


def _ours(fields: tuple[Field, ...], array: str = "") -> tuple[Field, ...]:
    """The fields with our words for them; `array`: what they are the fields of an entry of."""
    return tuple(
        evolve(
            field,
            name="topic" if (array, field.name) == ("topics", "name") else _word(field.name),
            kind=_ours(field.kind, field.name) if isinstance(field.kind, tuple) else field.kind,
        )
        for field in fields
    )


def _word(name: str) -> str:
    return _WORDS.get(name, name)


def _api(key: int, oldest: int, newest: int) -> Api:
    """The API with this key, in the versions that are spoken here."""
    known = KNOWN[key]
    name = known.name.title().replace("_", "")
    request, response = _ours(known.request), _ours(known.response)
    return Api(key, name, known.flexible, oldest, newest, request, response)


SKIPS_ASSIGNMENT = 9  # of JoinGroup: a leader that comes back makes no plan (KIP-814)
TWO_STEP = 4  # of JoinGroup: a member without an id is told to come again with one (KIP-394)
JOIN_GROUP = _api(11, oldest=2, newest=9)
SYNC_GROUP = _api(14, oldest=0, newest=5)
HEARTBEAT = _api(12, oldest=0, newest=4)
LEAVE_GROUP = _api(13, oldest=0, newest=5)
OFFSET_COMMIT = _api(8, oldest=2, newest=9)
APIS = (JOIN_GROUP, SYNC_GROUP, HEARTBEAT, LEAVE_GROUP, OFFSET_COMMIT)

# What a group looks like, which nobody has to be a member for; it is not among the APIs that are
# compared.
DESCRIBE_GROUPS = Api(
    15,
    "DescribeGroups",
    flexible=5,
    oldest=0,
    newest=0,
    request=(Field("groups", "[]string"),),
    response=(
        Field(
            "groups",
            (
                Field("error", "int16"),
                Field("group", "string"),
                Field("state", "string"),
                Field("protocol_type", "string"),
                Field("protocol", "string"),
                Field(
                    "members",
                    (
                        Field("member", "string"),
                        Field("client", "string"),
                        Field("host", "string"),
                        Field("metadata", "bytes"),
                        Field("assignment", "bytes"),
                    ),
                ),
            ),
        ),
    ),
)


def request_bytes(
    api: Api, version: int, number: int, client: str, values: Mapping[str, Any]
) -> bytes:
    """A whole request with its length, header and body; a field that has no value has its default.
    `version` may be one that does not exist.
    """
    flexible = version >= api.flexible
    head = {"key": api.key, "version": version, "number": number, "client": client}
    body = encode(_HEADER, 0, head) + (b"\0" if flexible else b"")
    body += encode(api.request, version, values, flexible)
    return struct.pack(">i", len(body)) + body


def response_values(api: Api, version: int, body: bytes) -> dict[str, Any]:
    """The fields of an answer, without its length and its correlation id. Raises `Malformed`."""
    reader = Reader(body, version >= api.flexible)
    if reader.flexible:
        reader.tags()
    values = reader.fields(api.response, version)
    if reader.remaining():
        raise Malformed(
            f"{reader.remaining()} bytes too many in an answer to {api.name} version {version}"
        )
    return values
