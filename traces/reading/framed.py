"""Logs that somebody else wrote down, with the same frame around every line: a container's log
driver, kubectl, a quotation, an indentation. The frame is taken off before anything is read, so
that what stands on several lines (a table, a record, a line that was broken) is read as its program
wrote it. Frames that name several services stay: they tell whose a line is.

Sources: Docker's json-file driver; the CRI log format of Kubernetes (cri-api); docker compose.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Sequence

from attrs import evolve

from groupcheck.traces.reading.lines import BLOCK, DAMAGE, TraceError
from groupcheck.traces.reading.source import Piece, Shelf

MOST_UNFRAMED = 64 << 20
"""In bytes; a larger log is read as it is."""
LEAST_INDENT = 2
UNFRAMED = "the same frame stands around each of its lines, and is left out here"
_CONTAINER = re.compile(
    rb"(\d{4}-\d\d-\d\dT[\d:.]{8,20}(?:Z|[+-]\d\d:\d\d)) (?:stdout|stderr) F(?: |\Z)"
)
_SERVICE = re.compile(
    rb"\A(?:([A-Za-z][\w.@-]{1,120})[ \t]{0,40}\|(?: |\Z)|\[pod/[\w./-]{1,200}\](?: |\Z))"
)
_NUMBERED = re.compile(rb"[-_.]\d{1,4}[ \t]*\||\]")
_NO_SERVICE = {b"trace", b"debug", b"info", b"warn", b"warning", b"error", b"fatal", b"severe"}
_HAS_TIME = re.compile(rb"\d\d:\d\d:\d\d|\|\d{10}\.\d{3}\|")
_TABLE = re.compile(rb"\b(?:CONSUMER-ID|CURRENT-OFFSET|#MEMBERS|LOG-END-OFFSET)\b")
_QUOTED = re.compile(rb"\A(?:> ?)+")
_OF_DRIVER = {"log", "stream", "time", "attrs", "kubernetes", "docker", "tag"}
"""The keys of an object that a log driver or shipper makes of a line."""
Take = Callable[[bytes], bytes | None]
"""What a line is without its frame; None if it does not stand in it."""
Read = Callable[[bytes], tuple[bytes, bytes] | None]


def unframed(piece: Piece, shelf: Shelf) -> tuple[Piece, str]:
    """The piece without the frame that all its lines have in common, and what was done, in words;
    as it is if they have none, or if it cannot be read.
    """
    try:
        with piece.opened() as stream:
            text = stream.read(BLOCK)
            rows = text.split(b"\n")
            if len(text) == BLOCK:
                rows.pop()  # it may go on
            if _frame([row for row in rows if row.strip()]) is None:
                return piece, ""
            text += stream.read(MOST_UNFRAMED + 1 - len(text))
        inner = inside(text) if len(text) <= MOST_UNFRAMED else None
        if inner is None:
            return piece, ""
        copy = shelf.keep(piece.name, io.BytesIO(inner))
    except (*DAMAGE, TraceError):
        return piece, ""  # it is read as it is, and its report says what is wrong
    return evolve(copy, torn=piece.torn, watch=piece.watch), UNFRAMED


def inside(text: bytes) -> bytes | None:
    """The text without the frame of its lines; None if they have none in common."""
    rows = text.split(b"\n")
    some = [row for row in rows if row.strip()]
    take = _frame(some)
    if take is None:
        return None
    return b"\n".join((take(row) or b"") if row.strip() else b"" for row in rows)


def _frame(rows: Sequence[bytes]) -> Take | None:
    """What takes the frame off that all these lines have in common."""
    if not rows:
        return None
    first = rows[0]
    service = _SERVICE.match(first)
    if service and (service[1] or b"").lower() not in _NO_SERVICE:
        name = service[0].rstrip()
        # Where a name without a number stands before more cells, it is the first column of a table.
        cells = sum(b" | " in row[len(name) + 1 :] for row in rows)
        is_table = not _NUMBERED.search(name) and cells * 2 >= len(rows)
        if not is_table and all(row.startswith(name) for row in rows):
            return lambda row: _SERVICE.sub(b"", row, count=1)
    if (driven := _driven(rows)) is not None:
        return driven
    if all(map(_QUOTED.match, rows)):
        return lambda row: _QUOTED.sub(b"", row, count=1)
    least = min(len(row) - len(row.lstrip(b" \t")) for row in rows)
    return (lambda row: row[least:]) if least >= LEAST_INDENT else None


def _driven(rows: Sequence[bytes]) -> Take | None:
    """What takes a log driver's frame off. Its time stays where most lines have none of their own;
    otherwise a line without one goes on with the line before.
    """
    for read in (_of_container, _of_driver):
        found = read(rows[0])
        if found is None or not all(map(read, rows)):
            continue
        timed = sum(_HAS_TIME.search(one[1][:200]) is not None for r in rows if (one := read(r)))
        table = any(_TABLE.search(row) for row in rows)  # a time would be a column of it
        most = table or timed * 2 >= len(rows)

        def take(row: bytes, read: Read = read, most: bool = most) -> bytes | None:
            one = read(row)
            if one is None:
                return None
            time, line = one
            own = most or not time or not line.strip() or _HAS_TIME.search(line[:200])
            return line if own else time + b" " + line

        return take
    return None


def _of_container(row: bytes) -> tuple[bytes, bytes] | None:
    """The driver's time, and the line."""
    found = _CONTAINER.match(row)
    return None if found is None else (found[1], row[found.end() :])


def _of_driver(row: bytes) -> tuple[bytes, bytes] | None:
    if not row.lstrip().startswith(b'{"'):
        return None
    try:
        record = json.loads(row)
    except (ValueError, RecursionError):
        return None
    if not isinstance(record, dict) or not {"log"} <= record.keys() <= _OF_DRIVER:
        return None
    log, time = record["log"], record.get("time")
    if not isinstance(log, str):
        return None
    line = log.rstrip("\r\n").replace("\n", " ").encode("utf-8", "replace")
    return (time.encode("utf-8", "replace") if isinstance(time, str) else b""), line
