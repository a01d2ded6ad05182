"""What has to happen in groups of static members in the end, where that is less than in other
groups, and what they need for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs
import pytest

from groupcheck.invariants.registry import for_families
from groupcheck.model.engine import Spec
from groupcheck.model.engine.staged import explore
from groupcheck.model.engine.verdict import Verdict
from groupcheck.model.protocol.classic.client import Client, sync_answer
from groupcheck.model.protocol.classic.features.progress.timers import nobody_will_join
from groupcheck.model.protocol.classic.group import Core, Phase
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.model.protocol.link import Link
from groupcheck.model.protocol.transform import own, rebuilt, rewritten
from groupcheck.model.variants import load
from groupcheck.oracles.explain.subject import subject

STATIC = ("static_membership", "cooperative_static")


def spec(variant: str, **scope: Any) -> Spec:
    return subject(variant, progress=True, **scope).spec


def judged(given: Spec) -> Verdict:
    return explore(given, liveness=True)


def broken(given: Spec) -> set[str]:
    return {violation.invariant for violation in judged(given).violations}


NIGHT = pytest.mark.night


@pytest.mark.parametrize(
    ("variant", "scope", "states", "transitions"),
    [
        ("static_membership", {"members": 1, "any_faults": 3}, 6_178, 27_466),
        ("static_membership", {"members": 2, "any_faults": 1}, 6_911, 23_315),
        ("static_membership", {"members": 2, "faults": {"hang": 2}}, 4_932, 14_132),
        ("static_membership", {"members": 2, "max_size": 1, "faults": {"crash": 1}}, 157, 364),
        pytest.param(
            "cooperative_static", {"members": 2, "any_faults": 1}, 16_593, 57_751, marks=NIGHT
        ),
        ("cooperative_static", {"members": 2, "faults": {"hang": 2}}, 10_342, 31_020),
    ],
    ids=str,
)
def test_a_healthy_group_keeps_every_promise(
    variant: str, scope: dict[str, Any], states: int, transitions: int
) -> None:
    verdict = judged(spec(variant, **scope))
    promises = [p.name for p in for_families(load(variant).families).progress]
    assert dict(verdict.progress) == dict.fromkeys(promises, "holds")
    assert (verdict.states, verdict.transitions) == (states, transitions)


@pytest.mark.parametrize("variant", STATIC)
@pytest.mark.parametrize(
    ("scope", "rule", "promise"),
    [
        ({"members": 1, "faults": {"crash": 1}}, "takeover_committed", "request_answered"),
        ({"members": 2, "faults": {"hang": 2}}, "poll_over", "round_completes"),
    ],
    ids=str,
)
def test_without_one_fair_rule_a_promise_is_broken(
    variant: str, scope: dict[str, Any], rule: str, promise: str
) -> None:
    given = spec(variant, **scope)
    less = [action for action in given.fair if rule not in action.names]
    assert len(less) == len(given.fair) - 1
    assert promise in broken(attrs.evolve(given, fair=less))


@pytest.mark.parametrize(("variant", "ends"), [("static_membership", False), ("classic", True)])
def test_the_timer_of_a_round_that_nobody_joins_ends_it_only_for_dynamic_members(
    variant: str, ends: bool
) -> None:
    """The situation "a round that no static member joins goes on until their sessions expire" shows
    it of the real coordinator.
    """
    scope = load(variant).scope_type(members=2)
    waiting = Core(phase=Phase.PREPARING, generation=1, led=True, members=1)
    assert bool(list(nobody_will_join.call(waiting, scope))) == ends
    assert list(nobody_will_join.call(attrs.evolve(waiting, members=2, parked=1), scope))


def test_a_partition_may_be_withheld_from_nobody() -> None:
    """The leader withholds what a static member owns; that comes back and owns nothing."""
    restart = {"members": 2, "records": 0, "faults": {"crash": 1}}
    verdict = explore(subject("cooperative_static", generations=2, **restart).spec)
    assert verdict.goals["withheld_from_nobody"] == 14


def test_a_partition_may_not_be_withheld_for_ever_from_its_owner() -> None:
    given = spec("cooperative_static", members=2, records=0)
    usual = own(given, sync_answer)

    def call(client: Client, link: Link, scope: Scope) -> Iterator[tuple[str, Client, Link]]:
        for label, after, rest in usual.call(client, link, scope):
            kept = attrs.evolve(after, owned=client.owned | after.owned, rejoin=False)
            yield label, kept if label == "assigned" else after, rest

    stubborn = rebuilt(given, [rewritten(usual, call)])
    assert "every_partition_assigned" in broken(stubborn)
