"""Opens a file as a stream of text, whether it is packed (gzip, bzip2, xz, zstd) or not. A file
that is not text is refused with a reason.

A damaged file is read as far as it unpacks. A few bytes after a whole gzip member are not damage,
unless they may be the rest of another member.

`zstandard` is imported late: it is compiled, and most logs are not packed with it. Where it is not
installed, as in a browser tab, Python's own module takes its place from 3.14 on.
"""

from __future__ import annotations

import bz2
import codecs
import contextlib
import io
import lzma
import math
import os
import stat
import zlib
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from groupcheck.traces.reading.lines import BLOCK, DAMAGE, Beyond, NoText, TraceError
from groupcheck.traces.sample_files import resolve_sample

_GZIP = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"
_GZIP_BITS = 31
_SHORTEST_GZIP = 20
SNIFF = 8192
MOST_UNPACKED, MOST_RATIO = 4 << 30, 200
"""A file that unpacks to more than `MOST_UNPACKED` bytes and to more than `MOST_RATIO` times its
size is not a log: the rest of it is not read.
"""
_XZ_MEMORY = 256 << 20
_ZSTD_WINDOW_LOG = 27
"""A frame may ask for a window of 2 to the power of this, 128 MiB, and no more."""
_ZSTD_BITE = 256
"""How many packed bytes zstd gets at once: it gives all that they unpack to, at most 128 KiB for
each four of them.
"""
_NO_TEXT = {
    b"7z\xbc\xaf\x27\x1c": ("a 7z archive", "unpack it first (zip and tar are read as they are)"),
    b"Rar!": ("a rar archive", "unpack it first (zip and tar are read as they are)"),
}


Watch = Callable[[str, int, int], None]
"""Is told how far a file has been read: its name, bytes read and bytes in all."""


class _WatchedFile(io.FileIO):
    """A file that tells how far it has been read."""

    def __init__(self, path: Path, name: str, watch: Watch) -> None:
        super().__init__(path)
        self._name, self._watch, self._size = name, watch, path.stat().st_size

    def readinto(self, buffer: Any) -> int | None:
        size = super().readinto(buffer)
        self._watch(self._name, self.tell(), self._size)
        return size


def open_file(path: str, name: str, watch: Watch | None = None) -> io.BufferedReader:
    """Opens `path` as it is; errors call it `name`. Raises `TraceError` if that is not possible."""
    try:
        file = resolve_sample(path)
        if file.is_dir():
            raise TraceError("is a directory", where=name, do="give log files")
        opened = _WatchedFile(file, name, watch) if watch else io.FileIO(file)
    except OSError as e:
        raise TraceError(f"cannot be read: {e.strerror or e}", where=name) from None
    except ValueError as e:
        raise TraceError(f"is not a file name: {e}", where=repr(name)) from None
    raw: io.BufferedReader = io.BufferedReader(opened)
    if raw.peek(len(_ZSTD)).startswith(_ZSTD) and _zstd_module() is None:
        raw.close()
        raise TraceError("is packed with zstd", where=name, do="unpack it first (zstd -d)")
    return raw


def open_log(path: str, name: str | None = None, watch: Watch | None = None) -> io.BufferedReader:
    """Opens the text of `path`, unpacked. Raises `TraceError` if that is not possible."""
    name = path if name is None else name
    stream = unpack(open_file(path, name, watch))
    try:
        refuse_binary(stream, name)
    except BaseException:
        stream.close()
        raise
    return stream


def unpack(raw: io.BufferedReader) -> io.BufferedReader:
    """The content of an opened file: its own bytes, or those that they unpack to."""
    head = raw.peek(SNIFF)  # nothing is taken back: a pipe cannot seek
    for magic, pieces in _KINDS.items():
        if head.startswith(magic):
            return io.BufferedReader(_UnpackingReader(raw, pieces(raw)), BLOCK)
    return raw


class _UnpackingReader(io.RawIOBase):
    """A packed file's content. Reading raises an error where the file is damaged, or has unpacked
    to more than any log has, and again at every further attempt.
    """

    def __init__(self, raw: io.BufferedReader, pieces: Iterator[bytes]) -> None:
        told = os.fstat(raw.fileno())
        self._raw, self._pieces, self._piece = raw, pieces, b""
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
                self._piece = next(filter(None, self._pieces), b"")
            except DAMAGE as e:
                self._failure = e
            self._left -= len(self._piece)
            if self._left < 0:
                self._piece = self._piece[: int(self._left)]
                self._failure = OSError("it unpacks to far more than any log")
        return bool(self._piece)

    def close(self) -> None:
        super().close()
        self._raw.close()


def _gzip(raw: io.BufferedReader) -> Iterator[bytes]:
    """The content of a gzip file in pieces. Raises an error at damage, after all that unpacks
    before it.
    """
    packed = raw.read1(BLOCK)
    while packed:
        member = zlib.decompressobj(_GZIP_BITS)
        while not member.eof:
            before = member.copy()
            try:
                piece = member.decompress(packed, BLOCK)
            except zlib.error as e:
                yield _until_damage(before, packed)
                raise zlib.error(
                    f"its gzip data is corrupt ({str(e).rpartition(': ')[2]})"
                ) from None
            packed = member.unconsumed_tail
            if piece:
                yield piece
            elif not member.eof:
                packed = raw.read1(BLOCK)
                if not packed:
                    raise EOFError("its gzip data is cut off")
        packed = _padded(raw, member.unused_data)
        if 0 < len(packed) < _SHORTEST_GZIP and packed[: len(_GZIP)] != _GZIP:
            raise Beyond(f"{len(packed)} bytes after the end of the gzip data are left out")


def _until_damage(member: Any, packed: bytes) -> bytes:
    """The bytes before the damage in `packed`, unpacked; zlib drops them if it meets the damage in
    the same call.
    """
    pieces = []
    try:
        for k in range(len(packed)):
            pieces.append(member.decompress(packed[k : k + 1]))
    except zlib.error:
        pass
    return b"".join(pieces)


def _padded(raw: io.BufferedReader, packed: bytes) -> bytes:
    """The bytes behind a member, without the padding: enough for the shortest member, if there are
    as many.
    """
    while len(packed := packed.lstrip(b"\0")) < _SHORTEST_GZIP and (more := raw.read1(BLOCK)):
        packed += more
    return packed


@cache
def _zstd_module() -> Any:
    """The module that unpacks zstd; None where none is installed."""
    for name in ("zstandard", "compression.zstd"):
        with contextlib.suppress(ImportError):
            return import_module(name)
    return None


def _zstd_decompressor() -> Any:
    """What unpacks one frame."""
    zstd = _zstd_module()
    if hasattr(zstd, "DecompressionParameter"):
        most = {zstd.DecompressionParameter.window_log_max: _ZSTD_WINDOW_LOG}
        return zstd.ZstdDecompressor(options=most)
    window = 1 << _ZSTD_WINDOW_LOG
    return zstd.ZstdDecompressor(max_window_size=window).decompressobj()


@cache
def _damage() -> tuple[type[Exception], ...]:
    """What decompressors raise at damage."""
    zstd = _zstd_module()
    theirs = (OSError, EOFError, lzma.LZMAError, MemoryError)
    return theirs if zstd is None else (*theirs, zstd.ZstdError)


class _Zstd:
    """A frame of zstd data, with the interface that bz2 and lzma have."""

    def __init__(self) -> None:
        self._frame = _zstd_decompressor()
        self._packed, self._at = b"", 0

    def decompress(self, packed: bytes, room: int) -> bytes:
        if packed:
            self._packed, self._at = packed, 0
        bite = self._packed[self._at : self._at + _ZSTD_BITE]
        self._at += len(bite)
        piece: bytes = self._frame.decompress(bite) if bite else b""
        return piece

    @property
    def eof(self) -> bool:
        return bool(self._frame.eof)

    @property
    def needs_input(self) -> bool:
        return self._at == len(self._packed)

    @property
    def unused_data(self) -> bytes:
        unused: bytes = self._frame.unused_data
        return unused + self._packed[self._at :]


def _members(
    raw: io.BufferedReader, name: str, magic: bytes, member: Callable[[], Any], padding: bytes
) -> Iterator[bytes]:
    """The content of a file of members (bzip2 streams, xz streams, zstd frames) in pieces. Raises
    an error at damage.
    """
    packed = raw.read1(BLOCK)
    while packed:
        one = member()
        while not one.eof:
            try:
                piece = one.decompress(packed, BLOCK)
            except _damage() as e:
                raise zlib.error(f"its {name} data is corrupt ({e})") from None
            packed = b""
            if piece:
                yield piece
            if not one.eof and one.needs_input:
                packed = raw.read1(BLOCK)
                if not packed:
                    raise EOFError(f"its {name} data is cut off")
        packed = one.unused_data.lstrip(padding)
        while len(packed) < len(magic) and (more := raw.read1(BLOCK)):
            packed = (packed + more).lstrip(padding)
        if packed and not packed.startswith(magic):
            raise Beyond(f"the bytes after the end of the {name} data are left out")


def _bz2(raw: io.BufferedReader) -> Iterator[bytes]:
    return _members(raw, "bzip2", b"BZh", bz2.BZ2Decompressor, b"\0")


def _xz(raw: io.BufferedReader) -> Iterator[bytes]:
    def stream() -> lzma.LZMADecompressor:
        return lzma.LZMADecompressor(memlimit=_XZ_MEMORY)

    return _members(raw, "xz", b"\xfd7zXZ\0", stream, b"\0")


def _zstd(raw: io.BufferedReader) -> Iterator[bytes]:
    return _members(raw, "zstd", _ZSTD, _Zstd, b"")


_KINDS: dict[bytes, Callable[[io.BufferedReader], Iterator[bytes]]] = {
    _GZIP: _gzip,
    b"BZh": _bz2,
    b"\xfd7zXZ\0": _xz,
    _ZSTD: _zstd,
}


_PRINTED_BYTES = (b"Dumping ", b"Starting offset: ", b"Log starting offset: ", b"baseOffset: ",
                  b"| offset: ")  # fmt: skip
"""The beginning of the output of kafka-dump-log.sh, which may print the bytes of records as they
are.
"""


def unpacks(head: bytes) -> bool:
    """Does a file that begins in this way unpack?"""
    return head.startswith(tuple(_KINDS))


def refuse_binary(stream: io.BufferedReader, name: str) -> None:
    """Raises `TraceError` if an opened file begins with what is no text."""
    try:
        head = stream.peek(SNIFF)[:SNIFF]
    except DAMAGE as e:
        raise TraceError(f"is damaged: {e}", where=name) from None
    if not head:
        raise NoText("is empty", where=name)
    if unpacks(head) and stream.raw.__class__ is _UnpackingReader:
        raise TraceError("is packed twice", where=name, do="unpack it first")
    refuse_binary_head(head, name)


def refuse_binary_head(head: bytes, name: str) -> None:
    """Raises `TraceError` if a file that begins in this way is no text."""
    for magic, (what, do) in _NO_TEXT.items():
        if head.startswith(magic):
            raise TraceError(f"is {what}", where=name, do=do)
    if head[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        return
    if head.lstrip().startswith(_PRINTED_BYTES):
        return
    strange = sum(1 for byte in head if byte < 9 or 13 < byte < 27 or 27 < byte < 32)
    if strange > len(head) // 10:
        raise NoText("is binary, not a text log", where=name)
