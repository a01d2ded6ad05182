"""Every state of a small spec, for comparing models state by state: a plain search over numbered values with remembered rule calls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from attrs import define, field

from groupcheck.model.engine import Spec
from groupcheck.model.engine.step import Semantics

Numbers = tuple[int, ...]
Instance = tuple[Any, int, tuple[int, ...]]  # rule, index, places of its slots


@define
class Space:
    """All states of a spec (as tuples of numbers of values), how often each `rule:label` fired, and states that have no way on."""

    see: Semantics
    values: list[Any] = field(factory=list)
    states: list[Numbers] = field(factory=list)
    fired: Counter[str] = field(factory=Counter)
    stuck: list[Numbers] = field(factory=list)
    transitions: int = 0
    _number: dict[Any, int] = field(factory=dict)
    _known: dict[Any, list[tuple[str, Numbers]]] = field(factory=dict)
    _open: dict[Any, list[int]] = field(factory=dict)
    _guarded: dict[bool, dict[int, list[int]]] = field(factory=dict)

    def __attrs_post_init__(self) -> None:
        """Instances by the place that their guard reads (-1: without a guard), for urgent rules and for the others."""
        for is_urgent in (True, False):
            places: dict[int, list[int]] = {}
            for n, (rule, _, where) in enumerate(self._instances(is_urgent)):
                places.setdefault(where[rule.slots.index(rule.guard.slot)] if rule.guard else -1, []).append(n)
            self._guarded[is_urgent] = places

    def _instances(self, is_urgent: bool) -> list[Instance]:
        return self.see.urgent if is_urgent else self.see.ordinary

    def _enabled(self, is_urgent: bool, state: Numbers) -> list[int]:
        """The instances whose guards hold, in order."""
        found = []
        for place, ns in self._guarded[is_urgent].items():
            if place < 0:
                found += ns
                continue
            key = (is_urgent, place, state[place])
            allowed = self._open.get(key)
            if allowed is None:
                value, every = self.values[state[place]], self._instances(is_urgent)
                allowed = self._open[key] = [n for n in ns if every[n][0].guard.allows(every[n][1], value)]
            found += allowed
        return sorted(found)

    def number(self, value: Any) -> int:
        key = (type(value), value)  # True and 1 are different values
        n = self._number.get(key)
        if n is None:
            n = self._number[key] = len(self.values)
            self.values.append(value)
        return n

    def places(self, *names: str) -> list[int]:
        """Where the values of these slots stand in a state."""
        return [k for k, (name, _) in enumerate(self.see.places) if name in names]

    def seen(self, *names: str) -> set[tuple[Any, ...]]:
        """Every combination of values that these slots have in some state."""
        at = self.places(*names)
        return {tuple(self.values[n] for n in part) for part in {tuple(state[k] for k in at) for state in self.states}}

    def _outcomes(self, instance: Instance, state: Numbers) -> list[tuple[str, Numbers]]:
        rule, me, where = instance
        args = tuple([state[k] for k in where])
        key = (rule.name, me if rule.takes_me or (rule.guard and rule.guard.takes_me) else -1, args)
        found = self._known.get(key)
        if found is None:
            called = self.see.call(rule, me, tuple(self.values[n] for n in args))
            found = self._known[key] = [(name, tuple(self.number(v) for v in after)) for name, after in called]
        return found

    def _apply(self, instance: Instance, state: Numbers) -> Iterator[tuple[str, Numbers]]:
        for name, after in self._outcomes(instance, state):
            changed = list(state)
            for k, n in zip(instance[2], after):
                changed[k] = n
            yield name, tuple(changed)

    def _settle(self, state: Numbers, names: tuple[str, ...]) -> Iterator[Numbers]:
        for n in self._enabled(True, state):
            instance = self.see.urgent[n]
            if self._outcomes(instance, state):
                for name, after in self._apply(instance, state):
                    self.fired[name] += 1
                    yield from self._settle(after, (*names, name))
                return
        yield state

    def successors(self, state: Numbers) -> Iterator[Numbers]:
        for n in self._enabled(False, state):
            instance = self.see.ordinary[n]
            for name, after in self._apply(instance, state):
                self.fired[name] += 1
                for rest in self._settle(after, (name,)):
                    self.transitions += 1
                    yield rest


def explore_all(spec: Spec, most: int = 1_000_000) -> Space:
    """Every state. Raises `AssertionError` beyond `most` states: then the scope is too large for this."""
    space = Space(Semantics(spec))
    found: dict[Numbers, None] = {}
    for _, _, start in space.see.starts():
        found[tuple(space.number(v) for v in start)] = None
    todo = list(found)
    while todo:
        state = todo.pop()
        moved = False
        for after in space.successors(state):
            moved = moved or after != state
            if after not in found:
                found[after] = None
                todo.append(after)
        if not moved:
            space.stuck.append(state)
        assert len(found) <= most, f"more than {most:,} states"
    space.states = list(found)
    return space
