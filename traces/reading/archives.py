"""The members of zip and tar archives, packed or not, as files of their own.

A member is copied to a temporary folder, so that it can be read more than once. What is no text is
not copied. A tar archive is read as a stream, once, and nothing is ever written to a path that an
archive names.
"""

from __future__ import annotations

import io
import math
import tarfile
import zipfile
from collections.abc import Iterator
from typing import IO

from groupcheck.traces.captures.packets import is_capture
from groupcheck.traces.reading.lines import BLOCK, DAMAGE, NoText, TraceError
from groupcheck.traces.reading.source import HURT, Piece, Shelf, why
from groupcheck.traces.reading.unpacking import SNIFF, open_file, refuse_binary, unpack

MOST_MEMBERS = 10_000
MOST_HEADERS = 1 << 20  # of a member of a tar archive, together, in bytes
_ZIP, _USTAR = b"PK\x03\x04", slice(257, 262)
_PACKED = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ\0", b"\x28\xb5\x2f\xfd")


def kind_of(piece: Piece) -> str:
    """`zip`, `tar`, or empty for what is no archive. Raises `TraceError` if it cannot be read."""
    with unpack(open_file(piece.path, piece.name)) as stream:
        return archive_kind(_peeked(stream, piece.name))


def _peeked(stream: io.BufferedReader, name: str) -> bytes:
    try:
        return stream.peek(SNIFF)[:SNIFF]
    except DAMAGE as e:
        raise TraceError(f"is damaged: {e}", where=name) from None


def archive_kind(head: bytes) -> str:
    """`zip`, `tar`, or empty for what begins as no archive."""
    if head.startswith(_ZIP):
        return "zip"
    return "tar" if head[_USTAR] == b"ustar" else ""


def members(piece: Piece, kind: str, shelf: Shelf) -> Iterator[Piece | TraceError]:
    """The members of an archive that may be logs, and for each of the others why not: `NoText` for
    one that is empty, hidden or binary. The last one may say why the archive is not read further.
    """
    try:
        with unpack(open_file(piece.path, piece.name)) as stream:
            if kind == "tar":
                yield from _of_tar(stream, piece, shelf)
            elif stream.seekable():
                yield from _of_zip(stream, piece, shelf)
            else:
                copy = shelf.keep(piece.name, stream)
                with open_file(copy.path, copy.name) as seekable:
                    yield from _of_zip(seekable, piece, shelf)
    except TraceError as e:
        yield e
    except HURT as e:
        yield TraceError(f"is damaged: {why(e)}", where=piece.name)


class _Forward:
    """A stream as tarfile reads it, from its beginning to its end. tarfile itself takes the headers
    of a member into memory however long they are, skips what is not there for ever, and takes a
    damaged header for the end.
    """

    def __init__(self, stream: io.BufferedReader) -> None:
        self._stream, self._at = stream, 0
        # How many bytes tarfile may read, and the last ones that it has read.
        self.left: float = MOST_HEADERS
        self.last = b""

    def tell(self) -> int:
        return self._at

    def read(self, size: int) -> bytes:
        if size > self.left:
            raise tarfile.ReadError(f"the headers of a member have over {MOST_HEADERS:,} bytes")
        self.left -= size
        self.last = self._stream.read(size)
        self._at += len(self.last)
        return self.last

    def seek(self, to: int) -> None:
        if to < self._at:
            raise tarfile.ReadError("a member has less than no bytes")
        while self._at < to:
            passed = len(self._stream.read(min(BLOCK, to - self._at)))
            if not passed:
                raise tarfile.ReadError("unexpected end of data")
            self._at += passed


def _of_tar(stream: io.BufferedReader, piece: Piece, shelf: Shelf) -> Iterator[Piece | TraceError]:
    there = _Forward(stream)
    with tarfile.TarFile(fileobj=there) as archive:  # type: ignore[arg-type]
        for count, member in enumerate(archive):
            _refuse_many(count, piece)
            archive.members = []  # type: ignore[attr-defined]  # tarfile remembers every member
            there.left = math.inf
            if member.isreg():
                content = archive.extractfile(member)
                assert content is not None
                yield _kept(piece, member.name, content, shelf)
            there.left = MOST_HEADERS
    if any(there.last):
        raise tarfile.ReadError("the header of a member is none; the rest is left out")


def _of_zip(stream: io.BufferedReader, piece: Piece, shelf: Shelf) -> Iterator[Piece | TraceError]:
    with zipfile.ZipFile(stream) as archive:
        _refuse_many(len(archive.filelist), piece)
        for member in archive.infolist():
            if member.is_dir():
                continue
            name = f"{piece.name}/{member.filename}"
            if member.flag_bits & 1:
                yield TraceError("needs a password", where=name, do="unpack it first")
                continue
            try:
                with archive.open(member) as content:
                    yield _kept(piece, member.filename, content, shelf)
            except HURT as e:
                yield TraceError(f"is damaged: {why(e)}", where=name)


def _refuse_many(count: int, piece: Piece) -> None:
    if count > MOST_MEMBERS:
        raise TraceError(
            f"has more than {MOST_MEMBERS:,} members; the rest is not read",
            where=piece.name,
            do="unpack it, and replay the folder with --spark",
        )


def _kept(piece: Piece, member: str, content: IO[bytes], shelf: Shelf) -> Piece | TraceError:
    name = f"{piece.name}/{member}"
    if is_hidden(member):
        return NoText("is hidden", where=name)
    stream = _Peekable(content)
    try:
        head = stream.peek(SNIFF)[:SNIFF]
        if not (head.startswith(_PACKED) or archive_kind(head) or is_capture(head)):
            refuse_binary(stream, name)
        return shelf.keep(name, stream)
    except TraceError as e:
        return e
    except HURT as e:
        return TraceError(f"is damaged: {why(e)}", where=name)


class _Peekable(io.BufferedReader):
    """The content of a member, so that its beginning can be looked at."""

    def __init__(self, content: IO[bytes]) -> None:
        super().__init__(content, SNIFF)  # type: ignore[arg-type]


def is_hidden(path: str) -> bool:
    """Does a path lead to a hidden file, or to what macOS adds to archives?"""
    parts = path.replace("\\", "/").split("/")
    return any((p[:1] == "." and p not in (".", "..")) or p == "__MACOSX" for p in parts)
