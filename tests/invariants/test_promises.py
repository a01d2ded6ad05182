"""The healthy classic model keeps every promise."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from groupcheck.invariants.registry import for_families
from groupcheck.model.engine import Spec, reference
from groupcheck.model.engine.fast.explore import explore
from groupcheck.model.engine.verdict import HOLDS
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.model.protocol.family import Family
from groupcheck.model.variants import load

CLASSIC = load("classic")


def promised(**fields: Any) -> Spec:
    scope = Scope(**fields)
    promises = for_families(CLASSIC.families)
    spec = CLASSIC.spec(scope)
    return attrs.evolve(
        spec,
        invariants=promises.invariants,
        goals=promises.goals,
        views=promises.views,
    )


SCOPES: list[dict[str, Any]] = [
    {"members": 1},
    {"members": 1, "generations": 1, "any_faults": 2},
    {"members": 1, "generations": 4, "any_faults": 3},
    {"members": 2, "generations": 1},
    {"members": 2, "any_faults": 1},
    {"members": 2, "any_faults": 2},
    {"members": 2, "generations": 4, "faults": {"crash": 1, "session_timeout": 1}},
    {"members": 2, "faults": {"delay_request": 1, "append_failure": 1}},
    {"members": 2, "generations": 2, "faults": {"sync_timeout": 2, "poll_timeout": 1}},
    {"members": 2, "generations": 1, "faults": {"sync_timeout": 2}},
    {"members": 2, "any_faults": 1, "two_step": False},
    {"members": 2, "any_faults": 1, "autocommit": False, "atomic_complete": False},
    {"members": 2, "any_faults": 1, "records": 0, "two_step": False},
    {"members": 2, "any_faults": 1, "records": 3, "generations": 2},
    {"members": 2, "any_faults": 1, "partitions": 3},
    {"members": 2, "any_faults": 1, "partitions": 1, "autocommit": False},
    {"members": 2, "any_faults": 1, "max_size": 1},
    {"members": 2, "any_faults": 1, "max_size": 2, "generations": 2},
    {"members": 2, "any_faults": 1, "protocols": "range,sticky|sticky,range"},
    {"members": 2, "any_faults": 1, "protocols": "range,sticky|sticky"},
    {"members": 2, "any_faults": 1, "protocols": "range|sticky", "generations": 2},
    {"members": 3},
    {"members": 3, "generations": 2, "faults": {"rebalance_timeout": 1}},
    {"members": 3, "generations": 2, "faults": {"late_commit": 1}},
    {"members": 3, "generations": 1, "faults": {"new_member_timeout": 1, "close": 1}},
    {"members": 3, "generations": 2, "faults": {"close": 1}, "max_size": 2},
]


@pytest.mark.parametrize("fields", SCOPES, ids=str)
def test_every_promise_holds(
    fields: dict[str, Any],
) -> None:
    verdict = explore(promised(**fields))
    assert (verdict.verdict, verdict.reason, verdict.violations) == (
        HOLDS,
        "every state of the scope was explored",
        (),
    )


def test_the_judge_says_the_same() -> None:
    spec = promised(members=2, generations=2, faults={"close": 1})
    assert attrs.evolve(
        reference.explore(spec), seconds=0, rule_calls=0, bytes_per_state=0
    ) == attrs.evolve(explore(spec), seconds=0, rule_calls=0, bytes_per_state=0)


def test_no_promise_needs_the_whole_state_at_once() -> None:
    """Such a predicate would be evaluated in Python for every state."""
    promises = for_families(CLASSIC.families)
    assert not [
        p.name for p in (*promises.invariants, *promises.goals) if getattr(p, "whole", False)
    ]


def test_every_promise_says_what_it_promises_why_and_where_it_stands() -> None:
    for promise in for_families(CLASSIC.families).invariants:
        first = promise.statement.partition("\n")[0]
        assert first.endswith("."), promise.name
        assert promise.source, promise.name
        assert "Why: " in promise.statement or promise.name == "answered_at_most_once", promise.name


def test_a_family_without_promises_has_none() -> None:
    nothing = for_families((Family("nobody's", base="nobody"),))
    assert (nothing.invariants, nothing.goals, nothing.views) == ((), (), ())
