"""A member beside the client, spoken by us: it joins, leads or follows, commits, and leaves when it
is told to. It works with any coordinator, the model's or Apache Kafka's.
"""

from __future__ import annotations

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
from groupcheck.oracles.kafka.values import by_topic
from groupcheck.oracles.wire.connections import CLIENT, Closed, Connections
from groupcheck.traces.messages import consumer_protocol
from groupcheck.traces.messages.apis import api
from groupcheck.traces.messages.consumer_protocol import Subscription, assignment, subscription
from groupcheck.traces.messages.message_bytes import Malformed

# Versions without tagged fields that Kafka 2.3 to 4.3 speak.
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
TIMEOUT_MS = 6_000  # of its session
# A round waits for longer than a client is watched that does not join: on a busy machine little of
# the time counts.
ROUND_MS = 90_000
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
        protocols: Sequence[str] = PROTOCOLS,
        versions: Mapping[str, int] = VERSIONS,
    ) -> None:
        self._address, self._group, self._topic, self.plan = address, group, topic, plan
        self._protocols, self._versions = tuple(protocols), versions
        self._lock = threading.Lock()
        self._connections: Connections | None = None
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        # How long it waits before it joins a round that others have begun.
        self.slow_s = 0.0
        # The offsets that it commits of its share in each round; None: it commits nothing.
        self.reads: Callable[[Partitions], Mapping[Partition, int]] | None = None
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
        topics = [
            {
                "name": topic,
                "partitions": [
                    {"partitionIndex": number, "committedOffset": offsets[topic, number]}
                    for number in of
                ],
            }
            for topic, of in by_topic(frozenset(offsets)).items()
        ]
        values = self._mine() | {"topics": topics}
        told = self._ask("OffsetCommit", values | {"generationIdOrMemberEpoch": self.generation})
        found = [p["errorCode"] for t in told.get("topics", ()) for p in t["partitions"]]
        return int(max(found, default=told["errorCode"]))

    def committed(self, partitions: Partitions) -> dict[Partition, int]:
        """The committed offsets of the group; -1 where there is none. Empty if nobody answers."""
        topics = [{"name": t, "partitionIndexes": of} for t, of in by_topic(partitions).items()]
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
                if self.reads is not None and self.share:
                    self.commit(self.reads(self.share))
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
        return {"groupId": self._group, "memberId": self.id}

    def _join(self) -> bool:
        metadata = subscription_bytes(self._topic, self.share)
        values = self._mine() | {
            "sessionTimeoutMs": TIMEOUT_MS,
            "rebalanceTimeoutMs": ROUND_MS,
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
            self.share = read_share(told["assignment"]) or NOTHING
        elif code not in (REBALANCE_IN_PROGRESS, BROKEN):
            self.id = ""
        return bool(code == NONE)

    # -- the wire

    def _ask(self, name: str, values: Mapping[str, Any]) -> dict[str, Any]:
        """The answer of the coordinator; an answer with `BROKEN` if there is none."""
        with self._lock:
            for _ in range(2):
                self._connections = self._connections or self._find()
                if self._connections is None:
                    return {"errorCode": BROKEN}
                told = self._exchange(self._connections, name, values)
                if told is not None and told.get("errorCode", 0) not in (14, 15, 16):
                    return {"errorCode": NONE} | told
                self._drop()
                self._ended.wait(AGAIN_S)
        return {"errorCode": BROKEN}

    def _find(self) -> Connections | None:
        """Its coordinator; None if it is not found."""
        first = Connections(self._address)
        told = self._exchange(first, "FindCoordinator", {"key": self._group, "keyType": 0})
        first.close()
        if told is None or told["errorCode"]:
            self._ended.wait(AGAIN_S)
            return None
        return Connections(f"{told['host']}:{told['port']}")

    def _exchange(
        self, connections: Connections, name: str, values: Mapping[str, Any]
    ) -> dict[str, Any] | None:
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


def read_share(data: bytes) -> Partitions | None:
    """The partitions of a share; None if it cannot be read, as a leader's plan is its own."""
    try:
        return frozenset(assignment(data))
    except Malformed:
        return None


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
    return consumer_protocol.subscription_bytes(
        Subscription(1, (topic,), owned=tuple(sorted(owned)))
    )


def share_bytes(share: Partitions) -> bytes:
    """An assignment of version 0 (ConsumerProtocolAssignment.json)."""
    return consumer_protocol.assignment_bytes(tuple(sorted(share)), 0)
