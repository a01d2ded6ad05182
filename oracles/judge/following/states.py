"""A set of states that fit what was seen so far, whichever side is followed.

A side says what may follow: `ends(state, given)` yields every way in which the model may go on from
a state, each with what is to be seen on that way; `fits(end, seen)` gives the state behind that way
if this is exactly what was seen, and None otherwise. Both are pure, and so is `follow`: they run
where the caller likes, and never inside an event loop, which only notes what came and when.

For a broker `given` is our request or our wait, and `seen` the answers (`worlds`). For a client
`given` is an event in the order of the wire (our answer, cut or silence; its request), and `seen`
says which request it was. A caller that sees a part first asks `could`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Generic, TypeVar

from attrs import frozen

S = TypeVar("S")  # a state of the model, with what is known of the other side
E = TypeVar("E")  # a way in which a step may end: the state behind it, and what is seen on the way
O = TypeVar("O")  # what was seen


@frozen
class Fitting(Generic[S, E]):
    """The ways that fit what was seen, each with the state behind it. Empty: the row differs."""

    reached: tuple[tuple[E, S], ...]

    @property
    def states(self) -> tuple[S, ...]:
        """The states that fit, each once, in a fixed order."""
        return tuple(dict.fromkeys(state for _, state in self.reached))


def follow(ways: Iterable[E], seen: O, fits: Callable[[E, O], S | None]) -> Fitting[S, E]:
    """The ways that fit."""
    found = ((way, fits(way, seen)) for way in ways)
    return Fitting(tuple((way, state) for way, state in found if state is not None))


def in_all(states: Sequence[S], inputs: Callable[[S], Iterable[O]]) -> Iterator[O]:
    """The inputs that make sense in every state, in the order of the first one."""
    first, *others = [list(inputs(state)) for state in states]
    yield from (one for one in first if all(one in other for other in others))
