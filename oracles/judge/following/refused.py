"""Requests that Kafka refuses before it looks at the group (KafkaApis, GroupCoordinatorService)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import frozen

from groupcheck.model.protocol import messages
from groupcheck.model.protocol.codes import (
    INCONSISTENT_GROUP_PROTOCOL,
    INVALID_GROUP_ID,
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
    committing,
    joining,
)
from groupcheck.oracles.judge.following.said import subscription
from groupcheck.traces.messages.apis import Api

SAID = subscription(messages.JoinGroup(messages.NO_ID))
JOINS = joining(SAID)
NOBODY: Mapping[str, Any] = {"memberId": "nobody"}
SYNCS = {
    **NOBODY,
    "protocolType": PROTOCOL_TYPE,
    "protocolName": PROTOCOL,
    "generationId": 1,
}
LEAVES = {**NOBODY, "members": [NOBODY]}


@frozen
class RefusedRequest:
    """A request, and the code with which it is refused."""

    api: Api
    # What is special about it, in words.
    about: str
    code: int
    values: Mapping[str, Any]


NO_NAME = tuple(
    RefusedRequest(of, "an empty group id", INVALID_GROUP_ID, {**values, "groupId": ""})
    for of, values in (
        (JOIN_GROUP, JOINS),
        (SYNC_GROUP, SYNCS),
        (HEARTBEAT, NOBODY),
        (LEAVE_GROUP, LEAVES),
    )
)
NO_PROTOCOL = RefusedRequest(
    JOIN_GROUP, "no protocol at all", INCONSISTENT_GROUP_PROTOCOL, JOINS | {"protocols": []}
)
NO_PROTOCOL_TYPE = RefusedRequest(
    JOIN_GROUP, "no protocol type", INCONSISTENT_GROUP_PROTOCOL, JOINS | {"protocolType": ""}
)
NO_TOPIC = RefusedRequest(
    OFFSET_COMMIT,
    "a topic that does not exist",
    UNKNOWN_TOPIC_OR_PARTITION,
    {"topics": committing("groupcheck-no-such-topic", 1)},
)
