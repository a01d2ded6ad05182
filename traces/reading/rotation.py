"""Joins the rotated files of one process (`server.log.2 server.log.1 server.log`) into one log.

Files belong together if they stand in one folder and their names differ only by a number or a date.
They are put in order by their first and last timestamps; only files without full timestamps are
ordered by their names. A file whose times overlap with those of another, although it says something
else, was written by another process and stays a log of its own. Lines that the end of one file and
the beginning of the next both hold (a file was copied while it was rotated) are left out once.
The files of a packet capture are put in order by the times of their packets.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import BinaryIO

from attrs import evolve, frozen

from groupcheck.traces.captures.packets import span
from groupcheck.traces.reading.framed import unframed
from groupcheck.traces.reading.lines import BLOCK, DAMAGE, JITTER_MS, TraceError
from groupcheck.traces.reading.order import in_order, time_of
from groupcheck.traces.reading.source import Piece, Shelf, Source
from groupcheck.traces.reading.unpacking import open_file, unpack

_PACKING = re.compile(r"\.(?:gz|bz2|xz|zst|zstd|Z)\Z", re.IGNORECASE)
_DATE = r"(?:19|20)\d\d[-_.]?[01]\d(?:[-_.]?[0-3]\d(?:[-_.T]?[0-2]\d(?:[-_.:]?\d\d){0,2})?)?"
# What rotation adds behind the extension (server.log.1, server.log.2025-02-24-16,
# messages-20250224) or in front of it (app.2025-02-24.3.log, 2025-02-24.log).
_STRONG = (
    re.compile(rf"[.-]{_DATE}(?:[.-]\d{{1,6}})?\Z"),
    re.compile(r"(?:(?<=\.[A-Za-z]{3})|(?<=\.[A-Za-z]{4}))\.\d{1,6}\Z"),
    re.compile(rf"(?:[.-]|\A){_DATE}(?:[.-]\d{{1,6}})?(?=\.[A-Za-z]{{2,6}}\Z)"),
    # tcpdump -C (a.pcap, a.pcap1) and dumpcap -b (a_00001_20250224160000.pcapng).
    re.compile(r"(?:(?<=\.pcap)|(?<=\.pcapng)|(?<=\.cap))\d{1,6}\Z"),
    re.compile(r"_\d{5}_\d{14}(?=\.pcap(?:ng)?\Z)"),
)
# app-1.log, kafka-0, messages.1: as often the first of several processes, so it needs an app.log
# beside it.
_WEAK = re.compile(r"[.-]\d{1,6}(?=\.[A-Za-z]{2,6}\Z|\Z)")
_NUMBERS = re.compile(r"\d+")
LEAST_COMMON = 20
"""Files without full timestamps must have this many lines in common to be a copy of each other."""
_HEAD = 2048
_PLACES = 8


@frozen
class _Dated:
    """A piece with its name taken apart and its times."""

    piece: Piece
    # The name without what rotation added.
    stem: str
    # Numbers and dates that rotation added, empty for the file that is being written.
    suffix: str
    # Times of its first and last line that has one, in ms; None if it has none, or no dates.
    first: int | None = None
    last: int | None = None

    @property
    def by_name(self) -> tuple[object, ...]:
        """Orders files as rotation names them: by date, by falling number, the current one last."""
        numbers = [int(n) for n in _NUMBERS.findall(self.suffix)]
        if not numbers:
            return (1,)
        dated = re.search(_DATE, self.suffix) is not None
        return (0, numbers if dated else [-n for n in numbers])


def join_rotated(pieces: Sequence[Piece], shelf: Shelf) -> list[Source]:
    """The logs that the files are, in the order of the first file of each."""
    names = {_PACKING.sub("", p.name) for p in pieces}
    families: dict[str, list[_Dated]] = {}
    remarks: dict[str, list[str]] = {}
    for piece in pieces:
        stem, suffix = (piece.name, "") if piece.capture else _taken_apart(piece.name, names)
        framed = ""
        if not piece.capture:
            piece, framed = unframed(piece, shelf)
        stretches, remark = in_order(piece, shelf)
        families.setdefault(stem, []).extend(_Dated(one, stem, suffix) for one in stretches)
        for told in filter(None, (framed, remark)):
            remarks.setdefault(stem, []).append(f"{piece.name}: {told}")
    found: list[Source] = []
    for stem, family in families.items():
        said = tuple(remarks.get(stem, ()))
        if len(family) == 1:
            found.append(Source(family[0].piece.name, (family[0].piece,), said))
        else:
            logs = _logs([_with_times(d) for d in family])
            found += [evolve(log, remarks=said + log.remarks) for log in logs]
    place = {p.name: k for k, p in enumerate(pieces)}
    return sorted(found, key=lambda s: min(place[p.name] for p in s.pieces))


def captures_of(files: Sequence[Piece]) -> Iterator[list[Piece]]:
    """The files of each packet capture, in order of time: rotated ones follow each other."""
    names = {_PACKING.sub("", p.name) for p in files}
    families: dict[str, list[Piece]] = {}
    for piece in files:
        families.setdefault(_taken_apart(piece.name, names)[0], []).append(piece)
    for family in families.values():
        if len(family) == 1:
            yield family
            continue
        spans = sorted(((_span(p), p) for p in family), key=lambda one: one[0])
        capture: list[Piece] = []
        until = float("-inf")
        for (first, last), piece in spans:
            if capture and first < until - JITTER_MS:
                yield capture
                capture = []
            capture.append(piece)
            until = last
        yield capture


def _span(piece: Piece) -> tuple[float, float]:
    try:
        with unpack(open_file(piece.path, piece.name)) as stream:
            return span(stream)
    except DAMAGE:
        return float("inf"), float("inf")  # reading it says what is wrong


def _taken_apart(name: str, names: set[str]) -> tuple[str, str]:
    """(name without what rotation added, what it added)."""
    folder, slash, file = name.rpartition("/")
    file = _PACKING.sub("", file)
    for pattern in _STRONG:
        suffix = pattern.search(file)
        if suffix is not None:
            stem = file[: suffix.start()] + file[suffix.end() :]
            if stem:
                return folder + slash + stem, suffix[0]
    numbered = _WEAK.search(file)
    if numbered is not None:
        stem = file[: numbered.start()] + file[numbered.end() :]
        if folder + slash + stem in names:
            return folder + slash + stem, numbered[0]
    return folder + slash + file, ""


def _logs(family: list[_Dated]) -> Iterator[Source]:
    """One log, or several if the files were not written one after the other."""
    dated = all(d.first is not None and d.last is not None for d in family)
    if dated:
        order = sorted(family, key=lambda d: (d.first, d.last, d.by_name))
    else:
        order = sorted(family, key=lambda d: (d.by_name, d.piece.name))
    chains: list[list[_Dated]] = []
    copies: dict[int, list[str]] = {}
    for one in order:
        for k, chain in enumerate(chains):
            follows, common = _follows(chain[-1], one, dated)
            if follows:
                if common == ALL:
                    copies.setdefault(k, []).append(
                        f"{one.piece.name} is left out: {chain[-1].piece.name} has its lines"
                    )
                else:
                    chain.append(evolve(one, piece=one.piece.without(common)))
                break
        else:
            chains.append([one])
    for k, chain in enumerate(chains):
        pieces = tuple(d.piece for d in chain)
        alone = len(chains) > 1 or len({p.name for p in pieces}) == 1
        name = pieces[-1].name if alone else chain[0].stem
        yield Source(name, pieces, tuple(copies.get(k, ())))


ALL = -1


def _follows(before: _Dated, one: _Dated, dated: bool) -> tuple[bool, int]:
    """(was `one` written after `before` by the same process, how many lines at its beginning are
    the last of `before`); `ALL` if `before` has all of its lines.
    """
    if dated and one.first > before.last:  # type: ignore[operator]
        return True, 0
    common = _common(before.piece, one.piece)
    if dated:
        return common != 0 or one.first >= before.last - JITTER_MS, common  # type: ignore[operator]
    return True, common if common == ALL or common >= LEAST_COMMON else 0


def _common(before: Piece, after: Piece) -> int:
    """How many lines at the beginning of `after` are the last lines of `before`, or `ALL`."""
    try:
        with after.opened() as stream:
            head = stream.read(_HEAD)
        head = head[: head.rfind(b"\n") + 1]
        for at in _places(before, head) if head else ():
            lines = _lines_alike(before, at, after)
            if lines:
                return lines
    except (*DAMAGE, TraceError):
        pass
    return 0


def _places(piece: Piece, head: bytes) -> list[int]:
    """Where the first lines of another file may stand in a file: offsets of beginnings of lines.
    The file may end before those lines do.
    """
    first = head[: head.find(b"\n") + 1]
    found: list[int] = []
    with piece.opened() as stream:
        window, offset = b"\n", -1
        while block := stream.read(BLOCK):
            window += block
            at = window.find(b"\n" + first)
            while at >= 0 and len(found) < _PLACES:
                rest = window[at + 1 :]
                if rest.startswith(head[: len(rest)]):
                    found.append(offset + at + 1)
                at = window.find(b"\n" + first, at + 1)
            keep = min(len(window), len(first))
            offset += len(window) - keep
            window = window[len(window) - keep :]
    return found


def _lines_alike(before: Piece, at: int, after: Piece) -> int:
    """How many lines `before` has from the offset `at` on, if `after` begins with them; `ALL` if
    `after` ends first; 0 if they differ.
    """
    lines, last = 0, b""
    with before.opened() as a, after.opened() as b:
        _discard(a, at)
        while True:
            some = a.read(BLOCK)
            other = b.read(len(some)) if some else b""
            if not some:
                if not b.read(1):
                    return ALL
                return lines if last.endswith(b"\n") else 0
            if other != some:
                ends = len(other) < len(some) and some.startswith(other)
                return ALL if ends else 0
            lines, last = lines + some.count(b"\n"), some


def _discard(stream: BinaryIO, size: int) -> None:
    while size > 0 and (block := stream.read(min(BLOCK, size))):
        size -= len(block)


def _with_times(one: _Dated) -> _Dated:
    """The file with the times of the first and the last line that has a full timestamp."""
    head, tail = b"", b""
    try:
        with one.piece.opened() as stream:
            while block := stream.read(BLOCK):
                head = head or block
                tail = tail[-BLOCK:] + block
    except (*DAMAGE, TraceError):
        pass
    return evolve(
        one,
        first=_time(head.split(b"\n")),
        last=_time(reversed(tail.split(b"\n"))),
    )


def _time(lines: Sequence[bytes] | Iterator[bytes]) -> int | None:
    times = (time_of(raw) for raw in lines)
    return next((time for time in times if time is not None), None)
