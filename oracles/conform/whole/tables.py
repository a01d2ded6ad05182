"""The rules of a spec as tables over numbers, filled as they are asked: the values of each slot are
numbered, and a state is one number for each place.

Steps of random schedules ask the same few rules about the same few values again and again. A table
calls a rule once for each combination of values; `engine.step` says what the answers mean.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import attrs

from groupcheck.model.engine import Spec
from groupcheck.model.engine.pools import Pool
from groupcheck.model.engine.step import Semantics

Numbers = tuple[int, ...]  # a state: for each place the number of its value
Begun = tuple[tuple[str, ...], Numbers]  # outcomes that have fired, and the state they left
Row = tuple[tuple[str, Numbers], ...]  # for each outcome its name and the values it leaves


class Rows:
    """The table of one rule at one index; all indexes share it, unless the rule takes its own."""

    def __init__(self, tables: Tables, name: str, index: int) -> None:
        self._tables = tables
        self._instance = tables.see.instance(name, index)
        self.where = self._instance.where
        self._pools = [tables.pools[slot] for slot in self._instance.rule.slots]
        self._rows = tables.shared_rows(name, self._instance.given)
        # The place that the guard reads; number of a value there -> is it open?
        self.guarded = self._instance.guarded
        self._open: dict[int, bool] = {}

    def allowed(self, state: Numbers) -> bool:
        """Is the guard open? True without one."""
        if self.guarded is None:
            return True
        number = state[self.guarded]
        found = self._open.get(number)
        if found is None:
            found = self._open[number] = self.allows(self._tables.value(self.guarded, number))
        return found

    def allows(self, value: Any) -> bool:
        """Is the guard open for a value of the place that it reads?"""
        return self._instance.allows(value)

    def after(self, state: Numbers) -> list[tuple[str, Numbers]]:
        """Each outcome in a state whose guard is open, with the state that it leaves."""
        given = tuple([state[k] for k in self.where])
        row = self._rows.get(given)
        if row is None:
            row = self._rows[given] = self._called(given)
        found = []
        for name, values in row:
            now = list(state)
            for k, value in zip(self.where, values):
                now[k] = value
            found.append((name, tuple(now)))
        return found

    def _called(self, given: Numbers) -> Row:
        args = tuple(pool.values[n] for pool, n in zip(self._pools, given))
        called = self._tables.see.call(self._instance, args)
        return tuple(
            (name, tuple(pool.number(value) for pool, value in zip(self._pools, values)))
            for name, values in called
        )


class Tables:
    """A spec whose states are numbers."""

    def __init__(self, spec: Spec) -> None:
        self.see = Semantics(attrs.evolve(spec, ends=(), invariants=(), initial=spec.initial[:1]))
        self.places = self.see.at
        self.pools = {name: Pool(name) for name in spec.slots}
        self._of_place = [self.pools[name] for name, _ in self.see.places]
        self._rows: dict[tuple[str, int], Rows] = {}
        self._shared: dict[tuple[str, Numbers], dict[Numbers, Row]] = {}
        self._urgent = [self.rows(i.rule.name, i.me or 0) for i in self.see.urgent]
        # For each place that guards of urgent rules read: the numbers of those rules, the same as a
        # bit mask, and number of a value -> the rules that are open, as a bit mask.
        self._guards: dict[int, tuple[list[int], int, dict[int, int]]] = {}
        for k, rows in enumerate(self._urgent):
            assert rows.guarded is not None, "an urgent rule has no guard"
            rules, bits, masks = self._guards.get(rows.guarded, ([], 0, {}))
            self._guards[rows.guarded] = ([*rules, k], bits | 1 << k, masks)

    def start(self) -> Numbers:
        """The first initial state, at rest."""
        ((_, _, state),) = self.see.starts()
        return tuple(pool.number(value) for pool, value in zip(self._of_place, state))

    def value(self, place: int, number: int) -> Any:
        """The value with a number at a place."""
        return self._of_place[place].values[number]

    def number(self, place: int, value: Any) -> int:
        """The number of a value at a place."""
        return self._of_place[place].number(value)

    def rows(self, rule: str, index: int) -> Rows:
        """The table of a rule at an index."""
        found = self._rows.get((rule, index))
        if found is None:
            found = self._rows[rule, index] = Rows(self, rule, index)
        return found

    def shared_rows(self, rule: str, given: Numbers) -> dict[Numbers, Row]:
        """The rows of a rule. `given`: the index, if it takes one."""
        return self._shared.setdefault((rule, given), {})

    def settled(self, state: Numbers) -> list[Begun]:
        """All ways in which urgent rules bring a state to rest, as `Semantics.settle` has them."""
        found: list[Begun] = []
        stack: list[tuple[tuple[str, ...], Numbers, int]]
        stack = [((), state, self._opened(0, self._guards, state))]
        while stack:
            chain, now, left = stack.pop()
            may = left
            while may:
                lowest = may & -may
                rows = self._urgent[lowest.bit_length() - 1]
                outcomes = rows.after(now)
                if outcomes:
                    stack += [
                        ((*chain, name), after, self._opened(left, rows.where, after))
                        for name, after in reversed(outcomes)
                    ]
                    break
                may ^= lowest
            else:
                found.append((chain, now))
        return found

    def _opened(self, mask: int, places: Iterable[int], state: Numbers) -> int:
        """The urgent rules whose guards are open, as a bit mask, once these places have changed.
        `mask`: those that were open before.
        """
        for place in places:
            if place in self._guards:
                rules, bits, masks = self._guards[place]
                number = state[place]
                opened = masks.get(number)
                if opened is None:
                    value = self.value(place, number)
                    opened = sum(1 << k for k in rules if self._urgent[k].allows(value))
                    masks[number] = opened
                mask = mask & ~bits | opened
        return mask
