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
from groupcheck.traces.captures.apis import APIS as GROUP_APIS
from groupcheck.traces.messages.message_bytes import Field, Reader, encode

HOST = "127.0.0.1"
# The racks of two brokers, which are the same process. They have the partitions in turn.
RACKS = ("near", "far")
CHUNK = 1 << 16
CONNECT_S = 10.0
FETCH_S = 0.03  # how long a Fetch waits for records
UNSUPPORTED_VERSION = 35

_PARTITIONS_ASKED = (
    Field("topic", "string"),
    Field(
        "partitions", (Field("partition", "int32"), Field("offset", "int64"), Field("max", "int32"))
    ),
)
_FETCH_REQUEST = (
    Field("replica", "int32"),
    Field("wait", "int32"),
    Field("min", "int32"),
    Field("most", "int32", 3),
    Field("topics", _PARTITIONS_ASKED),
)
_FETCH_RESPONSE = (
    Field("throttle", "int32"),
    Field(
        "topics",
        (
            Field("topic", "string"),
            Field(
                "partitions",
                (
                    Field("partition", "int32"),
                    Field("error", "int16"),
                    Field("high", "int64"),
                    Field("records", "bytes"),
                ),
            ),
        ),
    ),
)
_METADATA_RESPONSE = (
    Field(
        "brokers",
        (
            Field("id", "int32"),
            Field("host", "string"),
            Field("port", "int32"),
            Field("rack", "nullable_string", 1),
        ),
    ),
    Field("cluster", "nullable_string", 2),
    Field("controller", "int32", 1),
    Field(
        "topics",
        (
            Field("error", "int16"),
            Field("topic", "string"),
            Field("internal", "int8", 1),
            Field(
                "partitions",
                (
                    Field("error", "int16"),
                    Field("partition", "int32"),
                    Field("leader", "int32"),
                    Field("replicas", "[]int32"),
                    Field("in_sync", "[]int32"),
                ),
            ),
        ),
    ),
)
_COORDINATOR_RESPONSE = (
    Field("error", "int16"),
    Field("id", "int32"),
    Field("host", "string"),
    Field("port", "int32"),
)
_VERSIONS_RESPONSE = (
    Field("error", "int16"),
    Field("apis", (Field("key", "int16"), Field("oldest", "int16"), Field("newest", "int16"))),
)
FETCH, METADATA, OFFSET_FETCH, COORDINATOR, VERSIONS = 1, 3, 9, 10, 18
# Key -> the versions that are offered. Produce (0) and ListOffsets (2) are offered and never
# needed: some clients look at the version of the first, and every partition has a committed offset.
OFFERED = {
    0: (2, 3),
    FETCH: (2, 3),
    2: (1, 1),
    METADATA: (0, 2),
    8: (2, 7),
    OFFSET_FETCH: (1, 1),
    COORDINATOR: (0, 0),
    11: (0, 5),
    12: (0, 3),
    13: (0, 2),
    14: (0, 3),
    VERSIONS: (0, 0),
}
NAMES = {8: "OffsetCommit", 11: "JoinGroup", 12: "Heartbeat", 13: "LeaveGroup", 14: "SyncGroup"}


@define(eq=False)
class Connection:
    member: str
    socket: socket.socket
    read: bytearray = field(factory=bytearray)
    # Requests in the order in which they came: [number, answer or None].
    waiting: list[list[Any]] = field(factory=list)
    # It has carried requests of the group.
    serves_group: bool = False
    gone: bool = False


@define(eq=False)
class Arrived:
    """A request of the group that waits."""

    member: str
    # Kafka's name of the API.
    api: str
    version: int
    values: dict[str, Any]
    _key: int
    _connection: Connection
    _place: list[Any]
    # Whoever takes it has written it down.
    noted: bool = False

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
        """Answers a request of the group; the fields are those of traces/captures/apis.py."""
        api = GROUP_APIS[request._key]
        request._place[1] = encode(api.response, request.version, values)
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
        reader = Reader(whole)
        key, version = reader.number("int16"), reader.number("int16")
        place: list[Any] = [reader.number("int32"), None]
        connection.waiting.append(place)
        if key == VERSIONS:  # newer versions have another form, and are refused in the oldest one
            apis = [{"key": k, "oldest": v[0], "newest": v[1]} for k, v in OFFERED.items()]
            error = UNSUPPORTED_VERSION if version else 0
            place[1] = encode(_VERSIONS_RESPONSE, 0, {"error": error, "apis": apis})
        else:
            reader.beginning((Field("client", "nullable_string"),), 0)
            self._serve(connection, place, key, version, reader)
        self._flush(connection)

    def _serve(
        self, connection: Connection, place: list[Any], key: int, version: int, reader: Reader
    ) -> None:
        port = self.ports[connection.member]
        if key == METADATA:
            self.looked[connection.member] += 1
            place[1] = encode(_METADATA_RESPONSE, version, self._metadata(port))
        elif key == COORDINATOR:
            found = {"error": 0, "id": 0, "host": HOST, "port": port}
            place[1] = encode(_COORDINATOR_RESPONSE, 0, found)
        elif key == OFFSET_FETCH:
            place[1] = self._offsets(reader, version)
        elif key == FETCH:
            asked = reader.fields(_FETCH_REQUEST, version)
            if any(self._unread(t["topic"], p) for t in asked["topics"] for p in t["partitions"]):
                place[1] = self._fetched(asked)
            else:
                self._due.append(
                    (time.monotonic() + FETCH_S, self._later(connection, place, asked))
                )
        else:
            api = GROUP_APIS[key]
            connection.serves_group = True
            values = reader.fields(api.request, version)
            self.arrived.append(
                Arrived(connection.member, NAMES[key], version, values, key, connection, place)
            )

    def _later(
        self, connection: Connection, place: list[Any], asked: dict[str, Any]
    ) -> Callable[[], None]:
        def answer() -> None:
            place[1] = self._fetched(asked)
            self._flush(connection)

        return answer

    def _metadata(self, port: int) -> dict[str, Any]:
        return {
            "brokers": [
                {"id": id, "host": HOST, "port": port, "rack": rack}
                for id, rack in enumerate(RACKS)
            ],
            "cluster": "museum",
            "controller": 0,
            "topics": [
                {
                    "error": 0,
                    "topic": topic,
                    "internal": 0,
                    "partitions": [
                        {"error": 0, "partition": p}
                        | {"leader": p % 2, "replicas": [p % 2], "in_sync": [p % 2]}
                        for p in range(count)
                    ],
                }
                for topic, count in self.topics.items()
            ],
        }

    def _offsets(self, reader: Reader, version: int) -> bytes:
        api = GROUP_APIS[OFFSET_FETCH]
        topics = [
            {
                "name": topic["name"],
                "partitions": [
                    {"partitionIndex": p, "committedOffset": 0, "metadata": "", "errorCode": 0}
                    for p in topic["partitionIndexes"]
                ],
            }
            for topic in reader.fields(api.request, version)["topics"]
        ]
        return encode(api.response, version, {"topics": topics})

    def _unread(self, topic: str, asked: Mapping[str, Any]) -> bool:
        return bool(asked["offset"] < self.records.get((topic, asked["partition"]), 0))

    def _fetched(self, asked: Mapping[str, Any]) -> bytes:
        topics = [
            {
                "topic": t["topic"],
                "partitions": [
                    {
                        "partition": p["partition"],
                        "error": 0,
                        "high": self.records.get((t["topic"], p["partition"]), 0),
                        "records": record(p["offset"]) if self._unread(t["topic"], p) else b"",
                    }
                    for p in t["partitions"]
                ],
            }
            for t in asked["topics"]
        ]
        return encode(_FETCH_RESPONSE, 1, {"throttle": 0, "topics": topics})

    def _flush(self, connection: Connection) -> None:
        """Sends the answers that no earlier request holds up."""
        while connection.waiting and connection.waiting[0][1] is not None:
            number, body = connection.waiting.pop(0)
            raw = struct.pack(">ii", 4 + len(body), number) + body
            if not connection.gone:
                with suppress(OSError):
                    connection.socket.sendall(raw)


def record(offset: int) -> bytes:
    """A message set of format 1 with one record, whose value is its offset."""
    value = str(offset).encode()
    body = struct.pack(">bbqi", 1, 0, 0, -1) + struct.pack(">i", len(value)) + value
    message = struct.pack(">I", zlib.crc32(body)) + body
    return struct.pack(">qi", offset, len(message)) + message
