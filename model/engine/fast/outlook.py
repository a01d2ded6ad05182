"""What a search that was cut off has left undone."""

from __future__ import annotations

from itertools import pairwise

from groupcheck.model.engine.fast.search import Search

INDEX = 6  # bytes a state of an index of keys (docs/howto/large.md)


def outlook(search: Search, left: int) -> str:
    """Describes the unexplored states and, if possible, estimates the remaining cost. `left`:
    states of the level in hand that are not expanded.
    """
    s, left = search, left + max(0, search.states - search.log.levels[-1])
    sizes = [b - a for a, b in pairwise(s.log.levels)]
    text = f"{left:,} states were not expanded yet"
    if len(sizes) < 4:
        return text
    growth = (sizes[-1] / sizes[-3]) ** 0.5 if sizes[-3] else 0.0
    if growth >= 0.95:
        return (
            f"{text}, and each level is {growth:.2f} times as large as the one before, so the"
            " total cannot be estimated"
        )
    whole = s.states + int(left * growth / (1 - growth))
    bytes_ = f"{whole * 16 * s.packed.words:,} bytes"
    if s.log.disk is not None:
        bytes_ = f"{whole * INDEX:,} bytes of memory, {whole * 8 * s.packed.words:,} of disk"
    return (
        f"{text}; each level is {growth:.2f} times as large as the one before, which would make"
        f" about {whole:,} states and {bytes_}"
    )
