"""What has to be known of a broker before it is judged: versions, its settings as far as it tells
them, a topic to commit to, the shortest session.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from groupcheck.model.engine import UserError
from groupcheck.model.protocol import messages
from groupcheck.model.protocol.codes import MEMBER_ID_REQUIRED
from groupcheck.oracles.judge.broker.profiles import SLOW_MS, USUAL_MS
from groupcheck.oracles.judge.broker.target import Target
from groupcheck.oracles.judge.following.requests import (
    JOIN_GROUP,
    LEAVE_GROUP,
    TWO_STEP,
    Timeouts,
    joining,
)
from groupcheck.oracles.judge.following.said import subscription
from groupcheck.oracles.wire.connections import Connections, announced
from groupcheck.oracles.wire.security import Security
from groupcheck.traces.messages.apis import Api, api

PATIENCE_S = 10.0
METADATA, CREATE_TOPICS = api("Metadata"), api("CreateTopics")
DESCRIBE_CONFIGS, FIND_COORDINATOR = api("DescribeConfigs"), api("FindCoordinator")
BROKER = 4  # the type of a resource (ConfigResource.Type)
SESSIONS_MS = (2_000, 3_000, 6_000, 10_000)  # that are tried
SESSION, SIZE = "group.min.session.timeout.ms", "group.max.size"
SETTINGS = (SESSION, SIZE)  # of a broker, whole numbers both
SLOW_S = 1.5
GROUP = 0  # the type of a key of FindCoordinator (CoordinatorType)
NOT_YET = (14, 15)  # COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE
PARTITIONS = 3
NEW_TOPIC = "groupcheck"


class Asking:
    """Single questions to a broker."""

    def __init__(self, address: str, security: Security) -> None:
        self._connections = Connections(address, security)
        try:
            self.announced = announced(self._connections, PATIENCE_S)
        except UserError:
            self.close()
            raise

    def close(self) -> None:
        self._connections.close()

    def ask(self, of: Api, values: Mapping[str, Any]) -> dict[str, Any] | None:
        """The answer in the newest version that both know; where that is not answered well, in the
        newest one without tagged fields, and in the oldest. None if the broker does not know the
        API, or answers nothing that can be read.
        """
        there = self.announced.get(of.key, range(0))
        newest = min(there.stop - 1, of.newest)
        tried = dict.fromkeys((newest, min(newest, of.flexible - 1), there.start))
        for version in tried:
            if version not in there:
                continue
            number = self._connections.send(of, version, values)
            answer = self._connections.gather(PATIENCE_S, number).get(number)
            self._connections.abandon()
            if isinstance(answer, dict):
                return answer
        return None


def stated(given: Mapping[str, str], *, is_started: bool) -> Mapping[str, str]:
    """The settings that a user states. Raises `UserError` for one that is no whole number, and for
    one that nobody looks at, because the broker is not started with it.
    """
    foreign = min(given.keys() - set(SETTINGS), default="")
    if foreign and not is_started:
        raise UserError(
            f"{foreign} changes nothing for a broker that runs already",
            where="--set",
            do=f"give {' or '.join(SETTINGS)}",
        )
    for name in SETTINGS:
        if not given.get(name, "0").isdecimal():
            raise UserError(
                f"{name} is {given[name]!r}", where="--set", do="give a whole number, such as 2"
            )
    return given


def target(
    address: str, security: Security, topic: str | None, given: Mapping[str, str]
) -> tuple[Target, dict[str, str]]:
    """The broker, and its settings: those `given`, and those that it tells. Raises `UserError` if
    it does not answer, has no groups or no topic.
    """
    asking = Asking(address, security)
    try:
        if JOIN_GROUP.key not in asking.announced:
            raise UserError(
                "the broker does not announce JoinGroup: it has no groups of members",
                where="HOST:PORT",
            )
        about = asking.ask(METADATA, {"topics": None})
        if about is None:
            raise UserError(
                "the broker answers ApiVersions, but not Metadata",
                where="HOST:PORT",
                do="give --sasl, if the listener wants a login",
            )
        settings = {**_told(asking, about), **given}
        name, id = _topic(asking, topic)
        session_ms = _session(asking, settings)
        round_s, at_once = _round(asking, USUAL_MS)
        slow = ""
        if round_s > SLOW_S:
            slow = (
                f"the first round of a group with one member lasts {round_s:.1f} s, with a session"
                f" of {USUAL_MS / 1000:g} s"
            )
        return (
            Target(
                address,
                asking.announced,
                len(about.get("brokers") or ()),
                name,
                id,
                session_ms,
                usual_ms=max(SLOW_MS if slow else USUAL_MS, session_ms),
                slow=slow,
                joins_at_once=at_once and _asks_for_ids(asking),
            ),
            settings,
        )
    finally:
        asking.close()


def _told(asking: Asking, about: Mapping[str, Any]) -> dict[str, str]:
    """The settings that the broker tells."""
    node = about["brokers"][0]["nodeId"] if about.get("brokers") else 0
    wanted = {
        "resourceType": BROKER,
        "resourceName": str(node),
        "configurationKeys": list(SETTINGS),
    }
    answer = asking.ask(DESCRIBE_CONFIGS, {"resources": [wanted]})
    results = (answer or {}).get("results") or [{"configs": None}]
    configs = results[0].get("configs") or []
    return {
        one["name"]: one["value"]
        for one in configs
        if one["name"] in SETTINGS and (one["value"] or "").isdecimal()
    }


def _topic(asking: Asking, wanted: str | None) -> tuple[str, UUID | None]:
    """The topic to commit to, and its id, if it has one. If none is wanted, ours is created; where
    that cannot be done, it is the first one that is there. Raises `UserError` if there is none.
    """
    if wanted is None:
        new = {"name": NEW_TOPIC, "numPartitions": PARTITIONS, "replicationFactor": 1}
        asking.ask(CREATE_TOPICS, {"topics": [new], "timeoutMs": 5_000})
    for last in (False,) * 10 + (True,):
        answer = asking.ask(METADATA, {"topics": None})
        there = {
            one["name"]: one.get("topicId")
            for one in (answer or {}).get("topics") or ()
            if not one["errorCode"] and one["partitions"] and not one.get("isInternal")
        }
        name = wanted or NEW_TOPIC
        if last and wanted is None:
            name = min(there, default=NEW_TOPIC)
        if name in there:
            id = there[name]
            return name, id if isinstance(id, UUID) and id.int else None
        time.sleep(0.1)
    raise UserError(
        f"there is no topic {wanted}" if wanted else "there is no topic, and none can be created",
        where="--topic",
        do="name a topic that the broker has; commits go to its first partition",
    )


def _round(asking: Asking, session_ms: int) -> tuple[float, bool]:
    """How many seconds the first round of a group with one member lasts, and whether the member got
    no id first.
    """
    said = subscription(messages.JoinGroup(messages.NO_ID))
    values = joining(said, timeouts=Timeouts(session_ms, session_ms))
    values |= {"groupId": f"groupcheck-round-{time.time_ns()}"}
    began, id, at_once = time.monotonic(), "", False
    for _ in range(2):
        answer = asking.ask(JOIN_GROUP, values | {"memberId": id})
        at_once = not id and answer is not None and not answer["errorCode"]
        id = str((answer or {}).get("memberId", ""))
        if answer is None or answer["errorCode"] != MEMBER_ID_REQUIRED:
            break
    lasted = time.monotonic() - began
    gone = {"memberId": id, "groupInstanceId": None}
    asking.ask(LEAVE_GROUP, {"groupId": values["groupId"], **gone, "members": [gone]})
    return lasted, at_once


def _asks_for_ids(asking: Asking) -> bool:
    """Does it announce versions of JoinGroup in which a member gets an id first?"""
    return asking.announced[JOIN_GROUP.key].stop > TWO_STEP


def _session(asking: Asking, settings: Mapping[str, str]) -> int:
    """The shortest session that the broker takes, in ms. It is tried, because few brokers tell."""
    said = subscription(messages.JoinGroup(messages.NO_ID))
    least = int(settings.get(SESSION, "0"))
    for session_ms in SESSIONS_MS:
        if session_ms < least:
            continue
        values = joining(said, timeouts=Timeouts(session_ms, session_ms))
        group = f"groupcheck-session-{time.time_ns()}"
        answer = asking.ask(JOIN_GROUP, {"groupId": group, **values})
        if answer is not None and answer["errorCode"] in (0, MEMBER_ID_REQUIRED):
            gone = {"memberId": answer["memberId"], "groupInstanceId": None}
            asking.ask(LEAVE_GROUP, {"groupId": group, **gone, "members": [gone]})
            return session_ms
    return SESSIONS_MS[-1]


def coordinator_of(group: str, at: Target, security: Security) -> str:
    """The address of the node that coordinates the group. It is where everybody connects, if there
    is one node, or if nobody says where else.
    """
    if at.nodes <= 1 or FIND_COORDINATOR.key not in at.announced:
        return at.address
    try:
        asking = Asking(at.address, security)
    except UserError:  # it may have died meanwhile: the schedule will show it
        return at.address
    try:
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until:
            values = {"key": group, "keyType": GROUP, "coordinatorKeys": [group]}
            answer = asking.ask(FIND_COORDINATOR, values) or {}
            told = answer["coordinators"][0] if answer.get("coordinators") else answer
            if not told or told["errorCode"] not in NOT_YET:
                break
            time.sleep(0.1)
    finally:
        asking.close()
    if not told or told["errorCode"] or not told["host"]:
        return at.address
    host = told["host"]
    return f"[{host}]:{told['port']}" if ":" in host else f"{host}:{told['port']}"
