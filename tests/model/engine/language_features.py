"""What of the language a spec uses, and which features meet there.

Two features meet where one might disturb the other: in the same rule, view or predicate; in a step
invariant and a rule that it looks at; in a predicate and a view that it reads; otherwise in the
same spec.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations, product

from judge import choices, looked_at, parted, wheres

from groupcheck.model.engine import AnyOf, Predicate, Rule, Spec, StepInvariant
from groupcheck.model.engine.functions import gives_outcomes
from groupcheck.model.engine.symmetry import symmetry_of

Pair = frozenset[str]

RULE = (
    "urgent rule",
    "guard",
    "guard that takes an index",
    "labels",
    "rule that takes an index",
    "rule that takes two indexes",
    "rule that takes an element",
    "rule that takes the scope",
    "rule that returns a list",
    "rule of single slots",
    "single slot beside an array",
    "arrays at one index",
    "two elements of one array",
    "independent indexes into two arrays",
    "element beside a whole array",
    "whole array",
    "neighbour in a ring",
)
STEP_INVARIANT = (
    "step invariant over one slot",
    "step invariant over several arrays",
    "step invariant over a single slot and an array",
    "step invariant that asks for the label",
    "step invariant that asks for the scope",
    "step invariant of some rules",
)
VIEW = (
    "view of one slot or more",
    "view of a view",
    "view at an index",
    "view of a whole array",
    "view of a neighbour",
    "view that takes its index",
    "view that takes an element",
    "view that takes the scope",
)
PREDICATE = (
    "invariant",
    "goal",
    "end",
    "constraint",
    "predicate over nothing",
    "predicate over slots",
    "predicate over views",
    "predicate over the whole state",
    "predicate at one index",
    "predicate at two indexes or more",
    "predicate that takes an index",
    "predicate that takes an element",
    "predicate that takes the scope",
    "predicate of a neighbour",
    "predicate of a whole array",
    "quantified otherwise than usual",
)
SPEC = (
    "several initial states",
    "any of two values at first",
    "a value or None",
    "arrays of two sizes",
    "array of one element",
    "more than 64 places",
    "no search for deadlocks",
    "no end",
    "refinement",
    "refinement of an array",
    "arrays that are permuted",
    "walk that symmetry allows",
    "one function in two roles",
)
LIVE = (
    "weak fairness of each index",
    "weak fairness of all together",
    "fairness of a label",
    "eventually",
    "infinitely_often",
    "settles",
    "leads_to",
    "always_possible",
)


def named(kinds: dict[str, object]) -> set[str]:
    return {name for name, is_there in kinds.items() if is_there}


def of_rule(spec: Spec, rule: Rule) -> set[str]:
    arrays = {n for n in rule.slots if spec.slots[n].size is not None}
    at = [(n, i or rule.own) for n, i in rule.places if n in arrays]
    indexes = {(n, *parted(i)) for n, i in at if i != ":"}
    whole = {n for n, i in at if i == ":"}
    variables = {v for _, v, _ in indexes}
    singles = {*rule.slots} - arrays
    apart = any(a[0] != b[0] and a[1] != b[1] for a, b in combinations(indexes, 2))
    return named(
        {
            "urgent rule": rule.urgent,
            "guard": rule.guard,
            "guard that takes an index": rule.guard and rule.guard.takes,
            "labels": rule.labels,
            "rule that takes an index": len(rule.takes) == 1,
            "rule that takes two indexes": len(rule.takes) > 1,
            "rule that takes an element": rule.elements,
            "rule that takes the scope": rule.takes_scope,
            "rule that returns a list": not gives_outcomes(rule.call),
            "rule of single slots": not arrays,
            "single slot beside an array": singles and arrays,
            "arrays at one index": len({n for n, _, _ in indexes}) > 1 and len(variables) == 1,
            "two elements of one array": len(indexes) > len({n for n, _, _ in indexes}),
            "independent indexes into two arrays": apart,
            "element beside a whole array": whole and indexes,
            "whole array": whole,
            "neighbour in a ring": any(offset for _, _, offset in indexes),
        }
    )


def of_step_invariant(spec: Spec, p: StepInvariant) -> set[str]:
    arrays = {n for n in p.slots if spec.slots[n].size is not None}
    return named(
        {
            "step invariant over one slot": len(p.slots) == 1,
            "step invariant over several arrays": len(arrays) > 1,
            "step invariant over a single slot and an array": arrays and {*p.slots} - arrays,
            "step invariant that asks for the label": p.takes_label,
            "step invariant that asks for the scope": p.takes_scope,
            "step invariant of some rules": p.rules,
        }
    )


def sees(spec: Spec, p: StepInvariant, rule: Rule) -> bool:
    """Does a step invariant look at a rule?"""
    return (not p.rules or rule.name in p.rules) and any(
        looked_at(spec, p.slots, wheres(spec, rule, chosen)) for chosen in choices(spec, rule)
    )


def indexes_of(p: Predicate, indexed: set[str]) -> set[tuple[str, int]]:
    return {parted(i or p.own) for n, i in p.places if n in indexed and i != ":"}


def of_view(view: Predicate, views: set[str], indexed: set[str]) -> set[str]:
    indexes = indexes_of(view, indexed)
    return named(
        {
            "view of one slot or more": any(n not in views for n, _ in view.places),
            "view of a view": any(n in views for n, _ in view.places),
            "view at an index": indexes,
            "view of a whole array": any(i == ":" for _, i in view.places),
            "view of a neighbour": any(offset for _, offset in indexes),
            "view that takes its index": view.takes,
            "view that takes an element": view.elements,
            "view that takes the scope": view.takes_scope,
        }
    )


def of_predicate(p: Predicate, views: set[str], indexed: set[str]) -> set[str]:
    indexes = indexes_of(p, indexed)
    variables = {v for v, _ in indexes}
    return {p.kind} | named(
        {
            "predicate over nothing": not p.places,
            "predicate over slots": any(n not in views and n != "state" for n, _ in p.places),
            "predicate over views": any(n in views for n, _ in p.places),
            "predicate over the whole state": p.whole,
            "predicate at one index": len(variables) == 1,
            "predicate at two indexes or more": len(variables) > 1,
            "predicate that takes an index": p.takes,
            "predicate that takes an element": p.elements,
            "predicate that takes the scope": p.takes_scope,
            "predicate of a neighbour": any(offset for _, offset in indexes),
            "predicate of a whole array": any(i == ":" for _, i in p.places),
            "quantified otherwise than usual": any(
                (q == "some") != (p.kind == "goal") for q, _ in p.quantifiers
            ),
        }
    )


def of_spec(spec: Spec) -> set[str]:
    sizes = {s.size for s in spec.slots.values() if s.size is not None}
    values = [v for given in spec.initial for v in given.values()]
    inside = [v for value in values if isinstance(value, tuple) for v in value]
    several = [*values, *inside, *(s.initial for s in spec.slots.values())]
    symmetry = symmetry_of(spec)
    mapped = [r.spec.slots["m"].size for r in spec.refinements]
    calls = [p.call for p in (*spec.invariants, *spec.goals, *spec.ends, *spec.constraints)]
    return named(
        {
            "several initial states": len(spec.initial) > 1,
            "any of two values at first": any(isinstance(v, AnyOf) for v in several),
            "a value or None": any(s.kinds for s in spec.slots.values()),
            "arrays of two sizes": len(sizes) > 1,
            "array of one element": 1 in sizes,
            "more than 64 places": len(spec.places) > 64,
            "no search for deadlocks": not spec.deadlock,
            "no end": not spec.ends,
            "refinement": spec.refinements,
            "refinement of an array": any(size is not None for size in mapped),
            "arrays that are permuted": symmetry.groups,
            "walk that symmetry allows": symmetry.directing,
            "one function in two roles": len(calls) > len({*calls}),
        }
    )


def of_fairness(spec: Spec) -> set[str]:
    return named(
        {
            "weak fairness of each index": any(not f.together for f in spec.fair),
            "weak fairness of all together": any(f.together for f in spec.fair),
            "fairness of a label": any(":" in name for f in spec.fair for name in f.names),
        }
    )


def pairs(*parts: Iterable[str]) -> Iterator[Pair]:
    """Pairs of features of two parts; of one part, if there is one alone."""
    for a, b in combinations(*parts, 2) if len(parts) == 1 else product(*parts):
        if a != b:
            yield frozenset({a, b})


def met(spec: Spec) -> set[Pair]:
    """The pairs of features that meet in a spec."""
    indexed = {n for n, s in spec.slots.items() if s.size is not None}
    for v in spec.views:
        indexed |= {v.name} if v.takes or indexes_of(v, indexed) else set()
    views = {v.name for v in spec.views}
    rules = {r.name: of_rule(spec, r) for r in spec.rules}
    seen = {v.name: of_view(v, views, indexed) for v in spec.views}
    steps = [p for p in spec.invariants if isinstance(p, StepInvariant)]
    predicates = [
        p
        for p in (*spec.invariants, *spec.goals, *spec.ends, *spec.constraints)
        if isinstance(p, Predicate)
    ]
    found: set[Pair] = set()
    for part in (*rules.values(), *seen.values()):
        found.update(pairs(part))
    for p in steps:
        own = of_step_invariant(spec, p)
        found.update(pairs(own))
        for rule in spec.rules:
            found.update(pairs(own, rules[rule.name]) if sees(spec, p, rule) else ())
    for q in predicates:
        own = of_predicate(q, views, indexed)
        found.update(pairs(own))
        for name, _ in q.places:
            found.update(pairs(own, seen.get(name, ())))
    for promise in spec.progress:
        for q in promise.predicates:
            own = of_predicate(q, views, indexed) - {q.kind} | {promise.kind}
            found.update(pairs(own))
            for name, _ in q.places:
                found.update(pairs(own, seen.get(name, ())))
    promised = {promise.kind for promise in spec.progress}
    whole = of_spec(spec) | of_fairness(spec)
    found.update(pairs(whole | promised))
    kinds = [
        {f for part in rules.values() for f in part},
        {f for p in steps for f in of_step_invariant(spec, p)},
        {f for part in seen.values() for f in part},
        {f for q in predicates for f in of_predicate(q, views, indexed)},
    ]
    found.update(pairs(promised, kinds[0] | {q.kind for q in predicates}))
    for kind in kinds:
        found.update(pairs(whole, kind))
    for a, b in ((0, 2), (0, 3), (1, 2), (1, 3)):  # what no part has in common
        found.update(pairs(kinds[a], kinds[b]))
    return found
