"""One direction of a TCP connection, put in order, and cut into Kafka's frames (a length, then as
many bytes).

A capture may begin in the middle, lack packets or cut them. What is lost is known by its length, so
that a hole in a frame that nobody needs is passed over. Elsewhere reading goes on at the next
packet that begins with a frame.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator

from attrs import Factory, define, frozen

from groupcheck.traces.captures.segments import RST, SYN, Segment

MOST_WAITING, MOST_SEGMENTS, WAIT_MS = 1 << 20, 1000, 5000.0
"""Segments wait for an earlier one until there are this many bytes or segments, or so long."""
LARGEST_FRAME = 100 << 20
LARGEST_KEPT = 8 << 20
"""A frame with more bytes is not read (socket.request.max.bytes is 100 MiB by default)."""
_WRAP = 1 << 32


@frozen
class Frame:
    # Without its length.
    data: bytes
    # The packet and the time with which it was whole.
    packet: int
    time: float


@define
class SegmentOrder:
    """Puts the segments of one direction in order."""

    # The sequence number that comes next; None before the first segment.
    next: int | None = None
    # Sequence number -> the segment that waits there.
    _waiting: dict[int, Segment] = Factory(dict)
    _bytes: int = 0

    def buffered_bytes(self) -> int:
        """How many bytes wait."""
        return self._bytes

    def take(self, s: Segment) -> Iterator[tuple[int, Segment | None]]:
        """(bytes that are lost before it, segment) of what can be read now."""
        if s.flags & SYN:
            self.next, self._bytes = (s.sequence + 1) % _WRAP, 0
            self._waiting.clear()
            return
        if s.flags & RST or not len(s.data) + s.cut:
            return
        if self.next is None:
            self.next = s.sequence
        late = _distance(self.next, s.sequence)
        if late <= 0:
            yield from self._now(s)
            yield from self._that_waited()
            return
        if s.sequence not in self._waiting:
            self._waiting[s.sequence] = s
            self._bytes += len(s.data)
        first = next(iter(self._waiting.values()))
        if (
            self._bytes > MOST_WAITING
            or len(self._waiting) > MOST_SEGMENTS
            or s.time - first.time > WAIT_MS
        ):
            yield from self.all()

    def all(self) -> Iterator[tuple[int, Segment | None]]:
        """The waiting segments, with the holes before each."""
        after = self.next or 0
        for at in sorted(self._waiting, key=lambda seq: _distance(after, seq)):
            lost = _distance(self.next or 0, at)
            if lost > 0:
                self.next = at
                yield lost, None
            yield from self._now(self._waiting.pop(at))
        self._bytes = 0

    def _that_waited(self) -> Iterator[tuple[int, Segment | None]]:
        while self._waiting and self.next in self._waiting:
            s = self._waiting.pop(self.next)
            self._bytes -= len(s.data)
            yield from self._now(s)

    def _now(self, s: Segment) -> Iterator[tuple[int, Segment | None]]:
        """A segment without what was read before."""
        assert self.next is not None
        old = -_distance(self.next, s.sequence)
        size = len(s.data) + s.cut
        if old >= size:
            return
        self.next = (s.sequence + size) % _WRAP
        if old:
            cut = min(s.cut, size - old)
            s = Segment(
                s.packet, s.time, s.source, s.target, s.sequence, s.flags, s.data[old:], cut
            )
        yield 0, s


def _distance(a: int, b: int) -> int:
    """How far b is behind a, in a space that wraps around."""
    return (b - a + _WRAP // 2) % _WRAP - _WRAP // 2


@define
class Frames:
    """Cuts one direction into frames."""

    # Does a frame begin here? It gets the bytes from its length on.
    begins: Callable[[bytes], bool]
    # Is a frame needed? It gets its first bytes, without the length; None: more of them are needed.
    wanted: Callable[[bytes], bool | None]
    # How many bytes were lost where they were needed.
    lost: int = 0
    # The next byte is at the beginning of a frame, or its place in the frame is known.
    _known: bool = False
    # It was known at some time: what comes before that is not lost, but before the capture.
    _begun: bool = False
    _buffer: bytearray = Factory(bytearray)
    # How many bytes of a frame that nobody needs are still to come.
    _passing: int = 0
    # The length of the frame that is gathered.
    _size: int = 0

    def buffered_bytes(self) -> int:
        """How many bytes of a frame are gathered."""
        return len(self._buffer)

    def starts(self) -> None:
        """The connection begins here."""
        self._known, self._begun, self._passing, self._size = True, True, 0, 0
        self._buffer.clear()

    def hole(self, size: int) -> None:
        """Bytes are missing."""
        if self._known and not self._buffer and size <= self._passing:
            self._passing -= size
        elif size:
            self.lost += size if self._begun else 0
            self._known, self._passing, self._size = False, 0, 0
            self._buffer.clear()

    def take(self, s: Segment) -> Iterator[Frame]:
        """The frames that are whole with this segment."""
        data = s.data
        if not self._known:
            if not self.begins(data):
                self.lost += len(data) + s.cut if self._begun else 0
                return
            self.starts()
        if self._passing:
            passed = min(self._passing, len(data))
            self._passing -= passed
            data = data[passed:]
        self._buffer += data
        yield from self._cut(s)
        self.hole(s.cut)

    def _cut(self, s: Segment) -> Iterator[Frame]:
        at, buffer = 0, self._buffer
        while True:
            there = len(buffer) - at
            if not self._size:
                if there < 4:
                    break
                (size,) = struct.unpack_from(">i", buffer, at)
                if not 4 <= size <= LARGEST_FRAME:
                    self.lost += there
                    self._known, at = False, len(buffer)
                    break
                self._size = size
            head = bytes(buffer[at + 4 : at + 4 + min(self._size, 600)])
            needed = self.wanted(head)
            if needed is None and len(head) < min(self._size, 600):
                break
            if not needed or self._size > LARGEST_KEPT:
                passed = min(there, 4 + self._size)
                self._passing, self._size, at = 4 + self._size - passed, 0, at + passed
                if self._passing:
                    break
                continue
            if there < 4 + self._size:
                break
            yield Frame(bytes(buffer[at + 4 : at + 4 + self._size]), s.packet, s.time)
            at, self._size = at + 4 + self._size, 0
        del buffer[:at]
