"""A stream of bytes as lines, with a few blocks in memory at a time.

Lines are decoded as UTF-8, or as UTF-16 after a byte-order mark; bytes that do not fit become
U+FFFD. A line longer than `LINE_CAP` is cut there and counted. Nothing is reordered or repaired:
the `Notes` say what is wrong.

A damaged packed file is read as far as it unpacks, as `zcat` does, except for the line that the
damage cuts: its beginning may be a sentence of its own.
"""

from __future__ import annotations

import codecs
import io
import zlib
from collections.abc import Iterator
from typing import BinaryIO

from attrs import Factory, define

from groupcheck.model.engine.errors import UserError

LINE_CAP = 1 << 20
JITTER_MS = 1000
"""Lines of several threads may be a little out of order; more than this is reported."""
BLOCK = 1 << 16
ALTERED = "the file is damaged: its lines may not be what was written"
DAMAGE = (OSError, EOFError, zlib.error)


class TraceError(UserError):
    """A file that cannot be read as a log: it is missing, empty, binary, or packed in a way that is
    not supported.
    """


class NoText(TraceError):
    """A file that holds no text: it is empty or binary. A folder may hold such files."""


class Beyond(OSError):
    """Bytes after the end of the packed data; the data itself is whole."""


@define
class Part:
    """The place of the lines of one file in the log that it is part of."""

    path: str
    # The number of its first line that was not left out, in the log.
    first_line: int
    # How many lines of it the log has, and how many at its beginning are left out.
    lines: int
    left_out: int = 0


@define
class Notes:
    """Remarks on a log, made while it is read."""

    # How many lines it has, how many were cut, and how many are not valid UTF-8.
    lines: int = 0
    cut: int = 0
    undecodable: int = 0
    # Why it was not read to its end; empty if it was.
    torn: str = ""
    # What was read may not be what was written.
    altered: bool = False
    # What follows the end of its packed data.
    beyond: str = ""
    # The files that were read.
    parts: list[Part] = Factory(list)

    def ends(self, why: Exception) -> None:
        """No more lines can be read after those that were counted."""
        if isinstance(why, Beyond):
            self.beyond = self.beyond or str(why)
        elif isinstance(why, EOFError):
            self.tear(f"the file ends early, after line {self.lines}: {why}")
        elif isinstance(why, zlib.error):
            self.tear(f"the file is damaged, from line {self.lines + 1} on if not before: {why}")
            self.altered = True
        else:
            self.tear(f"the file is not read from line {self.lines + 1} on: {why}")

    def tear(self, how: str) -> None:
        """The log is not whole; the first reason is kept."""
        self.torn = self.torn or how


def read_lines(
    stream: BinaryIO,
    notes: Notes,
    needles: tuple[bytes, ...] = (),
    without: tuple[bytes, ...] = (),
) -> Iterator[tuple[int, str]]:
    """(number, text without its line end) of every line that contains one of `needles`, or of all
    lines if there are none, unless it contains one of `without`.

    `notes` counts all lines, and lines are numbered on from those that it has counted. Damage is
    noted and does not raise an error.
    """
    assert isinstance(stream, io.BufferedReader)
    first = notes.lines + 1
    wide = stream.peek(2)[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
    try:
        for block in _utf16(stream) if wide else _blocks(stream, notes):
            here = [n for n in without if n in block]
            for gap, raw in _hits(block, needles) if needles else _all(block):
                notes.lines += gap
                if raw is not None and not (here and any(n in raw for n in here)):
                    yield notes.lines, _decoded(raw, notes, notes.lines == first)
    except DAMAGE as e:
        notes.ends(e)


def _all(block: bytes) -> Iterator[tuple[int, bytes | None]]:
    for raw in block.removesuffix(b"\n").split(b"\n"):
        yield 1, raw


def _hits(block: bytes, needles: tuple[bytes, ...]) -> Iterator[tuple[int, bytes | None]]:
    """(how many lines further it stands, line) of the lines of a block that contain a needle; then
    how many lines follow.
    """
    found = []
    rest = [(0, len(block))]  # what lies between the lines that were found
    for needle in needles:
        left = []
        for first, last in rest:
            at = block.find(needle, first, last)
            while at >= 0:
                begin, end = block.rfind(b"\n", first, at) + 1, block.find(b"\n", at, last)
                begin, end = begin or first, end if end >= 0 else last
                found.append((begin, end))
                if begin > first:
                    left.append((first, begin))
                first = min(end + 1, last)
                at = block.find(needle, first, last)
            if first < last:
                left.append((first, last))
        rest = left
    counted = 0
    for begin, end in sorted(found):
        yield block.count(b"\n", counted, begin) + 1, block[begin:end]
        counted = end + 1
    if counted < len(block):
        yield block.count(b"\n", counted) + (block[-1:] != b"\n"), None


def _decoded(raw: bytes, notes: Notes, first: bool) -> str:
    if first:
        raw = raw.removeprefix(codecs.BOM_UTF8)
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        notes.undecodable += 1
        text = raw.decode(errors="replace")
    return text.rstrip("\r")


def _blocks(stream: io.BufferedReader, notes: Notes) -> Iterator[bytes]:
    """The file in blocks of whole lines; a line longer than the cap is cut. What was read before
    damage is not lost.
    """
    rest = b""
    try:
        while block := stream.read1(BLOCK):
            end = block.rfind(b"\n") + 1
            if end:
                yield rest + block[:end]
                rest = block[end:]
            else:
                rest += block
                if len(rest) > LINE_CAP:
                    notes.cut += 1
                    yield rest[:LINE_CAP] + b"\n"
                    rest = b""  # in case that the rest cannot be read
                    rest = _rest_of_line(stream)
    except DAMAGE as e:
        notes.ends(e)
        if not isinstance(e, Beyond):
            return
    if rest:
        yield rest


def _rest_of_line(stream: io.BufferedReader) -> bytes:
    """Skips to the end of a line; what follows it in the same block."""
    while block := stream.read1(BLOCK):
        end = block.find(b"\n") + 1
        if end:
            return block[end:]
    return b""


def _utf16(stream: io.BufferedReader) -> Iterator[bytes]:
    """UTF-16 lines as UTF-8 bytes (what a shell on Windows writes)."""
    text = io.TextIOWrapper(stream, "utf-16", errors="replace", newline="\n")
    while line := text.readline(LINE_CAP):
        yield line.encode(errors="replace")
