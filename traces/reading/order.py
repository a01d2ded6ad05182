"""Logs whose lines are not in the order of time as a whole: rotated files that were concatenated in
the order of their names (`cat server.log*`), and exports that begin with the newest line.

The first kind is cut where time jumps back, and the stretches are put in order like rotated files,
if their times do not overlap; otherwise they are lines of several processes and stay as they are.
The second kind is read backwards, record by record: lines without a time belong to the line before
them.
"""

from __future__ import annotations

import io
import itertools
import re
from collections.abc import Iterable, Iterator

from attrs import define, evolve, frozen

from groupcheck.traces.lines.envelope import unwrap
from groupcheck.traces.lines.timestamps import FIRST_DATED, parse_time, time_in_json
from groupcheck.traces.reading.lines import BLOCK, DAMAGE, JITTER_MS, TraceError
from groupcheck.traces.reading.source import Piece, Shelf

MOST_JUDGED, MOST_REVERSED = 1 << 20, 64 << 20
"""Up to this size, the time of every line is looked at, beyond it the time of every block; up to
this size, a file is read backwards. Both in bytes.
"""
_LINE_START = 100
JUMP_MS = 60_000
"""A step back by more than this may be the beginning of another file."""
_STEPS = {
    b"evok": 0, b"(Re-)joining group": 1, b"Successfully joined group": 2,
    b"newly assigned partitions": 3,
}  # fmt: skip
"""The steps of a rebalance of Java's client, in their order."""
_STEP = re.compile(b"|".join(map(re.escape, _STEPS)))
_FEW_BYTES = 1 << 16
_MOST_JUMPS = 50
_MOST_TIMES = 200_000
"""A log with more times to look at has no order, or is too large to be put in order."""
BACKWARDS = "its lines run from the newest to the oldest: read backwards, numbered from its end"
TOO_LARGE = "its lines run from the newest to the oldest, and it is too large to be read backwards"


@frozen
class _Timed:
    """A line that has a whole timestamp."""

    # How many lines stand before it.
    before: int
    time: int


def time_of(raw: bytes) -> int | None:
    """The time of a line, if it has a whole date."""
    text = raw[:BLOCK].decode(errors="replace")
    found = unwrap(text)
    time = parse_time(found.line[:_LINE_START])
    time = found.time if time is None else time
    time = time_in_json(text) if time is None else time  # of a record that is cut, or has no text
    return time if time is not None and time >= FIRST_DATED else None


def in_order(piece: Piece, shelf: Shelf) -> tuple[list[Piece], str]:
    """The stretches of a file in the order in which they stand there, each in the order of time;
    and what was done to it, in words.
    """
    try:
        times = list(itertools.islice(_times(piece), _MOST_TIMES))
        if _newest_first([t.time for t in times]):
            text = _backwards(piece)
            if text is None:
                return [piece], TOO_LARGE
            copy = shelf.keep(piece.name, text)
            return [evolve(copy, torn=piece.torn, watch=piece.watch)], BACKWARDS
        if not times and (text := _steps_backwards(piece)) is not None:
            return [evolve(shelf.keep(piece.name, text), torn=piece.torn)], BACKWARDS
        starts = _starts(piece, times) if len(times) < _MOST_TIMES else [0]
        if len(starts) > 1:
            return [
                evolve(piece, left_out=a, most=None if b is None else b - a)
                for a, b in zip(starts, [*starts[1:], None])
            ], ""
    except (*DAMAGE, TraceError):
        pass  # it is read as it is, and its report says what is wrong
    return [piece], ""


def _times(piece: Piece) -> Iterator[_Timed]:
    """The times of all lines of a small file; of a large one, the first in each block, and all in a
    block before one that begins earlier.
    """
    lines, size = 0, 0
    last: tuple[int, list[bytes]] | None = None
    rest, latest = b"", 0
    with piece.opened() as stream:
        while block := stream.read(BLOCK):
            size += len(block)
            rows = (rest + block).split(b"\n")
            rest = rows.pop()[-BLOCK:]
            if size <= MOST_JUDGED:
                yield from _timed(lines, rows)
            else:
                first = next(_timed(lines, rows), None)
                if first is not None:
                    if first.time < latest - JUMP_MS and last is not None:
                        yield from _timed(*last)
                    yield first
                    latest = first.time
            last = (lines, rows)
            lines += len(rows)
    if last is not None:
        yield from _timed(*last) if size > MOST_JUDGED else ()
        yield from _timed(lines, [rest])


def _timed(before: int, rows: Iterable[bytes]) -> Iterator[_Timed]:
    for k, raw in enumerate(rows, before):
        time = time_of(raw)
        if time is not None:
            yield _Timed(k, time)


def _newest_first(times: list[int]) -> bool:
    steps = [b - a for a, b in itertools.pairwise(times) if a != b]
    back = sum(step < 0 for step in steps)
    return back >= 2 and back >= 0.95 * len(steps)


def _steps_backwards(piece: Piece) -> io.BytesIO | None:
    """The lines of a small file without times in reverse order, if a member's steps stand in it
    from the last to the first: its share, before it has joined, before it asks to join.
    """
    with piece.opened() as stream:
        text = stream.read(_FEW_BYTES + 1)
    if len(text) > _FEW_BYTES:
        return None
    steps = [_STEPS[found[0]] for found in _STEP.finditer(text)]
    pairs = [b - a for a, b in itertools.pairwise(steps) if a != b]
    if pairs.count(-1) < 2 or 1 in pairs:
        return None
    lines = text.removesuffix(b"\n").split(b"\n")
    return io.BytesIO(b"".join(line + b"\n" for line in reversed(lines)))


@define
class _Stretch:
    """Lines of a file that may be those of one rotated file."""

    # How many lines stand before it.
    before: int
    first: int
    latest: int


def _starts(piece: Piece, times: list[_Timed]) -> list[int]:
    """How many lines stand before each stretch, if there are several whose times do not overlap."""
    stretches: list[_Stretch] = []
    for one in times:
        if not stretches or one.time < stretches[-1].latest - JUMP_MS:
            stretches.append(_Stretch(one.before if stretches else 0, one.time, one.time))
        stretches[-1].latest = max(stretches[-1].latest, one.time)
        if len(stretches) > _MOST_JUMPS:
            return [0]
    while len(stretches) <= _MOST_JUMPS:
        by_time = sorted(stretches, key=lambda s: (s.first, s.latest))
        for a, b in itertools.pairwise(by_time):
            if b.first >= a.latest - JITTER_MS:
                continue
            rest = _rest_behind(piece, a, b) if b.latest < a.latest else None
            if rest is None:
                return [0]
            stretches.append(rest)
            break
        else:
            return sorted(s.before for s in stretches)
    return [0]


def _rest_behind(piece: Piece, whole: _Stretch, inside: _Stretch) -> _Stretch | None:
    """Cuts a stretch where its time jumps over that of another one, and returns what follows; None
    if it has lines of that time itself.
    """
    latest = whole.first
    with piece.without(whole.before).opened() as stream:
        for before, raw in enumerate(stream, whole.before):
            time = time_of(raw)
            if time is not None and time >= inside.latest - JITTER_MS:
                rest = _Stretch(before, time, whole.latest)
                whole.latest = latest
                return rest if latest <= inside.first + JITTER_MS else None
            latest = latest if time is None else max(latest, time)
    return None


def _backwards(piece: Piece) -> io.BytesIO | None:
    """The records of a file in reverse order, or None if it is too large for that."""
    with piece.opened() as stream:
        text = stream.read(MOST_REVERSED + 1)
    if len(text) > MOST_REVERSED:
        return None
    records: list[list[bytes]] = []
    for raw in text.removesuffix(b"\n").split(b"\n"):
        if not records or time_of(raw) is not None:
            records.append([])
        records[-1].append(raw)
    return io.BytesIO(b"".join(b"\n".join(r) + b"\n" for r in reversed(records)))
