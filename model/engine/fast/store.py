"""Memory of a search: append-only arrays in reserved address space, which take memory only as they
are written.
"""

from __future__ import annotations

import contextlib
import gc
import mmap
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from groupcheck.model.engine.resident import has_limited_address_space

Words = NDArray[np.uint64]
Number = TypeVar("Number", np.uint32, np.uint64)
CHECKED = bool(os.environ.get("GROUPCHECK_CHECK_BOUNDS"))  # see `bounds.py`
STEP = 1 << 20  # words of disk taken at once
HUGE = 1 << 22  # bytes of an array from which on it lies on huge pages
FIRST = 1 << 20  # words reserved at first where address space is short
FENCE = 8  # words behind an array that must never change, where bounds are checked
PAINT = 0xFEEDC0DE5AFEB07D


class Reserved:
    """An array of 64-bit words that grows to `most` words without ever being copied, where the
    system lets us reserve that much. Where it does not (a limit on address space), the array starts
    small and moves to a larger stretch of address space whenever it is full.

    With a `file` (made if it is not there) the words lie in it, and processes that open it share
    them.
    """

    def __init__(self, most: int, file: Path | None = None) -> None:
        self._file, self._on_disk = file, 0
        self._space: mmap.mmap
        self.words: Words
        if file is not None:
            self._map_file(file, most)
            return
        if has_limited_address_space():
            self._use(_reserved(min(most, FIRST)))
            return
        try:
            self._use(_reserved(most))
        except MemoryError:
            gc.collect()  # searches that are over hold address space
            self._use(_reserved(min(most, FIRST)))

    def _use(self, space: mmap.mmap) -> None:
        self._space = space
        self.words = np.frombuffer(space, np.uint64)
        if CHECKED:
            self.words[-FENCE:] = PAINT
            self.words = self.words[:-FENCE]

    def _map_file(self, file: Path, most: int) -> None:
        """A file with holes, as large as is asked for: it takes disk only where it is written."""
        with file.open("ab+") as opened:
            size = max(opened.seek(0, os.SEEK_END), most * 8)
            opened.truncate(size)
            with no_memory():
                self._space = mmap.mmap(opened.fileno(), size)
        self.words = np.frombuffer(self._space, np.uint64)

    @property
    def room(self) -> int:
        """How many words may be written: all, or those of a file that have their disk."""
        return len(self.words) if self._file is None else self._on_disk

    @property
    def fence(self) -> Words:
        """The words behind the last one; none where bounds are not checked, or in a file."""
        every = np.frombuffer(self._space, np.uint64)
        return every[len(self.words) :]

    def ensure(self, count: int) -> None:
        """Makes room for this many words. Raises `MemoryError` where there is none, and `OSError`
        where the disk is full; what the array holds stays as it was.
        """
        if self._file is not None:
            if count > len(self.words):
                self._map_file(self._file, max(count, 2 * len(self.words)))
            if count > self._on_disk:
                on_disk = min(len(self.words), count + STEP)
                allocate(self._file, 8 * on_disk)
                self._on_disk = on_disk
        elif count > len(self.words):
            now = len(self.words)
            try:
                self._enlarge(max(count, 2 * now))
            except MemoryError:
                gc.collect()
                self._enlarge(max(count, now + now // 8))

    def _enlarge(self, count: int) -> None:
        """Moves all to a longer stretch; the system does it without a copy if nobody
        holds a view.
        """
        held = len(self.words)
        del self.words
        try:
            with no_memory():
                self._space.resize(8 * (count + FENCE * CHECKED))
        except (BufferError, SystemError):  # somebody holds a view, or the system cannot do it
            self._use_again(held)
            old, space = self.words, _reserved(count)
            self._use(space)
            self.words[:held] = old
        except MemoryError:
            self._use_again(held)
            raise
        else:
            self._use(self._space)

    def _use_again(self, held: int) -> None:
        self.words = np.frombuffer(self._space, np.uint64)[:held]

    def move(self, states: int, old: Any, new: Any) -> bool:
        """Moves this many packed states from one layout to another; False where a kernel has to do
        that.
        """
        return False

    @property
    def address(self) -> int:
        return address(self.words)

    def free(self) -> None:
        """Gives the memory back at once, even while a cycle of references keeps this object."""
        del self.words, self._space


@contextlib.contextmanager
def no_memory() -> Iterator[None]:
    """Turns the system's error for a lack of address space into a `MemoryError`."""
    try:
        yield
    except (OSError, ValueError, OverflowError) as error:
        raise MemoryError("no address space is left") from error


def _reserved(count: int) -> mmap.mmap:
    """Address space for so many words of this process alone, which take memory once written.
    Raises `MemoryError`.
    """
    return _mapped(8 * (count + FENCE * CHECKED))


def _mapped(size: int) -> mmap.mmap:
    """So many bytes of this process alone, all 0. Raises `MemoryError`."""
    with no_memory():
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0x4000)
        space = mmap.mmap(-1, size, flags=flags)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        space.madvise(mmap.MADV_HUGEPAGE)
    return space


def expect_space(size: int) -> None:
    """Raises `MemoryError` where fewer than so many bytes of address space are left: for code that
    would abort the process instead.
    """
    if has_limited_address_space():
        with no_memory():
            mmap.mmap(-1, size).close()


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
    """An array of zeros, from an address on that is a multiple of a cache line's 64 bytes. A large
    one lies on huge pages, where the system has them: it is read at random places.
    """
    width = np.dtype(kind).itemsize
    if size * width >= HUGE:
        space = _mapped(size * width)
        return np.frombuffer(space, kind)
    room = np.zeros(size + 64 // width, kind)
    begin = -address(room) % 64 // width
    return room[begin : begin + size]


def joined(parts: Sequence[Words]) -> Words:
    """Arrays one after the other, as one; an empty one if there are none."""
    return np.concatenate([np.zeros(0, np.uint64), *parts])


def address(array: NDArray[Any]) -> int:
    """The address of an array's data, for the kernels."""
    return int(array.ctypes.data)
