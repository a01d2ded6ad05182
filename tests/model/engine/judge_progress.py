"""A judge of progress: what the docstring of `progress.py` says, by another algorithm than the
engines use (fixpoints over sets of states, Emerson and Lei 1986), and random specs with fairness
and promises.
"""

from __future__ import annotations

from itertools import product
from random import Random
from types import SimpleNamespace

import attrs
from judge import (
    NothingWithinError,
    TooLargeError,
    asked,
    at_rest,
    choices,
    differ,
    firings,
    initial_states,
    is_true,
    variables,
)
from random_specs import Writer

from groupcheck.model.engine import Liveness, Predicate, Spec, SpecError, weak, weak_any


def moves(spec, state):
    """Every step: (name of the outcome that begins it, its indexes, state at rest)."""
    for rule in spec.rules:
        for chosen in () if rule.urgent else choices(spec, rule):
            for name, after, _ in firings(spec, rule, chosen, state):
                for _, rest, _ in at_rest(spec, after):
                    yield name, tuple(chosen.values()), rest


def graph_of(spec, most):
    """The initial states at rest, the steps of every reachable state within the constraints, and
    the border states around them.
    """
    starts = [rest for raw in initial_states(spec) for _, rest, _ in at_rest(spec, raw)]
    graph, border, todo = {}, set(), list(starts)
    while todo:
        state = todo.pop()
        if not all(is_true(spec, c, "all", state) for c in spec.constraints):
            border.add(state)
        elif state not in graph:
            graph[state] = list(moves(spec, state))
            todo += [after for _, _, after in graph[state]]
        if len(graph) > most:
            raise TooLargeError
    if not graph:
        raise NothingWithinError
    return starts, graph, border


def actions(spec):
    """For each fair action a test of (name, indexes)."""
    for f in spec.fair:
        rules = [r for r in spec.rules if not r.urgent]
        names = {
            n
            for r in rules
            for n in ([f"{r.name}:{label}" for label in r.labels] or [r.name])
            if not f.names or n in f.names or r.name in f.names
        }
        concerned = [r for r in rules if any(n.partition(":")[0] == r.name for n in names)]
        every = {tuple(chosen.values()) for r in concerned for chosen in choices(spec, r)}
        for one in [every] if f.together else [{index} for index in every]:
            yield lambda name, index, names=names, one=one: name in names and index in one


def bindings(spec, promise):
    both = SimpleNamespace(
        takes=[v for p in promise.predicates for v in p.takes],
        places=[place for p in promise.predicates for place in p.places],
    )
    sizes, leading = variables(spec, both, "i")
    said = {v for _, v in promise.goal.quantifiers}
    free = [v for v in sizes if v not in said]
    for values in product(*(range(sizes[v]) for v in free)):
        chosen = dict(zip(free, values))
        if differ(leading, chosen):
            yield chosen


def staying(graph, region, wanted):
    """The states from which some run stays in a region for ever and meets each of the conditions
    again and again. A condition says whether a state meets it, given the states that may follow.
    """
    left = set(region)
    while True:
        before = len(left)
        for condition in wanted:
            reach = {s for s in left if condition(s, left)}
            grown = -1
            while grown != len(reach):
                grown = len(reach)
                reach |= {s for s in left if any(after in reach for _, _, after in graph[s])}
            left = reach
        if len(left) == before:
            return left


def fairly(graph, has):
    """The condition that a run is fair to an action. One that can only leave the constraints is
    enabled, and never taken by a run that stays within them.
    """

    def condition(state, left):
        taken = [after for name, index, after in graph[state] if has(name, index)]
        taken = [after for after in taken if after != state]
        return not taken or any(after in left for after in taken)

    return condition


def breaks(spec, promise, binding, starts, graph, border):
    """Does a run that stays within the constraints break a promise? Of what is always possible:
    is there a state from which no path leads to it, nor beyond the constraints?
    """
    good = {s for s in graph if is_true(spec, promise.goal, "all", s, binding)}
    if promise.kind == "always_possible":
        return not staying_reach(graph, good | border) >= {*graph}
    fair = [fairly(graph, has) for has in actions(spec)]
    if promise.kind == "settles":
        return bool(staying(graph, graph, [*fair, lambda s, left: s not in good]))
    lost = staying(graph, {s for s in graph if s not in good}, fair)
    if promise.kind == "eventually":
        return any(s in lost for s in starts)
    if promise.kind == "infinitely_often":
        return bool(lost)
    return any(asked(spec, promise.when, binding, s) for s in lost)


def staying_reach(graph, good):
    """The states from which a path leads to one of these."""
    reach, grown = set(good), -1
    while grown != len(reach):
        grown = len(reach)
        reach |= {s for s in graph if any(after in reach for _, _, after in graph[s])}
    return reach


def judge_progress(spec, most=60):
    """Of each promise: is it `violated`, does it hold, or is that unknown?"""
    starts, graph, border = graph_of(spec, most)
    said = {}
    for p in spec.progress:
        is_broken = any(breaks(spec, p, b, starts, graph, border) for b in bindings(spec, p))
        is_open = border and p.kind == "always_possible"
        said[p.name] = "violated" if is_broken else "unknown" if is_open else "holds"
    return said


def live_spec(seed):
    """A random spec with fairness and promises about runs, perhaps with constraints; it rests
    wherever it likes.
    """
    writer = Writer(seed)
    spec = writer.spec()
    rng = Random(seed)
    writer.fond_of_views = bool(spec.views) and rng.random() < 0.3
    ordinary = [r for r in spec.rules if not r.urgent]
    fair = []
    for _ in range(rng.randint(0, 5) if ordinary else 0):
        chosen = [
            f"{r.name}:{rng.choice(r.labels)}" if r.labels and rng.random() < 0.5 else r
            for r in rng.sample(ordinary, rng.randint(1, min(2, len(ordinary))))
        ]
        fair.append(rng.choice([weak, weak, weak_any])(*chosen))
    if rng.random() < 0.3:
        fair.append(weak_any())
    views = list(spec.views)
    promises: list[Liveness] = []
    kinds = ("eventually", "infinitely_often", "settles", "leads_to", "always_possible")
    for k in range(30):
        kind, chance = rng.choice(kinds), rng.choice([100, 400, 700, 950])
        goal, when = (
            writer.predicate(f"{what}{k}", views, chance, lambda die, n: die < n, quantified=False)
            for what in ("p", "q")
        )
        promise = Liveness(goal.name, kind, goal, when if kind == "leads_to" else None, "")
        if fits(spec, promise):
            promises.append(promise)
        if len(promises) == 8:
            break
    rests = Predicate("rests", lambda: True, (), False, "", kind="end")
    constraints = spec.constraints if rng.random() < 0.4 else ()
    return attrs.evolve(
        spec, invariants=(), refinements=(), ends=[rests], constraints=constraints, fair=fair,
        progress=promises,
    )  # fmt: skip


def possible_spec(seed):
    """A random spec that promises what is always possible, of all elements at once or of some: such
    promises may be judged on orbits.
    """
    writer = Writer(seed)
    spec = writer.spec()
    rng = Random(seed)
    promises: list[Liveness] = []
    for k in range(8):
        chance = rng.choice([100, 400, 700, 950])
        goal = writer.predicate(f"p{k}", list(spec.views), chance, lambda die, n: die < n, False)
        sizes, _ = variables(spec, goal, "i")
        said = tuple((rng.choice(["all", "some"]), v) for v in rng.sample([*sizes], len(sizes)))
        goal = attrs.evolve(goal, quantifiers=said)
        promises.append(Liveness(goal.name, "always_possible", goal, None, ""))
    rests = Predicate("rests", lambda: True, (), False, "", kind="end")
    fair = [weak_any()] if rng.random() < 0.2 else []
    return attrs.evolve(
        spec, invariants=(), refinements=(), ends=[rests], constraints=(), fair=fair,
        progress=[p for p in promises if fits(spec, p)],
    )  # fmt: skip


def fits(spec: Spec, promise: Liveness) -> bool:
    """Do index variables of the same letter range over arrays of one size?"""
    try:
        attrs.evolve(spec, progress=[promise])
    except SpecError:
        return False
    return True
