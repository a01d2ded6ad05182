"""Pinned answers about groups of static and cooperative members."""

from __future__ import annotations

import pytest

from groupcheck.model.engine.fast.explore import explore
from groupcheck.model.engine.verdict import HOLDS
from groupcheck.oracles.explain.subject import subject


def test_a_group_of_static_and_cooperative_members_keeps_every_promise() -> None:
    verdict = explore(subject("cooperative_static", members=2, any_faults=1).spec)
    assert verdict.verdict == HOLDS
    assert (verdict.states, verdict.transitions) == (14_551, 41_496)


def test_user_data_keeps_every_promise_and_tells_more_states_apart() -> None:
    scope = {"members": 2, "any_faults": 1, "settings": {"user_data": "yes"}}
    verdict = explore(subject("cooperative_static", **scope).spec)
    assert verdict.verdict == HOLDS
    assert (verdict.states, verdict.transitions) == (21_761, 58_246)


@pytest.mark.parametrize("fault", ["rebalance_timeout", "session_timeout"])
def test_a_kept_member_may_own_what_the_leader_gives_away(fault: str) -> None:
    """The leader goes by the last subscription of a static member that misses a round. One that the
    coordinator removes is no member any more, so the members of the generation do not overlap.
    """
    verdict = explore(
        subject(
            "cooperative_static",
            members=2,
            records=0,
            faults={fault: 1},
            invariants=["cooperative_owners_apart"],
        ).spec
    )
    broken = [v.invariant for v in verdict.violations]
    assert broken == (["cooperative_owners_apart"] if fault == "rebalance_timeout" else [])


def test_in_two_generations_of_one_number_a_kept_member_is_not_blamed() -> None:
    """A fail-over undoes a generation; the same number is issued again, to other members."""
    scope = {"members": 3, "records": 0, "faults": {"fail_over": 1, "rebalance_timeout": 1}}
    assert explore(subject("cooperative_static", **scope).spec).verdict == HOLDS
