"""Files of packets: pcap and pcapng, either byte order, with microseconds or nanoseconds.

Source: draft-ietf-opsawg-pcap and draft-ietf-opsawg-pcapng. Files come from outside: a length that
cannot be ends the reading, and what was read before it counts.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Protocol

from attrs import define, frozen

_PCAP = {
    b"\xd4\xc3\xb2\xa1": ("<", 1e-3),
    b"\xa1\xb2\xc3\xd4": (">", 1e-3),
    b"\x4d\x3c\xb2\xa1": ("<", 1e-6),
    b"\xa1\xb2\x3c\x4d": (">", 1e-6),
}
"""Magic number -> byte order, and the unit of the second part of a timestamp in ms."""
_PCAPNG = b"\n\r\r\n"
MAGICS = (*_PCAP, _PCAPNG)
_ORDER = {b"\x4d\x3c\x2b\x1a": "<", b"\x1a\x2b\x3c\x4d": ">"}
_SECTION, _INTERFACE, _OLD_PACKET, _SIMPLE, _PACKET = 0x0A0D0D0A, 1, 2, 3, 6
_RESOLUTION, _TIME_OFFSET = 9, 14
LARGEST = 1 << 20
"""Bytes of a packet; those of a block of another kind are passed over."""
_MOST_INTERFACES = 10_000
_BITE = 1 << 16


class Stream(Protocol):
    """A stream that can be read."""

    def read(self, size: int, /) -> bytes: ...


@frozen
class Packet:
    # From 1, as other programs number them.
    number: int
    # Milliseconds since 1970.
    time: float
    # The link type of its interface.
    link: int
    # The bytes that were captured; the packet may have had more.
    data: bytes


@define
class Damage:
    """Why a file was not read to its end; empty if it was."""

    why: str = ""


def is_capture(head: bytes) -> bool:
    """Does a file that begins like this hold packets?"""
    return head.startswith(MAGICS)


def packets(stream: Stream, damage: Damage) -> Iterator[Packet]:
    """The packets of a file, in their order there."""
    number = 0
    try:
        magic = _exactly(stream, 4)
        found = _pcap(stream, *_PCAP[magic]) if magic in _PCAP else _pcapng(stream)
        for number, (time, link, data) in enumerate(found, 1):
            yield Packet(number, time, link, data)
    except EOFError:
        damage.why = f"the capture ends within packet {number + 1}"
    except ValueError as e:
        damage.why = f"the capture is damaged behind packet {number}: {e}"


def span(stream: Stream) -> tuple[float, float]:
    """The times of the first and the last packet, in ms since 1970; infinite if it has none."""
    first = last = float("inf")
    for packet in packets(stream, Damage()):
        first, last = min(first, packet.time), packet.time
    return first, last


def _exactly(stream: Stream, size: int) -> bytes:
    """That many bytes. Raises `EOFError` if there are fewer."""
    data = stream.read(size)
    while len(data) < size and (more := stream.read(size - len(data))):
        data += more
    if len(data) < size:
        raise EOFError
    return data


def _pass_over(stream: Stream, size: int) -> None:
    while size > 0:
        size -= len(_exactly(stream, min(size, _BITE)))


def _head(stream: Stream, size: int) -> bytes:
    """The same, or no bytes at the end of the file."""
    first = stream.read(1)
    return first + _exactly(stream, size - 1) if first else b""


def _pcap(stream: Stream, order: str, unit: float) -> Iterator[tuple[float, int, bytes]]:
    link = struct.unpack(order + "I", _exactly(stream, 20)[-4:])[0] & 0xFFFF
    form = struct.Struct(order + "IIII")
    while head := _head(stream, form.size):
        seconds, part, size, _ = form.unpack(head)
        if size > LARGEST:
            raise ValueError(f"a packet of {size} bytes")
        yield seconds * 1000.0 + part * unit, link, _exactly(stream, size)


@frozen
class _Interface:
    link: int
    # How long a unit of its timestamps is, in ms, and what is added to them.
    unit: float = 1e-3
    offset_ms: float = 0.0


def _pcapng(stream: Stream) -> Iterator[tuple[float, int, bytes]]:
    """Blocks: type, length, body, length again."""
    order, interfaces, last = _section(stream, _exactly(stream, 8)), [_Interface(1)][:0], 0.0
    while head := _head(stream, 8):
        if head[:4] == _PCAPNG:
            order, interfaces = _section(stream, head[4:] + _exactly(stream, 4)), []
            continue
        kind, size = struct.unpack(order + "II", head)
        if size < 12 or size % 4:
            raise ValueError(f"a block of {size} bytes")
        if kind not in (_INTERFACE, _OLD_PACKET, _SIMPLE, _PACKET):
            _pass_over(stream, size - 8)
            continue
        if size > LARGEST + 4096:
            raise ValueError(f"a block of {size} bytes")
        body = _exactly(stream, size - 8)[:-4]
        if kind == _INTERFACE:
            if len(interfaces) >= _MOST_INTERFACES:
                raise ValueError("too many interfaces")
            interfaces.append(_interface(body, order))
            continue
        found = _block(kind, body, order, interfaces, last)
        last = found[0]
        yield found


def _section(stream: Stream, head: bytes) -> str:
    """The byte order of a section; `head`: its length and its magic number."""
    order = _ORDER.get(head[4:8])
    if order is None:
        raise ValueError("a section of unknown byte order")
    (size,) = struct.unpack(order + "I", head[:4])
    if size < 28 or size % 4:
        raise ValueError(f"a section header of {size} bytes")
    _pass_over(stream, size - 12)
    return order


def _interface(body: bytes, order: str) -> _Interface:
    if len(body) < 8:
        raise ValueError("an interface without a link type")
    (link,) = struct.unpack_from(order + "H", body)
    unit, offset_ms, at = 1e-3, 0.0, 8
    while at + 4 <= len(body):
        code, size = struct.unpack_from(order + "HH", body, at)
        value, at = body[at + 4 : at + 4 + size], at + 4 + size + -size % 4
        if code == _RESOLUTION and len(value) == 1:
            power = value[0] & 127
            unit = 1000.0 * (2.0**-power if value[0] & 128 else 10.0**-power)
        elif code == _TIME_OFFSET and len(value) == 8:
            offset_ms = struct.unpack(order + "q", value)[0] * 1000.0
    return _Interface(link, unit, offset_ms)


def _block(
    kind: int, body: bytes, order: str, interfaces: list[_Interface], last: float
) -> tuple[float, int, bytes]:
    """The time, link type and bytes of a packet's block; `last`: the time before, for a block that
    has none.
    """
    try:
        if kind == _SIMPLE:
            (whole,) = struct.unpack_from(order + "I", body)
            return last, interfaces[0].link, body[4 : 4 + whole]
        form = "HHIIII" if kind == _OLD_PACKET else "IIIII"
        told = struct.unpack_from(order + form, body)
        number, (high, low, size) = told[0], told[-4:-1]
        on = interfaces[number]
    except (struct.error, IndexError):
        raise ValueError("a packet of no interface") from None
    if 20 + size > len(body):
        raise ValueError("a packet that is longer than its block")
    time = (high << 32 | low) * on.unit + on.offset_ms
    if not 0 <= time < 1e14:
        raise ValueError("a time that cannot be")
    return time, on.link, body[20 : 20 + size]
