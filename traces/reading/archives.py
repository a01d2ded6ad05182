"""The members of zip and tar archives, packed or not, as files of their own.

A member is copied to a temporary folder, so that it can be read more than once. What is no text is
not copied. A tar archive is read as a stream, once, and nothing is ever written to a path that an
archive names.
"""

from __future__ import annotations

import io
import tarfile
import zipfile
from collections.abc import Iterator
from typing import IO

from groupcheck.traces.captures.packets import is_capture
from groupcheck.traces.reading.lines import DAMAGE, NoText, TraceError
from groupcheck.traces.reading.source import HURT, Piece, Shelf, why
from groupcheck.traces.reading.unpacking import SNIFF, open_file, refuse_binary, unpacked

MOST_MEMBERS = 10_000
_ZIP, _USTAR = b"PK\x03\x04", slice(257, 262)
_PACKED = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ\0", b"\x28\xb5\x2f\xfd")


def kind_of(piece: Piece) -> str:
    """`zip`, `tar`, or empty for what is no archive. Raises `TraceError` if it cannot be read."""
    with unpacked(open_file(piece.path, piece.name)) as stream:
        return _kind(_peeked(stream, piece.name))


def _peeked(stream: io.BufferedReader, name: str) -> bytes:
    try:
        return stream.peek(SNIFF)[:SNIFF]
    except DAMAGE as e:
        raise TraceError(f"is damaged: {e}", where=name) from None


def _kind(head: bytes) -> str:
    if head.startswith(_ZIP):
        return "zip"
    return "tar" if head[_USTAR] == b"ustar" else ""


def members(piece: Piece, kind: str, shelf: Shelf) -> Iterator[Piece | TraceError]:
    """The members of an archive that may be logs, and for each of the others why not: `NoText` for
    one that is empty, hidden or binary. The last one may say why the archive is not read further.
    """
    try:
        with unpacked(open_file(piece.path, piece.name)) as stream:
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


def _of_tar(stream: io.BufferedReader, piece: Piece, shelf: Shelf) -> Iterator[Piece | TraceError]:
    with tarfile.open(fileobj=stream, mode="r|") as archive:
        for count, member in enumerate(archive):
            _refuse_many(count, piece)
            archive.members = []  # type: ignore[attr-defined]  # tarfile remembers every member
            if member.isreg():
                content = archive.extractfile(member)
                assert content is not None
                yield _kept(piece, member.name, content, shelf)


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
    if hidden(member):
        return NoText("is hidden", where=name)
    stream = _Peekable(content)
    try:
        head = stream.peek(SNIFF)[:SNIFF]
        if not (head.startswith(_PACKED) or _kind(head) or is_capture(head)):
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


def hidden(path: str) -> bool:
    """Does a path lead to a hidden file, or to what macOS adds to archives?"""
    parts = path.replace("\\", "/").split("/")
    return any((p[:1] == "." and p not in (".", "..")) or p == "__MACOSX" for p in parts)
