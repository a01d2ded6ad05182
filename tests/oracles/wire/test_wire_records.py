"""Records in bytes, with another library as the judge."""

from __future__ import annotations

import pytest
from kafka.record.default_records import DefaultRecordBatch, DefaultRecordBatchBuilder
from kafka.record.legacy_records import LegacyRecordBatch

from groupcheck.oracles.wire.records import Record, batch, batches, crc32c, messages
from groupcheck.traces.messages.message_bytes import Malformed

RECORDS = [Record(None, b"first"), Record(b"key", b"second" * 40), Record(b"", None)]


def test_the_checksum_is_castagnolis():
    assert crc32c(b"123456789") == 0xE3069283  # the check value of CRC-32C


def test_another_library_reads_our_batches():
    ours = batch(7, RECORDS, 1_700_000_000_000)
    theirs = DefaultRecordBatch(ours.raw)
    assert theirs.validate_crc()
    assert [(r.offset, r.timestamp, r.key, r.value) for r in theirs] == [
        (7, 1_700_000_000_000, None, b"first"),
        (8, 1_700_000_000_000, b"key", b"second" * 40),
        (9, 1_700_000_000_000, b"", None),
    ]


def test_another_library_reads_our_old_messages():
    raw = messages(7, RECORDS[:1], 1_700_000_000_000)
    (record,) = LegacyRecordBatch(raw, 1)
    assert (record.offset, record.key, record.value) == (7, None, b"first")


@pytest.mark.parametrize("compression", [0, 1], ids=["plain", "gzip"])
def test_we_store_what_another_library_produces(compression):
    builder = DefaultRecordBatchBuilder(2, compression, 0, -1, -1, -1, 1 << 20)
    for offset in range(3):
        builder.append(offset, 5, None, b"value" * 20, [])
    (ours,) = batches(bytes(builder.build()))
    assert (ours.first, ours.count, ours.timestamp_ms) == (0, 3, 5)
    moved = DefaultRecordBatch(ours.moved(40).raw)
    assert moved.validate_crc() and [r.offset for r in moved] == [40, 41, 42]


GOOD = batch(0, RECORDS, 0).raw
BAD = {
    "too short": GOOD[:40],
    "cut off": GOOD[:-1],
    "another version": GOOD[:16] + b"\1" + GOOD[17:],
    "a wrong checksum": GOOD[:-1] + b"!",
    "a negative length": GOOD[:8] + b"\xff" * 4 + GOOD[12:],
}


@pytest.mark.parametrize("raw", BAD.values(), ids=BAD)
def test_what_is_no_batch_is_malformed(raw):
    with pytest.raises(Malformed):
        batches(raw)
