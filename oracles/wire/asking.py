"""The model's requests as bytes for the broker, and requests that never reach the coordinator, with
what the broker has to say to them.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

from attrs import field, frozen

from groupcheck.model.protocol import messages
from groupcheck.oracles.conform.rows import Asks
from groupcheck.oracles.wire.formats import (
    APIS,
    HEARTBEAT,
    JOIN_GROUP,
    LEAVE_GROUP,
    OFFSET_COMMIT,
    SYNC_GROUP,
    Api,
)
from groupcheck.oracles.wire.worlds import World

TOPIC, PARTITION = "t", 0
PROTOCOL_TYPE, PROTOCOL = "consumer", "range"
# Long enough that none of the coordinator's timers fires during a schedule.
SESSION_MS = REBALANCE_MS = 120_000
INVALID_GROUP_ID, INVALID_SESSION_TIMEOUT, INCONSISTENT_GROUP_PROTOCOL, UNKNOWN_TOPIC = (
    24,
    26,
    23,
    3,
)
CLOSED = -1  # instead of an error: the broker closes the connection


@frozen
class Wire:
    """A request as it is sent. `cut`: bytes that are missing at its end. `error`: of a request that
    the coordinator does not see, the answer.
    """

    api: Api
    version: int
    values: dict[str, Any] = field(eq=False)
    what: str = ""
    cut: int = 0
    error: int | None = None

    def __str__(self) -> str:
        given = ", ".join(
            f"{name}={value!r}"
            for name, value in self.values.items()
            if name in ("member", "generation")
        )
        return f"{self.api.name} v{self.version}({given}){f'  [{self.what}]' if self.what else ''}"


def subscription(claimed: int) -> bytes:
    """The subscription of a consumer, version 2 (ConsumerProtocolSubscription.json): the topic, no
    partitions owned, `claimed` as its generation.
    """
    topic = TOPIC.encode()
    return struct.pack(">hih", 2, 1, len(topic)) + topic + struct.pack(">iii", -1, 0, claimed)


def api_of(request: messages.Request) -> Api:
    """The API that a request of the model's stands for."""
    return {
        messages.JoinGroup: JOIN_GROUP,
        messages.SyncGroup: SYNC_GROUP,
        messages.Heartbeat: HEARTBEAT,
        messages.LeaveGroup: LEAVE_GROUP,
        messages.OffsetCommit: OFFSET_COMMIT,
    }[type(request)]


def wire(
    group: str,
    world: World,
    given: Asks,
    version: int,
    planned: Sequence[tuple[str, bytes]] | None = None,
) -> Wire:
    """A request of the model's as it is sent. `planned`: what the leader hands out."""
    request = given.request
    assert not isinstance(request, messages.Store)
    values: dict[str, Any] = {"group": group, "member": world.name(given.member, request.id)}
    match request:
        case messages.JoinGroup():
            values |= joining(request.claimed)
        case messages.SyncGroup():
            values |= {
                "generation": request.generation,
                "protocol_type": PROTOCOL_TYPE,
                "protocol": PROTOCOL,
            }
            values["assignments"] = [
                {"member": member, "assignment": share} for member, share in planned or ()
            ]
        case messages.Heartbeat():
            values |= {"generation": request.generation}
        case messages.LeaveGroup():
            values["members"] = [{"member": values["member"]}]
        case messages.OffsetCommit():
            values |= {
                "generation": request.generation,
                "topics": committing(TOPIC, request.offset),
            }
    return Wire(api_of(request), version, values)


def joining(claimed: int = messages.NO_GENERATION) -> dict[str, Any]:
    """What a JoinGroup has beside the group and the member."""
    protocols = [{"name": PROTOCOL, "metadata": subscription(claimed)}]
    return {
        "session_timeout_ms": SESSION_MS,
        "rebalance_timeout_ms": REBALANCE_MS,
        "protocol_type": PROTOCOL_TYPE,
        "protocols": protocols,
    }


def committing(topic: str, offset: int) -> list[dict[str, Any]]:
    """The topics of an OffsetCommit of one partition."""
    return [
        {"topic": topic, "partitions": [{"partition": PARTITION, "offset": offset, "metadata": ""}]}
    ]


def refused(group: str, version: int, kind: int) -> Wire:
    """A request that the broker answers without asking the memory of the group (KafkaApis,
    GroupCoordinatorService). `kind`: one below `KINDS`.
    """
    api, what, values, error, cut = _REFUSED[kind]
    values = {"group": group, **values}
    if what == UNKNOWN_VERSION:
        return Wire(api, 60 + version, values, what, 0, error)
    return Wire(api, api.oldest + version % (api.newest - api.oldest + 1), values, what, cut, error)


UNKNOWN_VERSION = "a version that there is not"
_Refusal = tuple[Api, str, dict[str, Any], int, int]


def _refusals() -> tuple[_Refusal, ...]:
    join = joining()
    empty = "an empty group id"
    return (
        (JOIN_GROUP, empty, join | {"group": ""}, INVALID_GROUP_ID, 0),
        (
            SYNC_GROUP,
            empty,
            {"group": "", "protocol_type": PROTOCOL_TYPE, "protocol": PROTOCOL},
            INVALID_GROUP_ID,
            0,
        ),
        (HEARTBEAT, empty, {"group": ""}, INVALID_GROUP_ID, 0),
        (
            LEAVE_GROUP,
            empty,
            {"group": "", "members": [{"member": "x"}], "member": "x"},
            INVALID_GROUP_ID,
            0,
        ),
        (
            JOIN_GROUP,
            "a session timeout that is too short",
            join | {"session_timeout_ms": 5_999},
            INVALID_SESSION_TIMEOUT,
            0,
        ),
        (
            JOIN_GROUP,
            "a session timeout that is too long",
            join | {"session_timeout_ms": 1_800_001},
            INVALID_SESSION_TIMEOUT,
            0,
        ),
        (
            JOIN_GROUP,
            "no protocol at all",
            join | {"protocols": []},
            INCONSISTENT_GROUP_PROTOCOL,
            0,
        ),
        (
            JOIN_GROUP,
            "no protocol type",
            join | {"protocol_type": ""},
            INCONSISTENT_GROUP_PROTOCOL,
            0,
        ),
        (
            OFFSET_COMMIT,
            "a topic that there is not",
            {"topics": committing("no-such-topic", 1)},
            UNKNOWN_TOPIC,
            0,
        ),
        *((api, UNKNOWN_VERSION, {}, CLOSED, 0) for api in APIS),
        *((api, "cut off", join if api is JOIN_GROUP else {}, CLOSED, 3) for api in APIS),
    )


_REFUSED = _refusals()
KINDS = len(_REFUSED)
