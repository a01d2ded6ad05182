"""What it takes to reach an outcome or a goal: for each, the smallest sets of faults (and members,
and generations) that do.

One exhaustive search answers for all sets of at most `most` faults at once: the budget counts what
was spent instead of what is left, and a state that was reached with fewer faults is not followed
again with more of them. Values are interned, rules are called once for each combination of their
arguments; it is a third engine, in plain Python, that knows about budgets what the other two need
not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any

import attrs
from attrs import frozen

from groupcheck.invariants.registry import for_variant
from groupcheck.model.engine import Spec, single
from groupcheck.model.engine.spec import Predicate
from groupcheck.model.engine.step import Semantics
from groupcheck.model.protocol.scope import Scope
from groupcheck.model.variants import load

Faults = tuple[str, ...]  # sorted, with repetitions
Need = tuple[Faults, int, int, int]  # faults, members, from how many generations, up to how many
FOREVER = 1 << 30


@frozen
class Spent:
    """A budget that remembers the faults so far instead of those still possible: any `most` of all."""

    most: int
    faults: Faults = ()
    closing: bool = False  # never: what is remembered for a fault stays remembered

    def allows(self, fault: str) -> bool:
        return len(self.faults) < self.most

    def spend(self, fault: str) -> Spent:
        return Spent(self.most, tuple(sorted((*self.faults, fault))))


@cache
def within(few: Faults, many: Faults) -> bool:
    """Is the first multiset contained in the second?"""
    return not Counter(few) - Counter(many)


class Reaching:
    """A search over all faults sets of at most `most` faults; `least` is name -> the smallest sets
    of faults with which it happened.
    """

    def __init__(self, fields: Mapping[str, Any], most: int) -> None:
        spec = load("classic").spec(Scope(**fields, any_faults=most))
        promises = for_variant("classic")
        slots = {**spec.slots, "budget": single(Spent(most))}
        self.spec: Spec = attrs.evolve(
            spec, slots=slots, goals=promises.goals, views=promises.views
        )
        self.see = Semantics(self.spec)
        self.values: list[Any] = []
        self.numbers: dict[Any, int] = {}
        self.budget_at = self.see.at["budget", None]
        self.ordinary = [(r, i, w, {}) for r, i, w in self.see.ordinary]
        self.urgent = [(r, i, w, {}) for r, i, w in self.see.urgent]
        self.waking = self._waking()
        self.goals = [
            (g, b, self._places(g, b), {}) for g in self.spec.goals for b in self.see.instances(g)
        ]
        self.least: dict[str, list[Faults]] = {}
        self.seen: dict[tuple[int, ...], list[Faults]] = {}
        self.known: set[tuple[str, Faults]] = set()
        self.states = 0

    def number(self, value: Any) -> int:
        key = (type(value), value)
        found = self.numbers.get(key)
        if found is None:
            found = self.numbers[key] = len(self.values)
            self.values.append(value)
        return found

    def _waking(self) -> list[tuple[int, list[int], dict[int, tuple[int, ...]]]]:
        """For each place that guards of urgent rules read: the instances whose guard reads it, and
        value -> those that it lets through.
        """
        by_place: dict[int, list[int]] = {}
        for k, (r, _, where, _) in enumerate(self.urgent):
            assert r.guard is not None, f"urgent rule {r.name} has no guard"
            by_place.setdefault(where[r.slots.index(r.guard.slot)], []).append(k)
        return [(place, instances, {}) for place, instances in by_place.items()]

    def outcomes(self, instance: Any, state: tuple[int, ...]) -> list[tuple[str, tuple[int, ...]]]:
        r, me, where, table = instance
        args = tuple([state[k] for k in where])
        found = table.get(args)
        if found is None:
            called = self.see.call(r, me, tuple(self.values[a] for a in args))
            found = table[args] = [
                (name, tuple(self.number(v) for v in values)) for name, values in called
            ]
        return found

    @staticmethod
    def after(
        state: tuple[int, ...], where: tuple[int, ...], values: tuple[int, ...]
    ) -> tuple[int, ...]:
        changed = list(state)
        for k, v in zip(where, values):
            changed[k] = v
        return tuple(changed)

    def awake(self, state: tuple[int, ...]) -> list[int]:
        """The urgent instances whose guards hold, in order."""
        found: list[int] = []
        for place, instances, table in self.waking:
            value = state[place]
            let = table.get(value)
            if let is None:
                real = self.values[value]
                let = tuple(
                    k for k in instances if self.urgent[k][0].guard.allows(self.urgent[k][1], real)
                )
                table[value] = let
            found += let
        return sorted(found)

    def settle(self, state: tuple[int, ...]) -> Iterator[tuple[list[str], tuple[int, ...]]]:
        stack: list[tuple[list[str], tuple[int, ...]]] = [([], state)]
        while stack:
            names, now = stack.pop()
            for k in self.awake(now):
                outcomes = self.outcomes(self.urgent[k], now)
                if outcomes:
                    stack += [
                        ([*names, name], self.after(now, self.urgent[k][2], values))
                        for name, values in outcomes
                    ]
                    break
            else:
                yield names, now

    def note(self, name: str, faults: Faults) -> None:
        least = self.least.setdefault(name, [])
        if not any(within(few, faults) for few in least):
            least[:] = [some for some in least if not within(faults, some)] + [faults]

    def _places(self, p: Predicate, binding: Mapping[str, int]) -> list[int]:
        """Where the values stand that a predicate reads, through its views."""
        found: list[int] = []
        for name, var in p.places:
            index = binding.get(var or "i")
            if name in self.see.views:
                found += self._places(self.see.views[name], {} if index is None else {"i": index})
            else:
                found.append(
                    self.see.at[name, None if self.spec.slots[name].size is None else index]
                )
        return found

    def meets(self, instance: Any, state: tuple[int, ...]) -> bool:
        p, binding, where, table = instance
        args = tuple([state[k] for k in where])
        found = table.get(args)
        if found is None:
            found = table[args] = bool(
                self.see.evaluate(p, binding, tuple(self.values[v] for v in state))
            )
        return bool(found)

    def run(self) -> Reaching:
        """Explores; returns itself."""
        waiting: list[list[tuple[int, ...]]] = [[] for _ in range(self.budget_most + 1)]

        def arrive(state: tuple[int, ...]) -> None:
            faults: Faults = self.values[state[self.budget_at]].faults
            rest = (*state[: self.budget_at], *state[self.budget_at + 1 :])
            before = self.seen.setdefault(rest, [])
            if any(within(few, faults) for few in before):
                return
            before.append(faults)
            self.states += 1
            waiting[len(faults)].append(state)
            for goal in self.goals:
                name = goal[0].name
                if (name, faults) not in self.known and self.meets(goal, state):
                    self.known.add((name, faults))
                    self.note(name, faults)

        for chain, _, state in self.see.starts():
            for f in chain:
                self.note(f.name, ())
            arrive(tuple(self.number(v) for v in state))
        for queue in waiting:
            for state in queue:
                for instance in self.ordinary:
                    for name, values in self.outcomes(instance, state):
                        for names, rest in self.settle(self.after(state, instance[2], values)):
                            faults = self.values[rest[self.budget_at]].faults
                            for fired in (name, *names):
                                if (fired, faults) not in self.known:
                                    self.known.add((fired, faults))
                                    self.note(fired, faults)
                            arrive(rest)
        return self

    @property
    def budget_most(self) -> int:
        return int(self.spec.slots["budget"].initial.most)


def smallest(found: Iterable[Need]) -> tuple[Need, ...]:
    """Of needs, those that no other one makes superfluous, in order of size."""
    kept: list[Need] = []
    for faults, members, first, last in sorted(
        set(found), key=lambda n: (len(n[0]), n[1] + n[2], -n[3], n)
    ):
        if not any(
            within(f, faults) and m <= members and a <= first and last <= b for f, m, a, b in kept
        ):
            kept.append((faults, members, first, last))
    return tuple(kept)
