"""A coordinator on the loopback that says only what it is told to: one port for each member, so
that connections are told apart.

What does not concern the group is answered by itself: versions of the APIs, topics, where the
coordinator is, committed offsets (0), records. Requests of the group wait in `arrived` until they
are answered or their connection is cut. Every API is offered in versions without compact lengths
(KIP-482), so that its messages are simple; each release of the Java client before 4.0 speaks them.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from attrs import define

from groupcheck.model.engine import OutageError
from groupcheck.oracles.wire.records import Record, messages
from groupcheck.oracles.wire.serving import LOOPBACK as HOST
from groupcheck.oracles.wire.serving import Arrival, Connection, Server
from groupcheck.traces.messages.apis import api

__all__ = ["HOST", "Network", "WaitingRequest"]

# The racks of two brokers, which are the same process. They have the partitions in turn.
RACKS = ("near", "far")
CONNECT_S = 10.0
FETCH_S = 0.03  # how long a Fetch waits for records
UNSUPPORTED_VERSION = 35

# Name -> the versions that are offered. Produce and ListOffsets are offered and never needed: some
# clients look at the version of the first, and every partition has a committed offset.
OFFERED = {
    "Produce": (2, 3),
    "Fetch": (2, 3),
    "ListOffsets": (1, 1),
    "Metadata": (0, 2),
    "OffsetCommit": (2, 7),
    "OffsetFetch": (1, 1),
    "FindCoordinator": (0, 0),
    "JoinGroup": (0, 5),
    "Heartbeat": (0, 3),
    "LeaveGroup": (0, 2),
    "SyncGroup": (0, 3),
    "ApiVersions": (0, 0),
}
OF_THE_GROUP = {"JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup", "OffsetCommit"}


@define(eq=False)
class WaitingRequest:
    """A request of the group that waits."""

    member: str
    _request: Arrival
    # Whoever takes it has written it down.
    noted: bool = False

    @property
    def api(self) -> str:
        """Kafka's name of the API."""
        return self._request.api.name

    @property
    def version(self) -> int:
        return self._request.version

    @property
    def values(self) -> dict[str, Any]:
        """Its fields, by Kafka's names."""
        return self._request.values

    @property
    def lost(self) -> bool:
        """Its connection is gone."""
        return self._request.lost


class Network:
    """The server and what it knows. A context manager."""

    def __init__(self, members: Sequence[str], topics: Mapping[str, int]) -> None:
        # Topic -> number of partitions; may be changed.
        self.topics = dict(topics)
        # Requests of the group, the oldest first; whoever takes one removes it.
        self.arrived: list[WaitingRequest] = []
        # (topic, partition) -> how many records there are.
        self.records: dict[tuple[str, int], int] = {}
        # Member -> how often it has asked for the topics.
        self.looked: dict[str, int] = dict.fromkeys(members, 0)
        self._members = list(members)
        # The connections that have carried requests of the group, each with its member.
        self._of_group: dict[Connection, str] = {}
        offered = {api(name).key: versions for name, versions in OFFERED.items()}
        self._server = Server(_Handler(self), offered, nodes=len(members))
        self.ports = dict(zip(members, self._server.ports.values(), strict=True))

    def __enter__(self) -> Network:
        """Raises `OutageError` where nobody can connect to it."""
        try:
            with socket.create_server((HOST, 0)) as listener:
                socket.create_connection(listener.getsockname(), CONNECT_S).close()
        except OSError as error:
            self.__exit__()
            what = f"nobody can connect to {HOST}: {error.strerror or error}"
            raise OutageError(what, do="bring the loopback interface up") from None
        return self

    def __exit__(self, *_: object) -> None:
        self._server.close()

    def watch(self, descriptor: int, heard: Callable[[], None]) -> None:
        """`heard` is called when there is something to read."""
        self._server.watch(descriptor, heard)

    def pump(self, seconds: float) -> None:
        """Does what there is to do, and waits for it at most so long."""
        self._server.turn(seconds)

    def answer(self, request: WaitingRequest, values: Mapping[str, Any]) -> None:
        """Answers a request of the group; fields have Kafka's names."""
        request._request.answer(values)

    def cut(self, member: str) -> None:
        """Breaks the connections over which the member speaks of its group."""
        for connection in [c for c, whose in self._of_group.items() if whose == member]:
            del self._of_group[connection]
            self._server.cut(connection)

    def member_of(self, request: Arrival) -> str:
        """The member to whose port it came."""
        return self._members[request.node - 1]

    def takes(self, request: Arrival) -> None:
        """A request of the group has arrived."""
        member = self.member_of(request)
        self._of_group[request.connection] = member
        self.arrived.append(WaitingRequest(member, request))

    def fetch(self, request: Arrival) -> None:
        """Answers a Fetch, at once if there is something to read."""
        asked = request.values["topics"]
        reads = any(self._unread(t["topic"], p) for t in asked for p in t["partitions"])
        self._server.later(
            0.0 if reads else FETCH_S, lambda: request.answer(self._fetched(request.values))
        )

    def metadata(self, request: Arrival) -> dict[str, Any]:
        """The topics, and two brokers at the port of the member that asks."""
        self.looked[self.member_of(request)] += 1
        port = self.ports[self.member_of(request)]
        return {
            "brokers": [
                {"nodeId": id, "host": HOST, "port": port, "rack": rack}
                for id, rack in enumerate(RACKS)
            ],
            "clusterId": "museum",
            "controllerId": 0,
            "topics": [
                {
                    "name": topic,
                    "partitions": [
                        {"partitionIndex": p, "leaderId": p % 2}
                        | {"replicaNodes": [p % 2], "isrNodes": [p % 2]}
                        for p in range(count)
                    ],
                }
                for topic, count in self.topics.items()
            ],
        }

    def _unread(self, topic: str, asked: Mapping[str, Any]) -> bool:
        return bool(asked["fetchOffset"] < self.records.get((topic, asked["partition"]), 0))

    def _fetched(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "responses": [
                {
                    "topic": t["topic"],
                    "partitions": [
                        {
                            "partitionIndex": p["partition"],
                            "highWatermark": self.records.get((t["topic"], p["partition"]), 0),
                            "records": (
                                record(p["fetchOffset"]) if self._unread(t["topic"], p) else b""
                            ),
                        }
                        for p in t["partitions"]
                    ],
                }
                for t in asked["topics"]
            ]
        }


@define(eq=False)
class _Handler:
    """Answers what does not concern the group; requests of the group wait."""

    _network: Network

    def arrived(self, request: Arrival) -> None:
        if request.api.name in OF_THE_GROUP:
            self._network.takes(request)

    def handle(self, request: Arrival) -> None:
        name = request.api.name
        if name == "Metadata":
            request.answer(self._network.metadata(request))
        elif name == "FindCoordinator":
            port = self._network.ports[self._network.member_of(request)]
            request.answer({"nodeId": 0, "host": HOST, "port": port})
        elif name == "ApiVersions":  # newer versions are refused in the oldest one
            code = UNSUPPORTED_VERSION if request.unknown_version else 0
            request.answer({"errorCode": code, "apiKeys": _offered()}, version=0)
        elif name == "OffsetFetch":
            request.answer(_offsets(request.values))
        elif name == "Fetch":
            self._network.fetch(request)


def _offered() -> list[dict[str, int]]:
    return [
        {"apiKey": api(name).key, "minVersion": oldest, "maxVersion": newest}
        for name, (oldest, newest) in OFFERED.items()
    ]


def _offsets(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Every partition has the committed offset 0."""
    topics = [
        {
            "name": topic["name"],
            "partitions": [
                {"partitionIndex": p, "committedOffset": 0, "metadata": ""}
                for p in topic["partitionIndexes"]
            ],
        }
        for topic in asked["topics"]
    ]
    return {"topics": topics}


def record(offset: int) -> bytes:
    """A message of version 1 with one record, whose value is its offset."""
    return messages(offset, [Record(None, str(offset).encode())], 0)
