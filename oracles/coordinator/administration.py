"""Requests about groups that come from outside them: what they look like, what is deleted."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from groupcheck.model.protocol.classic.group import Phase
from groupcheck.model.protocol.codes import (
    GROUP_ID_NOT_FOUND,
    GROUP_SUBSCRIBED_TO_TOPIC,
    NON_EMPTY_GROUP,
    NONE,
)
from groupcheck.oracles.coordinator.group import Group, Member
from groupcheck.oracles.coordinator.group_request import GroupRequest
from groupcheck.oracles.coordinator.requests import Groups
from groupcheck.traces.messages.consumer_protocol import subscription
from groupcheck.traces.messages.message_bytes import Malformed

CONSUMER, DEAD = "consumer", "Dead"
SAYS_NOT_FOUND = 6  # of DescribeGroups: a group that does not exist is an error


def describe_groups(groups: Groups, request: GroupRequest) -> None:
    told = []
    for name in request.values["groups"]:
        group = groups.groups.get(name)
        if group is None:
            code = GROUP_ID_NOT_FOUND if request.version >= SAYS_NOT_FOUND else NONE
            told.append({"errorCode": code, "groupId": name, "groupState": DEAD})
        else:
            told.append({"errorCode": NONE, **described(group)})
    request.answer({"groups": told})


def described(group: Group) -> dict[str, Any]:
    """A group in the fields of DescribeGroups."""
    stable = group.core.phase == Phase.STABLE

    def member(one: Member) -> dict[str, Any]:
        return {
            "memberId": one.name,
            "groupInstanceId": one.instance,
            "clientId": one.client,
            "clientHost": one.host,
            "memberMetadata": group.subscription(one) if stable else b"",
            "memberAssignment": one.assignment if stable else b"",
        }

    return {
        "groupId": group.name,
        "groupState": str(group.core.phase),
        "protocolType": group.protocol_type,
        "protocolData": group.protocol if stable else "",
        "members": [member(one) for _, one in group.joined],
    }


def list_groups(groups: Groups, request: GroupRequest) -> None:
    states = {state.lower() for state in request.values.get("statesFilter", ())}
    kinds = {kind.lower() for kind in request.values.get("typesFilter", ())}
    told = [
        {
            "groupId": group.name,
            "protocolType": group.protocol_type,
            "groupState": str(group.core.phase),
            "groupType": "classic",
        }
        for group in groups.groups.values()
        if not states or str(group.core.phase).lower() in states
    ]
    request.answer({"errorCode": NONE, "groups": told if not kinds or "classic" in kinds else []})


def delete_groups(groups: Groups, request: GroupRequest) -> None:
    told = []
    for name in dict.fromkeys(request.values["groupsNames"]):
        group = groups.groups.get(name)
        code = GROUP_ID_NOT_FOUND if group is None else NONE if group.empty else NON_EMPTY_GROUP
        if code == NONE:
            del groups.groups[name]
            groups.offsets.forget(name)
        told.append({"groupId": name, "errorCode": code})
    request.answer({"results": told})


def offset_delete(groups: Groups, request: GroupRequest) -> None:
    """Offsets of topics to which the group subscribes stay (KIP-496)."""
    values = request.values
    group = groups.groups.get(values["groupId"])
    code = NONE
    if group is None:
        code = GROUP_ID_NOT_FOUND
    elif not group.empty and group.protocol_type != CONSUMER:
        code = NON_EMPTY_GROUP
    if group is None or code:
        request.answer({"errorCode": code, "topics": []})
        return
    stays = _subscribed(group)
    topics = []
    for entry in values["topics"]:
        topic = entry["name"]
        told = [_deleted(groups, group, topic, one, topic in stays) for one in entry["partitions"]]
        topics.append({"name": topic, "partitions": told})
    request.answer({"errorCode": NONE, "topics": topics})


def _deleted(
    groups: Groups, group: Group, topic: str, one: Mapping[str, Any], stays: bool
) -> dict[str, Any]:
    number = one["partitionIndex"]
    if not stays:
        groups.offsets.forget(group.name, [(topic, number)])
    code = GROUP_SUBSCRIBED_TO_TOPIC if stays else NONE
    return {"partitionIndex": number, "errorCode": code}


def _subscribed(group: Group) -> set[str]:
    """The topics to which members subscribe, as far as their subscriptions can be read."""
    topics = set[str]()
    for _, member in group.joined:
        for _, said in member.protocols[:1]:
            with suppress(Malformed):
                topics |= {*subscription(said).topics}
    return topics
