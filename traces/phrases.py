"""Words for counts, names, times and conversions, as all texts for people have them."""

from __future__ import annotations

from collections.abc import Sequence

SHOWN = 20  # names of a list


def some_of(names: Sequence[str], shown: int = SHOWN) -> str:
    """The first of the names, and how many more there are."""
    more = f" and {len(names) - shown} more" if len(names) > shown else ""
    return ", ".join(names[:shown]) + more


def plural(n: int, what: str) -> str:
    """`1 rebalance`, `2 rebalances`."""
    return f"{n:,} {what}" if n == 1 else f"{n:,} {what}s"


def became(protocol: str, where: str = "") -> str:
    """That a group has another protocol from now on. `where`: the generation or epoch in which, or
    at which, it goes on, with its preposition; empty if it is not known.
    """
    return f"the group became a {protocol} group" + (f" {where}" if where else "")


def seconds(ms: int) -> str:
    """`12.3 s`, `250 ms`."""
    return f"{ms} ms" if ms < 1000 else f"{ms / 1000:.1f} s"
