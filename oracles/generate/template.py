"""Lines with places to fill in: a run of the model is printed once, and read again as the life of
any group at any generation.

Printers write marks (`<:g:>` the group, `<:m3:>` a member id, `<:n5:>` a generation, `<:s5:>` a
subscription that claims one, `<:w5:>` one that says what is owned, too, `<:c2:>` a connection,
`<:t:>` the time; `"<:N5:>"` and `"<:O2:>"` a generation and an offset as JSON numbers; `offset` and
`offset_json` an offset of a partition, `<:e5:>` the ms since 1970 at 5 ms since the beginning);
`compiled` takes a line apart once.
"""

from __future__ import annotations

import base64
import re
import struct
from collections.abc import Sequence

from attrs import frozen

_MARK = re.compile(r'"<:([NOP])(-?\d+):>"|<:([gmnswctpe])(-?\d+)?:>')
_PORTS, _FIRST_PORT = 50_000, 10_000
_MOST_CLAIMED = 10_000
_MOST_OFFSETS = 1_000_000_000

Part = str | tuple[str, int]
TIME = ("t", 0)
"""The mark of the time, compiled."""


def compiled(text: str) -> tuple[Part, ...]:
    """The pieces of a line: text, or the kind and number of what is filled in."""
    parts: list[Part] = []
    end = 0
    for mark in _MARK.finditer(text):
        parts.append(text[end : mark.start()])
        parts.append((mark[1] or mark[3], int(mark[2] or mark[4] or 0)))
        end = mark.end()
    parts.append(text[end:])
    return tuple(part for part in parts if part != "")


@frozen
class Filling:
    """The values that replace the marks of a run in one of its lives."""

    group: str
    # member ids by number
    names: Sequence[str]
    # added to the run's own numbers
    generation: int = 0
    offset: int = 0
    connection: int = 0
    # added to the run's offsets of each partition, if it has some
    offsets: Sequence[int] = ()
    # ms since 1970 when the run begins
    begun: int = 0

    def line(self, parts: Sequence[Part], time: str = "") -> str:
        """A line with all its marks filled in. `time`: what stands for the time in it."""
        return "".join(
            part if isinstance(part, str) else time if part == TIME else self._filled(*part)
            for part in parts
        )

    def _filled(self, kind: str, number: int) -> str:
        if kind == "g":
            return self.group
        if kind == "m":
            return self.names[number]
        if kind in "nN":
            return str(self.generation + number if number >= 0 else number)
        if kind == "s":
            return subscription(self.generation + number if number >= 0 else number)
        if kind == "w":
            owned, claimed = divmod(number, _MOST_CLAIMED)
            return subscription(self.generation + claimed, owned)
        if kind == "O":
            return str(self.offset + number)
        if kind in "pP":
            partition, more = divmod(number, _MOST_OFFSETS)
            return str((self.offsets[partition] if self.offsets else 0) + more)
        if kind == "e":
            return str(self.begun + number)
        connection = self.connection + number
        return f"127.0.0.1:9092-127.0.0.1:{_FIRST_PORT + connection % _PORTS}-0-{connection}"


def offset(partition: int, number: int) -> str:
    """The mark for an offset of a partition."""
    return f"<:p{partition * _MOST_OFFSETS + number}:>"


def offset_json(partition: int, number: int) -> str:
    """The mark for it as a JSON number."""
    return f"<:P{partition * _MOST_OFFSETS + number}:>"


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def subscribed(claimed: int, owned: int) -> str:
    """The mark for a subscription."""
    if not owned:
        return f"<:s{claimed}:>"
    return f"<:w{owned * _MOST_CLAIMED + max(claimed, 0)}:>"


def subscription(claimed: int, owned: int = 0) -> str:
    """A subscription of version 2: one topic, what is owned as a set of bits, and the generation
    claimed.
    """
    partitions = [p for p in range(32) if owned >> p & 1]
    topics = struct.pack(f">h1si{len(partitions)}i", 1, b"t", len(partitions), *partitions)
    held = struct.pack(">i", 1) + topics if partitions else struct.pack(">i", 0)
    return encoded(struct.pack(">hih1si", 2, 1, 1, b"t", -1) + held + struct.pack(">i", claimed))


def assignment(share: int) -> str:
    """The partitions of a set of bits, as an assignment."""
    partitions = [p for p in range(32) if share >> p & 1]
    if not partitions:
        return encoded(struct.pack(">hii", 1, 0, -1))
    return encoded(
        struct.pack(f">hih1si{len(partitions)}ii", 1, 1, 1, b"t", len(partitions), *partitions, -1)
    )
