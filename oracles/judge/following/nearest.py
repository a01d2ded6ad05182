"""The shortest way in the model to what nobody has seen yet."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

S = TypeVar("S", bound=Hashable)
I = TypeVar("I")  # an input


def nearest(
    start: S,
    inputs: Callable[[S], Iterable[I]],
    after: Callable[[S, I], Iterable[S]],
    wanted: Callable[[S, I], bool],
    limit: int,
) -> tuple[tuple[S, I], ...] | None:
    """The inputs of a shortest way, each with the state before it; the last one is wanted there.
    None if there is none, or none among the first `limit` states. `after` is every state to which
    an input may lead: who goes that way looks where it has come to after each step, and asks again.
    """
    came: dict[S, tuple[S, I] | None] = {start: None}
    queue = deque([start])
    while queue:
        here = queue.popleft()
        every = list(inputs(here))
        for given in every:
            if wanted(here, given):
                way, at = [(here, given)], came[here]
                while at is not None:
                    way.append(at)
                    at = came[at[0]]
                return tuple(reversed(way))
        for given in every:
            for state in after(here, given):
                if state not in came and len(came) < limit:
                    came[state] = (here, given)
                    queue.append(state)
    return None
