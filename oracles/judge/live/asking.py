"""Requests that the broker refuses before they reach the coordinator, and the versions that
`conform --live` speaks.
"""

from __future__ import annotations

from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.model.protocol.codes import INCONSISTENT_GROUP_PROTOCOL, INVALID_SESSION_TIMEOUT
from groupcheck.oracles.judge.following.refused import (
    JOINS,
    NO_NAME,
    NO_PROTOCOL,
    NO_PROTOCOL_TYPE,
    NO_TOPIC,
    RefusedRequest,
)
from groupcheck.oracles.judge.following.requests import (
    HEARTBEAT,
    JOIN_GROUP,
    LEAVE_GROUP,
    OFFSET_COMMIT,
    SYNC_GROUP,
    Wire,
)
from groupcheck.oracles.judge.following.worlds import CLOSED

# Those that Kafka 4 has, of OffsetCommit the ones with names of topics.
SPOKEN = {
    JOIN_GROUP: range(2, 10),
    SYNC_GROUP: range(6),
    HEARTBEAT: range(5),
    LEAVE_GROUP: range(6),
    OFFSET_COMMIT: range(2, 10),
}


def refused(group: str, version: int, kind: int) -> Wire:
    """A request that the broker answers without looking at the group (KafkaApis,
    GroupCoordinatorService). `kind`: a number below `KINDS`.
    """
    one = _REFUSED[kind]
    values = {"groupId": group, **one.values}
    if one.about == UNKNOWN_VERSION:
        return Wire(one.api, 60 + version, values, one.about, 0, one.code)
    spoken, cut = SPOKEN[one.api], CUT if one.about == CUT_OFF else 0
    return Wire(one.api, spoken[version % len(spoken)], values, one.about, cut, one.code)


UNKNOWN_VERSION, CUT_OFF = "a version that does not exist", "cut off"
CUT = 3  # bytes


def _session(about: str, session_ms: int) -> RefusedRequest:
    values = JOINS | {"sessionTimeoutMs": session_ms}
    return RefusedRequest(
        JOIN_GROUP, f"a session timeout that is {about}", INVALID_SESSION_TIMEOUT, values
    )


_REFUSED: tuple[RefusedRequest, ...] = (
    *NO_NAME,
    _session("too short", 5_999),
    _session("too long", 1_800_001),
    NO_PROTOCOL,
    NO_PROTOCOL_TYPE,
    NO_TOPIC,
    *(RefusedRequest(api, UNKNOWN_VERSION, CLOSED, {}) for api in SPOKEN),
    *(RefusedRequest(api, CUT_OFF, CLOSED, JOINS if api is JOIN_GROUP else {}) for api in SPOKEN),
)
KINDS = len(_REFUSED)


def kinds(scope: Scope) -> tuple[int, ...]:
    """The kinds of requests that the broker refuses whatever group it is. A group with a size limit
    may be full, which the coordinator looks at before the protocols.
    """
    limited = scope.max_size is not None
    every = enumerate(_REFUSED)
    return tuple(k for k, one in every if not (limited and one.code == INCONSISTENT_GROUP_PROTOCOL))
