"""A log of one process: a file, or the rotated files that it wrote one after the other."""

from __future__ import annotations

import io
import itertools
import math
import shutil
import stat
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator, Sequence, Set
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from attrs import evolve, field, frozen

from groupcheck.traces.captures.packets import is_capture
from groupcheck.traces.captures.text import USE_LOG, CaptureSummary, CaptureText
from groupcheck.traces.reading.lines import BLOCK, DAMAGE, Notes, Part, TraceError, read_lines
from groupcheck.traces.reading.unpacking import SNIFF, Watch, open_file, open_log, unpack

MOST_KEPT = 4 << 30
HURT = (
    *DAMAGE,
    tarfile.TarError,
    zipfile.BadZipFile,
    NotImplementedError,
    RuntimeError,
    ValueError,
)
"""The errors that reading a damaged archive raises."""


class Readable(Protocol):
    """A stream of bytes that can be copied."""

    def read1(self, size: int, /) -> bytes: ...


@frozen
class Piece:
    """One file of a log. It can be opened again and again."""

    # As reports show it.
    name: str
    # Where its bytes are.
    path: str
    # How many lines at its beginning are left out, because the file before it ends with them.
    left_out: int = 0
    # How many lines behind those it has; None: all that the file has.
    most: int | None = None
    # Why the copy of a member of an archive is not whole; empty if it is.
    torn: str = ""
    # Of a packet capture, whose exchanges are its lines.
    capture: CaptureSummary | None = None
    # The temporary folder of `path`, which is deleted with the last piece that holds it.
    held: object = field(default=None, eq=False, repr=False)
    # Is told how far the file has been read, each time that it is.
    watch: Watch | None = field(default=None, eq=False, repr=False)

    def opened(self) -> BinaryIO:
        """Its text, unpacked. Raises `TraceError` if it cannot be read as text."""
        stream = open_log(self.path, self.name, self.watch)
        if not self.left_out and self.most is None:
            return stream
        return io.BufferedReader(_Lines(stream, self.left_out, self.most))

    def without(self, lines: int) -> Piece:
        """The piece without some more lines at its beginning."""
        most = None if self.most is None else self.most - lines
        return evolve(self, left_out=self.left_out + lines, most=most)


class _Lines(io.RawIOBase):
    """Some lines of a stream."""

    def __init__(self, stream: io.BufferedReader, left_out: int, most: int | None) -> None:
        self._stream, self._left_out = stream, left_out
        self._most = math.inf if most is None else most
        self._piece = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._piece and self._most > 0 and (block := self._stream.read1(BLOCK)):
            self._piece = self._cut(block)
        with memoryview(buffer) as room:
            size = min(len(room), len(self._piece))
            room[:size] = self._piece[:size]
        self._piece = self._piece[size:]
        return size

    def _cut(self, block: bytes) -> bytes:
        """The part of the next block that belongs to the lines."""
        count = block.count(b"\n")
        if count < self._left_out:
            self._left_out -= count
            return b""
        begin = _behind(block, self._left_out)
        self._left_out, count = 0, count - self._left_out
        end = len(block) if count < self._most else _behind(block, int(self._most), begin)
        self._most -= min(count, self._most)
        return block[begin:end]

    def close(self) -> None:
        super().close()
        self._stream.close()


def _behind(block: bytes, lines: int, at: int = 0) -> int:
    """The offset behind that many lines of a block, from the offset `at` on."""
    for _ in range(lines):
        at = block.index(b"\n", at) + 1
    return at


def place_of(parts: Sequence[Part], line: int) -> tuple[str, int]:
    """The file that has a line of a log, and the line's number there."""
    part = max(
        (p for p in parts if p.first_line <= line), key=lambda p: p.first_line, default=parts[0]
    )
    return part.path, line - part.first_line + 1 + part.left_out


@frozen
class Source:
    """The log of one process, to be read as often as it is needed."""

    name: str
    # In order of time.
    pieces: tuple[Piece, ...]
    # What was noticed when the pieces were joined.
    remarks: tuple[str, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        """Everything that was noticed about the pieces before they were read as lines."""
        captured = (note for piece in self.pieces if piece.capture for note in piece.capture.notes)
        return (*self.remarks, *dict.fromkeys(captured))

    @property
    def capture(self) -> CaptureSummary | None:
        """The summary of the packet capture that it is; None if it is text."""
        return next((piece.capture for piece in self.pieces if piece.capture), None)

    def lines(
        self, notes: Notes, needles: tuple[bytes, ...] = (), without: tuple[bytes, ...] = ()
    ) -> Iterator[tuple[int, str]]:
        """(number, text without its line end) of every line that contains one of `needles`, or of
        all lines if there are none, unless it contains one of `without`.

        Lines are numbered through all pieces, from 1 on, and `notes` counts all of them. Raises
        `TraceError` if a piece cannot be opened; damage is noted.
        """
        for piece in self.pieces:
            first = notes.lines + 1
            with piece.opened() as stream:
                yield from read_lines(stream, notes, needles, without)
            if piece.torn:
                notes.tear(piece.torn)
                notes.altered = True
            notes.parts.append(Part(piece.name, first, notes.lines - first + 1, piece.left_out))

    def texts(self, numbers: Set[int]) -> dict[int, str]:
        """Number -> text of these lines, without their line ends."""
        if not numbers:
            return {}
        last = max(numbers)
        upto = itertools.takewhile(lambda line: line[0] <= last, self.lines(Notes()))
        return {number: text for number, text in upto if number in numbers}

    def holds(self, needles: tuple[bytes, ...]) -> bool:
        """Does one of `needles` stand anywhere in the text?"""
        return any(True for _ in self.lines(Notes(), needles))


class Shelf:
    """A temporary folder for what cannot be read twice from where it is: standard input, pipes and
    members of archives. It is made when it is needed, holds a bounded amount, and is deleted when
    nothing refers to it.
    """

    def __init__(self) -> None:
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._count = self.left = 0

    def _made(self, name: str) -> tempfile.TemporaryDirectory[str]:
        if self._folder is None:
            try:
                self._folder = tempfile.TemporaryDirectory(prefix="groupcheck-")
            except OSError as e:
                what = f"has to be copied to a folder for temporary files: {why(e)}"
                do = "set TMPDIR to a folder that you may write to"
                raise TraceError(what, where=name, do=do) from None
            self.left = min(MOST_KEPT, shutil.disk_usage(self._folder.name).free // 2)
        return self._folder

    def keep(self, name: str, stream: Readable) -> Piece:
        """Copies a stream, as far as it can be read. Raises `TraceError` if that is not possible at
        all, or if it is too large.
        """
        folder = self._made(name)
        self._count += 1
        path, size, torn = Path(folder.name, str(self._count)), 0, ""
        try:
            with path.open("wb") as out:
                while True:
                    try:
                        block = stream.read1(BLOCK)
                    except HURT as e:
                        if not size:
                            raise TraceError(f"is damaged: {why(e)}", where=name) from None
                        torn = f"{name} is read only as far as it is not damaged: {why(e)}"
                        break
                    if not block:
                        break
                    size += len(block)
                    if size > self.left:
                        raise TraceError(
                            "is too large to be kept in the temporary folder",
                            where=name,
                            do="unpack it, and give the files",
                        )
                    out.write(block)
        except BaseException as e:
            path.unlink(missing_ok=True)
            if isinstance(e, OSError):
                raise TraceError(f"cannot be copied: {why(e)}", where=name) from None
            raise
        self.left -= size
        return Piece(name, str(path), torn=torn, held=folder)


def why(e: Exception) -> str:
    """The error's own text."""
    return e.strerror if isinstance(e, OSError) and e.strerror else str(e) or type(e).__name__


def source_of(path: str) -> Source:
    """The log that is one file, or what a pipe gives. Raises `TraceError` if it cannot be read."""
    piece = piece_of(path)
    return Source(path, (as_text([piece]) if holds_packets(piece) else piece,))


def piece_of(path: str, shelf: Shelf | None = None) -> Piece:
    """A file by its path; what a pipe gives is copied first. Raises `TraceError`."""
    try:
        regular = stat.S_ISREG(Path(path).stat().st_mode)
    except (OSError, ValueError):
        regular = True  # opening it says what is wrong
    if regular:
        return Piece(path, path)
    shelf = shelf or Shelf()
    with open_file(path, path) as stream:
        return shelf.keep(path, stream)


def holds_packets(piece: Piece) -> bool:
    """Is it a packet capture? Raises `TraceError` if it cannot be opened."""
    with unpack(open_file(piece.path, piece.name)) as stream:
        try:
            return is_capture(stream.peek(SNIFF))
        except DAMAGE:
            return False  # opening it as a log says what is wrong


def as_text(files: Sequence[Piece], shelf: Shelf | None = None) -> Piece:
    """The exchanges of a packet capture as lines of a request log. `files`: those of one capture,
    in order of time. Raises `TraceError` if it has none that can be read.
    """
    first = files[0]
    with ExitStack() as opened:
        streams = [opened.enter_context(unpack(open_file(p.path, p.name))) for p in files]
        text = CaptureText(streams)
        kept = (shelf or Shelf()).keep(first.name, text)
    captured = text.summary()
    if captured.encrypted and not captured.exchanges:
        raise TraceError(
            "is a packet capture of encrypted connections (TLS), which cannot be read",
            where=first.name,
            do=USE_LOG,
        )
    if not captured.exchanges:
        why = f" ({captured.doubt})" if captured.doubt else ""
        raise TraceError(
            f"is a packet capture without requests of group APIs and their answers{why}",
            where=first.name,
            do="capture whole packets on the broker's port (tcpdump -s 0 -w FILE port 9092)",
        )
    torn = next((p.torn for p in files if p.torn), kept.torn)
    return evolve(kept, torn=torn, capture=captured)
