"""A bounded server of Kafka's messages on the loopback: the nodes of one cluster, a port for each.

Requests are read and noted when they arrive. Those of one connection are handled in their order,
one at a time, as Kafka does: the next one once the one before is answered. The handler answers now,
later or never, or cuts the connection.

One thread does everything (`turn`, or `in_background`); other threads use `post` and `call`. What
comes from outside is bounded: the size of a request, connections, requests that wait on one
connection, bytes in memory, the log. Bytes that are no request end only their connection.
"""

from __future__ import annotations

import socket
import struct
import time
from collections import deque
from collections.abc import Callable, Mapping
from selectors import EVENT_READ, EVENT_WRITE
from typing import Any, Protocol

from attrs import Factory, define, frozen

from groupcheck.model.engine import OutageError, UserError
from groupcheck.oracles.wire.exchange_log import ExchangeLog, LogEntry, What
from groupcheck.oracles.wire.loop import CHUNK, Loop, Timer, in_background
from groupcheck.traces.messages.apis import APIS, Api, Request, read_request, response_bytes
from groupcheck.traces.messages.message_bytes import Malformed

LOOPBACK = "127.0.0.1"
BACKLOG = 100
API_VERSIONS = 18


@frozen
class Bounds:
    """What a peer may cost."""

    # Bytes of one request.
    request_bytes: int = 8 << 20
    connections: int = 1_000
    # Requests of one connection that are not answered.
    waiting: int = 1_000
    # Bytes of all connections that are read and not handled, or answered and not sent.
    kept_bytes: int = 128 << 20
    # Entries of the log, and bytes of the requests and answers in it.
    noted: int = 100_000
    noted_bytes: int = 32 << 20


@define(eq=False)
class Connection:
    """A connection, as the server sees it."""

    number: int
    node: int
    _socket: socket.socket
    # Nothing can be sent over it any more.
    gone: bool = False
    # The peer sends nothing more.
    ended: bool = False
    read: bytearray = Factory(bytearray)
    unsent: bytearray = Factory(bytearray)
    # Requests that are not answered, in order; the first one is being handled, if `busy`.
    waiting: deque[Arrival] = Factory(deque)
    busy: bool = False
    # Its requests are being handled: what is answered meanwhile starts nothing anew.
    advancing: bool = False
    # What the selector waits for.
    events: int = EVENT_READ
    # What it counts for in `Bounds.kept_bytes`.
    kept: int = 0


@define(eq=False)
class Arrival:
    """A request that has arrived. It may be answered once, by the thread that serves; an answer
    that is given before its turn is sent when it is.
    """

    # Among all requests to the server, from 1 on.
    number: int
    # When it came, as `time.monotonic` says it.
    at: float
    api: Api
    version: int
    values: dict[str, Any]
    client: str
    connection: Connection
    # The version is not offered: only of ApiVersions, which is answered nevertheless (KIP-511).
    unknown_version: bool
    size: int
    _correlation: int
    _server: Server
    answered: bool = False
    # The answer that was given before its turn, with its fields.
    early: tuple[bytes, Mapping[str, Any]] | None = None

    @property
    def node(self) -> int:
        """The node that it came to."""
        return self.connection.node

    @property
    def lost(self) -> bool:
        """Will nobody read its answer?"""
        return self.connection.gone or self.connection.ended

    def answer(self, values: Mapping[str, Any], version: int | None = None) -> None:
        """Answers it with these fields, in the request's version if no other is given."""
        written = self.version if version is None else version
        raw = response_bytes(self.api, written, self._correlation, values)
        self.answer_bytes(raw, values)

    def answer_bytes(self, raw: bytes, values: Mapping[str, Any] = {}) -> None:
        """Answers it with these bytes, whatever they are, with their length. `values`: what the log
        says of them.
        """
        if not self.answered and not self.connection.gone:
            self._server.answered(self, raw, values)

    def leave_unanswered(self) -> None:
        """The next request of the connection is handled, as if this one were answered: Produce
        without acknowledgement has no answer.
        """
        self.answer_bytes(b"")

    def cut(self, why: str = "") -> None:
        """Breaks the connection, with all that waits on it."""
        self._server.cut(self.connection, why)


class Handler(Protocol):
    """Who answers. All is called by the thread that serves. `Malformed` cuts the connection."""

    def arrived(self, request: Arrival) -> None:
        """A request was read; it may still have to wait behind others of its connection."""

    def handle(self, request: Arrival) -> None:
        """It is the request's turn."""


class Server(Loop):
    """The nodes and their sockets. A context manager: ports are open from its construction on."""

    def __init__(
        self,
        handler: Handler,
        offered: Mapping[int, tuple[int, int]],
        nodes: int = 1,
        port: int = 0,
        bounds: Bounds = Bounds(),
        note: Callable[[LogEntry], None] | None = None,
    ) -> None:
        """`offered`: key of an API -> its oldest and newest version here; whatever else is asked
        cuts the connection, as in Kafka. `port`: of the first node, the others have the next ones;
        0: any. `note` hears every entry of the log. Raises `UserError` for a port that is taken,
        and `OutageError` without a loopback interface.
        """
        super().__init__()
        self.offered = dict(offered)
        self.bounds, self._handler, self._note = bounds, handler, note
        self.log = ExchangeLog()
        self.requests = 0
        self._kept = 0
        self._began = time.monotonic()
        self._connections: dict[int, Connection] = {}
        self._numbers = 0
        # Node -> port; nodes are numbered from 1.
        self.ports: dict[int, int] = {}
        self._listening: dict[int, socket.socket] = {}
        try:
            for node in range(1, nodes + 1):
                self.ports[node] = port + node - 1 if port else 0
                self.open(node)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Server:
        return self

    @property
    def address(self) -> str:
        """Where clients begin: the first node."""
        return f"{LOOPBACK}:{self.ports[1]}"

    # -- Nodes

    @property
    def up(self) -> list[int]:
        """The nodes that listen."""
        return sorted(self._listening)

    def open(self, node: int) -> None:
        """The node listens, at the port that it had before."""
        if node in self._listening:
            return
        try:
            listener = socket.create_server((LOOPBACK, self.ports[node]), backlog=BACKLOG)
        except OSError as error:
            what = f"cannot listen at {LOOPBACK}:{self.ports[node]}: {error.strerror or error}"
            if self.ports[node]:
                raise UserError(what, where="--port", do="choose another port, or 0") from None
            raise OutageError(what, do="bring the loopback interface up") from None
        listener.setblocking(False)
        self.ports[node] = listener.getsockname()[1]
        self._listening[node] = listener
        self.watch(listener, lambda: self._accept(node, listener))

    def shut(self, node: int, why: str = "the node is down") -> None:
        """The node is gone: it does not listen, and its connections are cut."""
        listener = self._listening.pop(node, None)
        if listener is not None:
            self.ready.unregister(listener)
            listener.close()
        for connection in [c for c in self._connections.values() if c.node == node]:
            self.cut(connection, why)

    def close(self) -> None:
        for node in list(self._listening):
            self.shut(node, "the server ends")
        super().close()

    # -- Connections

    def _accept(self, node: int, listener: socket.socket) -> None:
        try:
            accepted, _ = listener.accept()
        except OSError:
            return
        self._numbers += 1
        accepted.setblocking(False)
        accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection = Connection(self._numbers, node, accepted)
        if len(self._connections) >= self.bounds.connections:
            self._noting(connection, "refused", why="too many connections")
            accepted.close()
            return
        self._connections[connection.number] = connection
        self._noting(connection, "opened")
        self.ready.register(accepted, EVENT_READ, self._serving(connection))

    def cut(self, connection: Connection, why: str = "") -> None:
        """Breaks a connection, with all that waits on it."""
        self._forget(connection, "cut", why)

    def _forget(self, connection: Connection, what: What, why: str = "") -> None:
        if connection.gone:
            return
        connection.gone = True
        del self._connections[connection.number]
        if connection.events:
            self.ready.unregister(connection._socket)
        self._noting(connection, what, why=why)  # before the peer can see it
        connection._socket.close()
        connection.waiting.clear()
        connection.read.clear()
        connection.unsent.clear()
        self._kept -= connection.kept

    def _keep(self, connection: Connection, more: int) -> bool:
        """Counts bytes that are kept for a connection. False: it has become too much, and is
        cut.
        """
        connection.kept += more
        self._kept += more
        if self._kept > self.bounds.kept_bytes and more > 0:
            self._forget(connection, "refused", "too many bytes in memory")
        return not connection.gone

    def _serving(self, connection: Connection) -> Callable[[int], None]:
        def serve(events: int) -> None:
            if events & EVENT_WRITE and not connection.gone:
                self._flush(connection)
            if events & EVENT_READ and not connection.gone:
                self._receive(connection)

        return serve

    def _receive(self, connection: Connection) -> None:
        try:
            chunk = connection._socket.recv(CHUNK)
        except BlockingIOError:
            return
        except OSError:
            self._forget(connection, "hung_up")
            return
        if not chunk:
            # What it has sent before is handled all the same, as Kafka does.
            connection.ended = True
            self._watch(connection)
            if not connection.waiting:
                self._forget(connection, "hung_up")
            return
        connection.read += chunk
        if not self._keep(connection, len(chunk)):
            return
        try:
            while (raw := self._whole(connection)) is not None and not connection.gone:
                self._arrive(connection, raw)
            self._advance(connection)
        except Malformed as error:
            self._forget(connection, "refused", str(error))

    def _whole(self, connection: Connection) -> bytes | None:
        """The next request that is there in full, without its length. Raises `Malformed`."""
        read = connection.read
        if len(read) < 4:
            return None
        (size,) = struct.unpack_from(">i", read)
        if not 8 <= size <= self.bounds.request_bytes:
            raise Malformed(f"a request of {size} bytes")
        if len(read) < 4 + size:
            return None
        raw = bytes(read[4 : 4 + size])
        del read[: 4 + size]
        self._keep(connection, -4)
        return raw

    def _arrive(self, connection: Connection, raw: bytes) -> None:
        if len(connection.waiting) >= self.bounds.waiting:
            raise Malformed("too many requests wait")
        key, version, correlation = struct.unpack_from(">hhi", raw)
        oldest, newest = self.offered.get(key, (0, -1))
        known = oldest <= version <= newest
        if not known and (key != API_VERSIONS or key not in self.offered):
            raise Malformed(f"version {version} of API {key} is not offered")
        request = read_request(raw) if known else Request(APIS[key], version, correlation, "", {})
        self.requests += 1
        arrival = Arrival(
            number=self.requests,
            at=time.monotonic(),
            api=request.api,
            version=version,
            values=request.values,
            client=request.client or "",
            connection=connection,
            unknown_version=not known,
            size=len(raw),
            correlation=correlation,
            server=self,
        )
        connection.waiting.append(arrival)
        self._noting(connection, "request", arrival, arrival.values, size=len(raw))
        self._handler.arrived(arrival)

    def _advance(self, connection: Connection) -> None:
        """Handles the requests that are not held up by an earlier one."""
        connection.advancing = True
        while connection.waiting and not connection.busy and not connection.gone:
            connection.busy = True
            try:
                first = connection.waiting[0]
                if first.early is None:
                    self._handler.handle(first)
                else:
                    self._send(first, *first.early)
            except Malformed as error:
                self._forget(connection, "refused", str(error))
        connection.advancing = False
        if connection.ended and not connection.waiting:
            self._forget(connection, "hung_up")

    def answered(self, arrival: Arrival, raw: bytes, values: Mapping[str, Any]) -> None:
        """The answer to a request that is the first of its connection, or waits behind others."""
        arrival.answered = True
        if arrival.connection.waiting[0] is arrival:
            self._send(arrival, raw, values)
        else:
            arrival.early = raw, values

    def _send(self, arrival: Arrival, raw: bytes, values: Mapping[str, Any]) -> None:
        connection = arrival.connection
        connection.waiting.popleft()
        connection.busy = False
        self._noting(connection, "answer", arrival, values, size=len(raw))
        if not self._keep(connection, len(raw) - arrival.size):
            return
        connection.unsent += raw
        self._flush(connection)
        if not connection.advancing and (connection.waiting or connection.ended):
            self.post(lambda: self._advance(connection))

    def _flush(self, connection: Connection) -> None:
        if connection.gone:
            return
        try:
            sent = connection._socket.send(connection.unsent) if connection.unsent else 0
        except BlockingIOError:
            sent = 0
        except OSError:
            self._forget(connection, "hung_up")
            return
        del connection.unsent[:sent]
        self._keep(connection, -sent)
        self._watch(connection)

    def _watch(self, connection: Connection) -> None:
        events = (0 if connection.ended else EVENT_READ) | (EVENT_WRITE if connection.unsent else 0)
        if events == connection.events:
            return
        if not connection.events:
            self.ready.register(connection._socket, events, self._serving(connection))
        elif events:
            self.ready.modify(connection._socket, events, self._serving(connection))
        else:  # a selector has no way to wait for nothing
            self.ready.unregister(connection._socket)
        connection.events = events

    # -- The log

    def _noting(
        self,
        connection: Connection,
        what: What,
        arrival: Arrival | None = None,
        values: Mapping[str, Any] = {},
        why: str = "",
        size: int = 0,
    ) -> None:
        noted = LogEntry(
            at_s=time.monotonic() - self._began,
            what=what,
            node=connection.node,
            connection=connection.number,
            number=arrival.number if arrival else 0,
            api=arrival.api.name if arrival else "",
            version=arrival.version if arrival else 0,
            client=arrival.client if arrival else "",
            values=values,
            why=why,
        )
        self.log.add(noted, size, self.bounds.noted, self.bounds.noted_bytes)
        if self._note is not None:
            self._note(noted)


__all__ = [
    "LOOPBACK",
    "Arrival",
    "Bounds",
    "Connection",
    "Handler",
    "LogEntry",
    "Server",
    "Timer",
    "in_background",
]
