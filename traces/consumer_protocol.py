"""The consumer protocol's own bytes: what a member subscribes to, and what the leader assigns it
(ConsumerProtocolSubscription, ConsumerProtocolAssignment).

They travel opaquely inside JoinGroup and SyncGroup: a version as int16, then the fields of that
version; of a newer version the known fields are read, as Kafka does
(ConsumerProtocol.deserializeSubscription). Sizes are checked against what is there before anything
is read.
"""

from __future__ import annotations

import struct

from attrs import define, frozen

NEWEST_SUBSCRIPTION = 3
NO_GENERATION = -1


class NotConsumerProtocol(ValueError):
    """Bytes that are not of the consumer protocol (Kafka Connect's, or damaged)."""


@frozen
class Subscription:
    """What a member says of itself. `owned`: (topic, partition), version 1 on; `generation`: the
    one it was last in, version 2 on; `rack`: 3 on.
    """

    version: int
    topics: tuple[str, ...]
    user_data: bytes | None = None
    owned: tuple[tuple[str, int], ...] = ()
    generation: int = NO_GENERATION
    rack: str | None = None


@define
class _Bytes:
    data: bytes
    at: int = 0

    def _number(self, form: str) -> int:
        size = struct.calcsize(form)
        if self.at + size > len(self.data):
            raise NotConsumerProtocol(f"ends after {len(self.data)} bytes")
        (value,) = struct.unpack_from(form, self.data, self.at)
        self.at += size
        return int(value)

    def int16(self) -> int:
        return self._number(">h")

    def int32(self) -> int:
        return self._number(">i")

    def count(self, least: int) -> int:
        """The length of an array of elements of at least so many bytes."""
        n = self.int32()
        if n < 0 or n * least > len(self.data) - self.at:
            raise NotConsumerProtocol(f"an array of {n} in {len(self.data)} bytes")
        return n

    def take(self, size: int) -> bytes:
        if size < 0 or self.at + size > len(self.data):
            raise NotConsumerProtocol(f"{size} bytes of {len(self.data)}")
        self.at += size
        return self.data[self.at - size : self.at]

    def text(self) -> str:
        return self.take(self.int16()).decode(errors="replace")

    def nullable_text(self) -> str | None:
        size = self.int16()
        return None if size < 0 else self.take(size).decode(errors="replace")

    def nullable_bytes(self) -> bytes | None:
        size = self.int32()
        return None if size < 0 else self.take(size)

    def partitions(self) -> tuple[tuple[str, int], ...]:
        found = []
        for _ in range(self.count(6)):
            topic = self.text()
            found += [(topic, self.int32()) for _ in range(self.count(4))]
        return tuple(found)

    def version(self) -> int:
        version = self.int16()
        if version < 0:
            raise NotConsumerProtocol(f"version {version}")
        return version


def subscription(data: bytes) -> Subscription:
    """Decodes a member's subscription, versions 0 to 3. Raises `NotConsumerProtocol`."""
    given = _Bytes(data)
    version = given.version()
    topics = tuple(given.text() for _ in range(given.count(2)))
    user_data = given.nullable_bytes()
    owned = given.partitions() if version >= 1 else ()
    generation = given.int32() if version >= 2 else NO_GENERATION
    rack = given.nullable_text() if version >= NEWEST_SUBSCRIPTION else None
    return Subscription(version, topics, user_data, owned, generation, rack)


def assignment(data: bytes) -> tuple[tuple[str, int], ...]:
    """The partitions (topic, number) of an assignment, versions 0 to 3, in the order given; no
    bytes at all: none. Raises `NotConsumerProtocol`.
    """
    if not data:
        return ()
    given = _Bytes(data)
    given.version()
    partitions = given.partitions()
    given.nullable_bytes()
    return partitions
