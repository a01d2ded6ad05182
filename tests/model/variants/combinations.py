"""Combinations of features of the classic group, and what holds for each of them."""

from __future__ import annotations

import pickle
from itertools import combinations
from typing import Any

import attrs
from contract import never_fires, promised

from groupcheck.model.engine import Limits, ScopeError, UserError
from groupcheck.model.engine.staged import explore
from groupcheck.model.protocol.classic.composition import every_feature
from groupcheck.model.protocol.variant import Variant
from groupcheck.model.variants import load

FEATURES = [name for name, feature in every_feature().items() if not feature.joint]
MOST_STATES = 200_000


def together(count: int) -> list[str]:
    """The names of all combinations of so many features, refused ones included."""
    return ["+".join(("classic", *names)) for names in combinations(FEATURES, count)]


def refused(name: str) -> str:
    """Why no group has these features together; empty if some group has."""
    try:
        load(name)
    except UserError as error:
        return str(error)
    return ""


def shown(feature: str, least: int) -> tuple[dict[str, Any], set[str]]:
    """The smallest cover scope of a feature in which outcomes of its own fire, with at least so
    many members, and those outcomes; the first scope if it has none.
    """
    variant, plain = load(f"classic+{feature}"), load("classic")
    usual = {n for r in plain.spec(plain.scope_type()).rules for n in r.names}
    rules = {n for r in variant.spec(variant.scope_type()).rules for n in r.names} - usual
    own = [(cover, rules & {*cover.reaches}) for cover in variant.covers]
    cover, fired = next(((c, names) for c, names in own if names), own[0])
    fields = {**cover.fields, "members": max(least, cover.fields.get("members", least))}
    return fields, fired


def broken(variant: Variant, **scope: Any) -> list[str]:
    """The promises that fall in a scope; none if a feature refuses the scope."""
    try:
        spec = promised(variant, variant.spec(variant.scope_type(**scope)))
    except ScopeError:
        return []
    verdict = explore(spec, Limits(states=MOST_STATES))
    return [violation.invariant for violation in verdict.violations]


def told(variant: Variant, own: set[str], **scope: Any) -> dict[str, str]:
    """Each of these outcomes that fires in a scope, and what is said of the step that ends the
    shortest path to it; none if a feature refuses the scope.
    """
    found: dict[str, str] = {}
    try:
        spec = variant.spec(variant.scope_type(**scope))
    except ScopeError:
        return found
    left = {name: r for r in spec.rules for name in r.names if name in own}
    while left:
        watched = [never_fires(r, name.partition(":")[2]) for name, r in left.items()]
        spec = attrs.evolve(spec, invariants=watched)
        if not (reached := explore(spec, Limits(states=MOST_STATES)).violations):
            break
        for one in reached:
            del left[one.invariant]
            assert variant.story is not None
            found[one.invariant] = variant.story(one.path).lines[-1].words
    return found


def travels(variant: Variant) -> bool:
    """Is a scope the same in another process?"""
    scope = variant.scope_type(members=2, generations=1)
    return bool(pickle.loads(pickle.dumps(scope)) == scope)
