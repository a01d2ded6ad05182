"""The group APIs as data: the fields of requests and answers in all their versions, with the names
that the request log prints.

Source: the message definitions of Apache Kafka 4.3.0 (common/message in kafka-clients, such as
JoinGroupRequest.json), and those of 0.9 to 3.9 for versions that 4.0 dropped. Of heartbeats of
newer protocols only the beginning is listed: what follows is not needed.
"""

from __future__ import annotations

from attrs import frozen

from groupcheck.traces.messages.message_bytes import Field


@frozen
class Api:
    key: int
    # As the request log prints it.
    name: str
    # The first version with compact lengths and tagged fields (KIP-482), and the newest known one.
    flexible: int
    newest: int
    request: tuple[Field, ...]
    response: tuple[Field, ...]
    # The fields are all that a message has.
    whole: bool = True


_TEXT, _MAYBE = "string", "nullable_string"
_GROUP, _MEMBER = Field("groupId", _TEXT), Field("memberId", _TEXT)
_CODE = Field("errorCode", "int16")


def _throttle(since: int) -> Field:
    return Field("throttleTimeMs", "int32", since)


def _instance(since: int) -> Field:
    return Field("groupInstanceId", _MAYBE, since)


_JOIN = Api(
    11,
    "JOIN_GROUP",
    6,
    9,
    (
        _GROUP,
        Field("sessionTimeoutMs", "int32"),
        Field("rebalanceTimeoutMs", "int32", 1),
        _MEMBER,
        _instance(5),
        Field("protocolType", _TEXT),
        Field("protocols", (Field("name", _TEXT), Field("metadata", "bytes"))),
        Field("reason", _MAYBE, 8),
    ),
    (
        _throttle(2),
        _CODE,
        Field("generationId", "int32"),
        Field("protocolType", _MAYBE, 7),
        Field("protocolName", _MAYBE),
        Field("leader", _TEXT),
        Field("skipAssignment", "int8", 9),
        _MEMBER,
        Field("members", (_MEMBER, _instance(5), Field("metadata", "bytes"))),
    ),
)
_SYNC = Api(
    14,
    "SYNC_GROUP",
    4,
    5,
    (
        _GROUP,
        Field("generationId", "int32"),
        _MEMBER,
        _instance(3),
        Field("protocolType", _MAYBE, 5),
        Field("protocolName", _MAYBE, 5),
        Field("assignments", (_MEMBER, Field("assignment", "bytes"))),
    ),
    (
        _throttle(1),
        _CODE,
        Field("protocolType", _MAYBE, 5),
        Field("protocolName", _MAYBE, 5),
        Field("assignment", "bytes"),
    ),
)
_HEARTBEAT = Api(
    12,
    "HEARTBEAT",
    4,
    4,
    (_GROUP, Field("generationId", "int32"), _MEMBER, _instance(3)),
    (_throttle(1), _CODE),
)
_LEAVE = Api(
    13,
    "LEAVE_GROUP",
    4,
    5,
    (
        _GROUP,
        Field("memberId", _TEXT, 0, 2),
        Field("members", (_MEMBER, _instance(3), Field("reason", _MAYBE, 5)), 3),
    ),
    (_throttle(1), _CODE, Field("members", (_MEMBER, _instance(3), _CODE), 3)),
)
_NUMBER = Field("partitionIndex", "int32")
_COMMIT = Api(
    8,
    "OFFSET_COMMIT",
    8,
    10,
    (
        _GROUP,
        Field("generationIdOrMemberEpoch", "int32", 1),
        Field("memberId", _TEXT, 1),
        _instance(7),
        Field("retentionTimeMs", "int64", 2, 4),
        Field(
            "topics",
            (
                Field("name", _TEXT, 0, 9),
                Field("topicId", "uuid", 10),
                Field(
                    "partitions",
                    (
                        _NUMBER,
                        Field("committedOffset", "int64"),
                        Field("commitTimestamp", "int64", 1, 1),
                        Field("committedLeaderEpoch", "int32", 6),
                        Field("committedMetadata", _MAYBE),
                    ),
                ),
            ),
        ),
    ),
    (
        _throttle(3),
        Field(
            "topics",
            (
                Field("name", _TEXT, 0, 9),
                Field("topicId", "uuid", 10),
                Field("partitions", (_NUMBER, _CODE)),
            ),
        ),
    ),
)
_ASKED = Field("partitionIndexes", "[]int32")
_COMMITTED = (
    _NUMBER,
    Field("committedOffset", "int64"),
    Field("committedLeaderEpoch", "int32", 5),
    Field("metadata", _MAYBE),
    _CODE,
)
_FETCH = Api(
    9,
    "OFFSET_FETCH",
    6,
    10,
    (
        Field("groupId", _TEXT, 0, 7),
        Field("topics", (Field("name", _TEXT), _ASKED), 0, 7, nullable=True),
        Field(
            "groups",
            (
                _GROUP,
                Field("memberId", _MAYBE, 9),
                Field("memberEpoch", "int32", 9),
                Field(
                    "topics",
                    (Field("name", _TEXT, 0, 9), Field("topicId", "uuid", 10), _ASKED),
                    nullable=True,
                ),
            ),
            8,
        ),
        Field("requireStable", "int8", 7),
    ),
    (
        _throttle(3),
        Field("topics", (Field("name", _TEXT), Field("partitions", _COMMITTED)), 0, 7),
        Field("errorCode", "int16", 2, 7),
        Field(
            "groups",
            (
                _GROUP,
                Field(
                    "topics",
                    (
                        Field("name", _TEXT, 0, 9),
                        Field("topicId", "uuid", 10),
                        Field("partitions", _COMMITTED),
                    ),
                ),
                _CODE,
            ),
            8,
        ),
    ),
)
_EPOCH = Field("memberEpoch", "int32")
_TOLD = (_throttle(0), _CODE, Field("errorMessage", _MAYBE), Field("memberId", _MAYBE), _EPOCH)
_CONSUMER = Api(
    68,
    "CONSUMER_GROUP_HEARTBEAT",
    0,
    1,
    (_GROUP, _MEMBER, _EPOCH, Field("instanceId", _MAYBE)),
    _TOLD,
    whole=False,
)
_SHARE = Api(76, "SHARE_GROUP_HEARTBEAT", 0, 1, (_GROUP, _MEMBER, _EPOCH), _TOLD, whole=False)
_STREAMS = Api(
    88,
    "STREAMS_GROUP_HEARTBEAT",
    0,
    0,
    (
        _GROUP,
        _MEMBER,
        _EPOCH,
        Field("endpointInformationEpoch", "int32"),
        Field("instanceId", _MAYBE),
    ),
    _TOLD,
    whole=False,
)
APIS = {
    api.key: api
    for api in (
        _JOIN,
        _SYNC,
        _HEARTBEAT,
        _LEAVE,
        _COMMIT,
        _FETCH,
        _CONSUMER,
        _SHARE,
        _STREAMS,
    )
}
"""Key -> API."""
