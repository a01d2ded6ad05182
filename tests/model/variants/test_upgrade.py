"""The rolling upgrade from eager to cooperative rebalancing: which members meet, that two bounces
are safe in every interleaving, and what one bounce leads to.
"""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from groupcheck.invariants.registry import for_families
from groupcheck.model.engine import ScopeError, reference
from groupcheck.model.engine.fast.explore import explore
from groupcheck.model.engine.verdict import HOLDS, Verdict
from groupcheck.model.protocol.classic.features.cooperative import FAMILY as FAMILY
from groupcheck.model.protocol.classic.features.upgrade import COOPERATIVE, is_cooperative
from groupcheck.model.variants import load
from groupcheck.oracles.explain.subject import subject

ONE = f"range>{COOPERATIVE}"


def found(**fields: Any) -> Verdict:
    return explore(subject("upgrade", members=2, **fields).spec)


@pytest.mark.parametrize(
    ("listed", "cooperative"),
    [
        (("range",), False),
        (("range", COOPERATIVE), False),
        ((COOPERATIVE, "range"), False),
        ((COOPERATIVE,), True),
        (("sticky",), False),
    ],
)
def test_a_member_is_cooperative_if_all_its_assignors_are(
    listed: tuple[str, ...], cooperative: bool
) -> None:
    """`test_cooperative_member.py` asks Kafka's member the same."""
    assert is_cooperative(listed) == cooperative


@pytest.mark.parametrize(
    ("fields", "states", "transitions"),
    [
        ({"generations": 2, "any_faults": 1}, 6_236, 17_604),
        (
            {
                "generations": 3,
                "protocols": f"{COOPERATIVE}|{COOPERATIVE},range",
                "any_faults": 1,
            },
            11_624,
            32_431,
        ),
        (
            {"generations": 5, "records": 0, "faults": {"close": 2, "bounce": 2}},
            22_768,
            54_856,
        ),
    ],
)
def test_members_of_both_protocols_keep_every_promise(
    fields: dict[str, Any], states: int, transitions: int
) -> None:
    verdict = found(**fields)
    assert (verdict.verdict, verdict.states, verdict.transitions) == (HOLDS, states, transitions)


def test_what_holds_of_claims_in_a_cooperative_group_holds_beside_eager_members() -> None:
    """All promises of cooperative groups but `joining_keeps`, which an eager member does not."""
    fields = {"members": 2, "generations": 2, "protocols": f"{COOPERATIVE},range|{COOPERATIVE}"}
    spec = subject("upgrade", any_faults=1, **fields).spec
    kept = [p for p in for_families((FAMILY,)).invariants if p.name != "joining_keeps"]
    assert len(kept) == 6
    assert explore(attrs.evolve(spec, invariants=kept)).verdict == HOLDS


def test_two_bounces_lead_to_a_cooperative_group() -> None:
    """Both processes have been through the first bounce; then each is restarted once more."""
    scope: dict[str, Any] = {"generations": 5, "records": 0, "faults": {"close": 2, "bounce": 2}}
    verdict = found(protocols="|".join([f"{COOPERATIVE},range"] * 2), **scope)
    assert verdict.verdict == HOLDS
    goals = {"upgraded", "both_protocols_in_one_generation"}
    assert not goals & {*verdict.goals_not_met}
    assert "bounce_refused" in verdict.goals_not_met
    assert verdict.rules["join_group:inconsistent"] == 0


def test_one_bounce_is_refused_while_an_eager_member_is_there_and_breaks_nothing() -> None:
    scope: dict[str, Any] = {"generations": 4, "records": 0, "faults": {"close": 2, "bounce": 2}}
    verdict = found(bounces=ONE, **scope)
    assert (verdict.verdict, verdict.states) == (HOLDS, 16_193)
    assert not {"bounce_refused", "upgraded"} & {*verdict.goals_not_met}
    assert "both_protocols_in_one_generation" in verdict.goals_not_met


def test_the_obvious_search_counts_the_same() -> None:
    scope: dict[str, Any] = {"members": 1, "generations": 3, "faults": {"close": 1, "bounce": 1}}
    spec = subject("upgrade", **scope).spec
    fast, plain = explore(spec), reference.explore(spec)
    assert (fast.states, fast.transitions, fast.rules) == (
        plain.states,
        plain.transitions,
        plain.rules,
    )


@pytest.mark.parametrize("fields", [{"protocols": "own|range"}, {"bounces": "range>own"}])
def test_an_assignor_whose_protocols_nobody_knows_is_refused(fields: dict[str, str]) -> None:
    with pytest.raises(ScopeError, match="assignors of Kafka's, and 'own' is none"):
        load("upgrade").scope_type(**fields)
