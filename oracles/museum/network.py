"""A coordinator on the loopback that says only what it is told to: one port for each member, so
that connections are told apart.

What does not concern the group is answered by itself: versions of the APIs, topics, where the
coordinator is, committed offsets (0), records. Requests of the group wait in `arrived` until they
are answered or their connection is cut. Every API is offered in versions without compact lengths
(KIP-482), so that its messages are simple; each release of the Java client before 4.0 speaks them.
"""

from __future__ import annotations

import socket
import struct
import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from selectors import EVENT_READ, DefaultSelector
from typing import Any

from attrs import define, field

from groupcheck.model.engine import OutageError
from groupcheck.traces.messages.apis import Request, api, read_request, response_bytes
from groupcheck.traces.messages.message_bytes import Reader

HOST = "127.0.0.1"
# The racks of two brokers, which are the same process. They have the partitions in turn.
RACKS = ("near", "far")
CHUNK = 1 << 16
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
_VERSIONS = api("ApiVersions")


@define(eq=False)
class Connection:
    member: str
    socket: socket.socket
    read: bytearray = field(factory=bytearray)
    # Requests in the order in which they came, each in a list with its answer as soon as there is
    # one.
    waiting: list[list[bytes]] = field(factory=list)
    # It has carried requests of the group.
    serves_group: bool = False
    gone: bool = False


@define(eq=False)
class Arrived:
    """A request of the group that waits."""

    member: str
    _request: Request
    _connection: Connection
    _place: list[bytes]
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
        return self._connection.gone


class Network:
    """The loop and its sockets. A context manager."""

    def __init__(self, members: Sequence[str], topics: Mapping[str, int]) -> None:
        # Topic -> number of partitions; may be changed.
        self.topics = dict(topics)
        # Requests of the group, the oldest first; whoever takes one removes it.
        self.arrived: list[Arrived] = []
        # (topic, partition) -> how many records there are.
        self.records: dict[tuple[str, int], int] = {}
        # Member -> how often it has asked for the topics.
        self.looked: dict[str, int] = dict.fromkeys(members, 0)
        self._ready = DefaultSelector()
        self._due: list[tuple[float, Callable[[], None]]] = []
        self._connections: list[Connection] = []
        self.ports: dict[str, int] = {}
        self._listening: list[socket.socket] = []
        for member in members:
            listener = socket.create_server((HOST, 0))
            listener.setblocking(False)
            self._listening.append(listener)
            self.ports[member] = listener.getsockname()[1]
            self._ready.register(listener, EVENT_READ, self._accepting(listener, member))

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
        for connection in list(self._connections):
            self._close(connection)
        for listener in self._listening:
            listener.close()
        self._ready.close()

    def watch(self, descriptor: int, heard: Callable[[], None]) -> None:
        """`heard` is called when there is something to read."""
        self._ready.register(descriptor, EVENT_READ, heard)

    def pump(self, seconds: float) -> None:
        """Does what there is to do, and waits for it at most so long."""
        wait = min([seconds, *(at - time.monotonic() for at, _ in self._due)])
        for key, _ in self._ready.select(max(0.0, wait)):
            key.data()
        now = time.monotonic()
        due, self._due = [d for d in self._due if d[0] <= now], [d for d in self._due if d[0] > now]
        for _, act in due:
            act()

    def answer(self, request: Arrived, values: Mapping[str, Any]) -> None:
        """Answers a request of the group; fields have Kafka's names."""
        request._place.append(_answer(request._request, values))
        self._flush(request._connection)

    def cut(self, member: str) -> None:
        """Breaks the connections over which the member speaks of its group."""
        for connection in [c for c in self._connections if c.member == member and c.serves_group]:
            self._close(connection)

    def _accepting(self, listener: socket.socket, member: str) -> Callable[[], None]:
        def accept() -> None:
            accepted, _ = listener.accept()
            accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection = Connection(member, accepted)
            self._connections.append(connection)
            self._ready.register(accepted, EVENT_READ, lambda: self._read(connection))

        return accept

    def _close(self, connection: Connection) -> None:
        if connection.gone:
            return
        connection.gone = True
        self._connections.remove(connection)
        self._ready.unregister(connection.socket)
        connection.socket.close()

    def _read(self, connection: Connection) -> None:
        try:
            chunk = connection.socket.recv(CHUNK)
        except OSError:
            chunk = b""
        if not chunk:
            self._close(connection)
            return
        connection.read += chunk
        while len(connection.read) >= 4:
            (size,) = struct.unpack_from(">i", connection.read)
            if len(connection.read) < 4 + size:
                return
            whole = bytes(connection.read[4 : 4 + size])
            del connection.read[: 4 + size]
            self._handle(connection, whole)

    def _handle(self, connection: Connection, whole: bytes) -> None:
        place: list[bytes] = []
        connection.waiting.append(place)
        head = Reader(whole)
        key, version, number = head.number("int16"), head.number("int16"), head.number("int32")
        if key == _VERSIONS.key and version:  # newer versions are refused in the oldest one
            offered = {"errorCode": UNSUPPORTED_VERSION, "apiKeys": _offered()}
            place.append(response_bytes(_VERSIONS, 0, number, offered))
        else:
            self._serve(connection, place, read_request(whole))
        self._flush(connection)

    def _serve(self, connection: Connection, place: list[bytes], request: Request) -> None:
        port = self.ports[connection.member]
        asked = request.values
        if request.api.name == "Metadata":
            self.looked[connection.member] += 1
            place.append(_answer(request, self._metadata(port)))
        elif request.api.name == "FindCoordinator":
            place.append(_answer(request, {"nodeId": 0, "host": HOST, "port": port}))
        elif request.api is _VERSIONS:
            place.append(_answer(request, {"apiKeys": _offered()}))
        elif request.api.name == "OffsetFetch":
            place.append(_answer(request, _offsets(asked)))
        elif request.api.name != "Fetch":
            connection.serves_group = True
            self.arrived.append(Arrived(connection.member, request, connection, place))
        elif any(self._unread(t["topic"], p) for t in asked["topics"] for p in t["partitions"]):
            place.append(_answer(request, self._fetched(asked)))
        else:
            later = self._later(connection, place, request)
            self._due.append((time.monotonic() + FETCH_S, later))

    def _later(
        self, connection: Connection, place: list[bytes], request: Request
    ) -> Callable[[], None]:
        def answer() -> None:
            place.append(_answer(request, self._fetched(request.values)))
            self._flush(connection)

        return answer

    def _metadata(self, port: int) -> dict[str, Any]:
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

    def _flush(self, connection: Connection) -> None:
        """Sends the answers that no earlier request holds up."""
        while connection.waiting and connection.waiting[0]:
            (raw,) = connection.waiting.pop(0)
            if not connection.gone:
                with suppress(OSError):
                    connection.socket.sendall(raw)


def _answer(request: Request, values: Mapping[str, Any]) -> bytes:
    return response_bytes(request.api, request.version, request.number, values)


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
    """A message set of format 1 with one record, whose value is its offset."""
    value = str(offset).encode()
    body = struct.pack(">bbqi", 1, 0, 0, -1) + struct.pack(">i", len(value)) + value
    message = struct.pack(">I", zlib.crc32(body)) + body
    return struct.pack(">qi", offset, len(message)) + message
