"""Static and dynamic members in one group: what the coordinator answers each, and pinned counts,
eager and cooperative.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from groupcheck.model.engine import ScopeError, reference
from groupcheck.model.engine.fast.explore import explore
from groupcheck.model.engine.verdict import HOLDS
from groupcheck.model.protocol.classic.features.mixed import FAMILY as MIXED
from groupcheck.model.variants import load, names
from groupcheck.oracles.explain.subject import subject

EAGER, COOPERATIVE = "mixed_membership", "cooperative_mixed"
night = partial(pytest.param, marks=pytest.mark.night)


@pytest.mark.parametrize(
    ("variant", "fields", "states", "transitions"),
    [
        (EAGER, {"members": 2, "generations": 2, "any_faults": 1}, 5_536, 15_964),
        night(EAGER, {"members": 2, "generations": 2, "any_faults": 2}, 94_264, 352_821),
        (COOPERATIVE, {"members": 2, "any_faults": 1}, 14_805, 41_802),
        night(COOPERATIVE, {"members": 2, "generations": 2, "any_faults": 2}, 146_152, 543_140),
    ],
)
def test_all_promises_of_both_kinds_hold(
    variant: str, fields: dict[str, Any], states: int, transitions: int
) -> None:
    verdict = explore(subject(variant, **fields).spec)
    assert (verdict.verdict, verdict.states, verdict.transitions) == (HOLDS, states, transitions)


@pytest.mark.night
def test_the_obvious_search_counts_the_same() -> None:
    spec = subject(EAGER, members=2, generations=1, any_faults=1).spec
    fast, plain = explore(spec), reference.explore(spec)
    assert (fast.states, fast.transitions) == (plain.states, plain.transitions)
    assert fast.rules == plain.rules


@pytest.mark.parametrize(
    ("mixed", "alone"), [(EAGER, "static_membership"), (COOPERATIVE, "cooperative_static")]
)
def test_if_all_are_static_there_are_the_states_of_static_members_alone(
    mixed: str, alone: str
) -> None:
    """Without `rebalance_timeout`, which is spent here where static members alone do not notice."""
    scope: dict[str, Any] = {"members": 2, "faults": {"crash": 1, "append_failure": 1}}
    there = explore(subject(mixed, static_members=2, **scope).spec)
    assert there.states == explore(subject(alone, **scope).spec).states


@pytest.mark.parametrize(("mixed", "alone"), [(EAGER, "classic"), (COOPERATIVE, "cooperative")])
def test_if_none_is_static_there_are_the_states_of_dynamic_members_alone(
    mixed: str, alone: str
) -> None:
    scope: dict[str, Any] = {"members": 2, "generations": 2, "faults": {"crash": 1, "close": 1}}
    there = explore(subject(mixed, static_members=0, **scope).spec)
    assert there.states == explore(subject(alone, **scope).spec).states


def test_more_static_members_than_members_are_refused() -> None:
    with pytest.raises(ScopeError, match="static_members is 3, and there are 2 members"):
        load(EAGER).scope_type(members=2, static_members=3)


def test_both_presets_belong_to_the_family() -> None:
    assert {n for n in names() if MIXED in load(n).families} >= {EAGER, COOPERATIVE}
