"""A judge of all engines: a search written from the documentation alone (the docstrings of
`spec.py`, `promises.py` and `verdict.py`, and ARCHITECTURE), which shares no code with them.

A state is a tuple of (slot, value) pairs; the value of an array is a tuple.
"""

from __future__ import annotations

from itertools import permutations
from types import SimpleNamespace

from groupcheck.model.engine import StepInvariant


class TooLargeError(Exception):
    """More states than the judge was asked to look at."""


class NothingWithinError(Exception):
    """No initial state meets the constraints."""


def indexes(spec, rule):
    """A rule stands for every index of the arrays that it touches; if it takes `me` and touches
    none, for the indexes of the spec's arrays; otherwise once.
    """
    touched = [s for s in rule.slots if spec.slots[s].size is not None]
    arrays = touched or [s for s in spec.slots if spec.slots[s].size is not None and rule.takes_me]
    return range(spec.slots[arrays[0]].size) if arrays else [None]


def firings(spec, rule, index, state):
    """What one rule does: (name that it is counted under, state after, broken step invariants)."""
    now = dict(state)
    at = {s: None if spec.slots[s].size is None else index for s in rule.slots}
    given = {s: now[s] if i is None else now[s][i] for s, i in at.items()}
    if rule.guard:
        asked = given[rule.guard.slot]
        if not (rule.guard.call(index, asked) if rule.guard.takes_me else rule.guard.call(asked)):
            return
    me, scope = [index] * rule.takes_me, [spec.scope] * rule.takes_scope
    for outcome in rule.call(*me, *given.values(), *scope):
        label, values = (outcome[0], outcome[1:]) if rule.labels else ("", outcome)
        if not rule.labels and len(rule.slots) == 1:
            values = (outcome,)
        new = dict(zip(rule.slots, values, strict=True))
        after = dict(now)
        for s, i in at.items():
            after[s] = new[s] if i is None else (*after[s][:i], new[s], *after[s][i + 1 :])
        broken = [p.name for p in spec.invariants if breaks(spec, p, rule, label, given, new)]
        yield f"{rule.name}:{label}" if label else rule.name, tuple(after.items()), broken


def breaks(spec, p, rule, label, before, after):
    if not isinstance(p, StepInvariant) or not {*p.slots} <= {*rule.slots}:
        return False
    sides = [SimpleNamespace(**{s: side[s] for s in p.slots}) for side in (before, after)]
    extra = [label] * p.takes_label + [spec.scope] * p.takes_scope
    return (not p.rules or rule.name in p.rules) and not p.call(*sides, *extra)


def at_rest(spec, state, names=(), broken=()):
    """Every way in which urgent rules bring a state to rest."""
    for rule in spec.rules:
        for index in indexes(spec, rule) if rule.urgent else ():
            found = list(firings(spec, rule, index, state))
            for name, after, more in found:
                yield from at_rest(spec, after, (*names, name), (*broken, *more))
            if found:
                return
    yield names, state, broken


def successors(spec, state):
    for rule in spec.rules:
        for index in () if rule.urgent else indexes(spec, rule):
            for name, after, broken in firings(spec, rule, index, state):
                yield from at_rest(spec, after, (name,), tuple(broken))


def size(spec, name):
    """Of an array, or of the arrays that a view reads; None for what is single."""
    view = next((v for v in spec.views if v.name == name), None)
    if view:
        return next((n for inner, _ in view.places if (n := size(spec, inner)) is not None), None)
    return None if name == "state" else spec.slots[name].size


def asked(spec, p, index_of, state):
    """The answer of a predicate, or the value of a view."""
    given = []
    for name, variable in p.places:
        index = None if size(spec, name) is None else index_of(variable or "i")
        view = next((v for v in spec.views if v.name == name), None)
        value = dict(state).get(name)
        if view:
            value = asked(spec, view, lambda _, index=index: index, state)
        elif name == "state":
            value = SimpleNamespace(**dict(state))
        given.append(value if view or index is None else value[index])
    return p.call(*given, *[spec.scope] * p.takes_scope)


def answers(spec, p, state):
    """The answers of a predicate for all tuples of different indexes."""
    sizes = {v or "i": n for name, v in p.places if (n := size(spec, name)) is not None}
    for chosen in permutations(range(max(sizes.values(), default=0)), len(sizes)):
        if all(i < n for i, n in zip(chosen, sizes.values())):
            yield asked(spec, p, dict(zip(sizes, chosen)).get, state)


def initial_states(spec):
    for values in spec.initial:
        state = []
        for name, slot in spec.slots.items():
            usual = slot.initial if slot.size is None else (slot.initial,) * slot.size
            state.append((name, values.get(name, usual)))
        yield tuple(state)


def judge(spec, most=10_000):
    """Counts, goals and violations, level by level; the first level with a violation is the last.
    Border states are looked at, not expanded, and counted apart. Raises `TooLargeError` for more
    than `most` states.
    """
    names = [
        f"{r.name}:{label}" if label else r.name for r in spec.rules for label in r.labels or [""]
    ]
    fired, wrong, transitions, depth = dict.fromkeys(names, 0), {}, 0, 0
    goals = {g.name: None for g in spec.goals}
    seen = {}

    def count(names, broken):
        for name in names:
            fired[name] += 1
        for name in broken:
            wrong.setdefault(name, depth)

    def arrive(state):
        seen[state] = depth
        for p in spec.invariants:
            if not isinstance(p, StepInvariant) and not all(answers(spec, p, state)):
                wrong.setdefault(p.name, depth)
        for g in spec.goals:
            if goals[g.name] is None and any(answers(spec, g, state)):
                goals[g.name] = depth

    for start in initial_states(spec):
        for chain, state, broken in at_rest(spec, start):
            count(chain, broken)
            if state not in seen:
                arrive(state)

    def within(state):
        return all(all(answers(spec, c, state)) for c in spec.constraints)

    level = list(filter(within, seen))
    if not level:
        raise NothingWithinError
    while level and not wrong:
        depth += 1
        known = len(seen)
        for state in level:
            found = list(successors(spec, state))
            transitions += len(found)
            for names, after, broken in found:
                count(names, broken)
                if after not in seen:
                    arrive(after)
            moves = any(after != state for _, after, _ in found) or not spec.deadlock
            if not moves and not any(all(answers(spec, e, state)) for e in spec.ends):
                wrong.setdefault("deadlock", depth - 1)
            if len(seen) > most:
                raise TooLargeError
        level = list(filter(within, list(seen)[known:]))
    violations = sorted(wrong.items(), key=lambda item: item[::-1])
    border = sum(not within(state) for state in seen)
    return {
        "states": len(seen) - border,
        "border": border,
        "transitions": transitions,
        "depth": depth,
        "rules": fired,
        "goals": goals,
        "violations": violations,
        "violated": bool(violations),
    }
