"""Records in bytes: batches of version 2 (KIP-98), and the messages of version 1 that clients from
before 0.11 fetch.

Source: DefaultRecordBatch, DefaultRecord and LegacyRecord of Apache Kafka.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence

from attrs import frozen

from groupcheck.traces.messages.message_bytes import Malformed

MAGIC = 2
# First offset, length; then leader epoch, magic, checksum; then what the checksum is of:
# attributes, last offset (relative), first and last timestamp, producer, its epoch, sequence,
# count.
_HEAD = struct.Struct(">qi")
_CHECKED = struct.Struct(">ibI")
_BODY = struct.Struct(">hiqqqhii")
OVERHEAD = _HEAD.size + _CHECKED.size + _BODY.size


def _polynomial() -> tuple[int, ...]:
    table = []
    for byte in range(256):
        value = byte
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
        table.append(value)
    return tuple(table)


_TABLE = _polynomial()


def crc32c(data: bytes) -> int:
    """The checksum of a batch (Castagnoli's polynomial)."""
    value = 0xFFFFFFFF
    for byte in data:
        value = _TABLE[(value ^ byte) & 255] ^ value >> 8
    return value ^ 0xFFFFFFFF


@frozen
class Record:
    key: bytes | None
    value: bytes | None


@frozen
class Batch:
    """Records with consecutive offsets, as they are stored."""

    # Offset of the first record.
    first: int
    count: int
    # Of its first record, in Unix ms.
    timestamp_ms: int
    raw: bytes

    @property
    def end(self) -> int:
        """The offset behind it."""
        return self.first + self.count

    def moved(self, first: int) -> Batch:
        """The same records at other offsets, in leader epoch 0. (The checksum covers neither.)"""
        size = len(self.raw) - _HEAD.size
        raw = _HEAD.pack(first, size) + struct.pack(">i", 0) + self.raw[_HEAD.size + 4 :]
        return Batch(first, self.count, self.timestamp_ms, raw)


def batch(first: int, records: Sequence[Record], timestamp_ms: int) -> Batch:
    """A batch that is not compressed, all of whose records have the same timestamp."""
    written = b"".join(_record(k, record) for k, record in enumerate(records))
    last = len(records) - 1
    body = _BODY.pack(0, last, timestamp_ms, timestamp_ms, -1, -1, -1, len(records)) + written
    tail = _CHECKED.pack(0, MAGIC, crc32c(body)) + body
    return Batch(first, len(records), timestamp_ms, _HEAD.pack(first, len(tail)) + tail)


def _record(offset: int, record: Record) -> bytes:
    body = b"\0" + _varint(0) + _varint(offset) + _bytes(record.key) + _bytes(record.value)
    body += _varint(0)  # headers
    return _varint(len(body)) + body


def _bytes(value: bytes | None) -> bytes:
    return _varint(-1) if value is None else _varint(len(value)) + value


def _varint(number: int) -> bytes:
    value, out = number << 1 ^ number >> 63, bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def batches(data: bytes) -> list[Batch]:
    """The batches of a Produce request. Raises `Malformed` for what is none, or has another
    checksum.
    """
    found, at = [], 0
    while at < len(data):
        if len(data) - at < OVERHEAD:
            raise Malformed("a batch of records that is too short")
        first, size = _HEAD.unpack_from(data, at)
        _, magic, checksum = _CHECKED.unpack_from(data, at + _HEAD.size)
        end = at + _HEAD.size + size
        if magic != MAGIC or size < OVERHEAD - _HEAD.size or end > len(data):
            raise Malformed(f"a batch of records of version {magic} with {size} bytes")
        body = data[at + _HEAD.size + _CHECKED.size : end]
        if crc32c(body) != checksum:
            raise Malformed("a batch of records with a wrong checksum")
        _, last, timestamp_ms, *_, count = _BODY.unpack_from(body)
        if last < 0 or count != last + 1:
            raise Malformed(f"a batch of {count} records with the last offset {last}")
        found.append(Batch(first, count, timestamp_ms, data[at:end]))
        at = end
    return found


def messages(first: int, records: Sequence[Record], timestamp_ms: int) -> bytes:
    """The same records as messages of version 1."""
    out = b""
    for offset, record in enumerate(records, first):
        body = struct.pack(">bbq", 1, 0, timestamp_ms)
        for value in (record.key, record.value):
            body += struct.pack(">i", -1 if value is None else len(value)) + (value or b"")
        message = struct.pack(">I", zlib.crc32(body)) + body
        out += _HEAD.pack(offset, len(message)) + message
    return out
