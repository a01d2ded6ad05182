"""Questions about a group that change nothing: what the broker says of its state, its members and
its offsets, and what it refuses to delete while there are members.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from attrs import frozen

from groupcheck.model.protocol.classic.group import Phase
from groupcheck.model.protocol.codes import (
    GROUP_SUBSCRIBED_TO_TOPIC,
    NON_EMPTY_GROUP,
    name_of,
)
from groupcheck.oracles.judge.broker.kinds import ANY_GROUP, Kind
from groupcheck.oracles.judge.following.requests import PARTITION
from groupcheck.oracles.judge.following.worlds import World, is_new
from groupcheck.traces.messages.apis import Api, api

Values = Mapping[str, Any]


@frozen
class Look:
    """A question, and what is wrong with an answer to it."""

    api: Api
    # The rule that it tries.
    rule: str
    # Values of the request: of (group, world, version).
    asks: Callable[[str, World, int], dict[str, Any]]
    # What is wrong with the answer: of (answer, group, world).
    wrong: Callable[[Values, str, World], list[str]]
    # May it be asked in that world?
    allowed: Callable[[World], bool] = lambda world: True
    # The oldest and the newest version that are spoken.
    oldest: int = 0
    newest: int = 32_767
    # What is special about it, in words.
    about: str = ""
    # The code with which it must be refused; None: it is to be answered.
    code: int | None = None
    # It asks about a group that nobody uses, so that the phase of this one does not matter.
    is_apart: bool = False
    # A broker may not outlive it: it is asked last.
    is_harsh: bool = False

    @property
    def name(self) -> str:
        """As a schedule names it."""
        return f"{self.api.name}: {self.about}" if self.about else self.api.name

    def kind(self, world: World) -> Kind:
        """The kind of row that it is in that world."""
        phase = ANY_GROUP if self.is_apart else str(world.memory.core.phase)
        return Kind(phase, self.api.name, self.about)

    def versions(self, spoken: range) -> range:
        """The versions in which it may be asked."""
        newest = min(spoken.stop - 1, self.api.newest, self.newest)
        return range(max(spoken.start, self.oldest), newest + 1)


def _state(group: Values, world: World) -> list[str]:
    """What is wrong with the state of a group and its members."""
    core = world.memory.core
    told = str(group.get("groupState", ""))
    wrong = (
        [] if told == str(core.phase) else [f"groupState is {told!r}, in the model {core.phase}"]
    )
    members = {
        world.name(me, id)
        for me, seats in enumerate(world.memory.seats)
        for id, seat in seats
        if seat.member
    }
    listed = {one["memberId"] for one in group.get("members") or ()}
    known = {name for name in members if not is_new(name)}
    if len(listed) != len(members) or not known <= listed:
        wrong.append(f"members are {sorted(listed)}, in the model {sorted(members)}")
    return wrong


def _described(answer: Values, group: str, world: World) -> list[str]:
    about = next((one for one in answer["groups"] if one["groupId"] == group), None)
    if about is None:
        return ["the group is not in the answer"]
    if about["errorCode"]:
        return [f"error is {name_of(about['errorCode'])}, in the model 0"]
    return _state(about, world)


def _listed(answer: Values, group: str, world: World) -> list[str]:
    if answer["errorCode"]:
        return [f"error is {name_of(answer['errorCode'])}, in the model 0"]
    about = next((one for one in answer["groups"] if one["groupId"] == group), None)
    if about is None:
        return ["the group is not listed"]
    state = about.get("groupState", str(world.memory.core.phase))
    phase = str(world.memory.core.phase)
    return [] if state == phase else [f"groupState is {state!r}, in the model {phase}"]


def _deleted(answer: Values, group: str, world: World) -> list[str]:
    codes = [one["errorCode"] for one in answer["results"] if one["groupId"] == group]
    return _code(codes, NON_EMPTY_GROUP)


def _offset_deleted(answer: Values, group: str, world: World) -> list[str]:
    if answer["errorCode"]:
        return [f"error is {name_of(answer['errorCode'])}, in the model 0"]
    codes = [p["errorCode"] for topic in answer["topics"] for p in topic["partitions"]]
    return _code(codes, GROUP_SUBSCRIBED_TO_TOPIC)


def _code(codes: list[int], expected: int) -> list[str]:
    if codes == [expected]:
        return []
    told = ", ".join(map(name_of, codes)) or "missing"
    return [f"error is {told}, in the model {name_of(expected)}"]


def _fetched(answer: Values, group: str, world: World) -> list[str]:
    inner = answer["groups"][0] if answer.get("groups") else answer
    parts = [p for topic in inner.get("topics") or () for p in topic["partitions"]]
    if inner.get("errorCode") or not parts or parts[0]["errorCode"]:
        return ["the offset is not told"]
    wanted = -1 if world.committed is None else world.committed
    told = parts[0]["committedOffset"]
    return [] if told == wanted else [f"the committed offset is {told}, in the model {wanted}"]


def _fetch(group: str, world: World, version: int) -> dict[str, Any]:
    topics = [{"name": world.topic, "partitionIndexes": [PARTITION]}]
    return {"groupId": group, "topics": topics, "groups": [{"groupId": group, "topics": topics}]}


def _found(answer: Values, group: str, world: World) -> list[str]:
    inner = answer["coordinators"][0] if answer.get("coordinators") else answer
    if inner["errorCode"]:
        return [f"error is {name_of(inner['errorCode'])}, in the model 0"]
    return [] if inner["host"] and inner["port"] > 0 else ["the coordinator has no address"]


def _has_members(world: World) -> bool:
    return world.memory.core.members > 0


def _is_stable(world: World) -> bool:
    """Only then the coordinator knows to what its members subscribe."""
    return world.memory.core.phase == Phase.STABLE


QUESTIONS = (
    Look(
        api("DescribeGroups"),
        "group_told",
        lambda group, world, version: {"groups": [group]},
        _described,
    ),
    Look(api("ListGroups"), "group_told", lambda group, world, version: {}, _listed),
    Look(
        api("DeleteGroups"),
        "group_kept",
        lambda group, world, version: {"groupsNames": [group]},
        _deleted,
        _has_members,
    ),
    Look(
        api("OffsetDelete"),
        "group_kept",
        lambda group, world, version: {
            "groupId": group,
            "topics": [{"name": world.topic, "partitions": [{"partitionIndex": PARTITION}]}],
        },
        _offset_deleted,
        _is_stable,
    ),
    Look(api("OffsetFetch"), "offsets_kept", _fetch, _fetched, newest=9),
    Look(
        api("FindCoordinator"),
        "coordinator_found",
        lambda group, world, version: {"key": group, "keyType": 0, "coordinatorKeys": [group]},
        _found,
    ),
)
