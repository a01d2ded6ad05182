"""Rebalances that are no sign of a calm group."""

from __future__ import annotations

import pytest

from groupcheck.oracles.replay.unsettled import unsettled
from groupcheck.traces.findings.user_impact import findings_of
from groupcheck.traces.story.events import RebalanceCause
from groupcheck.traces.story.moments import Moment, Round
from groupcheck.traces.story.timeline import Timeline


def rebalance(
    generation: int, at: int, took: int, cause: RebalanceCause = RebalanceCause.JOIN
) -> Round:
    """One that begins after `at` ms and is over `took` ms later."""
    done = Moment(at + 1, at + took)
    return Round(
        Moment(at, at), generation - 1, generation, cause=cause, joined_at=done, assigned=done,
        outcome="assigned",
    )  # fmt: skip


def test_a_group_that_starts_may_be_calm() -> None:
    assert unsettled([]) == ""
    assert unsettled([rebalance(n, 4_000 * n, 3_000) for n in range(1, 5)]) == ""


def test_one_that_took_long_waited_for_a_member() -> None:
    assert "took 27.5 s" in unsettled([rebalance(3, 0, 27_500)])


def test_new_members_one_after_the_other_make_no_calm_group_that_has_lived() -> None:
    often = [rebalance(n, 4_000 * n, 2_000) for n in range(50, 54)]
    assert "4 rebalances within 12.0 s, each with a new member" in unsettled(often)
    assert unsettled([rebalance(n, 60_000 * n, 2_000) for n in range(50, 54)]) == ""


def test_one_that_begins_when_the_one_before_is_over_makes_no_calm_group() -> None:
    rejoin = RebalanceCause.MEMBER_REJOIN
    assert "at once" in unsettled([rebalance(n, 3_000 * n, 2_900, rejoin) for n in range(50, 54)])


def test_a_last_rebalance_that_is_open_or_leaves_nobody_is_told() -> None:
    last = rebalance(5, 0, 100)
    last.assigned, last.joined_at, last.outcome = None, None, "open"
    assert "not over" in unsettled([last])
    last.outcome, last.cause = "emptied", RebalanceCause.SESSION_EXPIRED
    assert "no members" in unsettled([last])
    last.cause = RebalanceCause.LEAVE
    assert unsettled([last]) == ""


@pytest.mark.parametrize(
    ("before", "shown"), [((), True), (("assigned",), True), (("interrupted",), False)]
)
def test_health_and_findings_agree_on_a_last_rebalance_that_no_line_ends(
    before: tuple[str, ...], shown: bool
) -> None:
    rounds = [rebalance(n, 20_000 * n, 100) for n in range(4, 5 + len(before))]
    for r, outcome in zip(rounds, (*before, "open"), strict=True):
        if outcome != "assigned":
            r.assigned, r.joined_at, r.outcome = None, None, outcome
    found = findings_of(Timeline(rounds=rounds, last=Moment(9, 120_000))).unsettled
    assert (found is not None) == shown
    assert unsettled(rounds) == (
        "its last rebalance is not over when its log ends"
        if shown
        else "no line shows how its last rebalance ends"
    )
