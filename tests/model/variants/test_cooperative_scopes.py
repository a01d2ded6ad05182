"""Pinned answers about the cooperative group: what holds, what an eager assignor does to it, and
what has to happen in the end.
"""

from __future__ import annotations

from typing import Any

import pytest

from groupcheck.model.engine.fast.explore import explore
from groupcheck.model.engine.verdict import HOLDS
from groupcheck.oracles.explain.subject import subject


@pytest.mark.parametrize(
    ("scope", "states", "transitions"),
    [
        ({"members": 2, "any_faults": 1}, 15_014, 42_030),
        ({"members": 2, "any_faults": 1, "settings": {"user_data": "yes"}}, 22_290, 58_698),
        ({"members": 2, "partitions": 2}, 338, 728),
        ({"members": 2, "partitions": 2, "assignor": "any"}, 862, 1_990),
        ({"members": 3}, 8_654, 24_459),
    ],
    ids=str,
)
def test_a_cooperative_group_keeps_every_promise(
    scope: dict[str, Any], states: int, transitions: int
) -> None:
    verdict = explore(subject("cooperative", **scope).spec)
    assert verdict.verdict == HOLDS
    assert (verdict.states, verdict.transitions) == (states, transitions)


def test_one_bounce_to_cooperative_members_under_an_eager_assignor_gives_a_partition_twice() -> (
    None
):
    """Why the upgrade takes two rolling bounces (KIP-429): members that keep their partitions
    while the group still uses `range`.
    """
    verdict = explore(subject("cooperative", members=3, generations=2, assignor="range").spec)
    assert [(v.invariant, v.depth) for v in verdict.violations] == [("hand_off", 16)]


@pytest.mark.parametrize(
    "scope",
    [
        {"members": 2, "faults": {"session_timeout": 1}},
        {"members": 2, "partitions": 2, "faults": {"hang": 1}},
    ],
    ids=str,
)
def test_what_is_withheld_is_given_away_in_the_end(scope: dict[str, Any]) -> None:
    verdict = explore(subject("cooperative", progress=True, **scope).spec, liveness=True)
    assert dict(verdict.progress)["every_partition_assigned"] == "holds"
    assert set(dict(verdict.progress).values()) == {"holds"}


def test_a_member_that_revokes_and_does_not_join_again_leaves_a_partition_to_nobody() -> None:
    bug = subject("cooperative", progress=True, mutation="revokes_without_joining_again")
    broken = {v.invariant for v in explore(bug.spec, liveness=True).violations}
    assert broken == {"every_partition_assigned"}


def test_an_assignor_that_takes_something_else_in_each_round_never_comes_to_rest() -> None:
    scope = subject("cooperative", progress=True, members=2, partitions=2, assignor="any")
    verdict = explore(scope.spec, liveness=True)
    assert dict(verdict.progress)["group_settles"] == "violated"
