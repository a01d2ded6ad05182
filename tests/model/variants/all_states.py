"""Every state of a small spec, for comparing models state by state: a plain search over numbered
values with remembered rule calls.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from attrs import define, field

from groupcheck.model.engine import Spec
from groupcheck.model.engine.binding import Instance
from groupcheck.model.engine.step import Semantics

Numbers = tuple[int, ...]
Table = dict[Numbers, list[tuple[str, Numbers]]]  # numbers of the arguments -> outcomes


@define
class Bound:
    """A rule at an index: the places of its slots, the place that its guard reads (None: no guard),
    what its calls have yielded.
    """

    instance: Instance
    where: tuple[int, ...]
    guarded: int | None
    table: Table


@define
class Space:
    """All states of a spec (as tuples of numbers of values), how often each `rule:label` fired, and
    states that have no way on.
    """

    see: Semantics
    values: list[Any] = field(factory=list)
    states: list[Numbers] = field(factory=list)
    fired: Counter[str] = field(factory=Counter)
    stuck: list[Numbers] = field(factory=list)
    transitions: int = 0
    _number: dict[Any, int] = field(factory=dict)
    _urgent: _Agenda = field(init=False)
    _ordinary: _Agenda = field(init=False)

    def __attrs_post_init__(self) -> None:
        tables: dict[tuple[str, int | None], Table] = {}
        self._urgent, self._ordinary = _Agenda(self.values), _Agenda(self.values)
        for agenda, instances in (
            (self._urgent, self.see.urgent),
            (self._ordinary, self.see.ordinary),
        ):
            for i in instances:
                table = tables.setdefault((i.rule.name, i.given, i.guard_given), {})
                agenda.add(Bound(i, i.where, i.guarded, table))

    def number(self, value: Any) -> int:
        key = (type(value), value)  # True and 1 are different values
        n = self._number.get(key)
        if n is None:
            n = self._number[key] = len(self.values)
            self.values.append(value)
        return n

    def seen(self, *names: str) -> set[tuple[Any, ...]]:
        """Every combination of values that these slots have in some state."""
        at = [k for k, (name, _) in enumerate(self.see.places) if name in names]
        return {
            tuple(self.values[n] for n in part)
            for part in {tuple([state[k] for k in at]) for state in self.states}
        }

    def outcomes(self, i: Bound, state: Numbers) -> Iterator[tuple[str, Numbers]]:
        args = tuple([state[k] for k in i.where])
        found = i.table.get(args)
        if found is None:
            called = self.see.call(i.instance, tuple(self.values[n] for n in args))
            found = i.table[args] = [
                (name, tuple(self.number(v) for v in after)) for name, after in called
            ]
        for name, after in found:
            changed = list(state)
            for k, n in zip(i.where, after):
                changed[k] = n
            yield name, tuple(changed)

    def settle(self, state: Numbers) -> Iterator[Numbers]:
        """All ways in which urgent rules bring a state to rest."""
        for i in self._urgent.enabled(state):
            moved = False
            for name, after in self.outcomes(i, state):
                moved = True
                self.fired[name] += 1
                yield from self.settle(after)
            if moved:
                return
        yield state

    def successors(self, state: Numbers) -> Iterator[Numbers]:
        for i in self._ordinary.enabled(state):
            for name, after in self.outcomes(i, state):
                self.fired[name] += 1
                for rest in self.settle(after):
                    self.transitions += 1
                    yield rest


@define
class _Agenda:
    """Instances in order, and for each place and value those whose guards let them pass."""

    values: list[Any]
    every: list[Bound] = field(factory=list)
    always: list[int] = field(factory=list)
    readers: dict[int, list[int]] = field(factory=dict)
    passed: dict[int, dict[int, list[int]]] = field(factory=dict)

    def add(self, i: Bound) -> None:
        here = self.always if i.guarded is None else self.readers.setdefault(i.guarded, [])
        here.append(len(self.every))
        self.every.append(i)
        self.passed = {place: {} for place in self.readers}

    def enabled(self, state: Numbers) -> list[Bound]:
        found = self.always.copy()
        for place, passed in self.passed.items():
            value = state[place]
            allowed = passed.get(value)
            if allowed is None:
                readers = [(n, self.every[n]) for n in self.readers[place]]
                allowed = passed[value] = [
                    n for n, i in readers if i.instance.allows(self.values[value])
                ]
            if allowed:
                found += allowed
        found.sort()
        return [self.every[n] for n in found]


def explore_all(spec: Spec, most: int = 1_000_000) -> Space:
    """Every state. Raises `AssertionError` beyond `most` states: then the scope is too large for
    this.
    """
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
