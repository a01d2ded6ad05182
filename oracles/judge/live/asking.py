"""Requests that the broker refuses before they reach the coordinator, and the versions that
`conform --live` speaks.
"""

from __future__ import annotations

from typing import Any

from groupcheck.model.protocol import messages
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.model.protocol.codes import (
    INCONSISTENT_GROUP_PROTOCOL,
    INVALID_GROUP_ID,
    INVALID_SESSION_TIMEOUT,
    UNKNOWN_TOPIC_OR_PARTITION,
)
from groupcheck.oracles.judge.following.requests import (
    HEARTBEAT,
    JOIN_GROUP,
    LEAVE_GROUP,
    OFFSET_COMMIT,
    PROTOCOL,
    PROTOCOL_TYPE,
    SYNC_GROUP,
    Wire,
    committing,
    joining,
)
from groupcheck.oracles.judge.following.said import subscription
from groupcheck.oracles.judge.following.worlds import CLOSED
from groupcheck.traces.messages.apis import Api

# Those that Kafka 4 has, of OffsetCommit the ones with names of topics.
SPOKEN = {
    JOIN_GROUP: range(2, 10),
    SYNC_GROUP: range(6),
    HEARTBEAT: range(5),
    LEAVE_GROUP: range(6),
    OFFSET_COMMIT: range(2, 10),
}
SAID = subscription(messages.JoinGroup(messages.NO_ID))


def refused(group: str, version: int, kind: int) -> Wire:
    """A request that the broker answers without looking at the group (KafkaApis,
    GroupCoordinatorService). `kind`: a number below `KINDS`.
    """
    api, what, values, error, cut = _REFUSED[kind]
    values = {"groupId": group, **values}
    if what == UNKNOWN_VERSION:
        return Wire(api, 60 + version, values, what, 0, error)
    spoken = SPOKEN[api]
    return Wire(api, spoken[version % len(spoken)], values, what, cut, error)


UNKNOWN_VERSION = "a version that does not exist"
_Refusal = tuple[Api, str, dict[str, Any], int, int]  # API, what, values, error, cut
_JOIN = joining(SAID)
_EMPTY = "an empty group id"
_REFUSED: tuple[_Refusal, ...] = (
    (JOIN_GROUP, _EMPTY, _JOIN | {"groupId": ""}, INVALID_GROUP_ID, 0),
    (
        SYNC_GROUP,
        _EMPTY,
        {"groupId": "", "protocolType": PROTOCOL_TYPE, "protocolName": PROTOCOL},
        INVALID_GROUP_ID,
        0,
    ),
    (HEARTBEAT, _EMPTY, {"groupId": ""}, INVALID_GROUP_ID, 0),
    (
        LEAVE_GROUP,
        _EMPTY,
        {"groupId": "", "members": [{"memberId": "x"}], "memberId": "x"},
        INVALID_GROUP_ID,
        0,
    ),
    (
        JOIN_GROUP,
        "a session timeout that is too short",
        _JOIN | {"sessionTimeoutMs": 5_999},
        INVALID_SESSION_TIMEOUT,
        0,
    ),
    (
        JOIN_GROUP,
        "a session timeout that is too long",
        _JOIN | {"sessionTimeoutMs": 1_800_001},
        INVALID_SESSION_TIMEOUT,
        0,
    ),
    (
        JOIN_GROUP,
        "no protocol at all",
        _JOIN | {"protocols": []},
        INCONSISTENT_GROUP_PROTOCOL,
        0,
    ),
    (
        JOIN_GROUP,
        "no protocol type",
        _JOIN | {"protocolType": ""},
        INCONSISTENT_GROUP_PROTOCOL,
        0,
    ),
    (
        OFFSET_COMMIT,
        "a topic that does not exist",
        {"topics": committing("no-such-topic", 1)},
        UNKNOWN_TOPIC_OR_PARTITION,
        0,
    ),
    *((api, UNKNOWN_VERSION, {}, CLOSED, 0) for api in SPOKEN),
    *((api, "cut off", _JOIN if api is JOIN_GROUP else {}, CLOSED, 3) for api in SPOKEN),
)
KINDS = len(_REFUSED)


def kinds(scope: Scope) -> tuple[int, ...]:
    """The kinds of requests that the broker refuses whatever group it is. A group with a size limit
    may be full, which the coordinator looks at before the protocols.
    """
    limited = scope.max_size is not None
    every = enumerate(_REFUSED)
    return tuple(k for k, one in every if not (limited and INCONSISTENT_GROUP_PROTOCOL in one))
