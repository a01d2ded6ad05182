"""The search over memories, breadth first: a row is executed behind the commands that led to its
memory.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from itertools import islice
from typing import TypeVar

S = TypeVar("S", bound=Hashable)  # a memory in the model
P = TypeVar("P")  # a memory, and how the real side gets there
R = TypeVar("R")  # a row
X = TypeVar("X")  # a row that was executed


def breadth_first(
    first: P,
    *,
    state: Callable[[P], S],
    rows: Callable[[S], Iterable[R]],
    execute: Callable[[Iterator[tuple[P, R]]], Iterator[X]],
    onward: Callable[[X], P | None],
    most: int | None = None,
) -> Iterator[X]:
    """Executes rows until there are no more, or `most` of them were. `onward`: where a row leads;
    None: what follows it is not looked at.
    """
    seen, level, left = {state(first)}, [first], most
    while level and left != 0:
        asked = islice(((place, row) for place in level for row in rows(state(place))), left)
        after: list[P] = []
        for done in execute(asked):
            yield done
            left = None if left is None else left - 1
            place = onward(done)
            if place is not None and state(place) not in seen:
                seen.add(state(place))
                after.append(place)
        level = after
