"""Requests that Kafka refuses whatever the group remembers: names, timeouts and protocols that do
not fit (GroupCoordinatorService), members and groups that are not there (GroupMetadataManager,
OffsetMetadataManager). They change nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from groupcheck.model.protocol.classic.group import Phase
from groupcheck.model.protocol.codes import (
    GROUP_ID_NOT_FOUND,
    ILLEGAL_GENERATION,
    INCONSISTENT_GROUP_PROTOCOL,
    INVALID_SESSION_TIMEOUT,
    UNKNOWN_MEMBER_ID,
    name_of,
)
from groupcheck.oracles.judge.broker.looks import QUESTIONS, Look, Values
from groupcheck.oracles.judge.following.refused import (
    JOINS,
    LEAVES,
    NO_NAME,
    NO_PROTOCOL,
    NO_PROTOCOL_TYPE,
    NO_TOPIC,
    NOBODY,
    SAID,
    SYNCS,
    RefusedRequest,
)
from groupcheck.oracles.judge.following.requests import (
    HEARTBEAT,
    JOIN_GROUP,
    LEAVE_GROUP,
    OFFSET_COMMIT,
    PARTITION,
    PROTOCOL,
    PROTOCOL_TYPE,
    SYNC_GROUP,
    TOPIC_IDS,
    committing,
)
from groupcheck.oracles.judge.following.said import instance
from groupcheck.oracles.judge.following.worlds import World, code_of, is_new
from groupcheck.traces.messages.apis import Api, api
from groupcheck.traces.messages.message_bytes import NEVER

LONGEST_MS = (1 << 31) - 1  # Kafka takes half an hour (group.max.session.timeout.ms)
NO_GROUP_SAID = 9  # of OffsetCommit: a group that is not there is 69, before it was 22
OTHER = "groupcheck-other"  # a protocol, a protocol type, an instance that no member has
Asks = Callable[[str, World, int], dict[str, Any]]


def _refused(code: int, answer: Values, group: str, world: World) -> list[str]:
    """What is wrong, if it is not refused with this code."""
    found = code_of(answer)
    return [] if found == code else [f"error is {name_of(found)}, in the model {name_of(code)}"]


def _look(of: Api, about: str, code: int, asks: Asks, **more: Any) -> Look:
    def own(group: str, world: World, version: int) -> dict[str, Any]:
        """The fields that the API has."""
        values = asks(group, world, version)
        return {name: value for name, value in values.items() if of.since(name) != NEVER}

    return Look(of, "refused", own, partial(_refused, code), about=about, code=code, **more)


# -- Whatever the group


def _apart(one: RefusedRequest, **more: Any) -> Look:
    """A request to a group that nobody uses."""

    # A JoinGroup that is refused may make it.
    name = "none" if one.about == _NO_GROUP else "refused"

    def asks(group: str, world: World, version: int) -> dict[str, Any]:
        return {"groupId": f"{group}-{name}", **one.values}

    return _look(one.api, one.about, one.code, asks, is_apart=True, **more)


_NO_GROUP = "a group that does not exist"
_COMMITS = {"generationIdOrMemberEpoch": 1, **NOBODY}


def _whatever_the_group() -> Iterator[Look]:
    yield from map(_apart, NO_NAME)
    for about, session_ms in (("0", 0), ("25 days", LONGEST_MS)):
        said = JOINS | {"sessionTimeoutMs": session_ms}
        about = f"a session timeout of {about}"
        yield _apart(RefusedRequest(JOIN_GROUP, about, INVALID_SESSION_TIMEOUT, said))
    yield _apart(NO_PROTOCOL_TYPE)
    yield _apart(NO_PROTOCOL, is_harsh=True)
    for of, values in (
        (JOIN_GROUP, JOINS | dict(NOBODY)),
        (SYNC_GROUP, SYNCS),
        (HEARTBEAT, {**NOBODY, "generationId": 1}),
        (LEAVE_GROUP, LEAVES),
    ):
        yield _apart(RefusedRequest(of, _NO_GROUP, UNKNOWN_MEMBER_ID, values))


def _to_no_group(group: str, world: World, version: int) -> dict[str, Any]:
    return {"groupId": f"{group}-none", **_COMMITS, "topics": committing(world.topic, 1)}


def _deletes_of_no_group(group: str, world: World, version: int) -> dict[str, Any]:
    topics = [{"name": world.topic, "partitions": [{"partitionIndex": PARTITION}]}]
    return {"groupId": f"{group}-none", "topics": topics}


WHATEVER_THE_GROUP = (
    *_whatever_the_group(),
    _apart(NO_TOPIC, oldest=2, newest=TOPIC_IDS - 1),
    _look(
        OFFSET_COMMIT,
        _NO_GROUP,
        ILLEGAL_GENERATION,
        _to_no_group,
        is_apart=True,
        oldest=1,
        newest=NO_GROUP_SAID - 1,
    ),
    _look(
        OFFSET_COMMIT,
        _NO_GROUP + ", and it may be said",
        GROUP_ID_NOT_FOUND,
        _to_no_group,
        is_apart=True,
        oldest=NO_GROUP_SAID,
        newest=TOPIC_IDS - 1,
    ),
    _look(
        api("DeleteGroups"),
        _NO_GROUP,
        GROUP_ID_NOT_FOUND,
        lambda group, world, version: {"groupsNames": [f"{group}-none"]},
        is_apart=True,
    ),
    _look(api("OffsetDelete"), _NO_GROUP, GROUP_ID_NOT_FOUND, _deletes_of_no_group, is_apart=True),
)

# -- In a group


def _generation(world: World) -> int:
    """The generation that runs."""
    return max(world.generation(world.memory.core.generation), 0)


def _member(world: World) -> tuple[str, str | None] | None:
    """A member whose id is known: its id, and its instance."""
    for me, seats in enumerate(world.memory.seats):
        for id, seat in seats:
            name = world.name(me, id)
            if seat.member and not is_new(name):
                return name, instance(seats, me)
    return None


def _has_member(world: World) -> bool:
    core = world.memory.core
    return _member(world) is not None and world.generation(core.generation) >= 0


def _is_past_joining(world: World) -> bool:
    """The protocol is chosen."""
    phases = (Phase.COMPLETING, Phase.STABLE)
    return _has_member(world) and world.memory.core.phase in phases


def _is_used(world: World) -> bool:
    return world.memory.core.phase != Phase.EMPTY and world.memory.core.members > 0


def _whole(group: str, world: World, name: str, named: str | None) -> dict[str, Any]:
    """The fields of every API, for this member in the generation that runs."""
    running = _generation(world)
    return {
        "groupId": group,
        "memberId": name,
        "groupInstanceId": named,
        "generationId": running,
        "generationIdOrMemberEpoch": running,
        "protocolType": PROTOCOL_TYPE,
        "protocolName": PROTOCOL,
        "members": [{"memberId": name, "groupInstanceId": named}],
        "topics": committing(world.topic, 1),
    }


def _of_nobody(group: str, world: World, version: int) -> dict[str, Any]:
    return _whole(group, world, "", None)


def _changed(change: Mapping[str, Any], group: str, world: World, version: int) -> dict[str, Any]:
    """What a member says, with some fields changed."""
    member = _member(world)
    assert member is not None
    return {**_whole(group, world, *member), **change}


def _as_another(group: str, world: World, version: int) -> dict[str, Any]:
    member = _member(world)
    assert member is not None
    return _whole(group, world, member[0], OTHER)


def _joins(change: Mapping[str, Any], group: str, world: World, version: int) -> dict[str, Any]:
    return {"groupId": group, **JOINS, **change}


def _versions(of: Api, oldest: int = 0) -> dict[str, int]:
    """OffsetCommit with names of topics and with members; the others as they are."""
    if of is OFFSET_COMMIT:
        return {"oldest": max(oldest, 1), "newest": TOPIC_IDS - 1}
    return {"oldest": oldest}


IN_A_GROUP = (
    *(
        _look(of, "an empty member id", UNKNOWN_MEMBER_ID, _of_nobody, **_versions(of))
        for of in (SYNC_GROUP, HEARTBEAT, LEAVE_GROUP, OFFSET_COMMIT)
    ),
    *(
        _look(
            of,
            "a member id with the instance of nobody",
            UNKNOWN_MEMBER_ID,
            _as_another,
            allowed=_has_member,
            **_versions(of, of.since("groupInstanceId")),
        )
        for of in (SYNC_GROUP, HEARTBEAT, OFFSET_COMMIT)
    ),
    _look(
        OFFSET_COMMIT,
        "from outside the group, which has members",
        UNKNOWN_MEMBER_ID,
        lambda group, world, version: (
            _of_nobody(group, world, version) | {"generationIdOrMemberEpoch": -1}
        ),
        allowed=_is_used,
        **_versions(OFFSET_COMMIT),
    ),
    _look(
        OFFSET_COMMIT,
        "a member without its generation",
        ILLEGAL_GENERATION,
        partial(_changed, {"generationIdOrMemberEpoch": -1}),
        allowed=_has_member,
        **_versions(OFFSET_COMMIT),
    ),
    *(
        _look(
            SYNC_GROUP,
            f"another {what}",
            INCONSISTENT_GROUP_PROTOCOL,
            partial(_changed, {field: OTHER}),
            allowed=_is_past_joining,
            oldest=SYNC_GROUP.since(field),
        )
        for what, field in (("protocol type", "protocolType"), ("protocol", "protocolName"))
    ),
    *(
        _look(
            JOIN_GROUP,
            f"another {what}",
            INCONSISTENT_GROUP_PROTOCOL,
            partial(_joins, change),
            allowed=_is_used,
        )
        for what, change in (
            ("protocol type", {"protocolType": OTHER}),
            ("protocol", {"protocols": [{"name": OTHER, "metadata": SAID}]}),
        )
    ),
)
REFUSALS = (*WHATEVER_THE_GROUP, *IN_A_GROUP)
LOOKS: Mapping[str, Look] = {look.name: look for look in (*QUESTIONS, *REFUSALS)}
"""Every question, by the name that a schedule gives it."""
