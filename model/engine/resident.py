"""The memory and the cores of this process, and what is said where it ends.

`psutil` and `resource` are imported late: both are compiled, and neither is in a browser tab, where
nothing limits address space and nobody can tell how much memory is taken.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import sys
from functools import cache
from typing import TYPE_CHECKING

from groupcheck.model.engine.errors import UserError
from groupcheck.model.engine.verdict import Limits

if TYPE_CHECKING:
    import psutil

IN_A_TAB = sys.platform == "emscripten"
MIB = 1 << 20
# Paths and a verdict's document take less than the first; where there is no room for it, the last
# still is enough for a document.
SPARES = (24 * MIB, 12 * MIB, 6 * MIB)
# Address space that a search leaves alone. Where small objects find no room, CPython 3.11 aborts
# ("Cannot recover from MemoryErrors"), loses the exception, or crawls from one gap of the heap to
# the next for minutes: 6 of 90 searches that went there did.
EDGE = 3 * MIB


@cache
def process(pid: int) -> psutil.Process:
    """Made once for each process, forked ones too: to make it costs more than to ask it."""
    import psutil

    return psutil.Process(pid)


def cores() -> int:
    """The cores that this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def resident_bytes() -> int:
    """Resident memory of this process, in bytes; 0 in a browser tab."""
    return 0 if IN_A_TAB else int(process(os.getpid()).memory_info().rss)


def address_space() -> int | None:
    """The limit on the address space of this process (`ulimit -v`) in bytes; None without one."""
    if IN_A_TAB:
        return None
    import resource

    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return None if limit == resource.RLIM_INFINITY else limit


def has_limited_address_space() -> bool:
    """Is there a limit on the address space of this process?"""
    return address_space() is not None


def keep_off_edge() -> None:
    """Raises `MemoryError` where the limit on address space leaves hardly any, while there is
    enough for that to be handled.
    """
    limit = address_space()
    if limit is not None and process(os.getpid()).memory_info().vms > limit - EDGE:
        raise MemoryError


def reached(limits: Limits, level: int) -> str:
    """Why a search ended: its limit of memory."""
    whose = f" ({limits.memory_of})" if limits.memory_of else ""
    return f"stopped at the limit of {limits.memory:,} bytes of memory{whose} in level {level}"


def too_little(limit: int, least: int, hint: str = "") -> UserError:
    """The error about a limit of memory that is less than the start of a search takes. Bytes."""
    return UserError(
        f"{limit:,} bytes are less than the start of this run takes",
        where="--max-memory",
        do=f"give {-(-least // MIB) + 1}M or more{hint}",
    )


def ran_out(error: BaseException) -> bool:
    """Is it that memory ran out, perhaps inside a rule, which then seemed to be at fault?"""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, MemoryError):
        cause = cause.__cause__
    return cause is not None


def no_room(purpose: str) -> str:
    """Why a search stopped."""
    whose = (
        "the limit on address space (ulimit -v) left no room"
        if has_limited_address_space()
        else "the system gave no memory"
    )
    return f"stopped: {whose} {purpose}"


# -- where memory runs out: a search ends as `unknown`, and something is left to say so


class Spare:
    """Address space put aside until memory has run out; none where there is no limit on it. Raises
    `MemoryError` where the limit leaves none.
    """

    def __init__(self) -> None:
        self._space: mmap.mmap | None = None
        if not has_limited_address_space():
            return
        for size in SPARES:
            with contextlib.suppress(OSError):
                self._space = mmap.mmap(-1, size)
                return
        raise MemoryError

    def __enter__(self) -> Spare:
        return self

    def __exit__(self, kind: object, error: BaseException | None, where: object) -> bool:
        """Suppresses that memory ran out, and nothing else."""
        self.give_back()
        return error is not None and ran_out(error)

    def give_back(self) -> None:
        """Lets others have it."""
        if self._space is not None:
            self._space.close()
            self._space = None
