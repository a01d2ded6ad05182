"""Connections to a broker: each belongs to one member, requests are sent, answers are gathered as
they come. Every wait is bounded, and so is every answer; nothing that comes is trusted.

A broker may know a member by its connection, so no two members share one. A member that sends a
request while another one of its own waits takes a further connection of its own.
"""

from __future__ import annotations

import select
import socket
import ssl
import struct
import time
from collections.abc import Mapping
from typing import Any

from attrs import define, field, frozen

from groupcheck.model.engine import UserError
from groupcheck.oracles.wire.security import PLAINTEXT, Security
from groupcheck.traces.messages.apis import Api, api, request_bytes, response_values
from groupcheck.traces.messages.message_bytes import Malformed

CLIENT = "groupcheck"
CONNECT_S = 10.0
LARGEST = 1 << 20  # of an answer
CHUNK = 1 << 16
API_VERSIONS = api("ApiVersions")


@frozen
class Closed:
    """In place of an answer: the broker has closed the connection, or refused it."""

    why: str = "the connection is closed"


@frozen
class Unreadable(Closed):
    """In place of an answer: bytes that the version of the answer does not allow. The connection is
    closed then.
    """


Answered = dict[str, Any] | Closed


@define
class _Waiting:
    """A request that waits: its number, and what is needed to read its answer."""

    number: int
    api: Api
    version: int
    whose: int
    read: bytearray = field(factory=bytearray)


class Connections:
    """As many connections as there are requests that wait; a member's idle ones are used again for
    this member. Requests are numbered from 1.
    """

    def __init__(self, address: str, security: Security = PLAINTEXT) -> None:
        self._where, self._security = host_and_port(address), security
        self._idle: dict[int, list[socket.socket]] = {}
        self._waiting: dict[socket.socket, _Waiting] = {}
        # Answers that stand in for those of connections that could not be made.
        self._refused: dict[int, Answered] = {}
        self._sent = 0

    def send(
        self, api: Api, version: int, values: Mapping[str, Any], cut: int = 0, whose: int = -1
    ) -> int:
        """Sends a request over a connection of the member `whose` (-1: of nobody) and returns its
        number. `cut`: how many bytes are missing at its end; its length does not count them.
        """
        self._sent += 1
        name = CLIENT if whose < 0 else f"{CLIENT}-{whose}"
        raw = request_bytes(api, version, self._sent, name, values)
        if cut:
            raw = struct.pack(">i", len(raw) - 4 - cut) + raw[4:-cut]
        idle = self._idle.setdefault(whose, [])
        # The broker may have closed an idle connection meanwhile: a new one is tried once.
        for connection in [idle.pop()] if idle else []:
            if self._sends(connection, raw, api, version, whose):
                return self._sent
        try:
            connection = self._security.connection(*self._where, CONNECT_S)
        except (OSError, Malformed) as error:
            self._refused[self._sent] = Closed(f"no connection: {error}")
            return self._sent
        if not self._sends(connection, raw, api, version, whose):
            self._refused[self._sent] = Closed()
        return self._sent

    def _sends(
        self, connection: socket.socket, raw: bytes, api: Api, version: int, whose: int
    ) -> bool:
        try:
            if not _is_quiet(connection):
                raise OSError("closed")
            connection.settimeout(CONNECT_S)
            connection.sendall(raw)
            connection.setblocking(False)
        except OSError:
            connection.close()
            return False
        self._waiting[connection] = _Waiting(self._sent, api, version, whose)
        return True

    @property
    def waiting(self) -> int:
        """How many requests have no answer yet."""
        return len(self._waiting) + len(self._refused)

    def gather(self, wait_s: float, until: int = 0) -> dict[int, Answered]:
        """The answers that come within `wait_s` seconds, by number; returns at once when the answer
        to `until` is among them, or when nothing waits.
        """
        found, self._refused = self._refused, {}
        end = time.monotonic() + wait_s
        while self._waiting and until not in found:
            hidden = [c for c in self._waiting if isinstance(c, ssl.SSLSocket) and c.pending()]
            ready: list[socket.socket] = [*hidden]
            if not hidden:
                left = max(0.0, end - time.monotonic())
                ready, _, _ = select.select(list(self._waiting), [], [], left)
            for connection in ready:
                found |= self._receive(connection)
            if not ready or time.monotonic() > end:
                break
        return found

    def _receive(self, connection: socket.socket) -> dict[int, Answered]:
        waiting = self._waiting[connection]
        try:
            chunk = connection.recv(CHUNK)
        except (BlockingIOError, ssl.SSLWantReadError):
            return {}
        except OSError:
            chunk = b""
        if not chunk:
            self._forget(connection)
            return {waiting.number: Closed()}
        waiting.read += chunk
        try:
            answer = _answer(waiting)
        except Malformed as error:
            self._forget(connection)
            return {waiting.number: Unreadable(str(error))}
        if answer is None:
            return {}
        del self._waiting[connection]
        self._idle.setdefault(waiting.whose, []).append(connection)
        return {waiting.number: answer}

    def _forget(self, connection: socket.socket) -> None:
        self._waiting.pop(connection, None)
        connection.close()

    def abandon(self) -> None:
        """Closes the connections on which a request still waits."""
        for connection in list(self._waiting):
            self._forget(connection)
        self._refused.clear()

    def close(self) -> None:
        """Closes every connection."""
        self.abandon()
        for idle in self._idle.values():
            for connection in idle:
                connection.close()
        self._idle.clear()


def _is_quiet(connection: socket.socket) -> bool:
    """Does nothing come where no request waits? Otherwise it is the end, or bytes that nobody asked
    for. (What TLS itself sends, such as tickets of its version 1.3, is taken off and is nothing.)
    """
    connection.setblocking(False)
    try:
        connection.recv(1)
    except (BlockingIOError, ssl.SSLWantReadError):
        return True
    return False


def _answer(waiting: _Waiting) -> dict[str, Any] | None:
    """The answer, if all of it has come. Raises `Malformed`."""
    read = waiting.read
    if len(read) < 4:
        return None
    (size,) = struct.unpack_from(">i", read)
    if not 4 <= size <= LARGEST:
        raise Malformed(f"an answer of {size} bytes")
    if len(read) < 4 + size:
        return None
    (number,) = struct.unpack_from(">i", read, 4)
    if number != waiting.number:
        raise Malformed(f"an answer to request {number}, where {waiting.number} waits")
    if len(read) > 4 + size:
        raise Malformed(f"{len(read) - 4 - size} bytes behind the answer")
    return response_values(waiting.api, waiting.version, bytes(read[8:]))


def host_and_port(address: str) -> tuple[str, int]:
    """`HOST:PORT`, `[IPV6]:PORT` in its parts. Raises `UserError` for anything else."""
    host, colon, port = address.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not colon or not host or not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise UserError(
            f"{address!r} is not HOST:PORT", where="HOST:PORT", do="as in localhost:9092"
        )
    return host, int(port)


def announced(connections: Connections, patience_s: float) -> dict[int, range]:
    """The APIs that the broker announces, by key, with their versions. Raises `UserError` where no
    broker answers.
    """
    number = connections.send(API_VERSIONS, 0, {})
    answer = connections.gather(patience_s, number).get(number)
    if not isinstance(answer, dict) or answer["errorCode"]:
        why = f"error {answer['errorCode']}" if isinstance(answer, dict) else "no answer"
        if isinstance(answer, Closed):
            why = answer.why
        raise UserError(
            f"the broker does not answer ApiVersions: {why}",
            where="HOST:PORT",
            do="check the address, and --tls and --sasl if it has a secured listener",
        )
    return {
        one["apiKey"]: range(one["minVersion"], one["maxVersion"] + 1) for one in answer["apiKeys"]
    }
