"""A log that is still written, read on from where its end was: a file by its name, whatever rotates
it, or a stream such as standard input. At most one line and one block are held.

A rotation by rename shows as another file under the same name: the old one is read to its end
first. One by truncation (logrotate's copytruncate) shows as a file that is shorter than what was
read, or in which other bytes stand where the last ones were.
"""

from __future__ import annotations

import codecs
import contextlib
import os
import select
import stat
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Sequence
from pathlib import Path

from attrs import Factory, define, field

from groupcheck.traces.captures.packets import is_capture
from groupcheck.traces.reading.archives import archive_kind
from groupcheck.traces.reading.lines import LINE_CAP, Part, TraceError
from groupcheck.traces.reading.source import why
from groupcheck.traces.reading.unpacking import SNIFF, refuse_binary_head, unpacks
from groupcheck.traces.sample_files import resolve_sample

COUNTED = 1 << 20
MARK = 64
"""So many bytes before the place where reading goes on are compared, to notice a truncation."""
MOST_PARTS = 20
"""Of so many files that bore one name it is known which lines they held."""
_WIDE = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
Numbered = Sequence[tuple[int, bytes]]


@define
class _Cutter:
    """Cuts bytes into lines; holds the beginning of the one that is not over."""

    rest: bytearray = Factory(bytearray)

    def lines(self, block: bytes) -> list[bytes]:
        """The lines that end in the next bytes, without their line ends, cut if they are long."""
        head, *others = block.split(b"\n")
        self._hold(head)
        if not others:
            return []
        out = [self.last(), *others[:-1]]
        self._hold(others[-1])
        return out

    def last(self) -> bytes:
        """The line that is held; afterwards there is none."""
        line = bytes(self.rest)
        self.rest.clear()
        return line

    def _hold(self, some: bytes) -> None:
        self.rest += some[: max(0, LINE_CAP - len(self.rest))]


def _as_line(raw: bytes) -> bytes:
    """A line of UTF-8 never begins as a text in UTF-16 does."""
    return raw.replace(raw[:2], b"\xef\xbf\xbd", 1) if raw[:2] in _WIDE else raw


@define(kw_only=True)
class Growing(ABC):
    """A log that grows. Its lines are numbered through all files that bear its name, the first
    one's from 1 on.
    """

    # As it was given.
    name: str
    # Nothing more comes.
    ended: bool = False
    # The number of the last line.
    count: int = 0
    # The files that bore the name, the present one last.
    parts: list[Part] = Factory(list)
    # What happened to it, in words, until somebody takes it away.
    notices: deque[str] = Factory(lambda: deque(maxlen=100))
    _cutter: _Cutter = Factory(_Cutter)

    @abstractmethod
    def read(self, most: int) -> Numbered:
        """The next whole lines with their numbers, of at most so many bytes; none if nothing has
        come.
        """

    def rest(self) -> Numbered:
        """The last line, if its end has not come."""
        return self._numbered([self._cutter.last()]) if self._cutter.rest else []

    @abstractmethod
    def close(self) -> None:
        """Closes what was opened."""

    def _numbered(self, lines: Sequence[bytes]) -> Numbered:
        first = self.count + 1
        self.count += len(lines)
        self.parts[-1].lines += len(lines)
        return [(first + k, _as_line(line)) for k, line in enumerate(lines)]


@define(kw_only=True)
class Stream(Growing):
    """Standard input, or a named pipe. Reading it raises `TraceError` if it is no text."""

    fd: int
    _sniffed: bool = False

    def read(self, most: int) -> Numbered:
        if self.ended or not select.select([self.fd], [], [], 0)[0]:
            return []
        try:
            block = os.read(self.fd, most)
        except BlockingIOError:
            return []
        except OSError as e:
            self.notices.append(f"cannot be read any more: {why(e)}")
            block = b""
        if not self.parts:
            self.parts.append(Part(self.name, 1, 0))
        if block and not self._sniffed:
            refuse_unlike_text(block[:SNIFF], self.name)
            self._sniffed = True
        if not block:
            self.ended = True
            return self.rest()
        return self._numbered(self._cutter.lines(block))

    def close(self) -> None:
        if self.fd:
            os.close(self.fd)


Read = dict[tuple[int, int], tuple[int, bytes]]
"""(device, inode) of a file -> how far it was read, and the last bytes before that place."""
MOST_READ = 1_000


@define(kw_only=True)
class Tail(Growing):
    """A file by its name."""

    # So many bytes of what the file holds at first are read; None: all of them.
    backwards: int | None = None
    # What was read of files, of this name and of others.
    read_of: Read = field(factory=dict, repr=False)
    _path: Path = field(init=False)
    _fd: int = -1
    _at: int = 0
    _mark: bytes = b""
    # What was said last about a file that cannot be opened.
    _trouble: str = ""
    # It is not there, and may come.
    _awaited: bool = False
    _sniffed: bool = False
    _refused: bool = False
    _first: bool = True

    @_path.default
    def _of_name(self) -> Path:
        try:
            return resolve_sample(self.name)
        except ValueError as e:
            raise TraceError(f"is not a file name: {e}", where=repr(self.name)) from None

    def begin(self) -> None:
        """Opens the file if it is there. Raises `TraceError` if it is no log that can be read."""
        self._open()
        self._first = False
        if self._fd >= 0:
            self._sniff(raises=True)
        elif not self._awaited:
            do = "give the log files that are being written"
            raise TraceError(self._trouble, where=self.name, do=do)

    def read(self, most: int) -> Numbered:
        if self._fd < 0:
            self._open()
        if self._fd < 0:
            return []
        if not self._sniffed and not self._refused:
            self._sniff(raises=False)
        if self._was_truncated():
            self._truncated()
        block = b"" if self._refused else self._block(most)
        if block:
            self._at += len(block)
            self._mark = (self._mark + block)[-MARK:]
            self._remember()
            return self._numbered(self._cutter.lines(block))
        return self._rotated()

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
        self._fd = -1

    def _block(self, most: int) -> bytes:
        try:
            return os.read(self._fd, most)
        except OSError as e:
            self._tell(f"cannot be read: {why(e)}")
            return b""

    def _tell(self, trouble: str) -> None:
        """Tells of trouble once."""
        if trouble != self._trouble:
            self._trouble = trouble
            self.notices.append(trouble)

    def _open(self) -> None:
        self._awaited = False
        try:
            mode = self._path.stat().st_mode
            if not stat.S_ISREG(mode):
                self._tell("is a directory" if stat.S_ISDIR(mode) else "is no file")
                return
            self._fd = os.open(self._path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except FileNotFoundError:
            self._awaited = True
            self._tell(f"{'is gone' if self.parts else 'does not exist yet'}; waiting for it")
            return
        except (OSError, ValueError) as e:
            self._tell(f"cannot be read: {why(e)}")
            return
        if self._trouble:
            self.notices.append("is there")
        self._trouble, self._sniffed, self._refused = "", False, False
        self._start()

    def _start(self) -> None:
        """Goes to the place where reading begins, and counts the lines before it."""
        told = os.fstat(self._fd)
        known = self.read_of.get((told.st_dev, told.st_ino))
        begin = 0
        if known and known[1] and self._bytes(known[0] - len(known[1]), len(known[1])) == known[1]:
            begin = known[0]
            self.notices.append("holds lines that were read under another name: they are not again")
        elif self._first and self.backwards is not None:
            begin = self._line_from(max(0, told.st_size - self.backwards))
        before = sum(
            self._bytes(at, min(COUNTED, begin - at)).count(b"\n")
            for at in range(0, begin, COUNTED)
        )
        self._at, self._mark = begin, self._bytes(max(0, begin - MARK), min(MARK, begin))
        os.lseek(self._fd, begin, os.SEEK_SET)
        self._part(before)

    def _line_from(self, at: int) -> int:
        """The offset of the first line that begins there or, if none does, of the last one."""
        if not at:
            return 0
        found = self._bytes(at - 1, LINE_CAP).find(b"\n")
        if found >= 0:
            return at + found
        from_ = max(0, at - LINE_CAP)
        return from_ + self._bytes(from_, at - from_).rfind(b"\n") + 1

    def _bytes(self, at: int, size: int) -> bytes:
        with contextlib.suppress(OSError):
            return os.pread(self._fd, size, at)
        return b""

    def _part(self, before: int) -> None:
        """Another file bears the name; `before`: how many of its lines are not read."""
        if not self.parts:
            self.parts.append(Part(self.name, 1, before))
            self.count = before
        else:
            self.parts.append(Part(self.name, self.count + 1, 0, before))
            del self.parts[:-MOST_PARTS]

    def _sniff(self, raises: bool) -> None:
        """Looks at how the file begins. Raises `TraceError` if it is no text and `raises`."""
        head = self._bytes(0, SNIFF)
        if not head:
            return
        self._sniffed = True
        try:
            refuse_unlike_text(head, self.name)
        except TraceError as e:
            if raises:
                raise
            self._refused = True
            self._tell(f"{e.what}, which cannot be followed; waiting for another file")

    def _was_truncated(self) -> bool:
        if os.fstat(self._fd).st_size < self._at:
            return True
        return self._bytes(self._at - len(self._mark), len(self._mark)) != self._mark

    def _truncated(self) -> None:
        lost = " (a line that was not over is lost)" if self._cutter.rest else ""
        self.notices.append(f"was truncated after line {self._here()}{lost}; read from its start")
        self._cutter.last()
        self.parts[-1].path = f"{self.name} (before it was truncated)"
        self._at, self._mark = 0, b""
        self._sniffed = self._refused = False
        os.lseek(self._fd, 0, os.SEEK_SET)
        self._part(0)

    def _here(self) -> int:
        """The number of the last line in the file that bears the name."""
        part = self.parts[-1]
        return self.count - part.first_line + 1 + part.left_out

    def _rotated(self) -> Numbered:
        """Goes over to another file of the name, if there is one; the last line of the old one."""
        mine = os.fstat(self._fd)
        try:
            there = self._path.stat()
        except OSError:
            self._tell("is gone; waiting for it")
            return []
        if (there.st_dev, there.st_ino) == (mine.st_dev, mine.st_ino):
            self._trouble = "" if not self._refused else self._trouble
            return []
        last = self.rest()
        self._remember()
        name = _name_of(self._path, mine)
        self.notices.append(
            f"was rotated after line {self._here()}" + (f", and is now {name}" if name else "")
        )
        self.parts[-1].path = name or f"{self.name} (before it was rotated)"
        self.close()
        self._trouble = ""
        self._open()
        return last

    def _remember(self) -> None:
        told = os.fstat(self._fd)
        if len(self.read_of) >= MOST_READ:
            del self.read_of[next(iter(self.read_of))]
        self.read_of[told.st_dev, told.st_ino] = self._at, self._mark


def _name_of(path: Path, told: os.stat_result) -> str:
    """The name that a file has now, in the folder of its old name; empty if it is not there."""
    with contextlib.suppress(OSError), os.scandir(path.parent) as entries:
        for entry in entries:
            if entry.inode() == told.st_ino and entry.is_file(follow_symlinks=False):
                return str(path.with_name(entry.name))
    return ""


def refuse_unlike_text(head: bytes, name: str) -> None:
    """Raises `TraceError` if a file that begins in this way cannot be followed as text."""
    kind = archive_kind(head)
    what = ""
    if kind:
        what = f"is a {kind} archive"
    elif unpacks(head):
        what = "is compressed"
    elif is_capture(head):
        what = "is a packet capture"
    elif head[:2] in _WIDE:
        what = "is text in UTF-16"
    if what:
        do = "name the file that is being written as plain text, or leave out --follow"
        raise TraceError(what, where=name, do=do)
    refuse_binary_head(head, name)


def opened(path: str, backwards: int | None, read_of: Read) -> Growing:
    """The log that a path names, or standard input (`-`). `backwards`: so many bytes of what it
    holds are read; None: all. Raises `TraceError` if it is there and cannot be followed.
    """
    if path == "-":
        return Stream(name=path, fd=0)
    tail = Tail(name=path, backwards=backwards, read_of=read_of)
    with contextlib.suppress(OSError):
        mode = tail._path.stat().st_mode
        if stat.S_ISFIFO(mode) or stat.S_ISCHR(mode):
            fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            return Stream(name=path, fd=fd)
    tail.begin()
    return tail
