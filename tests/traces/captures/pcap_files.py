"""Writes packet captures of any kind: file formats, link layers, IP versions."""

from __future__ import annotations

import gzip
import io
import struct
from collections.abc import Callable, Iterable
from pathlib import Path

from attrs import evolve

from groupcheck.traces.captures.packets import Damage, packets
from groupcheck.traces.captures.segments import Fragments, Segment, segment

DATA = Path(__file__).parents[2] / "data" / "captures"
ETHERNET, NULL, LOOP, RAW, COOKED, COOKED_2 = 1, 0, 108, 101, 113, 276


def recorded(name: str) -> list[Segment]:
    """The TCP segments of a recorded capture."""
    raw = gzip.decompress((DATA / f"{name}.pcap.gz").read_bytes())
    fragments = Fragments()
    found = [segment(p, fragments) for p in packets(io.BytesIO(raw), Damage())]
    return [s for s in found if s is not None]


def tcp(s: Segment, version: int = 4) -> bytes:
    """An IP packet with the segment; of IPv6 with a header of options in between."""
    size = len(s.data) + s.cut
    head = struct.pack(
        ">HHIIBBHHH", s.source[1], s.target[1], s.sequence, 0, 5 << 4, s.flags, 0, 0, 0
    )
    body = head + s.data
    if version == 4:
        whole = 20 + 20 + size
        ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, whole, 0, 0, 64, 6, 0, s.source[0], s.target[0])
        return ip + body
    addresses = [bytes(12) + end[0] for end in (s.source, s.target)]
    options = bytes([6, 0, 1, 4, 0, 0, 0, 0])
    ip = struct.pack(">IHBB16s16s", 6 << 28, 8 + 20 + size, 0, 64, *addresses)
    return ip + options + body


def fragments(packet: bytes, number: int, size: int = 64) -> list[bytes]:
    """An IP packet in fragments that carry `size` bytes, a multiple of eight."""
    version = packet[0] >> 4
    body = packet[20:] if version == 4 else packet[48:]
    found = []
    for at in range(0, len(body), size):
        part, more = body[at : at + size], at + size < len(body)
        if version == 4:
            field = at >> 3 | more << 13
            head = packet[:2] + struct.pack(">HHH", 20 + len(part), number, field) + packet[8:20]
        else:
            # The options stand before the header that tells of the fragment.
            told = bytes([44]) + packet[41:48] + struct.pack(">BBHI", 6, 0, at | more, number)
            head = packet[:4] + struct.pack(">H", 16 + len(part)) + packet[6:40] + told
        found.append(head + part)
    return found


def linked(link: int, packet: bytes, vlans: int = 0) -> bytes:
    kind = 0x86DD if packet[0] >> 4 == 6 else 0x0800
    tags = b"".join(struct.pack(">HH", 0x8100, 7) for _ in range(vlans))
    if link == ETHERNET:
        return bytes(12) + tags + struct.pack(">H", kind) + packet
    if link == COOKED:
        return bytes(14) + struct.pack(">H", kind) + packet
    if link == COOKED_2:
        return struct.pack(">H", kind) + bytes(18) + packet
    if link in (NULL, LOOP):
        return bytes([2, 0, 0, 0]) + packet
    return packet


def pcap(
    some: Iterable[Segment],
    order: str = "<",
    nano: bool = False,
    link: int = ETHERNET,
    version: int = 4,
    vlans: int = 0,
    most: int = 1 << 18,
    split: Callable[[bytes, int], list[bytes]] = lambda packet, _: [packet],
) -> bytes:
    """`most`: so many bytes of each packet are captured; `split`: makes packets of a packet, which
    has a number.
    """
    magic = 0xA1B23C4D if nano else 0xA1B2C3D4
    out = [struct.pack(order + "IHHiIII", magic, 2, 4, 0, 0, most, link)]
    for k, s in enumerate(some):
        part = round(s.time * 1000) % 1_000_000 * (1000 if nano else 1)
        seconds = round(s.time * 1000) // 1_000_000
        for packet in split(tcp(s, version), k % 65_536):
            data = linked(link, packet, vlans)
            out.append(struct.pack(order + "IIII", seconds, part, len(data[:most]), len(data)))
            out.append(data[:most])
    return b"".join(out)


def pcapng(some: Iterable[Segment], order: str = "<", nano: bool = False) -> bytes:
    def block(kind: int, body: bytes) -> bytes:
        body += bytes(-len(body) % 4)
        size = struct.pack(order + "I", 12 + len(body))
        return struct.pack(order + "I", kind) + size + body + size

    section = struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1)
    resolution = struct.pack(order + "HHBxxx", 9, 1, 9) if nano else b""
    interface = struct.pack(order + "HHI", ETHERNET, 0, 0) + resolution + bytes(4)
    out = [block(0x0A0D0D0A, section), block(0x0BAD, b"else"), block(1, interface)]
    for s in some:
        data = linked(ETHERNET, tcp(s))
        unit = round(s.time * 1000) * (1000 if nano else 1)
        told = struct.pack(order + "IIIII", 0, unit >> 32, unit & 0xFFFFFFFF, len(data), len(data))
        out.append(block(6, told + data))
    return b"".join(out)


def moved(s: Segment, by: int) -> Segment:
    """The same segment with other sequence numbers."""
    return evolve(s, sequence=(s.sequence + by) % (1 << 32))
