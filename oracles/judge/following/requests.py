"""The model's requests as requests of Kafka's, with real bytes of the consumer protocol inside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from attrs import field, frozen

from groupcheck.model.protocol import messages
from groupcheck.model.protocol.classic.group import Phase
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.oracles.conform.row import Asks, Memory
from groupcheck.oracles.judge.following.said import instance, listed, subscription
from groupcheck.oracles.judge.following.worlds import World
from groupcheck.traces.messages.apis import Api, api

PROTOCOL_TYPE, PROTOCOL = "consumer", "range"
PARTITION = 0
JOIN_GROUP, SYNC_GROUP, HEARTBEAT = api("JoinGroup"), api("SyncGroup"), api("Heartbeat")
LEAVE_GROUP, OFFSET_COMMIT = api("LeaveGroup"), api("OffsetCommit")
TOPIC_IDS = 10  # of OffsetCommit: it names topics by their ids
TWO_STEP = 4  # of JoinGroup: a member without an id is told to come again with one (KIP-394)
API_OF: Mapping[type[messages.Request], Api] = {
    messages.JoinGroup: JOIN_GROUP,
    messages.SyncGroup: SYNC_GROUP,
    messages.Heartbeat: HEARTBEAT,
    messages.LeaveGroup: LEAVE_GROUP,
    messages.OffsetCommit: OFFSET_COMMIT,
}
"""The API of each of the model's requests."""


@frozen
class Timeouts:
    """What a member says in JoinGroup."""

    # Long enough that none of the coordinator's timers fires during a schedule.
    session_ms: int = 120_000
    rebalance_ms: int = 120_000


@frozen
class Wire:
    """A request as it is sent."""

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
        names = {
            "memberId": "member",
            "groupInstanceId": "instance",
            "generationId": "generation",
            "generationIdOrMemberEpoch": "generation",
        }
        given = ", ".join(
            f"{names[name]}={value!r}"
            for name, value in self.values.items()
            if name in names and value is not None
        )
        return f"{self.api.name} v{self.version}({given}){f'  [{self.what}]' if self.what else ''}"


def versions(api: Api, scope: Scope, named: str | None, spoken: range) -> range:
    """The versions among those `spoken` in which a process sends a request. A static one uses those
    that name its instance. Of JoinGroup a dynamic one uses those in which it asks for an id first,
    or the older ones, as `Scope.two_step` says.
    """
    oldest, newest = spoken.start, spoken.stop - 1
    if api is OFFSET_COMMIT:  # before, a commit comes from outside the group
        oldest = max(oldest, api.since("memberId"))
    if named is not None:
        oldest = max(oldest, api.since("groupInstanceId"))
    elif api is JOIN_GROUP and scope.two_step:
        oldest = max(oldest, TWO_STEP)
    elif api is JOIN_GROUP:
        newest = min(newest, TWO_STEP - 1)
    return range(oldest, newest + 1)


def wire(
    group: str,
    world: World,
    given: Asks,
    version: int,
    scope: Scope,
    planned: Sequence[tuple[str, bytes]] | None = None,
    timeouts: Timeouts = Timeouts(),
    topic_id: UUID | None = None,
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
            values |= joining(subscription(request, world.topic), listed(seats, scope), timeouts)
        case messages.SyncGroup():
            values |= {
                "generationId": world.generation(request.generation),
                "protocolType": PROTOCOL_TYPE,
                "protocolName": scope.voted_for(world.memory.core.assignor),
                "assignments": [
                    {"memberId": member, "assignment": share} for member, share in planned or ()
                ],
            }
        case messages.Heartbeat():
            values |= {"generationId": world.generation(request.generation)}
        case messages.LeaveGroup():
            values["members"] = [{"memberId": values["memberId"], "groupInstanceId": named}]
        case messages.OffsetCommit():
            values |= {
                "generationIdOrMemberEpoch": world.generation(request.generation),
                "topics": committing(world.topic, request.offset, topic_id),
            }
    return Wire(API_OF[type(request)], version, values)


def joining(
    said: bytes, names: Sequence[str] = (PROTOCOL,), timeouts: Timeouts = Timeouts()
) -> dict[str, Any]:
    """The fields of a JoinGroup besides the group and the member. `said`: its subscription;
    `names`: the assignors that it lists.
    """
    return {
        "sessionTimeoutMs": timeouts.session_ms,
        "rebalanceTimeoutMs": timeouts.rebalance_ms,
        "protocolType": PROTOCOL_TYPE,
        "protocols": [{"name": name, "metadata": said} for name in names],
    }


def committing(topic: str, offset: int, topic_id: UUID | None = None) -> list[dict[str, Any]]:
    """The topics of an OffsetCommit of one partition."""
    part = {"partitionIndex": PARTITION, "committedOffset": offset, "committedMetadata": ""}
    id = {} if topic_id is None else {"topicId": topic_id}
    return [{"name": topic, "partitions": [part], **id}]


def natural(memory: Memory, given: Asks) -> bool:
    """Is it what a member does if it follows the protocol?"""
    request, core = given.request, memory.core
    if isinstance(request, messages.JoinGroup) and request.id == messages.NO_ID:
        return not memory.seats[given.member].ids
    if isinstance(request, messages.Store):
        return False
    seat = memory.seats[given.member][request.id]
    if seat is None:
        return False
    match request:
        case messages.JoinGroup():
            return not seat.member or (core.phase == Phase.PREPARING and not seat.join)
        case messages.SyncGroup():
            return seat.due and not seat.sync and request.generation == core.generation
    return False
