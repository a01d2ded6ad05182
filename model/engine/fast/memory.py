"""Memory that this process takes, and what the next step of a search may take at once: so that a
run ends before it takes more than it may.
"""

from __future__ import annotations

import contextlib
import gc
import resource
import sys
import time
from collections.abc import Iterator

import psutil
from attrs import define

from groupcheck.model.engine.fast.kernels import registers as r
from groupcheck.model.engine.fast.kernels.compiled import Unit, is_ready
from groupcheck.model.engine.fast.packed import DENSE_BITS, LEAST_ROWS, SMALL_BITS, SPARSE, Packed
from groupcheck.model.engine.fast.search import Search
from groupcheck.model.engine.resident import (
    MIB,
    resident_bytes,
    too_little,
)

RESERVE = 6 * MIB  # kept for the end of a run: paths, the report and its text
NUMBA, KERNEL = 100 * MIB, 44 * MIB  # what numba takes, and compiling one search kernel (measured)


def peak_bytes() -> int:
    """The most bytes that were ever resident, according to the system. The number may be that of
    the process that started this one, so only its growth is meaningful.
    """
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


@define
class Watch:
    """Looks at a search's memory now and then. All fields but the search are bytes."""

    search: Search
    # `peak_bytes` at the last look, or before the search was made.
    peak: int
    # Resident at the last look.
    resident: int = 0
    # What was foreseen then.
    soon: int = 0
    # The most that came on top of what was foreseen between two looks. Lists, sets and dicts grow
    # in steps, each up to twice as large as the one before, so twice the rise is kept free.
    rise: int = 0

    def needed(self) -> int:
        """Bytes that the process takes now, or may take before the next look, and keeps for the
        end.
        """
        now, highest = self._since_last()
        self.rise = max(self.rise, highest - self.resident - self.soon)
        self.resident, self.soon = now, foreseen(self.search)
        return now + self.soon + 2 * self.rise + RESERVE

    def _since_last(self) -> tuple[int, int]:
        """Resident bytes: now, and the most since the last look as far as the system tells."""
        now, before = resident_bytes(), self.peak
        self.peak = peak_bytes()
        return now, max(now, self.peak if self.peak > before else 0)

    def begin(self, limit: int | None, is_asked: bool) -> None:
        """Takes what the process holds after the search's start as given. Raises `UserError` where
        the user allows less than that took or the first step may take.
        """
        self.resident, highest = self._since_last()
        least = max(self.needed(), highest)
        if limit is None or least <= limit or not is_asked:
            return
        again = ", or run it again: the kernels are compiled now" if "numba" in sys.modules else ""
        raise too_little(limit, least, again)


GLANCE = 0.5  # seconds between two looks at a family: to weigh a large process takes milliseconds


def family_bytes() -> int:
    """Memory of this process and of all that it started, theirs included (Spark's JVM, its Python
    workers), in bytes. What they share counts once where the system tells (Linux).
    """
    mine = psutil.Process()
    total = 0
    for child in (mine, *mine.children(recursive=True)):
        with contextlib.suppress(psutil.Error):  # it has ended, or is none of ours
            info = child.memory_full_info()
            total += int(getattr(info, "pss", 0) or info.uss)
    return total


@define
class Family:
    """Looks at this process and all that it started, now and then."""

    # When it was looked at last, by `time.perf_counter`.
    looked: float = 0.0

    def is_above(self, limit: int | None) -> bool:
        """Do they take more than so many bytes?"""
        if limit is None or time.perf_counter() - self.looked < GLANCE:
            return False
        self.looked = time.perf_counter()
        return family_bytes() > limit


def foreseen(search: Search) -> int:
    """Bytes that the next stretch, or the writing of the rows at hand, may take at once."""
    packed = search.packed
    return search.bytes_soon + hash_growth(packed) + widening(packed, search.log.states)


def hash_growth(packed: Packed) -> int:
    """Larger hashes of rows, if the rows that are asked for at once may need them."""
    by_key, by_words = packed.hash_sizes(2 * packed.get(r.ASKED_SIZE))
    keyed = 16 * by_key if by_key != packed.get(r.KEYED_SIZE) else 0
    worded = 8 * (packed.get(r.KEY_WORDS) + 1) * by_words
    return keyed + (worded if by_words != packed.get(r.HASH_SIZE) else 0)


def widening(packed: Packed, states: int) -> int:
    """The bytes that wider fields take, if a slot has more values than its field holds: longer
    states, new tables beside the old ones, another kernel.
    """
    widths = packed.needed_widths()
    if widths == [f.width for f in packed.fields]:
        return 0
    words, _ = packed.arranged(widths[: packed.shape.places])
    bits = [sum(widths[p] for p in inputs) for inputs in packed.shape.inputs]
    dense = [
        b <= SMALL_BITS or (b <= DENSE_BITS and 1 << b <= SPARSE * filled)
        for b, filled in zip(bits, packed.filled, strict=True)
    ]
    cells = sum(4 << b for b, is_dense in zip(bits, dense) if is_dense)
    hashed = [(f, b) for f, b, is_dense in zip(packed.filled, bits, dense) if not is_dense]
    by_key = sum(f for f, b in hashed if b <= packed.key_bits)
    by_words = sum(f for f, b in hashed if b > packed.key_bits)
    keys = words + packed.view_words + 2
    taken = cells + 16 * max(LEAST_ROWS, 2 * by_key) + 8 * keys * max(LEAST_ROWS, 4 * by_words)
    if words != packed.words:
        used = packed.get(r.OUTCOMES_USED)
        taken += 8 * (words - packed.words) * states + 8 * used * words // packed.words + 4 * used
        if not is_ready(Unit(words, packed.shape.has_urgent)):
            taken += KERNEL + (0 if "numba" in sys.modules else NUMBA)
    return taken


@contextlib.contextmanager
def without_collection() -> Iterator[None]:
    """No garbage collection: values hold no cycles, and a search makes millions of them
    that stay.
    """
    resume = gc.enable if gc.isenabled() else gc.disable
    gc.disable()
    try:
        yield
    finally:
        resume()
