"""A proxy on the loopback that closes connections on which nothing was sent for a while, as
firewalls and load balancers do. It may be slow, as a long line is.
"""

from __future__ import annotations

import socket
import threading
import time
from contextlib import suppress
from selectors import EVENT_READ, DefaultSelector
from types import TracebackType
from typing import Self

from groupcheck.oracles.record.settings import HOST

CHUNK = 1 << 16
CONNECT_S = 10.0


class Proxy:
    """Listens while it is entered, and hands on every byte between its clients and a port of this
    machine.
    """

    def __init__(self, idle_s: float) -> None:
        self._idle_s = idle_s
        self._listener = socket.create_server((HOST, 0))
        self._open: set[socket.socket] = set()
        self.port: int = self._listener.getsockname()[1]
        # The port to which it hands on; nobody connects before it is set.
        self.target = 0
        # For how long it keeps what it has read, as a long line does. May change at any time.
        self.delay_s = 0.0
        # When it closed connections as idle, in Unix ms, and the clients' ports.
        self.cuts: list[tuple[int, int]] = []

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        for one in (self._listener, *self._open):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:  # closed
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        """One connection, until one of its sides closes it or it was idle for too long."""
        with client:
            try:
                broker = socket.create_connection((HOST, self.target), CONNECT_S)
            except OSError:  # the broker is being restarted
                return
            port = client.getpeername()[1]
            with broker, DefaultSelector() as ready:
                self._open |= {client, broker}
                other = {client: broker, broker: client}
                for one in other:
                    ready.register(one, EVENT_READ, other[one])
                if self._hand_on(ready):
                    self.cuts.append((time.time_ns() // 1_000_000, port))
                self._open -= {client, broker}

    def _hand_on(self, ready: DefaultSelector) -> bool:
        """Whether the connection ended because it was idle."""
        try:
            while some := ready.select(self._idle_s):
                for key, _ in some:
                    data = key.fileobj.recv(CHUNK)  # type: ignore[union-attr]
                    if not data:
                        return False
                    time.sleep(self.delay_s)
                    key.data.sendall(data)
        except (OSError, ValueError):  # closed
            return False
        return True
