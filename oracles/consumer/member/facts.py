"""What the model's member and Kafka's are compared by after a row, both in the model's terms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from groupcheck.model.protocol.consumer.java_member import Calls, JavaMember
from groupcheck.model.protocol.consumer.messages import LEAVES, Kind, Link, Request
from groupcheck.model.protocol.consumer.scope import ConsumerScope
from groupcheck.oracles.consumer.facts import PARKED, mask, topics_of
from groupcheck.oracles.kafka.async_member import Told

Facts = Mapping[str, Any]
CALLED = {
    Calls.REVOKED: "revoked",
    Calls.ASSIGNED: "assigned",
    Calls.LOST: "lost",
    Calls.LEAVING: "revoked",
    Calls.CLOSING: "revoked",
}
# Where onPartitionsLost is not told from onPartitionsRevoked.
FOLDS = (Calls.LEAVING, Calls.CLOSING)
# What is left to compare when close() has given up everything.
CLOSED = ("assigned", "awaiting", "callback", "paused", "requests", "topics")
METHODS = {"ON_PARTITIONS_REVOKED": "revoked", "ON_PARTITIONS_LOST": "lost"}
KINDS = {0: Kind.JOIN, -1: Kind.LEAVE, PARKED: Kind.PARK}
IN_CALLBACK = ("revoked", "assigned", "lost")


def of_model(client: JavaMember, link: Link, scope: ConsumerScope) -> dict[str, Any]:
    """The model's member as facts."""
    requests = [r for r in (link.out, *link.behind) if r is not None]
    return {
        "state": client.state.name,
        "current": client.current if client.took else None,
        "target": client.target if client.given else None,
        "taken": client.done,
        "taken in part": client.partial,
        "assigned": client.assigned,
        "paused": client.paused,
        "awaiting": client.awaiting,
        "owned was sent": client.said,
        "topics were sent": client.told,
        "sends everything": client.full,
        "topics": list(topics_of(client.subscribed, scope)),
        "subscribed since the last poll": client.updated,
        "reconciling": client.taking is not None,
        "joined again meanwhile": client.taking is not None and client.taking.rejoined,
        "waiting for the application": [[CALLED[e.calls], e.partitions] for e in client.waiting],
        "callback": CALLED[client.running.calls] if client.running else "",
        "knows its coordinator": client.known,
        "leaves": client.leaving,
        "requests": [_request(r, scope) for r in requests],
    }


def _request(request: Request, scope: ConsumerScope) -> list[Any]:
    if request.kind in LEAVES:
        return [request.kind.name]
    topics = request.subscribed
    names = None if topics is None else list(topics_of(topics, scope))
    return [request.kind.name, request.owned, request.full, names]


def of_kafka(look: Told, client: JavaMember, scope: ConsumerScope) -> dict[str, Any]:
    """Kafka's member as facts. `client`: the model's, which does not tell onPartitionsLost in
    unsubscribe() and close() from onPartitionsRevoked there.
    """
    asked = [event for event in look["asked"] if event["type"] != "ERROR"]
    leaves = [event.calls == Calls.LEAVING for event in client.waiting]
    leaves += [False] * (len(asked) - len(leaves))
    runs = client.running is not None and client.running.calls in FOLDS
    current, target = look["current"], look["target"]
    same = current == target
    local = current is not None and target is not None
    partial = local and not same and current["localEpoch"] == target["localEpoch"]
    sent = look["sent"]
    where = look["application"]
    beats = [r for r in look["requests"] if r["api"] == "ConsumerGroupHeartbeat"]
    return {
        "state": look["state"],
        "current": None if current is None else _mask(current["partitions"], scope),
        "target": None if target is None else _mask(target["partitions"], scope),
        "taken": same,
        "taken in part": partial,
        "assigned": _mask(look["assigned"], scope),
        "paused": _mask(look["paused"], scope),
        "awaiting": _mask(look["awaiting"], scope),
        "owned was sent": sent["said"],
        "topics were sent": sent["topics"] == look["subscribed"],
        "sends everything": sent["rebalanceMs"] == -1,
        "topics": look["subscribed"],
        "subscribed since the last poll": look["subscriptionUpdated"],
        "reconciling": look["reconciling"],
        "joined again meanwhile": look["rejoined"],
        "waiting for the application": [
            _asked(event, folds, scope) for event, folds in zip(asked, leaves)
        ],
        "callback": _called(where, runs) if where in IN_CALLBACK else "",
        "knows its coordinator": look["coordinator"],
        "leaves": look["leaving"],
        "requests": [_sent(r, scope) for r in beats],
    }


def _mask(by_topic: Mapping[str, list[int]], scope: ConsumerScope) -> int:
    return mask(((t, p) for t, numbers in by_topic.items() for p in numbers), scope)


def _asked(event: Told, leaves: bool, scope: ConsumerScope) -> list[Any]:
    called = METHODS.get(str(event.get("methodName")), "assigned")
    return [_called(called, leaves), _mask(event["partitions"], scope)]


def _called(callback: str, leaves: bool) -> str:
    return CALLED[Calls.LEAVING] if leaves and callback == CALLED[Calls.LOST] else callback


def _sent(request: Told, scope: ConsumerScope) -> list[Any]:
    kind = KINDS.get(request["epoch"], Kind.BEAT)
    if kind in LEAVES:
        return [kind.name]
    owned = request["owned"]
    bits = None if owned is None else _mask(owned, scope)
    return [kind.name, bits, request["rebalanceTimeoutMs"] > 0, request["topics"]]
