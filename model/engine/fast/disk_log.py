"""The log of a search on disk: a file of packed states, appended, and mapped where it is read.

The file has its disk before it is written, because a write to mapped memory that finds no disk
kills the process; and some disk is always left, so that the end of the search can be saved. The
system keeps as much of the file in memory as it likes. This process lets go of its pages again and
again, so it holds the part that it is reading and writing, and no more.
"""

from __future__ import annotations

import errno
import hashlib
import mmap
import os
import time
import uuid
from pathlib import Path

import numpy as np
from attrs import field, frozen
from attrs.validators import ge, matches_re

from groupcheck.model.engine.fast.layout import Layout, moved
from groupcheck.model.engine.fast.segments import LOG_NAME
from groupcheck.model.engine.fast.store import Reserved, allocate, no_memory

PAGE = mmap.PAGESIZE
STEP = 1 << 23  # words of disk taken at once
LEFT_FREE = 256 << 20  # bytes of the disk that a log leaves free
LET_GO = 1.0  # seconds between two times that pages are let go
AT_ONCE = 1 << 20  # states that are moved, or words that are digested, together


class NoDiskError(OSError):
    """The disk has no room for the log."""


@frozen
class Piece:
    """A part of the log that one save has added."""

    # States up to its end.
    states: int = field(validator=ge(0))
    # Of its words.
    digest: str


@frozen
class LogFile:
    """The log of a store, as its manifest describes it."""

    name: str = field(validator=matches_re(LOG_NAME))
    # The widths of the fields of its states, one for each place.
    widths: list[int]
    pieces: list[Piece]


class DiskWords(Reserved):
    """An array of 64-bit words in a file of a folder, up to `most` of them."""

    def __init__(self, folder: Path, most: int, name: str | None = None) -> None:
        """`name`: of a file that is there. Raises `OSError`."""
        self.folder, self.most = folder, most
        self.name = name or f"groupcheck.log-{uuid.uuid4().hex[:12]}"
        self.kept: str | None = None  # the file that a manifest names
        self._released = 0.0
        super().__init__(most, folder / self.name)

    @property
    def path(self) -> Path:
        return self.folder / self.name

    def _map_file(self, file: Path, most: int) -> None:
        """Maps more than there is: what lies behind the end of the file is never touched."""
        with file.open("ab+") as opened:
            size = opened.seek(0, os.SEEK_END)
            opened.truncate(max(size, 8 * most))
            try:
                with no_memory():
                    self._space = mmap.mmap(opened.fileno(), 8 * most)
            finally:
                opened.truncate(size)
        self.words = np.frombuffer(self._space, np.uint64)
        self._on_disk = size // 8

    def ensure(self, count: int) -> None:
        """Room for this many words. Raises `NoDiskError` where the disk has none."""
        if count > len(self.words):
            raise MemoryError("the log on disk is longer than may be")
        if count > self._on_disk:
            on_disk = min(len(self.words), count + STEP)
            try:
                self._take(on_disk)
            except NoDiskError:
                self._take(on_disk := count)
            self._on_disk = on_disk

    def _take(self, count: int) -> None:
        there = os.statvfs(self.folder)
        more = 8 * (count - self._on_disk)
        if there.f_bavail * there.f_frsize < more + LEFT_FREE:
            raise NoDiskError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.path))
        try:
            allocate(self.path, 8 * count)
        except OSError as error:
            raise NoDiskError(error.errno, error.strerror, str(self.path)) from error

    @property
    def bytes(self) -> int:
        """Bytes of the file."""
        return 8 * self._on_disk

    def cut(self, count: int) -> None:
        """Forgets what stands behind so many words: states that no manifest lists."""
        os.truncate(self.path, 8 * count)
        self._on_disk = count

    def sync(self) -> None:
        """All that was written is on the disk. Raises `OSError`."""
        handle = os.open(self.path, os.O_RDWR)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

    def let_go(self) -> None:
        """Gives pages back to the system, now and then; they come again when they are touched."""
        if hasattr(mmap, "MADV_DONTNEED") and time.perf_counter() - self._released > LET_GO:
            self._space.madvise(mmap.MADV_DONTNEED, 0, 8 * self._on_disk // PAGE * PAGE)
            self._released = time.perf_counter()

    def digest(self, first: int, end: int) -> str:
        """Of the words from `first` to before `end`."""
        digest = hashlib.blake2b(digest_size=32)
        for at in range(first, end, AT_ONCE):
            digest.update(self.words[at : min(end, at + AT_ONCE)].view(np.uint8).data)
            self.let_go()
        return digest.hexdigest()

    def move(self, states: int, old: Layout, new: Layout) -> bool:
        """As `Reserved.move`: into another file. The one before stays what a manifest says of it,
        until the next one is written.
        """
        there = DiskWords(self.folder, self.most)
        try:
            for first in range(0, states, AT_ONCE):
                end = min(states, first + AT_ONCE)
                part = self.words[first * old[0] : end * old[0]].reshape(-1, old[0])
                there.ensure(end * new[0])
                words = moved(part, old[1], new[1], new[0])
                there.words[first * new[0] : end * new[0]] = words.reshape(-1)
                self.let_go()
                there.let_go()
        except BaseException:
            there.path.unlink()
            raise
        if self.name != self.kept:
            self.path.unlink()
        self.name, self._file = there.name, there.path
        self._space, self.words, self._on_disk = there._space, there.words, there._on_disk
        return True
