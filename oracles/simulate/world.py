"""The state of a simulated group, and the rules that change it.

A state is the model's, but its slots are updated in place, and the model's `Rule`s are called where
the clock says that they fire. Values of slots are interned, and what a rule yields is remembered by
the identity of the values that it reads: thousands of members send the same heartbeat with two
look-ups in a table. What a walk does is not remembered, because no two visits are equal.

It does not stand on `engine.tabled`, which numbers every value and resolves every rule at each of
its indexes: a group of 100,000 members would have millions of resolved rules before its first step
(measured with `Steps`: a millisecond and 0.1 MB for each member, so 100 s and 10 GB), and the table
would keep every value that a walk over all members ever had.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter
from typing import Any

from attrs import define, field

from groupcheck.model.engine import Spec
from groupcheck.model.engine.functions import gives_outcomes, outcomes
from groupcheck.model.engine.rule import Rule
from groupcheck.oracles.simulate.interning import Interner

Value = Any
# An outcome: the name that it counts under, and the new values.
Outcome = tuple[str, tuple[Value, ...]]


@define(eq=False)
class Bound:
    """A rule with the places of its slots: that of slot k at index i is `base[k] + i * step[k]`."""

    rule: Rule
    base: tuple[int, ...]
    step: tuple[int, ...]
    guard_at: int | None
    remembers: bool
    # Its calls can be iterated as they are.
    plain: bool
    # Index -> the places of its slots there, and what takes their values from the state.
    _places: dict[int, tuple[tuple[int, ...], Callable[[list[Value]], Any]]] = field(factory=dict)
    # Identities of the values of its slots -> its outcomes.
    made: dict[tuple[int, ...], list[Outcome]] = field(factory=dict)

    @property
    def name(self) -> str:
        return self.rule.name

    def places(self, index: int) -> tuple[tuple[int, ...], Callable[[list[Value]], Any]]:
        """The places of its slots at this index, and a function that gets their values."""
        found = self._places.get(index)
        if found is None:
            at = tuple(b + index * s for b, s in zip(self.base, self.step))
            found = self._places[index] = (at, itemgetter(*at, at[0]))
        return found


class World:
    """The slots of a spec, and its rules."""

    def __init__(self, spec: Spec) -> None:
        self.spec = spec
        self.first: dict[str, int] = {}  # slot -> its place, or that of its element 0
        self.size: dict[str, int | None] = {name: slot.size for name, slot in spec.slots.items()}
        self.values: list[Value] = []
        given = spec.initial[0]
        for name, slot in spec.slots.items():
            self.first[name] = len(self.values)
            value = given.get(name, slot.initial)
            many = (value,) if slot.size is None else value
            if slot.size is not None and name not in given:
                many = (value,) * slot.size
            self.values += many
        self._kept = Interner()
        self.values = [self._kept(value) for value in self.values]
        self.rules = {r.name: self._bound(r) for r in spec.rules}

    def _bound(self, rule: Rule) -> Bound:
        assert not rule.written, f"{rule.name} reads elements of other indexes"
        base = tuple(self.first[slot] for slot in rule.slots)
        step = tuple(int(self.size[slot] is not None) for slot in rule.slots)
        guard = None if rule.guard is None else rule.named.index(rule.guard.slot)
        plain = gives_outcomes(rule.call)
        return Bound(rule, base, step, guard, "walk" not in rule.slots, plain)

    def __getitem__(self, place: tuple[str, int]) -> Value:
        slot, index = place
        return self.values[self.first[slot] + index]

    def put(self, slot: str, index: int, value: Value) -> None:
        """Gives a slot another value; the driver itself does so where it makes a choice."""
        kept = value if slot == "walk" else self._kept(value)
        self.values[self.first[slot] + index] = kept

    def opens(self, bound: Bound, index: int) -> bool:
        """Does the guard of the rule let it through?"""
        guard, at = bound.rule.guard, bound.guard_at
        if guard is None or at is None:
            return True
        given = (index,) * len(guard.takes)
        return bool(guard.call(*given, self.values[bound.base[at] + index * bound.step[at]]))

    def outcomes(self, bound: Bound, index: int) -> list[Outcome]:
        """All that the rule may do now at this index."""
        _, get = bound._places.get(index) or bound.places(index)
        args = get(self.values)
        if not bound.remembers:
            return self._called(bound, index, args[:-1])
        # The values are interned, so they live as long as this world, and so do their ids.
        key = (*map(id, args), index) if bound.rule.takes else tuple(map(id, args))
        made = bound.made.get(key)
        if made is None:
            made = bound.made[key] = self._called(bound, index, args[:-1])
        return made

    def _called(self, bound: Bound, index: int, args: tuple[Value, ...]) -> list[Outcome]:
        if not self.opens(bound, index):
            return []
        rule = bound.rule
        given = (index,) * len(rule.takes)
        scope = (self.spec.scope,) if rule.takes_scope else ()
        found = []
        called = rule.call(*given, *args, *scope)
        for yielded in called if bound.plain else outcomes(called):
            name, values = rule.name, yielded
            if rule.labels:
                name, values = f"{rule.name}:{yielded[0]}", yielded[1:]
            elif len(rule.slots) == 1:
                values = (yielded,)
            found.append((name, tuple(self._interned(bound, values))))
        return found

    def _interned(self, bound: Bound, values: tuple[Value, ...]) -> list[Value]:
        kept = self._kept
        if bound.remembers:
            return [*map(kept, values)]
        slots = bound.rule.slots
        return [value if slot == "walk" else kept(value) for slot, value in zip(slots, values)]

    def fire(self, bound: Bound, index: int, outcome: Outcome) -> list[tuple[str, int, Value]]:
        """Takes one outcome. Returns what it has changed: slots with their index (0 if single) and
        the value that they had.
        """
        values, changed = self.values, []
        places, _ = bound.places(index)
        for k, new in enumerate(outcome[1]):
            old = values[places[k]]
            if old is not new:
                values[places[k]] = new
                changed.append((bound.rule.slots[k], index if bound.step[k] else 0, old))
        return changed

    def snapshot(self) -> dict[str, Any]:
        """Slot -> value, arrays as tuples, as `Semantics.state` takes it."""
        return {
            name: self.values[at]
            if (size := self.size[name]) is None
            else tuple(self.values[at : at + size])
            for name, at in self.first.items()
        }
