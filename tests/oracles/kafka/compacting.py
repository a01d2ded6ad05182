"""What the log cleaner may remove from __consumer_offsets, at random (Kafka: Cleaner,
CleanedTransactionMetadata).

Below the first offset of an open transaction: a record with a later one of the same key, a record
of an aborted transaction, a tombstone with nothing left before it, and the marker of a transaction
of which nothing is left. A cleaner that is interrupted leaves any part of that undone.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from groupcheck.oracles.kafka.records import GroupRecord, MarkerRecord, OffsetRecord, Record

Key = tuple[str, ...]


def key_of(record: Record) -> Key:
    if isinstance(record, GroupRecord):
        return ("group", record.group)
    assert isinstance(record, OffsetRecord)
    return ("offset", record.group, record.topic, str(record.partition))


def tombstone(record: Record) -> bool:
    if isinstance(record, GroupRecord):
        return record.tombstone
    return isinstance(record, OffsetRecord) and record.committed is None


def endings(log: Sequence[Record]) -> dict[int, MarkerRecord | None]:
    """Offset of each record of a transaction -> the marker that ends it; None while it is open."""
    ends: dict[int, MarkerRecord | None] = {}
    open_: dict[int, list[int]] = {}
    for record in log:
        if isinstance(record, MarkerRecord):
            assert record.producer is not None
            ends.update(dict.fromkeys(open_.pop(record.producer, ()), record))
        elif record.producer is not None:
            open_.setdefault(record.producer, []).append(record.offset)
            ends[record.offset] = None
    return ends


def dropped(log: Sequence[Record], draw: random.Random, eager: float) -> tuple[int, ...]:
    """The offsets of the records that are removed: each that may go goes with the probability
    `eager`.
    """
    ends = endings(log)
    unstable = min((at for at, end in ends.items() if end is None), default=len(log) + 1_000_000)
    clean = [r for r in log if r.offset < unstable]
    aborted = {at for at, end in ends.items() if end is not None and not end.commit}
    latest = {
        key_of(r): r.offset
        for r in clean
        if not isinstance(r, MarkerRecord) and r.offset not in aborted
    }
    gone: set[int] = set()
    for record in clean:
        if isinstance(record, MarkerRecord):
            mine = [at for at, end in ends.items() if end is record]
            may = gone.issuperset(mine)
        elif record.offset in aborted or latest[key_of(record)] > record.offset:
            may = True
        elif tombstone(record):
            before = [
                r.offset
                for r in clean
                if r.offset < record.offset
                and not isinstance(r, MarkerRecord)
                and key_of(r) == key_of(record)
            ]
            may = gone.issuperset(before)
        else:
            may = False
        if may and draw.random() < eager:
            gone.add(record.offset)
    return tuple(sorted(gone))
