"""Pairs and triples of features, at night: their promises in scopes of two members, and their known
bugs.
"""

from __future__ import annotations

from typing import Any

import pytest
from combinations import MOST_STATES, broken, refused, together
from contract import promised

from groupcheck.model.engine import Limits, ScopeError
from groupcheck.model.engine.fast.explore import explore
from groupcheck.model.engine.verdict import VIOLATED
from groupcheck.model.mutations import all_mutations
from groupcheck.model.variants import load

PAIRS, TRIPLES = ([name for name in together(n) if not refused(name)] for n in (2, 3))
SCOPES: tuple[dict[str, Any], ...] = (
    {"members": 2, "generations": 1, "any_faults": 1},
    {"members": 2, "generations": 2, "faults": {"rebalance_timeout": 1}},
    {"members": 2, "generations": 2, "faults": {"fail_over": 1}, "phases": True},
    {"members": 2, "generations": 1, "any_faults": 1, "commit_style": "sync"},
    {"members": 2, "generations": 1, "any_faults": 1, "commit_style": "auto"},
)


@pytest.mark.parametrize("scope", SCOPES, ids=str)
@pytest.mark.parametrize("name", PAIRS)
def test_a_pair_keeps_its_promises(name: str, scope: dict[str, Any]) -> None:
    assert broken(load(name), **scope) == []


@pytest.mark.parametrize("name", TRIPLES)
def test_three_features_keep_the_promises_of_all(name: str) -> None:
    assert broken(load(name), **SCOPES[0]) == []


@pytest.mark.parametrize("name", PAIRS)
def test_the_known_bugs_of_a_pair_are_found_in_it(name: str) -> None:
    """In the smallest scope that shows a bug in the base of its family. Some need a larger one
    where there is another feature beside it; none ends in an error.
    """
    variant, hidden, found = load(name), [], 0
    for bug in all_mutations():
        if not bug.concerns(variant):
            continue
        fields = dict(bug.scope)
        if "twins" in name:
            fields["members"] = max(2, fields.get("members", 2))
        try:
            spec = promised(variant, variant.spec(variant.scope_type(**fields)))
        except (ScopeError, TypeError):  # it has no such fields
            continue
        verdict = explore(bug.apply(spec), Limits(states=MOST_STATES))
        found += verdict.verdict == VIOLATED
        if verdict.verdict != VIOLATED:
            hidden.append(bug.id)
    assert found > len(hidden), hidden
