"""Memory of a search: append-only arrays in reserved address space, which take memory only as they
are written.
"""

from __future__ import annotations

import gc
import mmap
import os
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]
Number = TypeVar("Number", np.uint32, np.uint64)
STEP = 1 << 20  # words of disk taken at once
LEAVE = 16  # of what a limited address space still has, this part is reserved at most


class Reserved:
    """An array of 64-bit words that can grow to `most` words without ever being copied, where the
    system lets us reserve that much.

    With a `file` (made if it is not there) the words lie in it, and processes that open it share
    them.
    """

    def __init__(self, most: int, file: Path | None = None) -> None:
        self._space: mmap.mmap | None = None
        self._file, self._on_disk = file, 0
        self.words: Words
        self._reserve(most)

    def _reserve(self, most: int) -> None:
        if self._file is not None:
            self._map_file(self._file, most)
            return
        flags = (
            getattr(mmap, "MAP_PRIVATE", 0)
            | getattr(mmap, "MAP_ANONYMOUS", 0)
            | getattr(mmap, "MAP_NORESERVE", 0x4000)
        )
        is_limited = False
        while hasattr(mmap, "MAP_PRIVATE") and most >= 1 << 20:
            try:
                self._space = mmap.mmap(-1, most * 8, flags=flags)
            except (OSError, ValueError, OverflowError):
                if not is_limited:
                    gc.collect()  # searches that are over hold address space
                is_limited = True
                most //= 2
                continue
            if is_limited and most >= LEAVE << 20:
                # a limit on address space: begin smaller, leave some to others, and copy when it is
                # full
                self._space.close()
                most //= LEAVE
                self._space = mmap.mmap(-1, most * 8, flags=flags)
            if hasattr(mmap, "MADV_HUGEPAGE"):
                self._space.madvise(mmap.MADV_HUGEPAGE)
            self.words = np.frombuffer(self._space, np.uint64)
            return
        self.words = np.zeros(1 << 20, np.uint64)

    def _map_file(self, file: Path, most: int) -> None:
        """A file with holes, as large as is asked for: it takes disk only where it is written."""
        with file.open("ab+") as opened:
            size = opened.seek(0, os.SEEK_END)
            opened.truncate(max(size, most * 8))
            self._space = mmap.mmap(opened.fileno(), max(size, most * 8))
        self.words = np.frombuffer(self._space, np.uint64)

    def ensure(self, count: int) -> None:
        """Room for so many words."""
        if self._file is not None:
            if count > len(self.words):
                self._reserve(max(count, 2 * len(self.words)))
            if count > self._on_disk:
                self._on_disk = min(len(self.words), count + STEP)
                allocate(self._file, 8 * self._on_disk)
        if count > len(self.words):
            old = self.words
            try:
                self._reserve(max(count, 2 * len(old)))
            finally:
                if len(self.words) < count:
                    self.words = np.zeros(max(count, len(old) * 3 // 2), np.uint64)
            self.words[: len(old)] = old

    @property
    def address(self) -> int:
        return address(self.words)


def allocate(file: Path, size: int) -> None:
    """Takes so many bytes of disk for a file now: without them, writing to its memory would kill
    the process. Raises `OSError` where it is full.
    """
    handle = os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(handle, 0, size)
        elif os.fstat(handle).st_size < size:
            os.ftruncate(handle, size)
    finally:
        os.close(handle)


def aligned_zeros(size: int, kind: type[Number]) -> NDArray[Number]:
    """An array of zeros, from an address on that is a multiple of a cache line's 64 bytes."""
    width = np.dtype(kind).itemsize
    room = np.zeros(size + 64 // width, kind)
    begin = -address(room) % 64 // width
    return room[begin : begin + size]


def address(array: NDArray[Any]) -> int:
    """Where an array's data is, for the kernels."""
    return int(array.ctypes.data)
