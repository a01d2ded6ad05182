"""K12 of protocol.md 7.8: a claim is made at the next generation. Two claims to one partition in
one generation, which would make a leader give it to neither or to the wrong one, do not follow from
that; they need a static member that a fail-over has left behind.
"""

from __future__ import annotations

from typing import Annotated, Any

import attrs
import pytest

from groupcheck.model.engine import goal
from groupcheck.model.engine.fast.explore import explore
from groupcheck.model.engine.verdict import HOLDS
from groupcheck.model.protocol.classic.group import Core, Phase, Seats
from groupcheck.oracles.explain.subject import subject


@goal
def claimed_twice(
    core: Core, a: Annotated[Seats, "seats[i]"], b: Annotated[Seats, "seats[j]"]
) -> bool:
    """Two members claim the same partition in the same generation."""
    joins = core.phase == Phase.PREPARING
    pairs = ((s, t) for _, s in a for _, t in b if s.join and t.join and s.owned & t.owned)
    return joins and any(s.claimed == t.claimed for s, t in pairs)


LATE: dict[str, Any] = {"generations": 3, "records": 0}


@pytest.mark.parametrize(
    ("variant", "scope", "claims", "twice"),
    [
        ("cooperative", {"generations": 2, "any_faults": 1}, 11, None),
        ("cooperative", {**LATE, "faults": {"fail_over": 1, "rebalance_timeout": 1}}, 13, None),
        (
            "cooperative_static",
            {**LATE, "faults": {"fail_over": 1, "rebalance_timeout": 1}},
            10,
            17,
        ),
    ],
    ids=str,
)
def test_a_claim_at_the_next_generation_and_two_equal_claims_are_different_things(
    variant: str, scope: dict[str, Any], claims: int, twice: int | None
) -> None:
    spec = subject(variant, members=2, **scope).spec
    verdict = explore(attrs.evolve(spec, goals=[*spec.goals, claimed_twice]))
    assert verdict.verdict == HOLDS  # `hand_off` with it
    found = (verdict.goals["claims_without_share"], verdict.goals["claimed_twice"])
    assert found == (claims, twice)
