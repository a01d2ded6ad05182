"""Applications that unsubscribe: what the member sends, what it hears of its JoinGroup, and pinned
counts.
"""

from __future__ import annotations

from typing import Any

import pytest

from groupcheck.model.engine.staged import explore
from groupcheck.model.engine.verdict import HOLDS, Verdict
from groupcheck.model.protocol.classic.client import Client, Member
from groupcheck.model.protocol.classic.features.unsubscribe import unsubscribe
from groupcheck.model.protocol.faults import Budget
from groupcheck.model.protocol.link import Link
from groupcheck.model.protocol.messages import JoinGroup, LeaveGroup
from groupcheck.oracles.explain.subject import subject

NAME = "classic+unsubscribe"
ONCE = Budget((("unsubscribe", 1),))
OWNS = Client(state=Member.STABLE, generation=1, id=0, owned=1, position=1, dirty=True)


def checked(name: str = NAME, **fields: Any) -> Verdict:
    return explore(subject(name, **fields).spec)


@pytest.mark.parametrize(
    ("fields", "states", "transitions"),
    [
        ({"members": 1, "generations": 1, "any_faults": 1}, 129, 252),
        ({"members": 2, "generations": 1, "faults": {"unsubscribe": 1}}, 436, 1_008),
    ],
)
def test_all_promises_hold(fields: dict[str, Any], states: int, transitions: int) -> None:
    verdict = checked(**fields)
    assert (verdict.verdict, verdict.states, verdict.transitions) == (HOLDS, states, transitions)


def test_it_gives_up_everything_sends_leave_group_and_commits_nothing() -> None:
    ((label, client, link, left),) = unsubscribe.call(OWNS, Link(), ONCE)
    assert (label, client, left) == ("heard", Client(), Budget())
    assert link.request == LeaveGroup(0)
    verdict = checked(members=1, generations=3, faults={"unsubscribe": 1})
    assert "processed_twice" not in verdict.goals_not_met


def test_its_leave_group_waits_behind_a_parked_join_whose_answer_it_ignores() -> None:
    joins = Client(state=Member.PREPARING, id=0)
    parked = Link(parked=JoinGroup(0))
    ((label, client, link, _),) = unsubscribe.call(joins, parked, ONCE)
    assert (label, client, link.queue) == ("behind", Client(), (LeaveGroup(0),))
    verdict = checked(members=1, generations=1, faults={"unsubscribe": 1})
    assert verdict.rules["join_answer:ignored"]


def test_a_member_outside_the_group_and_a_static_one_send_nothing() -> None:
    reset = Client(id=0, owned=1)
    assert [label for label, *_ in unsubscribe.call(reset, Link(), ONCE)] == ["silent"]
    verdict = checked("static_membership+unsubscribe", members=1, faults={"unsubscribe": 1})
    assert verdict.rules["unsubscribe:silent"] and "unsubscribe:heard" not in verdict.rules


def test_a_member_that_waits_in_commit_sync_cannot_unsubscribe() -> None:
    fields = {"members": 1, "generations": 1, "faults": {"unsubscribe": 1, "lose_response": 1}}
    with_style = checked(**fields, commit_style="sync")
    assert "waits_in_commit_sync" not in with_style.goals_not_met
    assert with_style.verdict == HOLDS


def test_whoever_has_unsubscribed_joins_again_in_the_end() -> None:
    spec = subject(NAME, members=1, faults={"unsubscribe": 1}, progress=True).spec
    assert explore(spec).verdict == HOLDS
