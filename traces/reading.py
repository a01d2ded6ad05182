"""Files as streams of lines: plain or gzip, any size, one line in memory at a time; what is no text is refused with a reason.

Lines are decoded as UTF-8 (a byte-order mark may say UTF-16); bytes that do not fit become U+FFFD. A line longer than `LINE_CAP` is cut
there and counted. Nothing is reordered or repaired: what a file lacks is said in its `Notes`.
"""

from __future__ import annotations

import codecs
import gzip
import io
import math
import os
import stat
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from attrs import define

from groupcheck.model.engine.errors import UserError

LINE_CAP = 1 << 20
_BLOCK = 1 << 16
_GZIP = b"\x1f\x8b"
_SNIFF = 8192
_LONGEST_MAGIC = 6
MOST_UNPACKED, MOST_RATIO = 4 << 30, 200
"""A gzip file that unpacks to more bytes than the first, and to more than so many times its own size, is no log: the rest of it is not read."""
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


class TraceError(UserError):
    """A file that cannot be read as a log: missing, empty, binary, packed in a way that is not supported."""


@define
class Notes:
    """What was remarkable about a file while it was read. `torn`: why it ended early, if it did. `head`: how it begins."""

    lines: int = 0
    cut: int = 0
    undecodable: int = 0
    torn: str = ""
    head: bytes = b""


def open_log(path: str) -> BinaryIO:
    """Opens `path`, gzip or not. Raises `TraceError` if there is nothing to read or it is not text."""
    try:
        if Path(path).is_dir():
            raise TraceError("is a directory", where=path, do="give log files")
        raw = Path(path).open("rb")  # noqa: SIM115 - the reader closes it
    except OSError as e:
        raise TraceError(f"cannot be read: {e.strerror or e}", where=path) from None
    except ValueError as e:
        raise TraceError(f"is no file name: {e}", where=repr(path)) from None
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
    """A gzip file's content, up to where no log unpacks so far."""

    def __init__(self, raw: BinaryIO) -> None:
        told = os.fstat(raw.fileno())
        self._raw, self._gzip = raw, gzip.GzipFile(fileobj=raw)
        self._left = max(MOST_UNPACKED, MOST_RATIO * told.st_size) if stat.S_ISREG(told.st_mode) else math.inf

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        found = self._gzip.readinto(buffer)
        self._left -= found
        if self._left < 0:
            raise OSError("it unpacks to far more than any log; the rest is not read")
        return found

    def close(self) -> None:
        super().close()
        self._gzip.close()
        self._raw.close()


def beginning(stream: BinaryIO) -> bytes:
    """How an opened log begins; nothing is taken from it."""
    assert isinstance(stream, io.BufferedReader)
    return stream.peek(_SNIFF)


def _refuse_binary(stream: BinaryIO, path: str) -> None:
    assert isinstance(stream, io.BufferedReader)
    try:
        head = stream.peek(_SNIFF)[:_SNIFF]
    except (OSError, EOFError, zlib.error) as e:
        raise TraceError(f"is damaged: {e}", where=path) from None
    if not head:
        raise TraceError("is empty", where=path)
    if head[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        return
    strange = sum(1 for byte in head if byte < 9 or 13 < byte < 27 or 27 < byte < 32)
    if strange > len(head) // 10:
        raise TraceError("is binary, not a text log", where=path)


def read_lines(stream: BinaryIO, notes: Notes, needles: tuple[bytes, ...] = ()) -> Iterator[tuple[int, str]]:
    """(number, text) of every line that holds one of `needles` (all lines, if none are given), without its line end.

    `notes` counts all lines as they go by. A damaged end is noted, never raised.
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
    except (OSError, EOFError, zlib.error) as e:
        notes.torn = f"the file ends early or is damaged: {e}"


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
    """The file in blocks that end with a line; of a line longer than the cap, the beginning. What was read before damage is not lost."""
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
                    rest = _rest_of_line(stream)
    except (OSError, EOFError, zlib.error) as e:
        notes.torn = f"the file ends early or is damaged: {e}"
    if rest:
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
