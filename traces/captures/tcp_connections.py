"""The TCP connections of a capture that speak Kafka's protocol: requests of the group APIs matched
with their answers.

The client of a connection is who opened it, or, if the capture begins later, who sends what begins
like a request. The port does not matter.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

from attrs import Factory, define, field, frozen

from groupcheck.traces.captures.segments import ACK, RST, SYN, End, Segment, end_text
from groupcheck.traces.captures.streams import LARGEST_FRAME, Frame, Frames, SegmentOrder
from groupcheck.traces.messages.apis import Api, api
from groupcheck.traces.messages.message_bytes import Fields, Malformed, Reader

_NAMES = (
    "JoinGroup SyncGroup Heartbeat LeaveGroup OffsetCommit OffsetFetch ConsumerGroupHeartbeat"
    " ShareGroupHeartbeat StreamsGroupHeartbeat"
)
GROUP_APIS = {one.key: one for one in map(api, _NAMES.split())}
"""Key -> API: those whose exchanges are shown."""
MOST_CONNECTIONS = 10_000
MOST_PENDING, MOST_PENDING_BYTES = 1000, 16 << 20
"""Requests of a connection that wait for their answers."""
MOST_BYTES = 256 << 20
"""That all connections together hold: beyond it, the one that was silent longest is given up."""
_HEADER = struct.Struct(">hhih")
_NEWEST_KEY, _NEWEST_VERSION, _LONGEST_CLIENT = 120, 30, 500
_TLS_LARGEST = (1 << 14) + 256


@frozen
class DecodedExchange:
    """A request with its answer, each decoded."""

    api: Api
    version: int
    correlation: int
    client: str
    # `server:port-client:port`.
    connection: str
    request: dict[str, Any]
    response: dict[str, Any]
    # When the last packet of each was captured, in ms since 1970, and its number.
    asked: float
    answered: float
    packets: tuple[int, int]


@define
class CaptureTally:
    """Counts of what could not be read."""

    encrypted: int = 0
    # Connections on which bytes are missing, and messages that are not what they should be.
    torn: int = 0
    damaged: int = 0
    # `JOIN_GROUP 12` -> how many requests have a version that is not known.
    newer: dict[str, int] = Factory(dict)
    connections: int = 0
    # Those of them whose beginning was captured.
    began: int = 0


@frozen
class _Pending:
    api: Api
    version: int
    client: str
    body: bytes
    packet: int
    time: float


@define
class _Connection:
    client: End | None = None
    encrypted: bool = False
    torn: bool = False
    _pending: dict[int, _Pending] = Factory(dict)
    _pending_bytes: int = 0
    # Of the client, and of the server.
    _order: tuple[SegmentOrder, SegmentOrder] = Factory(lambda: (SegmentOrder(), SegmentOrder()))
    _requests: Frames = field(init=False)
    _answers: Frames = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._requests = Frames(_begins_request, _is_needed)
        self._answers = Frames(self._begins_answer, self._is_awaited)

    def _begins_answer(self, data: bytes) -> bool:
        if len(data) < 8:
            return False
        size, number = struct.unpack_from(">ii", data)
        return 4 <= size <= LARGEST_FRAME and number in self._pending

    def _is_awaited(self, head: bytes) -> bool | None:
        return int.from_bytes(head[:4], "big", signed=True) in self._pending if head[3:] else None

    def buffered_bytes(self) -> int:
        """About how many bytes wait here."""
        sides = (self._requests, self._answers)
        waiting = sum(o.buffered_bytes() for o in self._order) + sum(
            f.buffered_bytes() for f in sides
        )
        return self._pending_bytes + waiting

    def take(self, s: Segment, tally: CaptureTally) -> Iterator[DecodedExchange]:
        if s.flags & SYN and not s.flags & ACK:
            self._begin(s.source, tally)
        elif s.flags & SYN and self.client is None:
            self._begin(s.target, tally)
        if self.encrypted:
            return
        if _is_tls(s.data):
            self.encrypted = True
            tally.encrypted += 1
            return
        if self.client is None:
            if not _begins_request(s.data):
                return
            self.client = s.source
        side = s.source != self.client
        for lost, part in self._order[side].take(s):
            yield from self._part(side, lost, part, tally)

    def _begin(self, client: End, tally: CaptureTally) -> None:
        self.client = client
        tally.began += 1
        self._requests.starts()
        self._answers.starts()

    def rest(self, tally: CaptureTally) -> Iterator[DecodedExchange]:
        """The exchanges that still wait when no more packets come."""
        for side in (False, True):
            for lost, part in self._order[side].all():
                yield from self._part(side, lost, part, tally)

    def _part(
        self, side: bool, lost: int, part: Segment | None, tally: CaptureTally
    ) -> Iterator[DecodedExchange]:
        frames = self._answers if side else self._requests
        frames.hole(lost)
        if part is not None:
            for frame in frames.take(part):
                if not side:
                    self._asked(frame, tally)
                    continue
                found = self._answered(frame, part, tally)
                if found is not None:
                    yield found
        if frames.lost and not self.torn:
            self.torn = True
            tally.torn += 1

    def _asked(self, frame: Frame, tally: CaptureTally) -> None:
        key, version, number, size = _HEADER.unpack_from(frame.data)
        api = GROUP_APIS[key]
        if version > api.newest:
            name = f"{api.log_name} {version}"
            if name in tally.newer or len(tally.newer) < 100:
                tally.newer[name] = tally.newer.get(name, 0) + 1
            return
        end = _HEADER.size + max(size, 0)
        client = frame.data[_HEADER.size : end].decode(errors="replace")
        pending = _Pending(api, version, client, frame.data[end:], frame.packet, frame.time)
        self._pending_bytes += len(pending.body)
        self._pending[number] = pending
        while len(self._pending) > MOST_PENDING or self._pending_bytes > MOST_PENDING_BYTES:
            self._forget(next(iter(self._pending)))

    def _forget(self, number: int) -> _Pending:
        pending = self._pending.pop(number)
        self._pending_bytes -= len(pending.body)
        return pending

    def _answered(self, frame: Frame, s: Segment, tally: CaptureTally) -> DecodedExchange | None:
        number = int.from_bytes(frame.data[:4], "big", signed=True)
        asked = self._forget(number)
        api, flexible = asked.api, asked.version >= asked.api.flexible
        try:
            request = _decoded(Reader(asked.body, flexible), api.request, asked.version)
            answer = _decoded(Reader(frame.data[4:], flexible), api.response, asked.version)
        except Malformed:
            tally.damaged += 1
            return None
        return DecodedExchange(
            api,
            asked.version,
            number,
            asked.client,
            f"{end_text(s.source)}-{end_text(s.target)}",
            request,
            answer,
            asked.time,
            frame.time,
            (asked.packet, frame.packet),
        )


def _decoded(reader: Reader, fields: Fields, version: int) -> dict[str, Any]:
    if reader.flexible:
        reader.tags()  # of the header
    return reader.whole(fields, version, "a message")


def _begins_request(data: bytes) -> bool:
    """Does this begin like a request with its length?"""
    if len(data) < 4 + _HEADER.size:
        return False
    (size,) = struct.unpack_from(">i", data)
    key, version, number, length = _HEADER.unpack_from(data, 4)
    name = data[14 : 14 + max(length, 0)]
    return (
        _HEADER.size + max(length, 0) <= size <= LARGEST_FRAME
        and 0 <= key <= _NEWEST_KEY
        and 0 <= version <= _NEWEST_VERSION
        and number >= 0
        and -1 <= length <= _LONGEST_CLIENT
        and all(32 <= byte != 127 for byte in name)
        and (length > 0 or size + 4 == len(data))
    )


def _is_needed(head: bytes) -> bool | None:
    """Is this the beginning of a request of a group API?"""
    if len(head) < _HEADER.size:
        return None
    key, version, _, length = _HEADER.unpack_from(head)
    return key in GROUP_APIS and 0 <= version <= _NEWEST_VERSION and -1 <= length <= _LONGEST_CLIENT


def _is_tls(data: bytes) -> bool:
    """Is this the beginning of a TLS record? As a length of Kafka's it would be over 300 MB."""
    return (
        len(data) >= 5
        and 20 <= data[0] <= 23
        and data[1] == 3
        and data[2] <= 4
        and int.from_bytes(data[3:5], "big") <= _TLS_LARGEST
    )


@define
class CapturedConnections:
    """All connections of a capture."""

    tally: CaptureTally = Factory(CaptureTally)
    # The ends, in order -> the connection; the one that was silent longest comes first.
    _open: dict[tuple[End, End], _Connection] = Factory(dict)
    _since: int = 0

    def take(self, s: Segment) -> Iterator[DecodedExchange]:
        ends = (s.source, s.target) if s.source < s.target else (s.target, s.source)
        known = self._open.pop(ends, None)
        if known is None or (s.flags & SYN and not s.flags & ACK):
            if known is not None:
                yield from known.rest(self.tally)
            known = _Connection()
            self.tally.connections += 1
        self._open[ends] = known
        yield from known.take(s, self.tally)
        if s.flags & RST:
            yield from known.rest(self.tally)
        if len(self._open) > MOST_CONNECTIONS:
            yield from self._give_up()
        self._since += len(s.data)
        if self._since > MOST_BYTES // 4:
            yield from self._bound()

    def _give_up(self) -> Iterator[DecodedExchange]:
        oldest = next(iter(self._open))
        yield from self._open.pop(oldest).rest(self.tally)

    def _bound(self) -> Iterator[DecodedExchange]:
        """Keeps memory bounded."""
        self._since = 0
        while self._open and sum(c.buffered_bytes() for c in self._open.values()) > MOST_BYTES:
            yield from self._give_up()

    def rest(self) -> Iterator[DecodedExchange]:
        """The exchanges that still wait at the end of the capture."""
        for connection in self._open.values():
            yield from connection.rest(self.tally)
