"""A packet capture as the request log that the broker would have written: one line for each
exchange of a group API.

The capture shows when a request and its answer passed; when the broker handled it lies in between.
"""

from __future__ import annotations

import base64
import io
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from attrs import Factory, define, frozen

from groupcheck.traces.captures.packets import Damage, Stream, packets
from groupcheck.traces.captures.segments import LINKS, Fragments, segment
from groupcheck.traces.captures.tcp_connections import CapturedConnections, DecodedExchange

USE_LOG = "use the broker's request log (kafka.request.logger at DEBUG)"


@frozen
class CaptureSummary:
    """Remarks on the lines of a capture as a whole."""

    # How many exchanges there are.
    exchanges: int
    notes: tuple[str, ...]
    # Why exchanges may be missing that passed while the capture ran; empty if none seem to be.
    doubt: str
    # Connections that are encrypted.
    encrypted: int
    # When it begins within connections, in ms since 1970: a request that was sent before it, and is
    # answered later, is not shown. None if all connections begin in it.
    within: float | None


@define
class CaptureText:
    """The lines of a capture, made while they are read. `streams`: its files, in order of time."""

    streams: Sequence[Stream]
    exchanges: int = 0
    _packets: int = 0
    # When the first packet was captured.
    _first: float = 0.0
    _damage: Damage = Factory(Damage)
    _connections: CapturedConnections = Factory(CapturedConnections)
    _fragments: Fragments = Factory(Fragments)
    # Link type -> how many packets have it and cannot be read.
    _unread: Counter[int] = Factory(Counter)
    _lines: Iterator[bytes] = Factory(lambda self: self._made(), takes_self=True)

    def read1(self, size: int, /) -> bytes:
        """Some lines, at least one; no bytes at the end."""
        some = io.BytesIO()
        while some.tell() < size and (line := next(self._lines, b"")):
            some.write(line)
        return some.getvalue()

    def _made(self) -> Iterator[bytes]:
        for stream in self.streams:
            before = self._packets
            for packet in packets(stream, self._damage):
                self._packets = before + packet.number
                self._first = packet.time if self._packets == 1 else self._first
                if packet.link not in LINKS:
                    self._unread[packet.link] += 1
                    continue
                found = segment(packet, self._fragments)
                if found is not None:
                    yield from map(self._line, self._connections.take(found))
        yield from map(self._line, self._connections.rest())

    def _line(self, a: DecodedExchange) -> bytes:
        self.exchanges += 1
        return line(a)

    def summary(self) -> CaptureSummary:
        """The summary of all lines, once they have been read."""
        tally, why = self._connections.tally, self._damage.why
        files = f" in {len(self.streams)} files" if len(self.streams) > 1 else ""
        told = {
            f"read from a packet capture of {self._packets:,} packets{files}: a line is an"
            " exchange, in the order of the answers": True,
            why: bool(why),
            f"{tally.encrypted:,} of {tally.connections:,} connections are encrypted (TLS) and"
            f" cannot be read; {USE_LOG}": tally.encrypted,
            f"packets of {tally.torn:,} of {tally.connections:,} connections are missing": (
                tally.torn
            ),
            f"{tally.damaged:,} requests or answers could not be decoded": tally.damaged,
        }
        for name, count in tally.newer.items():
            told[f"{count:,} requests {name} have a version that is not known"] = True
        for link, count in self._unread.items():
            told[f"{count:,} packets of link type {link} cannot be read"] = True
        doubts = (why, tally.encrypted, tally.torn, tally.damaged, tally.newer, self._unread)
        doubt = "the capture does not show every request" if any(doubts) else ""
        notes = tuple(text for text, so in told.items() if so)
        within = self._first if tally.began < tally.connections else None
        return CaptureSummary(self.exchanges, notes, doubt, tally.encrypted, within)


def line(a: DecodedExchange) -> bytes:
    """An exchange as a line of the request log (RequestConvertToJson)."""
    total = max(a.answered - a.asked, 0.0)
    record = {
        "isForwarded": False,
        "requestHeader": {
            "requestApiKey": a.api.key,
            "requestApiVersion": a.version,
            "correlationId": a.correlation,
            "clientId": a.client,
            "requestApiKeyName": a.api.log_name,
        },
        "request": a.request,
        "response": a.response,
        "connection": a.connection,
        "totalTimeMs": round(total, 3),
        "packets": a.packets,
    }
    when = datetime.fromtimestamp(int(a.answered) / 1000, UTC)
    stamp = f"{when:%Y-%m-%d %H:%M:%S},{int(a.answered) % 1000:03}"
    told = json.dumps(record, default=_plain, separators=(",", ":"))
    return f"[{stamp}] DEBUG Completed request:{told} (kafka.request.logger)\n".encode()


def _plain(value: Any) -> str:
    """Bytes and ids of topics, as the request log prints them."""
    if isinstance(value, UUID):
        return base64.urlsafe_b64encode(value.bytes).decode().rstrip("=")
    assert isinstance(value, bytes)
    return base64.b64encode(value).decode()
