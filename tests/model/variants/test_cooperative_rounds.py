"""A change costs a cooperative group one round more at most, and each exception is one."""

from __future__ import annotations

from typing import Any

import pytest

from groupcheck.model.engine.fast.explore import explore
from groupcheck.model.engine.verdict import HOLDS, VIOLATED
from groupcheck.model.protocol.classic.features import round_count
from groupcheck.model.variants import load
from groupcheck.oracles.explain.subject import subject


@pytest.mark.parametrize(
    ("fields", "states", "transitions"),
    [
        ({"members": 2, "generations": 6, "any_faults": 1}, 6_298, 16_628),
        ({"members": 3, "generations": 5}, 22_526, 62_646),
    ],
)
def test_a_change_costs_one_round_more_at_most(
    fields: dict[str, Any], states: int, transitions: int
) -> None:
    verdict = explore(subject("cooperative_rounds", records=0, **fields).spec)
    assert (verdict.verdict, verdict.states, verdict.transitions) == (HOLDS, states, transitions)
    assert "second_round" not in verdict.goals_not_met


@pytest.mark.parametrize(
    ("rule", "fault"),
    [
        ("lose_request", "lose_request"),
        ("lose_response", "lose_response"),
        ("disconnect", "disconnect"),
        ("append_failed", "append_failure"),
        ("fail_over", "fail_over"),
    ],
)
def test_each_exception_costs_more(rule: str, fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """If it does not count as a change, the promise breaks."""
    fewer = {name: labels for name, labels in round_count.EXCEPTIONS.items() if name != rule}
    assert len(fewer) == len(round_count.EXCEPTIONS) - 1 == 4
    monkeypatch.setattr(round_count, "EXCEPTIONS", fewer)
    scope: dict[str, Any] = {"members": 2, "generations": 6, "records": 0, "faults": {fault: 1}}
    verdict = explore(subject("cooperative_rounds", **scope).spec)
    assert [v.invariant for v in verdict.violations] == ["one_more_round"]


@pytest.mark.parametrize("fault", ["crash", "close", "poll_timeout", "late_commit"])
def test_what_a_member_does_by_itself_is_no_exception(fault: str) -> None:
    """It is not among the changes; what the coordinator hears of it may be."""
    assert fault not in {*round_count.CHANGES, *round_count.EXCEPTIONS}
    scope: dict[str, Any] = {"members": 2, "generations": 6, "records": 0, "faults": {fault: 1}}
    assert explore(subject("cooperative_rounds", **scope).spec).verdict == HOLDS


def test_a_member_that_joins_is_a_change(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the round that its join makes would count as one more."""
    fewer = {name: labels for name, labels in round_count.CHANGES.items() if name != "join_group"}
    monkeypatch.setattr(round_count, "CHANGES", fewer)
    verdict = explore(subject("cooperative_rounds", members=2, generations=4, records=0).spec)
    assert (verdict.verdict, [v.invariant for v in verdict.violations]) == (
        VIOLATED,
        ["one_more_round"],
    )


def test_the_ghost_changes_nothing_else() -> None:
    """The cooperative group has the same states if the ghost is left out of them."""
    scope: dict[str, Any] = {"members": 2, "generations": 3, "partitions": 2}
    assert load("cooperative_rounds").scope_type(**scope).assignor == "sticky"
    plain = explore(subject("cooperative", **scope).spec)
    counted = explore(subject("cooperative_rounds", **scope).spec)
    fired = {n for n, count in counted.rules.items() if count}
    assert fired == {n for n, count in plain.rules.items() if count}
    assert counted.states >= plain.states
