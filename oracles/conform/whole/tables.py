"""The rules of a spec as tables over numbers, filled as they are asked: the values of each slot are
numbered, and a state is one number for each place.

Steps of random schedules ask the same few rules about the same few values again and again. A table
calls a rule once for each combination of values; `engine.step` says what the answers mean.
"""

from __future__ import annotations

from typing import Any

import attrs

from groupcheck.model.engine import Spec
from groupcheck.model.engine.pools import Pool
from groupcheck.model.engine.step import Semantics

Numbers = tuple[int, ...]  # a state: for each place the number of its value
Begun = tuple[tuple[str, ...], Numbers]  # outcomes that have fired, and the state they left
Row = tuple[tuple[str, Numbers], ...]  # for each outcome its name and the values it leaves


class Rows:
    """The table of one rule at one index."""

    def __init__(self, tables: Tables, name: str, index: int) -> None:
        self._tables = tables
        self._rule, self._me, self.where = tables.see.by_name[name, index]
        self._pools = [tables.pools[slot] for slot in self._rule.slots]
        self._rows: dict[Numbers, Row] = {}

    def after(self, state: Numbers) -> list[tuple[str, Numbers]]:
        """Each outcome in a state, with the state that it leaves."""
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
        called = self._tables.see.call(self._rule, self._me, args)
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
        self._urgent = [self.rows(rule.name, me) for rule, me, _ in self.see.urgent]
        # For each place that guards of urgent rules read: number of a value -> the urgent rules
        # that are open, as a bit mask.
        self._open: dict[int, dict[int, int]] = {}
        for rule, _, where in self.see.urgent:
            assert rule.guard is not None, f"{rule.name} has no guard"
            self._open[where[rule.slots.index(rule.guard.slot)]] = {}

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

    def settled(self, state: Numbers) -> list[Begun]:
        """All ways in which urgent rules bring a state to rest, as `Semantics.settle` has them."""
        found: list[Begun] = []
        stack: list[Begun] = [((), state)]
        while stack:
            chain, now = stack.pop()
            left = 0
            for place, masks in self._open.items():
                mask = masks.get(now[place])
                left |= self._guarded(place, now[place]) if mask is None else mask
            while left:
                lowest = left & -left
                outcomes = self._urgent[lowest.bit_length() - 1].after(now)
                if outcomes:
                    stack += [((*chain, name), after) for name, after in reversed(outcomes)]
                    break
                left ^= lowest
            else:
                found.append((chain, now))
        return found

    def _guarded(self, place: int, number: int) -> int:
        """The urgent rules whose guard reads a place and is open for a value there."""
        mask, value = 0, self.value(place, number)
        for k, (rule, me, where) in enumerate(self.see.urgent):
            assert rule.guard is not None
            if where[rule.slots.index(rule.guard.slot)] == place and rule.guard.allows(me, value):
                mask |= 1 << k
        self._open[place][number] = mask
        return mask
