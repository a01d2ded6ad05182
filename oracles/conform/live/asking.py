"""The model's requests as requests for the broker, and requests that the broker refuses before they
reach the coordinator.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from attrs import field, frozen

from groupcheck.model.protocol import messages
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.oracles.conform.live.subscribing import TOPIC, instance, listed, subscription, voted
from groupcheck.oracles.conform.live.worlds import World
from groupcheck.oracles.conform.row import Asks
from groupcheck.traces.messages.apis import Api, api

JOIN_GROUP, SYNC_GROUP, HEARTBEAT = api("JoinGroup"), api("SyncGroup"), api("Heartbeat")
LEAVE_GROUP, OFFSET_COMMIT = api("LeaveGroup"), api("OffsetCommit")
# The versions that are spoken: those that Kafka 4 has, of OffsetCommit the ones with names of
# topics.
SPOKEN = {
    JOIN_GROUP: range(2, 10),
    SYNC_GROUP: range(6),
    HEARTBEAT: range(5),
    LEAVE_GROUP: range(6),
    OFFSET_COMMIT: range(2, 10),
}
TWO_STEP = 4  # of JoinGroup: a member without an id is told to come again with one (KIP-394)
PARTITION = 0
PROTOCOL_TYPE, PROTOCOL = "consumer", "range"
# Long enough that none of the coordinator's timers fires during a schedule.
SESSION_MS = REBALANCE_MS = 120_000
INVALID_GROUP_ID, INVALID_SESSION_TIMEOUT = 24, 26
INCONSISTENT_GROUP_PROTOCOL, UNKNOWN_TOPIC = 23, 3
SAID = subscription(messages.JoinGroup(messages.NO_ID))
# What a request says about its sender, as it is shown.
NAMED = ("memberId", "generationId", "generationIdOrMemberEpoch", "groupInstanceId")
CLOSED = -1  # in place of an error code: the broker closes the connection


@frozen
class Wire:
    api: Api
    version: int
    values: dict[str, Any] = field(eq=False)
    # What is special about it, in words.
    what: str = ""
    # How many bytes are missing at its end.
    cut: int = 0
    # The error code of the answer, if the coordinator does not see the request.
    error: int | None = None

    def __str__(self) -> str:
        given = ", ".join(
            f"{name}={value!r}"
            for name, value in self.values.items()
            if name in NAMED and value is not None
        )
        return f"{self.api.name} v{self.version}({given}){f'  [{self.what}]' if self.what else ''}"


API_OF: Mapping[type[messages.Request], Api] = {
    messages.JoinGroup: JOIN_GROUP,
    messages.SyncGroup: SYNC_GROUP,
    messages.Heartbeat: HEARTBEAT,
    messages.LeaveGroup: LEAVE_GROUP,
    messages.OffsetCommit: OFFSET_COMMIT,
}
"""The API of each of the model's requests."""


def versions(api: Api, scope: Scope, instance: str | None) -> range:
    """The versions in which a process sends a request. A static one uses those that name its
    instance. Of JoinGroup a dynamic one uses those in which it asks for an id first, or the older
    ones, as `Scope.two_step` says.
    """
    spoken = SPOKEN[api]
    if instance is not None:
        return range(max(spoken.start, api.since("groupInstanceId")), spoken.stop)
    if api is JOIN_GROUP and scope.two_step:
        return range(TWO_STEP, spoken.stop)
    return range(spoken.start, TWO_STEP) if api is JOIN_GROUP else spoken


def wire(
    group: str,
    world: World,
    given: Asks,
    version: int,
    scope: Scope,
    planned: Sequence[tuple[str, bytes]] | None = None,
) -> Wire:
    """A request of the model as it is sent. `planned`: the leader's assignment."""
    request, seats = given.request, world.memory.seats[given.member]
    assert not isinstance(request, messages.Store)
    named = instance(seats, given.member)
    values: dict[str, Any] = {
        "groupId": group,
        "memberId": world.name(given.member, request.id),
        "groupInstanceId": named,
    }
    match request:
        case messages.JoinGroup():
            values |= joining(subscription(request), listed(seats, scope))
        case messages.SyncGroup():
            values |= {
                "generationId": request.generation,
                "protocolType": PROTOCOL_TYPE,
                "protocolName": voted(world.memory.core, scope),
                "assignments": [
                    {"memberId": member, "assignment": share} for member, share in planned or ()
                ],
            }
        case messages.Heartbeat():
            values |= {"generationId": request.generation}
        case messages.LeaveGroup():
            values["members"] = [{"memberId": values["memberId"], "groupInstanceId": named}]
        case messages.OffsetCommit():
            values |= {
                "generationIdOrMemberEpoch": request.generation,
                "topics": committing(TOPIC, request.offset),
            }
    return Wire(API_OF[type(request)], version, values)


def joining(said: bytes = SAID, names: Sequence[str] = (PROTOCOL,)) -> dict[str, Any]:
    """The fields of a JoinGroup besides the group and the member. `said`: its subscription;
    `names`: the assignors that it lists.
    """
    return {
        "sessionTimeoutMs": SESSION_MS,
        "rebalanceTimeoutMs": REBALANCE_MS,
        "protocolType": PROTOCOL_TYPE,
        "protocols": [{"name": name, "metadata": said} for name in names],
    }


def committing(topic: str, offset: int) -> list[dict[str, Any]]:
    """The topics of an OffsetCommit of one partition."""
    committed = {"partitionIndex": PARTITION, "committedOffset": offset, "committedMetadata": ""}
    return [{"name": topic, "partitions": [committed]}]


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
_JOIN = joining()
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
        UNKNOWN_TOPIC,
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
