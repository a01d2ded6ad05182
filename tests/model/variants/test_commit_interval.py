"""Auto-commit with an interval: when it commits, how much is processed again, and pinned counts."""

from __future__ import annotations

from typing import Any

import pytest

from groupcheck.model.engine import ScopeError
from groupcheck.model.engine.staged import explore
from groupcheck.model.engine.verdict import HOLDS, Verdict
from groupcheck.model.protocol.classic.client import Client, Member
from groupcheck.model.protocol.classic.features.commit_interval import (
    Clock,
    IntervalScope,
    must_wait,
)
from groupcheck.oracles.explain.subject import subject

NAME = "classic+commit_interval"
TIMED = {"members": 1, "generations": 1, "commit_style": "auto"}
BUSY = Client(state=Member.STABLE, generation=1, id=0, owned=1, position=1, dirty=True)


def checked(**fields: Any) -> Verdict:
    return explore(subject(NAME, **fields).spec)


@pytest.mark.parametrize(
    ("fields", "states", "transitions"),
    [
        ({"members": 2, "generations": 1, "records": 1}, 96, 204),
        ({**TIMED, "records": 4, "commit_interval": 2, "faults": {"crash": 1}}, 57, 80),
        ({**TIMED, "records": 2, "commit_interval": 1, "any_faults": 1}, 179, 334),
    ],
)
def test_all_promises_hold(fields: dict[str, Any], states: int, transitions: int) -> None:
    verdict = checked(**fields)
    assert (verdict.verdict, verdict.states, verdict.transitions) == (HOLDS, states, transitions)


def test_without_an_interval_the_clock_changes_nothing() -> None:
    fields = {"members": 2, "generations": 1, "records": 1, "commit_style": "auto"}
    plain = explore(subject("classic", **fields).spec)
    assert checked(**fields).states == plain.states


@pytest.mark.parametrize(
    ("client", "age", "waits"),
    [
        (BUSY, 2, True),
        (BUSY, 1, False),
        (Client(state=Member.STABLE, generation=1, id=0, owned=1, position=1), 2, False),
        (Client(state=Member.PREPARING, id=0, owned=1, position=1, dirty=True), 2, False),
    ],
)
def test_a_poll_commits_before_it_brings_a_record_if_the_interval_is_over(
    client: Client, age: int, waits: bool
) -> None:
    scope = IntervalScope(commit_style="auto", commit_interval=2)
    assert must_wait(client, Clock(age=age), scope) is waits


@pytest.mark.parametrize("interval", [1, 2, 3])
def test_a_whole_interval_may_be_uncommitted_and_no_more(interval: int) -> None:
    verdict = checked(**TIMED, records=4, commit_interval=interval)
    assert verdict.verdict == HOLDS
    assert "an_interval_uncommitted" not in verdict.goals_not_met


def test_an_interval_that_no_member_reaches_commits_nothing_in_poll() -> None:
    verdict = checked(**TIMED, records=2, commit_interval=3)
    assert verdict.rules["send_commit"] == 0
    assert "an_interval_uncommitted" in verdict.goals_not_met


@pytest.mark.parametrize("style", [None, "sync", "async"])
def test_only_members_that_commit_by_themselves_have_an_interval(style: str | None) -> None:
    with pytest.raises(ScopeError, match="only members that commit by themselves"):
        IntervalScope(commit_style=style, commit_interval=1)
