"""A member beside the client, spoken by us: it joins, leads or follows, commits, and leaves when it
is told to. It works with any coordinator, the model's or Apache Kafka's.
"""

from __future__ import annotations

import struct
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from groupcheck.model.assignors import Partition, Partitions
from groupcheck.model.protocol.codes import (
    MEMBER_ID_REQUIRED,
    NONE,
    REBALANCE_IN_PROGRESS,
)
from groupcheck.oracles.judge.client.record import NO_GENERATION, NOTHING
from groupcheck.oracles.wire.connections import CLIENT, Closed, Connections
from groupcheck.traces.messages.apis import api
from groupcheck.traces.messages.consumer_protocol import Subscription, assignment, subscription
from groupcheck.traces.messages.message_bytes import Malformed

# Versions without tagged fields that Kafka 1.0 to 4.3 speak; it joins with its instance from 5 on.
VERSIONS = {
    "FindCoordinator": 2,
    "JoinGroup": 5,
    "SyncGroup": 3,
    "Heartbeat": 3,
    "LeaveGroup": 3,
    "OffsetCommit": 7,
    "OffsetFetch": 5,
}
# What libraries call their assignors; the group takes one that all members list.
PROTOCOLS = ("range", "roundrobin", "RoundRobinAssigner", "sticky", "cooperative-sticky")
PATIENCE_S, BEAT_S, AGAIN_S = 30.0, 0.2, 0.1
# What its connections call themselves, as no client does.
WHOSE = 77_077
BESIDE = f"{CLIENT}-{WHOSE}"
BROKEN = -2  # in place of an error code: the connection has ended

# The members' ids and what each owns -> what each gets.
Plan = Callable[[Mapping[str, Partitions]], Mapping[str, Partitions]]


class Beside:
    """One member, with a thread that keeps it in its group."""

    def __init__(
        self,
        address: str,
        group: str,
        topic: str,
        plan: Plan,
        *,
        name: str = "1",
        protocols: Sequence[str] = PROTOCOLS,
        instance: str | None = None,
        session_ms: int = 6_000,
        rebalance_ms: int = 6_000,
        versions: Mapping[str, int] = VERSIONS,
    ) -> None:
        self._address, self._group, self._topic, self.plan = address, group, topic, plan
        self._protocols, self._instance = tuple(protocols), instance
        self._session_ms, self._rebalance_ms = session_ms, rebalance_ms
        self._name, self._versions = name, versions
        self._lock = threading.Lock()
        self._connections: Connections | None = None
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        # How long it waits before it joins a round that others have begun.
        self.slow_s = 0.0
        # The offset that it commits for all its partitions as soon as it has them.
        self.at_once: int | None = None
        # What that commit was answered, and which of its partitions it has had ever since.
        self.answered: int | None = None
        self.held: Partitions = NOTHING
        self.id, self.generation = "", NO_GENERATION
        self.share: Partitions = NOTHING
        self.leads = False
        self._seats: dict[str, bytes] = {}
        # Rounds that it has finished.
        self.rounds = 0

    # -- what others ask of it

    def start(self) -> None:
        """It joins, and stays in the group from now on."""
        self._thread = threading.Thread(target=self._live, daemon=True)
        self._thread.start()

    def joined(self, seconds: float) -> bool:
        """Waits until it has finished a round."""
        until = time.monotonic() + seconds
        while not self.rounds and time.monotonic() < until:
            time.sleep(0.02)
        return bool(self.rounds)

    def commit(self, offsets: Mapping[Partition, int]) -> int:
        """Commits as the member that it is; the error code."""
        values = self._mine() | {"topics": _topics(offsets, "committedOffset")}
        told = self._ask("OffsetCommit", values | {"generationIdOrMemberEpoch": self.generation})
        found = [p["errorCode"] for t in told.get("topics", ()) for p in t["partitions"]]
        return int(max(found, default=told["errorCode"]))

    def committed(self, partitions: Partitions) -> dict[Partition, int]:
        """The committed offsets of the group; -1 where there is none. Empty if nobody answers."""
        by_topic: dict[str, list[int]] = {}
        for topic, number in sorted(partitions):
            by_topic.setdefault(topic, []).append(number)
        topics = [{"name": name, "partitionIndexes": of} for name, of in by_topic.items()]
        told = self._ask("OffsetFetch", {"groupId": self._group, "topics": topics})
        return {
            (t["name"], p["partitionIndex"]): p["committedOffset"]
            for t in told.get("topics", ())
            for p in t["partitions"]
        }

    def leave(self) -> None:
        """It leaves the group and ends."""
        self._stop()
        if self.id:
            leaves = {"groupId": self._group, "memberId": self.id}
            self._ask("LeaveGroup", leaves | {"members": [{"memberId": self.id}]})
        self._close()

    def quit(self) -> None:
        """As `leave`, without waiting for it."""
        threading.Thread(target=self.leave, daemon=True).start()

    def end(self, wait: bool = True) -> None:
        """It is not heard of any more."""
        self._ended.set()
        if wait:
            self._stop()
            self._close()

    # -- its own life

    def _stop(self) -> None:
        self._ended.set()
        if self._thread is not None:
            self._thread.join(PATIENCE_S)

    def _live(self) -> None:
        while not self._ended.is_set():
            if self._join() and self._sync():
                self.held &= self.share
                if self.at_once is not None and self.share and self.answered is None:
                    self.held = self.share
                    self.answered = self.commit(dict.fromkeys(self.share, self.at_once))
                self.rounds += 1
                self._stay()

    def _stay(self) -> None:
        """Heartbeats until it has to join again."""
        while not self._ended.wait(BEAT_S):
            code = self._ask("Heartbeat", self._mine() | {"generationId": self.generation})[
                "errorCode"
            ]
            if code == REBALANCE_IN_PROGRESS:
                self._ended.wait(self.slow_s)
            elif code not in (NONE, BROKEN):
                self.id = ""
            if code != NONE:
                return

    def _mine(self) -> dict[str, Any]:
        return {"groupId": self._group, "memberId": self.id, "groupInstanceId": self._instance}

    def _join(self) -> bool:
        metadata = subscription_bytes(self._topic, self.share)
        values = self._mine() | {
            "sessionTimeoutMs": self._session_ms,
            "rebalanceTimeoutMs": self._rebalance_ms,
            "protocolType": "consumer",
            "protocols": [{"name": name, "metadata": metadata} for name in self._protocols],
        }
        told = self._ask("JoinGroup", values)
        code = told["errorCode"]
        if code == MEMBER_ID_REQUIRED:
            self.id = told["memberId"]
            return False
        if code != NONE:
            if code > 0:
                self.id = ""
            self._ended.wait(AGAIN_S)
            return False
        self.id, self.generation = told["memberId"], told["generationId"]
        self.leads = told["leader"] == self.id
        self._seats = {m["memberId"]: m["metadata"] for m in told["members"]}
        return True

    def _sync(self) -> bool:
        shares: Mapping[str, Partitions] = {}
        if self.leads:
            said = {m: read_subscription(data)[0] for m, data in self._seats.items()}
            shares = self.plan({m: frozenset(one.owned) for m, one in said.items()})
        plan = [{"memberId": m, "assignment": share_bytes(s)} for m, s in shares.items()]
        values = self._mine() | {"generationId": self.generation, "assignments": plan}
        told = self._ask("SyncGroup", values)
        code = told["errorCode"]
        if code == NONE:
            self.share = _share(told["assignment"])
        elif code not in (REBALANCE_IN_PROGRESS, BROKEN):
            self.id = ""
        return bool(code == NONE)

    # -- the wire

    def _ask(self, name: str, values: Mapping[str, Any]) -> dict[str, Any]:
        """The answer of the coordinator; an answer with `BROKEN` if there is none."""
        with self._lock:
            for _ in range(2):
                if self._connections is None and not self._find():
                    return {"errorCode": BROKEN}
                told = self._exchange(self._connections, name, values)
                if told is not None and told.get("errorCode", 0) not in (14, 15, 16):
                    return {"errorCode": NONE} | told
                self._drop()
                self._ended.wait(AGAIN_S)
        return {"errorCode": BROKEN}

    def _find(self) -> bool:
        """Finds its coordinator."""
        first = Connections(self._address)
        told = self._exchange(first, "FindCoordinator", {"key": self._group, "keyType": 0})
        first.close()
        if told is None or told["errorCode"]:
            self._ended.wait(AGAIN_S)
            return False
        self._connections = Connections(f"{told['host']}:{told['port']}")
        return True

    def _exchange(
        self, connections: Connections | None, name: str, values: Mapping[str, Any]
    ) -> dict[str, Any] | None:
        assert connections is not None
        number = connections.send(api(name), self._versions[name], values, whose=WHOSE)
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until:
            told = connections.gather(0.1, number).get(number)
            if told is not None:
                return None if isinstance(told, Closed) else told
            if self._ended.is_set() and name in ("JoinGroup", "SyncGroup"):
                break
        return None

    def _drop(self) -> None:
        if self._connections is not None:
            self._connections.close()
            self._connections = None

    def _close(self) -> None:
        with self._lock:
            self._drop()


def _topics(offsets: Mapping[Partition, int], field: str) -> list[dict[str, Any]]:
    by_topic: dict[str, list[dict[str, Any]]] = {}
    for (topic, number), offset in sorted(offsets.items()):
        by_topic.setdefault(topic, []).append({"partitionIndex": number, field: offset})
    return [{"name": name, "partitions": of} for name, of in by_topic.items()]


def _text(text: str) -> bytes:
    data = text.encode()
    return struct.pack(">h", len(data)) + data


def _listed(partitions: Partitions) -> bytes:
    by_topic: dict[str, list[int]] = {}
    for topic, number in sorted(partitions):
        by_topic.setdefault(topic, []).append(number)
    return struct.pack(">i", len(by_topic)) + b"".join(
        _text(topic) + struct.pack(f">i{len(of)}i", len(of), *of) for topic, of in by_topic.items()
    )


def _share(data: bytes) -> Partitions:
    """The partitions of a share; none if it cannot be read, as a leader's plan is its own."""
    try:
        return frozenset(assignment(data))
    except Malformed:
        return NOTHING


def read_subscription(data: bytes) -> tuple[Subscription, str]:
    """A subscription, and what is wrong with its bytes. Of one that ends too early the topics are
    read: those of all versions stand at its beginning.
    """
    try:
        return subscription(data), ""
    except Malformed as error:
        wrong = str(error)
    try:
        return subscription(bytes(2) + data[2:]), wrong
    except Malformed:
        return Subscription(0, ()), wrong


def subscription_bytes(topic: str, owned: Partitions) -> bytes:
    """A subscription of version 1 (ConsumerProtocolSubscription.json)."""
    return struct.pack(">hi", 1, 1) + _text(topic) + struct.pack(">i", -1) + _listed(owned)


def share_bytes(share: Partitions) -> bytes:
    """An assignment of version 0 (ConsumerProtocolAssignment.json)."""
    return struct.pack(">h", 0) + _listed(share) + struct.pack(">i", -1)
