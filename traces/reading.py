"""Files as streams of lines: plain or gzip, of any size, with one line in memory at a time. A file
that is not text is refused with a reason.

Lines are decoded as UTF-8, or as UTF-16 after a byte-order mark; bytes that do not fit become
U+FFFD. A line longer than `LINE_CAP` is cut there and counted. Nothing is reordered or repaired:
the file's `Notes` say what is wrong with it.

A damaged gzip file is read as far as it unpacks, as `zcat` does, except for the line that the
damage cuts: its beginning may be a sentence of its own. A few bytes after a whole gzip member are
not damage, unless they may be the rest of another member.
"""

from __future__ import annotations

import codecs
import io
import math
import os
import stat
import zlib
from collections.abc import Iterator
from typing import Any, BinaryIO

from attrs import Factory, define

from groupcheck.model.engine.errors import UserError
from groupcheck.traces.shipped import located

LINE_CAP = 1 << 20
SAMPLES, SAMPLE_CHARS = 20, 500
JITTER_MS = 1000
"""Lines of several threads may be a little out of order; more than this is reported."""
_BLOCK = 1 << 16
_GZIP = b"\x1f\x8b"
_GZIP_BITS = 31
_SHORTEST_GZIP = 20
_SNIFF = 8192
_LONGEST_MAGIC = 6
MOST_UNPACKED, MOST_RATIO = 4 << 30, 200
"""A gzip file that unpacks to more than `MOST_UNPACKED` bytes and to more than `MOST_RATIO` times
its size is not a log: the rest of it is not read.
"""
_UNPACK = "unpack it first (gzip is read as it is)"
_CAPTURE = "packet captures are not replayed yet; give the coordinator's log"
_NO_TEXT = {
    b"PK\x03\x04": ("a zip archive", _UNPACK),
    b"\xfd7zXZ\x00": ("xz data", _UNPACK),
    b"BZh": ("bzip2 data", _UNPACK),
    b"\x28\xb5\x2f\xfd": ("zstd data", _UNPACK),
    b"\xd4\xc3\xb2\xa1": ("a packet capture", _CAPTURE),
    b"\xa1\xb2\xc3\xd4": ("a packet capture", _CAPTURE),
    b"\n\r\r\n": ("a packet capture", _CAPTURE),
}


ALTERED = "the file is damaged: its lines may not be what was written"
_DAMAGE = (OSError, EOFError, zlib.error)


class TraceError(UserError):
    """A file that cannot be read as a log: it is missing, empty, binary, or packed in a way that is
    not supported.
    """


class _Beyond(OSError):
    """Bytes after the end of the gzip data; the data itself is whole."""


@define
class Notes:
    """What was special about a file while it was read."""

    # How many lines it has, how many were cut, and how many are not valid UTF-8.
    lines: int = 0
    cut: int = 0
    undecodable: int = 0
    # Why it was not read to its end; empty if it was.
    torn: str = ""
    # What was read may not be what was written.
    altered: bool = False
    # What follows the end of its gzip data.
    beyond: str = ""
    # Its beginning.
    head: bytes = b""

    def ends(self, why: Exception) -> None:
        """No more lines can be read after those that were counted."""
        if isinstance(why, _Beyond):
            self.beyond = str(why)
        elif isinstance(why, EOFError):
            self.torn = f"the file ends early, after line {self.lines}: {why}"
        elif isinstance(why, zlib.error):
            self.torn, self.altered = (
                f"the file is damaged, from line {self.lines + 1} on if not before: {why}",
                True,
            )
        else:
            self.torn = f"the file is not read from line {self.lines + 1} on: {why}"


@define
class Log:
    """One log file with its tallies, which are complete when all of it has been read."""

    path: str
    # The file if it is open already.
    stream: BinaryIO | None = None
    notes: Notes = Factory(Notes)
    # Lines that a coordinator, or the request logger, wrote: those that some version is known to
    # print, and those that none is.
    understood: int = 0
    strange: int = 0
    # (number, text) of the first strange lines.
    samples: list[tuple[int, str]] = Factory(list)
    # How often timestamps ran backwards, and the first line where they did.
    backwards: int = 0
    first_backwards: int = 0

    def opened(self) -> BinaryIO:
        """The file. Raises `TraceError` if it cannot be read."""
        return self.stream or open_log(self.path)

    def note_strange(self, number: int, text: str) -> None:
        """Counts a line that no version is known to print."""
        self.strange += 1
        if len(self.samples) < SAMPLES:
            self.samples.append((number, text))

    def note_backwards(self, line: int) -> None:
        """Counts a line that is older than the one before it."""
        self.backwards += 1
        self.first_backwards = self.first_backwards or line


def open_log(path: str) -> BinaryIO:
    """Opens `path`, gzip or not. Raises `TraceError` if it cannot be read or is not text."""
    try:
        file = located(path)
        if file.is_dir():
            raise TraceError("is a directory", where=path, do="give log files")
        raw = file.open("rb")
    except OSError as e:
        raise TraceError(f"cannot be read: {e.strerror or e}", where=path) from None
    except ValueError as e:
        raise TraceError(f"is not a file name: {e}", where=repr(path)) from None
    stream: BinaryIO = raw
    try:
        head = raw.peek(_LONGEST_MAGIC)  # nothing is taken back: a pipe cannot seek
        if head[:2] == _GZIP:
            stream = io.BufferedReader(_Unpacked(raw))
        for magic, (what, do) in _NO_TEXT.items():
            if head.startswith(magic):
                raise TraceError(f"is {what}", where=path, do=do)
        _refuse_binary(stream, path)
    except BaseException:
        raw.close()
        raise
    return stream


class _Unpacked(io.RawIOBase):
    """A gzip file's content. Reading raises an error where the file is damaged, or has unpacked to
    more than any log has, and again at every further attempt.
    """

    def __init__(self, raw: io.BufferedReader) -> None:
        told = os.fstat(raw.fileno())
        self._raw, self._pieces, self._piece = raw, _unpacked(raw), b""
        self._failure: Exception | None = None
        self._left = (
            max(MOST_UNPACKED, MOST_RATIO * told.st_size)
            if stat.S_ISREG(told.st_mode)
            else math.inf
        )

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        found = 0
        with memoryview(buffer) as room:
            while found < len(room) and (self._piece or self._next()):
                some = self._piece[: len(room) - found]
                room[found : found + len(some)] = some
                self._piece = self._piece[len(some) :]
                found += len(some)
        if not found and self._failure is not None:
            raise self._failure
        return found

    def _next(self) -> bool:
        if self._failure is None:
            try:
                self._piece = next(self._pieces, b"")
            except _DAMAGE as e:
                self._failure = e
            self._left -= len(self._piece)
            if self._left < 0:
                self._piece, self._failure = b"", OSError("it unpacks to far more than any log")
        return bool(self._piece)

    def close(self) -> None:
        super().close()
        self._raw.close()


def _unpacked(raw: io.BufferedReader) -> Iterator[bytes]:
    """The content of a gzip file in pieces. Raises an error at damage, after all that unpacks
    before it.
    """
    packed = raw.read1(_BLOCK)
    while packed:
        member = zlib.decompressobj(_GZIP_BITS)
        while not member.eof:
            before = member.copy()
            try:
                piece = member.decompress(packed, _BLOCK)
            except zlib.error as e:
                yield _until_damage(before, packed)
                raise zlib.error(
                    f"its gzip data is corrupt ({str(e).rpartition(': ')[2]})"
                ) from None
            packed = member.unconsumed_tail
            if piece:
                yield piece
            elif not member.eof:
                packed = raw.read1(_BLOCK)
                if not packed:
                    raise EOFError("its gzip data is cut off")
        packed = _padded(raw, member.unused_data)
        if 0 < len(packed) < _SHORTEST_GZIP and packed[: len(_GZIP)] != _GZIP:
            raise _Beyond(f"{len(packed)} bytes after the end of the gzip data are left out")


def _until_damage(member: Any, packed: bytes) -> bytes:
    """What unpacks before the damage in `packed`; zlib drops it if it meets the damage in the same
    call.
    """
    pieces = []
    try:
        for k in range(len(packed)):
            pieces.append(member.decompress(packed[k : k + 1]))
    except zlib.error:
        pass
    return b"".join(pieces)


def _padded(raw: io.BufferedReader, packed: bytes) -> bytes:
    """What follows a member without the padding: enough bytes for the shortest member, if there are
    as many.
    """
    while len(packed := packed.lstrip(b"\0")) < _SHORTEST_GZIP and (more := raw.read1(_BLOCK)):
        packed += more
    return packed


def beginning(stream: BinaryIO) -> bytes:
    """The beginning of an opened log; nothing is consumed."""
    assert isinstance(stream, io.BufferedReader)
    return stream.peek(_SNIFF)


def _refuse_binary(stream: BinaryIO, path: str) -> None:
    assert isinstance(stream, io.BufferedReader)
    try:
        head = stream.peek(_SNIFF)[:_SNIFF]
    except _DAMAGE as e:
        raise TraceError(f"is damaged: {e}", where=path) from None
    if not head:
        raise TraceError("is empty", where=path)
    if head[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        return
    strange = sum(1 for byte in head if byte < 9 or 13 < byte < 27 or 27 < byte < 32)
    if strange > len(head) // 10:
        raise TraceError("is binary, not a text log", where=path)


def read_lines(
    stream: BinaryIO, notes: Notes, needles: tuple[bytes, ...] = ()
) -> Iterator[tuple[int, str]]:
    """(number, text without its line end) of every line that contains one of `needles`; of all
    lines if there are none.

    `notes` counts all lines. Damage is noted and does not raise an error.
    """
    assert isinstance(stream, io.BufferedReader)
    wide = stream.peek(2)[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
    try:
        for block in _utf16(stream) if wide else _blocks(stream, notes):
            if len(notes.head) < _SNIFF:
                notes.head += block[:_BLOCK]
            if needles and not any(n in block for n in needles):
                notes.lines += block.count(b"\n") + (block[-1:] != b"\n")
                continue
            for raw in block.split(b"\n") if block[-1:] != b"\n" else block[:-1].split(b"\n"):
                notes.lines += 1
                if not needles or any(n in raw for n in needles):
                    yield notes.lines, _decoded(raw, notes)
    except _DAMAGE as e:
        notes.ends(e)


def _decoded(raw: bytes, notes: Notes) -> str:
    if notes.lines == 1:
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
        while block := stream.read1(_BLOCK):
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
    except _DAMAGE as e:
        notes.ends(e)
    if rest and not notes.torn:
        yield rest


def _rest_of_line(stream: io.BufferedReader) -> bytes:
    """Skips to the end of a line; what follows it in the same block."""
    while block := stream.read1(_BLOCK):
        end = block.find(b"\n") + 1
        if end:
            return block[end:]
    return b""


def _utf16(stream: io.BufferedReader) -> Iterator[bytes]:
    """UTF-16 lines as UTF-8 bytes (what a shell on Windows writes)."""
    text = io.TextIOWrapper(stream, "utf-16", errors="replace", newline="\n")
    while line := text.readline(LINE_CAP):
        yield line.encode(errors="replace")
