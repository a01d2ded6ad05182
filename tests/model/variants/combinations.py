"""Combinations of features of the classic group, and what holds for each of them."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from itertools import combinations
from typing import Any

from contract import promised

from groupcheck.model.engine import Limits, ScopeError, UserError
from groupcheck.model.engine.fast.explore import explore
from groupcheck.model.engine.step import Semantics
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


def broken(variant: Variant, **scope: Any) -> list[str]:
    """The promises that fall in a scope; none if a feature refuses the scope."""
    try:
        spec = promised(variant, variant.spec(variant.scope_type(**scope)))
    except ScopeError:
        return []
    verdict = explore(spec, Limits(states=MOST_STATES))
    return [violation.invariant for violation in verdict.violations]


def told(variant: Variant, states: int, **scope: Any) -> Iterator[str]:
    """What is said of each step from the first states of a scope, in breadth-first order."""
    see = Semantics(variant.spec(variant.scope_type(**scope)))
    seen = list(dict.fromkeys(state for _, _, state in see.starts()))
    for state in seen:
        for step, _ in see.steps(state):
            assert variant.tell is not None
            yield variant.tell(step, see.named(state), see.named(step.state))
            if step.state not in seen and len(seen) < states:
                seen.append(step.state)


def travels(variant: Variant) -> bool:
    """Is a scope the same in another process?"""
    scope = variant.scope_type(members=2, generations=1)
    return bool(pickle.loads(pickle.dumps(scope)) == scope)
