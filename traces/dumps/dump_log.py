"""A dump of `__consumer_offsets` as a stream of records: kafka-dump-log.sh (with
--offsets-decoder), or a console consumer with a formatter.

What a transaction committed counts from its marker on; what it aborted never does. Offsets in the
log tell whether records are missing, and whether a stretch is there twice.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from attrs import Factory, define, evolve

from groupcheck.traces.dumps import texts
from groupcheck.traces.dumps.raw import fields_of
from groupcheck.traces.dumps.record_values import Fields, RecordNotUnderstood, record
from groupcheck.traces.dumps.records import Commit, EpochRecord, MemberRecord, Record
from groupcheck.traces.messages.message_bytes import Malformed
from groupcheck.traces.reading import SAMPLE_CHARS, Log

NEEDLES = (
    b"keySize: ",
    b"keysize: ",
    b"baseOffset: ",
    b"endTxnMarker: ",
    b"Dumping ",
    b"]::",
    b"::GroupMetadata(",
    b"::NULL",
    b"::null",
    b"MetadataValue(",
    b'{"key":{"',
    b"key: offset::",
    b"key: metadata::",
    b"key: offset_commit::",
    b"key: group_metadata::",
)
MARKS = (b"keySize: ", b"keysize: ", b"baseOffset: ", b"/0000000000", b"\\0000000000")
"""The content of lines of kafka-dump-log.sh: a record, a batch, or the name of a segment."""
_DUMPED = re.compile(r"\s*Dumping (?P<path>.*?)\s*\Z")
_BATCH = re.compile(r"\s*baseOffset: (?P<base>\d{1,19}) lastOffset: (?P<last>\d{1,19})\b")
_ENTRY = re.compile(r"\s*(?:\| )?(?:offset: (?P<offset>\d{1,19})\b)")
_CUT = re.compile(r"\bkey: (?:offset|metadata|offset_commit|group_metadata)::")
"""The key of a record whose beginning was cut off."""
_TIME = re.compile(r"\b(?:CreateTime|LogAppendTime): (?P<time>\d{1,15})\b")
_PRODUCER = re.compile(r"\bproducerId: (?P<id>\d{1,19})\b")
_MARKER = re.compile(r"\bendTxnMarker: (?P<what>\w+)")
_PENDING_MOST, PROTOCOLS_KEPT = 100_000, 10_000
_KEY = '{"key":{"'
_BYTES = re.compile("[\x00-\x08\x0e-\x1f]")
_DECODE = json.JSONDecoder().raw_decode


@define
class _Segment:
    """The progress of the reading of one partition's log."""

    # The offset that comes next; None before the first record.
    next: int | None = None
    # The offset of its first record.
    first: int | None = None


@define
class DumpLog(Log):
    """A dump as a stream of records."""

    # Records that stand before, or twice.
    left_out: int = 0
    # Records that are printed as bytes, and cannot be read because some are lost.
    raw: int = 0
    # How often records are missing between two that are there.
    gaps: int = 0
    # How often records are missing, or may be because another partition follows.
    cuts: int = 0
    _segments: dict[str, _Segment] = Factory(dict)
    _partition: str = ""
    # Of the current batch: its producer, if it is part of a transaction.
    _producer: int | None = None
    # The offsets of the current batch; None if the dump has no lines of batches.
    _inside: range | None = None
    # Producer -> what its open transaction has committed so far.
    _pending: dict[int, list[Record]] = Factory(dict)
    _held: int = 0
    # Group -> its protocol, where the lines of a formatter tell it.
    _protocols: dict[str, str] = Factory(dict)

    @property
    def from_start(self) -> bool:
        """Has the dump the whole partition at hand, so far?"""
        segment = self._segments.get(self._partition)
        return segment is not None and segment.first == 0 and not self.gaps

    def records(self) -> Iterator[Record]:
        """Every record about a group, in the order of the dump."""
        for number, line in self.lines(NEEDLES):
            try:
                yield from self._read(number, line)
            except (RecordNotUnderstood, RecursionError) as why:
                self.note_strange(number, f"{why}: {line[:SAMPLE_CHARS]}")

    def _read(self, number: int, line: str) -> Iterator[Record]:
        dumped = _DUMPED.match(line)
        if dumped is not None:
            folder = dumped["path"].replace("\\", "/").split("/")
            partition = folder[-2] if len(folder) > 1 else ""
            self.cuts += partition != self._partition
            self._partition = partition
            return
        batch = _BATCH.match(line)
        if batch is not None:
            self.understood += 1
            self._inside = range(int(batch["base"]), int(batch["last"]) + 1)
            self._batch(line)
            return
        place: Fields = {"line": number, "time": None}
        entry = _ENTRY.match(line)
        found: Record | None
        if entry is None:
            cut = _CUT.search(line)
            if cut is None:
                yield from self._of_consumer(place, line)
            elif (found := _of_dump(place, line[cut.start() :])) is not None:
                self.understood += 1
                yield found
            return
        if "isTransactional: " in line:  # versions before 2.1 have no lines of batches
            self._batch(line)
        known = self._inside is None or int(entry["offset"]) in self._inside
        time = _TIME.search(line)
        marker = _MARKER.search(line)
        if not self._in_order(int(entry["offset"])):
            self.understood += 1
            self.left_out += 1
        elif marker is not None:
            self.understood += 1
            yield from self._ended(marker["what"], number, int(time["time"]) if time else None)
        elif "key: " in line:
            place |= {"time": int(time["time"]) if time else None, "at": int(entry["offset"])}
            found = self._of_bytes(place, line) if _BYTES.search(line) else _of_dump(place, line)
            if found is not None:
                self.understood += 1
                yield from self._now_or_later(found, known)

    def _of_consumer(self, place: Fields, line: str) -> Iterator[Record]:
        """The records of a line of a console consumer. Formatters of 3.8 and later end no line, so
        all records may stand in one.
        """
        at = line.find(_KEY)
        if at < 0:
            found = self._with_protocol(texts.formatter_record(place, line))
            self.understood += found is not None
            yield from () if found is None else (found,)
            return
        self.understood += 1
        while at >= 0:
            told, end = _decoded(line, at)
            found = record(place, told.get("key"), told.get("value"))
            yield from () if found is None else (found,)
            at = line.find(_KEY, end)

    def _with_protocol(self, found: Record | None) -> Record | None:
        """The tombstone of a member's key does not tell its group's protocol; records before it
        do. None without them.
        """
        if not isinstance(found, MemberRecord | EpochRecord):
            return found
        if found.protocol and len(self._protocols) < PROTOCOLS_KEPT:
            self._protocols[found.group] = found.protocol
        protocol = found.protocol or self._protocols.get(found.group, "")
        return evolve(found, protocol=protocol) if protocol else None

    def _of_bytes(self, place: Fields, line: str) -> Record | None:
        """A record that the tool did not decode; None if it cannot be known."""
        key, _, value = line[line.index("key: ") + 5 :].partition(" payload: ")
        try:
            return record(place, *fields_of(line, key, value))
        except (RecordNotUnderstood, Malformed):
            self.raw += 1
            self.cuts += 1
            return None

    def _batch(self, line: str) -> None:
        producer = _PRODUCER.search(line)
        transactional = "isTransactional: true" in line
        self._producer = int(producer["id"]) if producer and transactional else None

    def _in_order(self, offset: int) -> bool:
        """Does the record stand behind all that were read of its partition?"""
        segment = self._segments.setdefault(self._partition, _Segment())
        if segment.next is not None and offset < segment.next:
            return False
        if segment.next is not None and offset > segment.next:
            self._missing()
            self._pending.clear()  # the end of their transactions may be missing
            self._held = 0
        segment.first = offset if segment.first is None else segment.first
        segment.next = offset + 1
        return True

    def _missing(self) -> None:
        self.gaps += 1
        self.cuts += 1

    def _now_or_later(self, found: Record, known: bool) -> Iterator[Record]:
        """A commit of an open transaction is held back until its end. `known`: its batch is there,
        which tells whether it is part of one.
        """
        if not isinstance(found, Commit):
            yield found
        elif not known:
            self._missing()
        elif self._producer is None:
            yield found
        elif self._held < _PENDING_MOST:
            self._pending.setdefault(self._producer, []).append(found)
            self._held += 1

    def _ended(self, what: str, number: int, time: int | None) -> Iterator[Record]:
        producer = self._producer
        if producer is None:
            return
        done = self._pending.pop(producer, [])
        self._held -= len(done)
        if what == "COMMIT":
            yield from (evolve(r, line=number, time=time) for r in done)


def _of_dump(place: Fields, line: str) -> Record | None:
    """The record of a line of kafka-dump-log.sh."""
    told = line[line.index("key: ") + 5 :]
    if not told.startswith("{"):
        key, _, value = told.partition(" payload: ")
        if key.startswith("group_metadata::group="):
            name = key.removeprefix("group_metadata::group=")
            return texts.generation(place, name, _json(value))
        if key.startswith("metadata::"):
            name = key.removeprefix("metadata::").strip()
            return texts.old_generation(place, name, value.strip())
        return texts.commit(place, key.strip(), value.strip())
    key_fields, end = _decoded(told, 0)
    at = told.find("payload: ", end)
    value_fields = _json(told[at + 9 :]) if at >= 0 else None
    if isinstance(key_fields, dict) and isinstance(key_fields.get("metadata"), str):
        return texts.generation(place, key_fields["metadata"], value_fields)
    return record(place, key_fields, value_fields)


def _json(text: str) -> Any:
    """The JSON at the beginning of a text; None for a tombstone."""
    text = text.strip()
    return None if text in texts.DELETED else _decoded(text, 0)[0]


def _decoded(text: str, at: int) -> tuple[Any, int]:
    try:
        return _DECODE(text, at)
    except ValueError:
        raise RecordNotUnderstood("the JSON is damaged or cut") from None
