"""Connections to the broker: requests are sent, answers are gathered as they come, and every wait
is bounded.
"""

from __future__ import annotations

import select
import socket
import struct
import time
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

from attrs import frozen

from groupcheck.traces.messages.apis import Api, request_bytes, response_values
from groupcheck.traces.messages.message_bytes import Malformed

CLIENT = "groupcheck-live"
LOOPBACK = "127.0.0.1"
CONNECT_S = 10.0
LARGEST = 1 << 20  # of an answer
CHUNK = 1 << 16


@frozen
class Sent:
    """A request that waits: its number, and what is needed to read its answer."""

    number: int
    api: Api
    version: int


@frozen
class Closed:
    """The broker has closed the connection in place of an answer."""


Answered = dict[str, Any] | Closed


class Connections:
    """As many connections as there are waiting requests; idle ones are used again. Requests are
    numbered from 1.
    """

    def __init__(self, address: str) -> None:
        host, _, port = address.rpartition(":")
        self._where = (host, int(port))
        self._idle: list[socket.socket] = []
        self._waiting: dict[socket.socket, Sent] = {}
        self._read: dict[socket.socket, bytearray] = {}
        self._sent = 0

    def send(self, api: Api, version: int, values: Mapping[str, Any], cut: int = 0) -> int:
        """Sends a request over an idle connection and returns its number. `cut`: how many bytes are
        missing at its end; its length does not count them.
        """
        self._sent += 1
        connection = (
            self._idle.pop() if self._idle else socket.create_connection(self._where, CONNECT_S)
        )
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        raw = request_bytes(api, version, self._sent, CLIENT, values)
        if cut:
            raw = struct.pack(">i", len(raw) - 4 - cut) + raw[4:-cut]
        self._waiting[connection] = Sent(self._sent, api, version)
        self._read[connection] = bytearray()
        connection.sendall(raw)
        return self._sent

    def gather(self, wait_s: float, until: int = 0) -> dict[int, Answered]:
        """The answers that come within `wait_s` seconds, by number; returns at once when the answer
        to `until` is among them.
        """
        found: dict[int, Answered] = {}
        end = time.monotonic() + wait_s
        while self._waiting and until not in found:
            ready, _, _ = select.select(
                list(self._waiting), [], [], max(0.0, end - time.monotonic())
            )
            for connection in ready:
                found |= self._receive(connection)
            if not ready or time.monotonic() > end:
                break
        return found

    def _receive(self, connection: socket.socket) -> dict[int, Answered]:
        sent, read = self._waiting[connection], self._read[connection]
        try:
            chunk = connection.recv(CHUNK)
        except OSError:
            chunk = b""
        if not chunk:
            self._forget(connection)
            return {sent.number: Closed()}
        read += chunk
        if len(read) < 4:
            return {}
        (size,) = struct.unpack_from(">i", read)
        if not 4 <= size <= LARGEST:
            raise Malformed(f"an answer of {size} bytes")
        if len(read) < 4 + size:
            return {}
        (number,) = struct.unpack_from(">i", read, 4)
        if number != sent.number or len(read) > 4 + size:
            raise Malformed(f"an answer to request {number}, where {sent.number} waits")
        del self._waiting[connection]
        self._idle.append(connection)
        return {number: response_values(sent.api, sent.version, bytes(read[8:]))}

    def _forget(self, connection: socket.socket) -> None:
        self._waiting.pop(connection, None)
        self._read.pop(connection, None)
        connection.close()

    def abandon(self) -> None:
        """Closes the connections on which a request still waits."""
        for connection in list(self._waiting):
            self._forget(connection)

    def close(self) -> None:
        self.abandon()
        for connection in self._idle:
            connection.close()
        self._idle.clear()


def free_ports(count: int) -> list[int]:
    """Different ports of the loopback on which nobody listens now; another program may still take
    them first.
    """
    with ExitStack() as held:
        sockets = [held.enter_context(socket.create_server((LOOPBACK, 0))) for _ in range(count)]
        return [one.getsockname()[1] for one in sockets]
