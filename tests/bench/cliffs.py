"""Protocols that tables do not serve, each beside the search of 15 lines that a person would write
for it, with the same rules and promises. `bench.py` runs both in turn.

cliffs.py NAME ours|plain SIZE ...: one run; its numbers are a JSON object on the last line.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from attrs import frozen

from groupcheck.model.engine import Predicate, Spec, end, evolve, invariant, rule, single

State = tuple[Any, ...]


@end
def always(state: Any) -> bool:
    return True


def made(source: str, decorate: Callable[[Any], Any]) -> Any:
    """A function whose parameters are made up."""
    found: dict[str, Any] = {}
    exec(source, found)
    return decorate(next(f for name, f in found.items() if name != "__builtins__"))


def puzzle(width: int, height: int) -> Spec:
    """The sliding puzzle: one slot, in which nearly every state has a value of its own."""
    size = width * height

    def beside(a: int, b: int) -> bool:
        return abs(a % width - b % width) + abs(a // width - b // width) == 1

    near = [[b for b in range(size) if beside(a, b)] for a in range(size)]

    @rule
    def slide(board: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        gap = board.index(0)
        for tile in near[gap]:
            after = list(board)
            after[gap], after[tile] = after[tile], 0
            yield tuple(after)

    @invariant
    def whole(board: tuple[int, ...]) -> bool:
        return len(board) == size

    slots = {"board": single(tuple(range(size)))}
    return Spec(name="puzzle", slots=slots, rules=[slide], invariants=[whole])


def lanes(count: int, most: int) -> Spec:
    """Counters that keep together: every rule reads all of them."""
    names = [f"c{k}" for k in range(count)]
    every = ", ".join(names)
    rules = []
    for k, name in enumerate(names):
        after = ", ".join(f"{c} + 1" if c == name else c for c in names)
        guard = f"{name} < {most} and {name} <= min({every}) + 3"
        rules.append(made(f"def up{k}({every}):\n if {guard}: yield {after}\n", rule))
    near = made(f"def near({every}): return max({every}) - min({every}) <= 4\n", invariant)
    slots = {name: single(0) for name in names}
    return Spec(name="lanes", slots=slots, rules=rules, invariants=[near], ends=[always])


@frozen
class Jugs:
    a: int
    b: int
    c: int
    d: int


def jugs(*sizes: int) -> Spec:
    """Water jugs: one slot with attrs values, and many outcomes."""
    every = dict(zip("abcd", sizes))

    @rule("fill", "empty", "pour")
    def move(jugs: Jugs) -> Iterator[tuple[str, Jugs]]:
        for x, size in every.items():
            there = getattr(jugs, x)
            if there < size:
                yield "fill", evolve(jugs, **{x: size})
            if there:
                yield "empty", evolve(jugs, **{x: 0})
            for y, room in every.items():
                poured = min(there, room - getattr(jugs, y)) if x != y else 0
                if poured:
                    yield "pour", evolve(jugs, **{x: there - poured, y: getattr(jugs, y) + poured})

    @invariant
    def fits(jugs: Jugs) -> bool:
        return jugs.a <= every["a"]

    return Spec(
        name="jugs", slots={"jugs": single(Jugs(0, 0, 0, 0))}, rules=[move], invariants=[fits]
    )


def watched(count: int, most: int) -> Spec:
    """Counters that do not know each other, and an invariant that reads all of them."""
    names = [f"c{k}" for k in range(count)]
    rules = [made(f"def up{k}(c{k}): yield (c{k} + 1) % {most}\n", rule) for k in range(count)]
    total = made(f"def total({', '.join(names)}): return {' + '.join(names)} >= 0\n", invariant)
    slots = {name: single(0) for name in names}
    return Spec(name="watched", slots=slots, rules=rules, invariants=[total])


def counter(most: int) -> Spec:
    """One state a level, and a row for each of them."""

    @rule
    def tick(n: int) -> Iterator[int]:
        if n < most:
            yield n + 1

    @invariant
    def small(n: int) -> bool:
        return n <= most

    slots = {"n": single(0)}
    return Spec(name="counter", slots=slots, rules=[tick], invariants=[small], ends=[always])


def clock(most: int) -> Spec:
    """One state a level, and few rows."""

    @rule
    def small(low: int, flag: int) -> Iterator[tuple[int, int]]:
        if not flag:
            yield (low + 1, 0) if low < most - 1 else (0, 1)

    @rule
    def large(flag: int, high: int) -> Iterator[tuple[int, int]]:
        if flag and high < most - 1:
            yield 0, high + 1

    @end
    def over(high: int) -> bool:
        return high == most - 1

    slots = {"low": single(0), "flag": single(0), "high": single(0)}
    return Spec(name="clock", slots=slots, rules=[small, large], ends=[over])


SPECS = {f.__name__: f for f in (puzzle, lanes, jugs, watched, counter, clock)}


def plain(spec: Spec) -> tuple[int, int]:
    """States and transitions, by a breadth-first search over tuples of values."""
    names = list(spec.slots)
    rules = [(r.call, [names.index(s) for s in r.slots], bool(r.labels)) for r in spec.rules]
    promises = [
        (p.call, [names.index(s) for s, _ in p.places])
        for p in spec.invariants
        if isinstance(p, Predicate)
    ]
    start = tuple(slot.initial for slot in spec.slots.values())
    seen, todo, moved = {start}, [start], 0
    for state in todo:
        for call, at, labelled in rules:
            for outcome in call(*[state[k] for k in at]):
                values = outcome[1:] if labelled else outcome if len(at) > 1 else (outcome,)
                moved += 1
                after = list(state)
                for k, value in zip(at, values):
                    after[k] = value
                new = tuple(after)
                if new not in seen:
                    assert all(p(*[new[k] for k in read]) for p, read in promises)
                    seen.add(new)
                    todo.append(new)
    return len(seen), moved


def alone(spec: Spec) -> tuple[int, int]:
    """The same where each rule reads all slots in order, and there is one invariant, as one would
    write it by hand for such a spec.
    """
    start = tuple(slot.initial for slot in spec.slots.values())
    one_slot, labelled = len(start) == 1, bool(spec.rules[0].labels)
    calls, kept = [r.call for r in spec.rules], spec.invariants[0].call
    seen, todo, moved = {start}, [start], 0
    for state in todo:
        for call in calls:
            for new in call(*state):
                if one_slot:
                    new = (new[1],) if labelled else (new,)
                moved += 1
                if new not in seen:
                    assert kept(*new)
                    seen.add(new)
                    todo.append(new)
    return len(seen), moved


BY_HAND = {"puzzle", "lanes", "jugs", "counter"}


def main(name: str, who: str, sizes: Sequence[str]) -> None:
    spec = SPECS[name](*map(int, sizes))
    depth = 0
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.process_time()
    if who == "ours":
        from groupcheck.model.engine.fast.explore import explore

        explore(counter(10))  # imports, and loads compiled code
        before, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
        verdict = explore(spec)
        assert verdict.verdict == "holds"
        states, transitions, depth = verdict.states, verdict.transitions, verdict.depth
    else:
        states, transitions = (alone if name in BY_HAND else plain)(spec)
    cpu = time.process_time() - began
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    answer = {"cpu": cpu, "states": states, "transitions": transitions, "depth": depth}
    print(json.dumps({**answer, "bytes": grown * 1024 / states}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
