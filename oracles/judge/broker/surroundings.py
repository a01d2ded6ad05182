"""What has to be known of a broker before it is judged: versions, its settings as far as it tells
them, a topic to commit to, the shortest session.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from groupcheck.model.engine import UserError
from groupcheck.model.protocol import messages
from groupcheck.oracles.judge.broker.walk import Target
from groupcheck.oracles.judge.following.requests import JOIN_GROUP, LEAVE_GROUP, Timeouts, joining
from groupcheck.oracles.judge.following.said import subscription
from groupcheck.oracles.wire.connections import Closed, Connections, announced
from groupcheck.oracles.wire.security import Security
from groupcheck.traces.messages.apis import Api, api

PATIENCE_S = 10.0
METADATA, CREATE_TOPICS, DESCRIBE_CONFIGS = (
    api("Metadata"),
    api("CreateTopics"),
    api("DescribeConfigs"),
)
BROKER = 4  # the type of a resource (ConfigResource.Type)
SESSIONS_MS = (1_000, 2_000, 3_000, 6_000, 10_000)  # that are tried
SETTINGS = (
    "group.initial.rebalance.delay.ms",
    "group.min.session.timeout.ms",
    "group.max.size",
)
TOPIC_EXISTS = 36
PARTITIONS = 3
NEW_TOPIC = "groupcheck"


class Asking:
    """Single questions to a broker, each in the newest version that both know."""

    def __init__(self, address: str, security: Security) -> None:
        self._connections = Connections(address, security)
        self.announced = announced(self._connections, PATIENCE_S)

    def close(self) -> None:
        self._connections.close()

    def version(self, of: Api, newest: int | None = None) -> int | None:
        """The newest version that both know; None if there is none."""
        there = self.announced.get(of.key, range(0))
        most = min(there.stop - 1, of.newest if newest is None else newest)
        return most if most in there else None

    def ask(
        self, of: Api, values: Mapping[str, Any], newest: int | None = None
    ) -> dict[str, Any] | None:
        """The answer; None if the broker does not know the API, or does not answer."""
        version = self.version(of, newest)
        if version is None:
            return None
        number = self._connections.send(of, version, values)
        answer = self._connections.gather(PATIENCE_S, number).get(number)
        self._connections.abandon()
        return None if answer is None or isinstance(answer, Closed) else answer


def target(
    address: str, security: Security, topic: str | None, given: Mapping[str, str]
) -> tuple[Target, dict[str, str]]:
    """The broker, and its settings: those `given`, and those that it tells. Raises `UserError` if
    it does not answer or has no topic.
    """
    asking = Asking(address, security)
    try:
        about = asking.ask(METADATA, {"topics": None}, 8) or {}
        settings = {**_told(asking, about), **given}
        name = topic or NEW_TOPIC
        id = _topic(asking, name, is_own=topic is None)
        session_ms = _session(asking, settings)
        return Target(address, asking.announced, name, id, session_ms), settings
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
        if one["name"] in SETTINGS and one["value"] is not None
    }


def _topic(asking: Asking, name: str, *, is_own: bool) -> UUID | None:
    """The id of the topic, if it has one; it is created if it is ours. Raises `UserError` if it is
    not there.
    """
    if is_own:
        wanted = {"name": name, "numPartitions": PARTITIONS, "replicationFactor": 1}
        asking.ask(CREATE_TOPICS, {"topics": [wanted], "timeoutMs": 5_000})
    for _ in range(20):
        answer = asking.ask(METADATA, {"topics": [{"name": name}]})
        for one in (answer or {}).get("topics") or ():
            if one["name"] == name and not one["errorCode"] and one["partitions"]:
                id = one.get("topicId")
                return id if isinstance(id, UUID) and id.int else None
    raise UserError(
        f"there is no topic {name}" + (", and the broker does not create it" if is_own else ""),
        where="--topic",
        do="name a topic that the broker has; commits go to its first partition",
    )


def _session(asking: Asking, settings: Mapping[str, str]) -> int:
    """The shortest session that the broker takes, in ms. It is tried, because few brokers tell."""
    said = subscription(messages.JoinGroup(messages.NO_ID))
    least = int(settings.get("group.min.session.timeout.ms", "0"))
    for session_ms in SESSIONS_MS:
        if session_ms < least:
            continue
        values = joining(said, timeouts=Timeouts(session_ms, session_ms))
        group = f"groupcheck-session-{session_ms}"
        answer = asking.ask(JOIN_GROUP, {"groupId": group, **values})
        if answer is not None and answer["errorCode"] in (0, 79):
            gone = {"memberId": answer["memberId"], "groupInstanceId": None}
            asking.ask(LEAVE_GROUP, {"groupId": group, **gone, "members": [gone]})
            return session_ms
    return SESSIONS_MS[-1]
