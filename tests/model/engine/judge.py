"""A judge of all engines: a search written from the documentation alone (the docstrings of
`spec.py`, `promises.py`, `refinement.py` and `verdict.py`, and ARCHITECTURE), which shares no code
with them.

A state is a tuple of (slot, value) pairs; the value of an array is a tuple.
"""

from __future__ import annotations

import re
from itertools import combinations, pairwise, product
from types import SimpleNamespace

from groupcheck.model.engine import AnyOf, Element, StepInvariant


class TooLargeError(Exception):
    """More states than the judge was asked to look at."""


class NothingWithinError(Exception):
    """No initial state meets the constraints."""


# -- indexes


def parted(index):
    """The variable of an index such as `me-1`, and what is added to it."""
    variable, _, number = re.fullmatch(r"(\w+?)(([+-]\d+)?)", index).groups()
    return variable, int(number or 0)


def view_of(spec, name):
    return next((v for v in spec.views if v.name == name), None)


def reach(spec, name):
    """The arrays into which the index of a slot or view leads, with their sizes."""
    view = view_of(spec, name)
    if view:
        inner = [reach(spec, other) for other, index in view.places if index != ":"]
        found = {array: size for arrays in inner for array, size in arrays.items()}
        return found or ({name: alike(spec)} if view.takes else {})
    return {} if name == "state" or not spec.slots[name].size else {name: spec.slots[name].size}


def alike(spec):
    """The size of all arrays."""
    return next(slot.size for slot in spec.slots.values() if slot.size is not None)


def exact(spec, part, usual):
    """Each parameter with the index that it means: none where it is single or a whole array."""
    written = {*part.takes} | {parted(i)[0] for _, i in part.places if i not in (None, ":")}
    if getattr(part, "guard", None):
        written |= {*part.guard.takes}
    own = next((name for name in ("me", "i") if name in written), usual)
    return [
        (name, None if index == ":" or not reach(spec, name) else parted(index or own))
        for name, index in part.places
    ]


def variables(spec, part, usual):
    """The index variables with how many values each takes, and the indexes that lead into each
    array.
    """
    sizes = {variable: alike(spec) for variable in part.takes}
    leading = {}
    for name, index in exact(spec, part, usual):
        for array, size in reach(spec, name).items() if index else ():
            sizes[index[0]] = size
            leading.setdefault((array, size), set()).add(index)
    return sizes, leading


def differ(leading, chosen):
    """Do two indexes into one array differ, as far as they are chosen?"""
    return all(
        (chosen[a] + m - chosen[b] - n) % size
        for (_, size), indexes in leading.items()
        for (a, m), (b, n) in combinations(indexes, 2)
        if a in chosen and b in chosen
    )


def choices(spec, rule):
    """Every choice of values for the index variables of a rule."""
    sizes, leading = variables(spec, rule, "me")
    for values in product(*map(range, sizes.values())):
        chosen = dict(zip(sizes, values))
        if differ(leading, chosen):
            yield chosen


def taken(part, variables, chosen):
    """The values that a function takes, as numbers or as elements."""
    return [Element(chosen[v]) if v in part.elements else chosen[v] for v in variables]


# -- rules


def wheres(spec, rule, chosen):
    """For each parameter of a rule its slot, and the element for which it stands: None for what is
    single, ":" for a whole array.
    """
    return [
        (
            name,
            ":"
            if written == ":"
            else None
            if index is None
            else (chosen[index[0]] + index[1]) % spec.slots[name].size,
        )
        for (name, written), (_, index) in zip(rule.places, exact(spec, rule, "me"))
    ]


def firings(spec, rule, chosen, state):
    """What one rule does: (name that it is counted under, state after, broken step invariants)."""
    now = dict(state)
    touched = wheres(spec, rule, chosen)
    given = [now[name] if k in (None, ":") else now[name][k] for name, k in touched]
    if rule.guard:
        asked = given[(rule.parameters or rule.slots).index(rule.guard.slot)]
        if not rule.guard.call(*taken(rule, rule.guard.takes, chosen), asked):
            return
    scope = [spec.scope] * rule.takes_scope
    for outcome in rule.call(*taken(rule, rule.takes, chosen), *given, *scope):
        label, values = (outcome[0], outcome[1:]) if rule.labels else ("", outcome)
        if not rule.labels and len(rule.slots) == 1:
            values = (outcome,)
        after = dict(now)
        for (name, element), value in zip(touched, values, strict=True):
            if element is None or element == ":":
                after[name] = value
            else:
                after[name] = (*after[name][:element], value, *after[name][element + 1 :])
        broken = [
            p.name for p in spec.invariants if breaks(spec, p, rule, label, touched, now, after)
        ]
        yield f"{rule.name}:{label}" if label else rule.name, tuple(after.items()), broken


def looked_at(spec, slots, touched):
    """The indexes at which all these slots are touched; None for single ones alone."""
    arrays = [s for s in slots if spec.slots[s].size is not None]
    if not {*slots} <= {name for name, _ in touched}:
        return set()
    elements = [
        {
            k
            for name, element in touched
            if name == s
            for k in (range(spec.slots[s].size) if element == ":" else [element])
        }
        for s in arrays
    ]
    return set.intersection(*elements) if arrays else {None}


def breaks(spec, p, rule, label, touched, before, after):
    """It looks at its slots at each index at which the rule touches all of them."""
    if not isinstance(p, StepInvariant) or (p.rules and rule.name not in p.rules):
        return False
    extra = [label] * p.takes_label + [spec.scope] * p.takes_scope
    for k in looked_at(spec, p.slots, touched):
        sides = [
            SimpleNamespace(
                **{s: side[s] if spec.slots[s].size is None else side[s][k] for s in p.slots}
            )
            for side in (before, after)
        ]
        if not p.call(*sides, *extra):
            return True
    return False


def at_rest(spec, state, names=(), broken=()):
    """Every way in which urgent rules bring a state to rest."""
    for rule in spec.rules:
        for chosen in choices(spec, rule) if rule.urgent else ():
            found = list(firings(spec, rule, chosen, state))
            for name, after, more in found:
                yield from at_rest(spec, after, (*names, name), (*broken, *more))
            if found:
                return
    yield names, state, broken


def successors(spec, state):
    for rule in spec.rules:
        for chosen in () if rule.urgent else choices(spec, rule):
            for name, after, broken in firings(spec, rule, chosen, state):
                yield from at_rest(spec, after, (name,), tuple(broken))


# -- predicates


def value_of(spec, name, element, state):
    """The value of a slot or view. `element`: None for what is single, ":" for all."""
    view = view_of(spec, name)
    if element == ":":
        every = range(next(iter(reach(spec, name).values())))
        return tuple(value_of(spec, name, k, state) for k in every)
    if view:
        return asked(spec, view, dict.fromkeys(variables(spec, view, "i")[0], element), state)
    if name == "state":
        return SimpleNamespace(**dict(state))
    value = dict(state)[name]
    return value if element is None else value[element]


def asked(spec, p, chosen, state):
    """The answer of a predicate, or the value of a view."""
    given = []
    for (name, written), (_, index) in zip(p.places, exact(spec, p, "i")):
        element = ":" if written == ":" else None
        if index:
            size = next(iter(reach(spec, name).values()))
            element = (chosen[index[0]] + index[1]) % size
        given.append(value_of(spec, name, element, state))
    return p.call(*taken(p, p.takes, chosen), *given, *[spec.scope] * p.takes_scope)


def is_true(spec, p, usual, state, chosen=None):
    """Is a predicate true of the indexes that it asks for? Those that it says nothing about are
    quantified as usual, and come first. `chosen`: the values of some indexes.
    """
    sizes, leading = variables(spec, p, "i")
    chosen = {} if chosen is None else chosen
    said = [*chosen, *(v for _, v in p.quantifiers)]
    order = [*((usual, v) for v in sizes if v not in said), *p.quantifiers]

    def decided(given, left):
        if not left:
            return asked(spec, p, given, state)
        (quantifier, variable), *rest = left
        more = [{**given, variable: value} for value in range(sizes[variable])]
        answers = [decided(each, rest) for each in more if differ(leading, each)]
        return all(answers) if quantifier == "all" else any(answers)

    return decided(chosen, order)


# -- refinements


def image(spec, refinement, state):
    """The state of the smaller spec that a state stands for."""
    values = []
    for name in refinement.spec.slots:
        p = refinement.mapping[name]
        sizes, _ = variables(spec, p, "i")
        if sizes:
            ((variable, size),) = sizes.items()
            values.append(tuple(asked(spec, p, {variable: k}, state) for k in range(size)))
        else:
            values.append(asked(spec, p, {}, state))
    return tuple(zip(refinement.spec.slots, values))


def begins(spec, refinement, state):
    """Is an initial state an initial one of the smaller spec?"""
    smaller = refinement.spec
    starts = {rest for raw in initial_states(smaller) for _, rest, _ in at_rest(smaller, raw)}
    return image(spec, refinement, state) in starts


def refined(spec, refinement, before, after):
    """Is a step a step of the smaller spec, or does it change nothing there?"""
    then, now = (image(spec, refinement, state) for state in (before, after))
    return then == now or now in {rest for _, rest, _ in successors(refinement.spec, then)}


def steps(spec, state):
    """Every step: (names that it is counted under, state after, what it breaks)."""
    for names, after, broken in successors(spec, state):
        unrefined = [r.name for r in spec.refinements if not refined(spec, r, state, after)]
        yield names, after, [*broken, *unrefined]


def starts(spec):
    """Every initial state at rest: (names of urgent outcomes, state, what is broken)."""
    for raw in initial_states(spec):
        for names, state, broken in at_rest(spec, raw):
            yield (
                names,
                state,
                [
                    *broken,
                    *(r.name for r in spec.refinements if not begins(spec, r, state)),
                ],
            )


# -- initial states


def any_of(value):
    return value.values if isinstance(value, AnyOf) else (value,)


def initial_states(spec):
    for values in spec.initial:
        ways = []
        for name, slot in spec.slots.items():
            usual = slot.initial if slot.size is None else (slot.initial,) * slot.size
            given = any_of(values[name]) if name in values else [usual]
            if slot.size is not None:
                given = [x for several in given for x in product(*map(any_of, several))]
            elif name not in values:
                given = any_of(usual)
            ways.append([(name, value) for value in given])
        yield from product(*ways)


def within(spec, state):
    """Is it no border state?"""
    return all(is_true(spec, c, "all", state) for c in spec.constraints)


def is_stuck(spec, state, after):
    """Is a state with these successors a deadlock?"""
    moves = any(other != state for other in after) or not spec.deadlock
    return not moves and not any(is_true(spec, e, "all", state) for e in spec.ends)


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
            if not isinstance(p, StepInvariant) and not is_true(spec, p, "all", state):
                wrong.setdefault(p.name, depth)
        for g in spec.goals:
            if goals[g.name] is None and is_true(spec, g, "some", state):
                goals[g.name] = depth

    for chain, state, broken in starts(spec):
        count(chain, broken)
        if state not in seen:
            arrive(state)
    level = [state for state in seen if within(spec, state)]
    if not level:
        raise NothingWithinError
    while level and not wrong:
        depth += 1
        known = len(seen)
        for state in level:
            found = list(steps(spec, state))
            transitions += len(found)
            for names, after, broken in found:
                count(names, broken)
                if after not in seen:
                    arrive(after)
            if is_stuck(spec, state, [after for _, after, _ in found]):
                wrong.setdefault("deadlock", depth - 1)
            if len(seen) > most:
                raise TooLargeError
        level = [state for state in list(seen)[known:] if within(spec, state)]
    violations = sorted(wrong.items(), key=lambda item: item[::-1])
    border = sum(not within(spec, state) for state in seen)
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


# -- what is told of a violation


def is_shown(spec, name, settled, path):
    """Does a path of the spec show what is violated? `path`: its states; one that breaks a step
    invariant or a refinement has the step that does as its last. `settled`: names of the urgent
    outcomes that lead to the first state.
    """
    found = [
        broken for names, state, broken in starts(spec) if (names, state) == (settled, path[0])
    ]
    if not found or not all(within(spec, state) for state in path[:-1]):
        return False
    for before, after in pairwise(path):
        found = [broken for _, state, broken in steps(spec, before) if state == after]
        if not found:
            return False
    last, p = path[-1], {p.name: p for p in spec.invariants}.get(name)
    if name == "deadlock":
        return within(spec, last) and is_stuck(spec, last, [s for _, s, _ in steps(spec, last)])
    if p is not None and not isinstance(p, StepInvariant):
        return not is_true(spec, p, "all", last)
    return any(name in broken for broken in found)
