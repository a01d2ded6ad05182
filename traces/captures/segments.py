"""The TCP segment in a packet: Ethernet with VLAN tags, Linux cooked (1 and 2), loopback, raw IP;
IPv4 and IPv6.

Source: RFC 791, 8200, 9293 and the list of link types of tcpdump.org. A packet that is cut in its
headers and everything that is not TCP give no segment; fragments give one with the last of them.
"""

from __future__ import annotations

import socket
import struct

from attrs import Factory, define, frozen

from groupcheck.traces.captures.packets import LARGEST, Packet

_IPV4, _IPV6, _TCP = 0x0800, 0x86DD, 6
_TAGS = (0x8100, 0x88A8, 0x9100)
_MOST_TAGS, _MOST_HEADERS = 4, 8
_LARGEST_IP, _MOST_PARTS, _MOST_OPEN, _WAIT_MS = 1 << 16, 256, 256, 30_000.0
"""Bytes of an IP packet, its fragments, packets whose fragments are gathered, and for how long."""
_OPTIONS, _ROUTING, _FRAGMENT, _DESTINATION = 0, 43, 44, 60
_ETHERNET, _COOKED, _COOKED_2 = 1, 113, 276
_LOOPBACK = (0, 108)
_RAW = (12, 14, 101, 228, 229)
LINKS = (_ETHERNET, _COOKED, _COOKED_2, *_LOOPBACK, *_RAW)
"""Link types that can be read."""
SYN, RST, ACK = 2, 4, 16
End = tuple[bytes, int]
"""Address and port."""


@frozen
class Segment:
    packet: int
    # Milliseconds since 1970.
    time: float
    source: End
    target: End
    sequence: int
    flags: int
    # The payload as far as it was captured, and how many bytes of it were not.
    data: bytes
    cut: int


@define
class _Parts:
    """Fragments of one IP packet."""

    first: float
    # Offset -> bytes.
    parts: dict[int, bytes] = Factory(dict)
    # How many bytes all of them have; None before the last fragment.
    size: int | None = None

    def whole(self) -> bytes | None:
        """All bytes, as soon as none is missing."""
        if self.size is None or sum(map(len, self.parts.values())) < self.size:
            return None
        data = b""
        for at in sorted(self.parts):
            if at > len(data):
                return None
            data += self.parts[at][len(data) - at :]
        return data[: self.size]


@define
class Fragments:
    """Puts fragments of IP packets together. Memory is bounded: a packet has at most 64 KB."""

    # Protocol, identification and addresses -> what there is, the oldest first.
    _open: dict[tuple[bytes, ...], _Parts] = Factory(dict)

    def take(
        self, time: float, key: tuple[bytes, ...], at: int, more: bool, part: bytes
    ) -> bytes | None:
        """The payload of the whole packet if this was its last missing fragment."""
        known = self._open.pop(key, None)
        if known is None or time - known.first > _WAIT_MS:
            known = _Parts(time)
        if at + len(part) <= _LARGEST_IP and len(known.parts) < _MOST_PARTS:
            known.parts[at] = part
            known.size = known.size if more else at + len(part)
        whole = known.whole()
        if whole is None:
            self._open[key] = known
            if len(self._open) > _MOST_OPEN:
                del self._open[next(iter(self._open))]
        return whole


def segment(packet: Packet, fragments: Fragments) -> Segment | None:
    """The TCP segment of a packet; None if it has none that can be read."""
    try:
        return _of_ip(packet, packet.data, _ip_at(packet), fragments)
    except (struct.error, IndexError):
        return None


def _ip_at(packet: Packet) -> int:
    """Where the IP header begins. Raises `IndexError` if there is none."""
    data = packet.data
    if packet.link in _RAW:
        return 0
    if packet.link in _LOOPBACK:
        return 4
    if packet.link == _COOKED_2:
        kind, at = struct.unpack_from(">H", data)[0], 20
    elif packet.link == _COOKED:
        kind, at = struct.unpack_from(">H", data, 14)[0], 16
    elif packet.link == _ETHERNET:
        kind, at = struct.unpack_from(">H", data, 12)[0], 14
    else:
        raise IndexError
    for _ in range(_MOST_TAGS):
        if kind not in _TAGS:
            break
        kind, at = struct.unpack_from(">H", data, at + 2)[0], at + 4
    if kind not in (_IPV4, _IPV6):
        raise IndexError
    return at


def _of_ip(packet: Packet, data: bytes, at: int, fragments: Fragments) -> Segment | None:
    version, begin = data[at] >> 4, at
    fragment, number = 0, b""
    if version == 4:
        whole, number, fragment = struct.unpack_from(">H2sH", data, at + 2)
        protocol, header = data[at + 9], (data[at] & 15) * 4
        addresses = data[at + 12 : at + 16], data[at + 16 : at + 20]
        if header < 20:
            return None
        # Bit 13: more fragments follow; below it the offset, in units of eight bytes.
        fragment = (fragment & 0x1FFF) << 3 | (fragment >> 13 & 1)
        end = begin + whole
        at += header
    elif version == 6:
        (whole,) = struct.unpack_from(">H", data, at + 4)
        addresses = data[at + 8 : at + 24], data[at + 24 : at + 40]
        end = begin + 40 + whole
        protocol, at, fragment, number = _behind_headers(data, data[at + 6], at + 40)
    else:
        return None
    if protocol != _TCP:
        return None
    if not whole:  # the network card splits it later (TSO)
        end = len(data)
    if fragment:
        key = (bytes([protocol]), number, *addresses)
        cut = end > len(data)
        carried = (
            None
            if cut
            else fragments.take(packet.time, key, fragment & ~7, bool(fragment & 1), data[at:end])
        )
        if carried is None:
            return None
        data, at, end = carried, 0, len(carried)
    return _of_tcp(packet, data, at, end, addresses)


def _behind_headers(data: bytes, protocol: int, at: int) -> tuple[int, int, int, bytes]:
    """The protocol behind the extension headers of IPv6, where it begins, and of a fragment its
    offset (with bit 0: more follow) and its number.
    """
    fragment, number = 0, b""
    for _ in range(_MOST_HEADERS):
        if protocol == _FRAGMENT:
            fragment = struct.unpack_from(">H", data, at + 2)[0] & 0xFFF9
            number = data[at + 4 : at + 8]
            protocol, at = data[at], at + 8
        elif fragment & ~7:
            break  # headers stand in the first fragment only
        elif protocol in (_OPTIONS, _ROUTING, _DESTINATION):
            protocol, at = data[at], at + (data[at + 1] + 1) * 8
        else:
            break
    return protocol, at, fragment, number


def _of_tcp(
    packet: Packet, data: bytes, at: int, end: int, addresses: tuple[bytes, bytes]
) -> Segment | None:
    source, target, sequence, _, offset, flags = struct.unpack_from(">HHIIBB", data, at)
    begin = at + (offset >> 4) * 4
    if begin < at + 20 or begin > end or end - at > LARGEST:
        return None
    there = data[begin:end]
    return Segment(
        packet.number,
        packet.time,
        (addresses[0], source),
        (addresses[1], target),
        sequence,
        flags,
        there,
        end - begin - len(there),
    )


def end_text(end: End) -> str:
    """`127.0.0.1:9092`, `[::1]:9092`."""
    address, port = end
    if len(address) == 4:
        return f"{socket.inet_ntop(socket.AF_INET, address)}:{port}"
    if len(address) == 16:
        return f"[{socket.inet_ntop(socket.AF_INET6, address)}]:{port}"
    return f"?:{port}"
