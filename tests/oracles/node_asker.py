"""Raw requests to one node, for tests."""

from __future__ import annotations

import socket
import struct
from typing import Any

from groupcheck.traces.messages.apis import api, request_bytes, response_values

PATIENCE_S = 60.0


class Asker:
    """A connection to one node."""

    def __init__(self, address: str) -> None:
        host, _, port = address.rpartition(":")
        self._socket = socket.create_connection((host, int(port)), PATIENCE_S)

    def __call__(
        self, name: str, version: int, answered: int | None = None, **values: Any
    ) -> dict[str, Any]:
        """The answer to a request; empty if the connection is closed instead. `answered`: the
        version of the answer, if it is another.
        """
        about = api(name)
        self._socket.sendall(request_bytes(about, version, 9, "test", values))
        head = self._read(4)
        if not head:
            return {}
        (size,) = struct.unpack(">i", head)
        body = self._read(size)
        return response_values(about, version if answered is None else answered, body[4:])

    def _read(self, size: int) -> bytes:
        data = b""
        while len(data) < size and (chunk := self._socket.recv(size - len(data))):
            data += chunk
        return data
