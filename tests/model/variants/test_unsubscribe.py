"""Applications that unsubscribe: what the member sends, what it hears of its JoinGroup, and pinned
counts.
"""

from __future__ import annotations

from typing import Any

import pytest

from groupcheck.model.engine import evolve
from groupcheck.model.engine.staged import explore
from groupcheck.model.engine.verdict import HOLDS, Verdict
from groupcheck.model.protocol.classic.client import Calls, Client, Member, join_answer
from groupcheck.model.protocol.classic.features.unsubscribe import unsubscribe
from groupcheck.model.protocol.codes import UNKNOWN_MEMBER_ID
from groupcheck.model.protocol.faults import Budget
from groupcheck.model.protocol.link import Link
from groupcheck.model.protocol.messages import Answer, JoinGroup, LeaveGroup
from groupcheck.model.protocol.transform import own
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


@pytest.mark.parametrize(("calls", "count"), [(Calls.COMMIT_SYNC, 0), (Calls.THREW, 1)])
def test_a_member_that_waits_in_commit_sync_cannot_unsubscribe(calls: Calls, count: int) -> None:
    spec = subject(NAME, members=1, faults={"unsubscribe": 1}, commit_style="sync").spec
    waits = evolve(OWNS, calls=calls)
    assert len([*own(spec, unsubscribe).call(waits, Link(), ONCE, spec.scope)]) == count


def test_a_member_that_has_left_ignores_that_its_old_id_is_unknown() -> None:
    spec = subject(NAME, members=1, faults={"unsubscribe": 1}).spec
    told = Link(answer=Answer(JoinGroup(0), UNKNOWN_MEMBER_ID))
    for client, label in ((Client(), "ignored"), (Client(state=Member.PREPARING, id=0), "refused")):
        assert [found for found, *_ in own(spec, join_answer).call(client, told)] == [label]


def test_whoever_has_unsubscribed_joins_again_in_the_end() -> None:
    spec = subject(NAME, members=1, faults={"unsubscribe": 1}, progress=True).spec
    assert explore(spec).verdict == HOLDS
