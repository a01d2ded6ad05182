"""States under permutations of the indexes that their values store.

A permutation moves the elements of arrays and gives every `Element` in a value its new name. States
are numbers of values here, so a value is looked into once.

The state that stands for an orbit is found in two steps. What a state says of an index, whatever
the indexes are called, is its *sign*: of two states in one orbit, the same signs. The indexes are
sorted by sign. Those of one sign are exchanged until no new state comes of it, and the least of
these states is taken. Mostly exchanging them changes nothing, because sets of elements are all that
is stored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby, islice
from math import factorial, prod
from operator import itemgetter
from typing import Any

from groupcheck.model.engine.element import holds_elements, mark, permuted
from groupcheck.model.engine.errors import AsymmetryError
from groupcheck.model.engine.pools import Pool

Numbers = tuple[int, ...]  # a state: for each place the number of its value
MOST_ALIKE = 1_000  # states among which the one that stands for an orbit is chosen
Order = tuple[int, ...]  # at each index the index whose element comes there


class _Values:
    """The values of one pool: which of them hold elements, and how they look after permutations."""

    def __init__(self, pool: Pool) -> None:
        self.pool = pool
        # Of each value: what it says of each element; None if it holds none.
        self.marks: list[tuple[int, ...] | None] = []
        self.holds = False
        self.images: dict[Order, dict[int, int]] = {}

    def image(self, number: int, order: Order) -> int:
        """The number of a value after a permutation, a new one if it was never met."""
        known = self.images.setdefault(order, {})
        if number not in known:
            names = [order.index(k) for k in range(len(order))]
            known[number] = self.pool.number(permuted(self.pool.values[number], names))
        return known[number]


class Exchange:
    """The permutations of the indexes of some arrays, in states of numbers."""

    def __init__(self, blocks: Sequence[Sequence[int]], pools: Sequence[Pool]) -> None:
        """`blocks`: of each index its places in a state. `pools`: of each place."""
        self.blocks, self.size = blocks, len(blocks)
        by_id = {id(pool): _Values(pool) for pool in pools}
        self._values = [by_id[id(pool)] for pool in pools]
        self._pools = list(by_id.values())
        moving = {k for block in blocks for k in block}
        # The places of each array, and all else.
        self._arrays = list(zip(*blocks, strict=True))
        self._others = [k for k in range(len(pools)) if k not in moving]
        self._marks: dict[Any, int] = {}
        self._moves: dict[Order, Callable[[Numbers], Numbers]] = {}
        same = tuple(range(self.size))
        self.swaps = [
            (*same[:k], k + 1, k, *same[k + 2 :]) for k in range(self.size - 1)
        ]  # of neighbours
        # Every permutation is a sequence of these two: the first two exchanged, and all moved on.
        self.generators = list(dict.fromkeys([self.swaps[0], (*same[1:], 0)]))

    def _refresh(self) -> None:
        """Looks into values met since. Raises `AsymmetryError` for one that hides its parts."""
        if all(len(v.marks) == len(v.pool.values) for v in self._pools):
            return
        for values in self._pools:
            for value in values.pool.values[len(values.marks) :]:
                told = [mark(value, k) for k in range(self.size)] if holds_elements(value) else []
                numbers = [self._marks.setdefault(m, len(self._marks)) for m in told]
                values.marks.append(tuple(numbers) or None)
            values.holds = any(values.marks)
        self._moves.clear()

    def image(self, state: Numbers, order: Order) -> Numbers:
        """The state with the element of index order[i] at index i."""
        self._refresh()
        move = self._moves.get(order)
        if move is None:
            move = self._moves[order] = self._move(order)
        return move(state)

    def image_at(self, place: int, number: int, order: Order) -> int:
        """The value at a place after a permutation."""
        return self._values[place].image(number, order)

    def known_images(self, place: int, order: Order) -> dict[int, int]:
        """Those that `image_at` has found so far."""
        return self._values[place].images.setdefault(order, {})

    def _move(self, order: Order) -> Callable[[Numbers], Numbers]:
        source = list(range(len(self._values)))
        for i, j in enumerate(order):
            for to, at in zip(self.blocks[i], self.blocks[j], strict=True):
                source[to] = at
        get = itemgetter(*source)
        holding = [
            (k, values.images.setdefault(order, {}), values)
            for k, values in enumerate(self._values)
            if values.holds
        ]

        def move(state: Numbers) -> Numbers:
            moved = list(get(state))
            for k, known, values in holding:
                number = known.get(moved[k])
                moved[k] = values.image(moved[k], order) if number is None else number
            return tuple(moved)

        return move

    def images(self, state: Numbers) -> list[Numbers]:
        """The states of an orbit, this one first."""
        return list(self._closure(state, self.generators))

    def _closure(self, state: Numbers, orders: Sequence[Order]) -> Iterator[Numbers]:
        found = {state}
        todo = [state]
        while todo:
            now = todo.pop()
            yield now
            for order in orders:
                after = self.image(now, order)
                if after not in found:
                    found.add(after)
                    todo.append(after)

    def least(self, state: Numbers) -> tuple[Numbers, int]:
        """The state that stands for the orbit of a state, and how many states the orbit has. Raises
        `AsymmetryError` where it takes too long to find.
        """
        self._refresh()
        marks = [values.marks[number] for values, number in zip(self._values, state)]
        signs = [self._sign(state, marks, k) for k in range(self.size)]
        order = tuple(sorted(range(self.size), key=signs.__getitem__))
        state = self.image(state, order)
        alike = [len(list(run)) for _, run in groupby(signs[k] for k in order)]
        at, swaps = 0, list[Order]()
        for many in alike:
            swaps += self.swaps[at : at + many - 1]
            at += many
        found = list(islice(self._closure(state, swaps), MOST_ALIKE + 1))
        if len(found) > MOST_ALIKE:
            raise AsymmetryError("elements of a state are too much alike to be put in order")
        return min(found), factorial(self.size) // prod(map(factorial, alike)) * len(found)

    def _sign(
        self, state: Numbers, marks: Sequence[tuple[int, ...] | None], index: int
    ) -> list[Any]:
        """The role of an index in a state. A value without elements stands for itself; one with
        some for what it says of this index.
        """
        sign: list[Any] = []
        for k in self.blocks[index]:
            own = marks[k]
            sign.append(state[k] if own is None else -1 - own[index])
        for places in self._arrays:
            if self._values[places[0]].holds:
                others = [marks[k] for i, k in enumerate(places) if i != index]
                sign.append(sorted(m[index] for m in others if m is not None))
        sign += [m[index] for k in self._others if (m := marks[k]) is not None]
        return sign
