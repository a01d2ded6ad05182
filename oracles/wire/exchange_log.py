"""The log of a server: what came and went, as far as bounds let it be kept."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from attrs import Factory, define, field, frozen

What = Literal["opened", "request", "answer", "cut", "hung_up", "refused"]


@frozen
class LogEntry:
    """An entry of the log."""

    # Seconds since the server began.
    at_s: float
    # `cut`: by us; `hung_up`: by the peer; `refused`: bytes that are no request that is offered, or
    # too many of them.
    what: What
    # The node, and the number of the connection.
    node: int
    connection: int
    # Of a request and its answer: the number of the request, Kafka's name of the API, the version,
    # the name that the client gives itself, the fields.
    number: int = 0
    api: str = ""
    version: int = 0
    client: str = ""
    values: Mapping[str, Any] = field(factory=dict)
    # Why it was cut or refused.
    why: str = ""


@define(eq=False)
class ExchangeLog:
    """Entries, the oldest first. The oldest are thrown away where there are too many."""

    _noted: deque[tuple[LogEntry, int]] = Factory(deque)
    _bytes: int = 0
    # How many entries were thrown away.
    forgotten: int = 0

    def __iter__(self) -> Iterator[LogEntry]:
        return (noted for noted, _ in self._noted)

    def __len__(self) -> int:
        return len(self._noted)

    def add(self, noted: LogEntry, size: int, most: int, most_bytes: int) -> None:
        """Adds an entry about a message of `size` bytes; keeps at most so many of them, and of
        bytes.
        """
        self._noted.append((noted, size))
        self._bytes += size
        while len(self._noted) > most or self._bytes > most_bytes:
            self._bytes -= self._noted.popleft()[1]
            self.forgotten += 1
