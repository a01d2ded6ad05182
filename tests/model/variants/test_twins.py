"""Two processes with one instance id: what each of them hears, that the feature composes with
others, and pinned counts.
"""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from groupcheck.invariants.registry import for_families
from groupcheck.model.engine import ScopeError, reference
from groupcheck.model.engine.fast.explore import explore
from groupcheck.model.engine.verdict import HOLDS
from groupcheck.model.protocol.classic.features.twins import FAMILY as TWINS
from groupcheck.model.protocol.classic.features.twins import OTHERS, flipped, twins
from groupcheck.model.variants import load
from groupcheck.oracles.explain.subject import subject


@pytest.mark.parametrize(
    ("fields", "states", "transitions"),
    [
        ({"members": 2, "generations": 2, "any_faults": 1}, 4_432, 13_666),
        ({"members": 2, "generations": 2, "any_faults": 2}, 48_594, 206_373),
        ({"members": 3, "generations": 1, "faults": {"append_failure": 1}}, 2_412, 7_474),
    ],
)
def test_all_promises_of_static_members_hold(
    fields: dict[str, Any], states: int, transitions: int
) -> None:
    verdict = explore(subject("twins", **fields).spec)
    assert (verdict.verdict, verdict.states, verdict.transitions) == (HOLDS, states, transitions)


@pytest.mark.night
def test_the_obvious_search_counts_the_same() -> None:
    spec = subject("twins", members=2, generations=1, any_faults=1).spec
    fast, plain = explore(spec), reference.explore(spec)
    assert (fast.states, fast.transitions, fast.rules) == (
        plain.states,
        plain.transitions,
        plain.rules,
    )


def test_without_any_fault_both_own_the_same_until_the_earlier_process_asks_and_is_fenced() -> None:
    verdict = explore(subject("twins", members=2, generations=1).spec)
    assert verdict.verdict == HOLDS
    assert "replaced_twin_owns" not in verdict.goals_not_met
    asks = ("heartbeat", "offset_commit", "sync_group")
    assert all(verdict.rules[f"{api}:fenced"] for api in asks)


@pytest.mark.parametrize(
    ("variant", "fields"),
    [
        ("cooperative_static", {"members": 2, "generations": 2, "any_faults": 1}),
        ("mixed_membership", {"members": 3, "static_members": 2, "faults": {"crash": 1}}),
        ("cooperative_mixed", {"members": 3, "static_members": 2, "generations": 2}),
    ],
)
def test_twins_may_be_cooperative_and_stand_beside_dynamic_members(
    variant: str, fields: dict[str, Any]
) -> None:
    found = load(variant)
    spec = twins(found.spec(found.scope_type(**{"generations": 1, **fields})))
    promises = for_families((*found.families, TWINS))
    verdict = explore(
        attrs.evolve(
            spec, invariants=promises.invariants, goals=promises.goals, views=promises.views
        )
    )
    assert verdict.verdict == HOLDS
    assert "replaced_twin_owns" not in verdict.goals_not_met


@pytest.mark.parametrize(
    ("variant", "fields"),
    [
        ("twins", {"members": 1}),
        ("mixed_membership", {"members": 3, "static_members": 1}),
        ("classic", {"members": 3}),
    ],
)
def test_twins_are_two_static_members(variant: str, fields: dict[str, int]) -> None:
    found = load(variant)
    with pytest.raises(ScopeError, match="twins are two static members"):
        twins(found.spec(found.scope_type(**fields)))


def test_an_id_has_its_number_again_when_it_is_back_at_its_own_process() -> None:
    assert [flipped(flipped(id)) for id in (0, 7, 100, None)] == [0, 7, 100, None]
    assert flipped(3) == OTHERS + 3
