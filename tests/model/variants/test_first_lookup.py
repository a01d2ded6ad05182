"""Members that look for their coordinator when they start: which broker they ask, when they join,
and pinned counts.
"""

from __future__ import annotations

from typing import Any

import pytest

from groupcheck.model.engine import ScopeError
from groupcheck.model.engine.staged import explore
from groupcheck.model.engine.verdict import HOLDS, Verdict
from groupcheck.model.protocol.classic.features.first_lookup import Lookup, least_loaded
from groupcheck.oracles.explain.subject import subject

NAME = "classic+first_lookup"


def checked(**fields: Any) -> Verdict:
    return explore(subject(NAME, **fields).spec)


@pytest.mark.parametrize(
    ("fields", "states", "transitions"),
    [
        ({"members": 1, "generations": 1, "any_faults": 1}, 179, 334),
        ({"members": 1, "generations": 1, "new_cluster": True, "records": 0}, 40, 74),
        ({"members": 2, "generations": 2, "records": 0}, 135, 304),
    ],
)
def test_all_promises_hold(fields: dict[str, Any], states: int, transitions: int) -> None:
    verdict = checked(**fields)
    assert (verdict.verdict, verdict.states, verdict.transitions) == (HOLDS, states, transitions)


@pytest.mark.parametrize(
    ("lookup", "asked"),
    [
        (Lookup(), (0, 1, 2)),
        (Lookup(connected=0b100), (2,)),
        (Lookup(connected=0b100, failed=(1,)), (2,)),
        (Lookup(failed=(1,), backing_off=0b010), (0, 2)),
        (Lookup(failed=(1, 0, 2)), (1,)),
        (Lookup(failed=(1, 0, 2), backing_off=0b010), (0,)),
        (Lookup(failed=(1, 0, 2), backing_off=0b111), ()),
    ],
)
def test_the_least_loaded_broker_is_connected_or_was_tried_longest_ago(
    lookup: Lookup, asked: tuple[int, ...]
) -> None:
    """NetworkClient.leastLoadedNode, of a client that has nothing else in flight."""
    assert least_loaded(lookup, 3) == asked


def test_the_first_look_up_of_a_cluster_is_answered_15_and_makes_the_topic() -> None:
    small = {"members": 1, "generations": 1, "records": 0}
    assert checked(**small).rules["lookup_answer:creates"] == 0
    new = checked(**small, new_cluster=True)
    assert new.rules["lookup_answer:creates"] and new.rules["lookup_answer:unavailable"]
    assert "brokers_disagree" not in new.goals_not_met


def test_a_broker_that_is_down_keeps_nobody_from_joining() -> None:
    verdict = checked(members=1, generations=1, records=0, faults={"broker_down": 1})
    assert verdict.verdict == HOLDS and verdict.rules["lookup_answer:unreachable"]
    assert not {"asks_elsewhere", "stable"} & {*verdict.goals_not_met}


def test_a_process_that_starts_in_the_place_of_another_one_looks_again() -> None:
    verdict = checked(members=1, generations=1, records=0, faults={"crash": 1})
    alone = checked(members=1, generations=1, records=0)
    found = "lookup_answer:found"
    assert verdict.rules[found] > alone.rules[found] > 0


def test_a_fail_over_in_phases_has_a_look_up_of_its_own() -> None:
    with pytest.raises(ScopeError, match="has a look-up of its own"):
        checked(members=1, phases=True)
