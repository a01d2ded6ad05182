"""Members that are heard, those of today's client and of an old one, and pinned counts."""

from __future__ import annotations

from typing import Any

import pytest

from groupcheck.model.engine.staged import explore
from groupcheck.model.engine.verdict import HOLDS, Verdict
from groupcheck.model.protocol.classic.client import Client, Member, Prepare
from groupcheck.model.protocol.classic.features.heartbeats import heard
from groupcheck.model.protocol.link import Link
from groupcheck.model.protocol.messages import SyncGroup
from groupcheck.oracles.explain.subject import subject

ENDS = {"members": 1, "generations": 2, "records": 0, "faults": {"session_timeout": 1}}


def checked(**fields: Any) -> Verdict:
    return explore(subject("classic+heartbeats", **fields).spec)


@pytest.mark.parametrize(
    ("fields", "states", "transitions"),
    [
        ({"members": 1, "generations": 1, "any_faults": 1}, 131, 252),
        ({**ENDS, "old_client": True}, 26, 32),
        ({**ENDS, "members": 2, "generations": 1}, 302, 712),
    ],
)
def test_all_promises_hold(fields: dict[str, Any], states: int, transitions: int) -> None:
    verdict = checked(**fields)
    assert (verdict.verdict, verdict.states, verdict.transitions) == (HOLDS, states, transitions)


@pytest.mark.parametrize(
    ("client", "link", "today", "before"),
    [
        (Client(state=Member.STABLE), Link(), True, True),
        (Client(state=Member.STABLE, granted=1), Link(), True, False),
        (Client(state=Member.COMPLETING, prepare=Prepare.DONE), Link(), True, False),
        (
            Client(state=Member.COMPLETING, prepare=Prepare.DONE),
            Link(parked=SyncGroup(0, 1)),
            False,
            False,
        ),
        (Client(state=Member.PREPARING, prepare=Prepare.DONE), Link(), False, False),
        (Client(state=Member.STABLE), Link(stale=True), False, False),
        (Client(state=Member.STABLE), Link(seeks=True), False, False),
    ],
)
def test_an_old_client_is_not_heard_before_it_has_its_share(
    client: Client, link: Link, today: bool, before: bool
) -> None:
    assert (heard(client, link, False), heard(client, link, True)) == (today, before)


def test_only_an_old_client_is_removed_before_it_polls() -> None:
    goal = "removed_before_it_polls"
    assert goal in checked(**ENDS).goals_not_met
    assert goal not in checked(**ENDS, old_client=True).goals_not_met


def test_a_session_ends_of_who_is_gone_of_an_unused_id_and_of_a_leader_that_makes_its_plan() -> (
    None
):
    making = Client(state=Member.COMPLETING, prepare=Prepare.SYNC)
    assert not heard(making, Link(), False)
    alone = checked(**ENDS)
    assert alone.rules["session_timeout:member"] == 1 and alone.rules["session_timeout:pending"]
    crashes = checked(**{**ENDS, "faults": {"session_timeout": 1, "crash": 1}})
    assert crashes.rules["session_timeout:member"] > 1


def test_the_thread_of_an_old_client_does_not_watch_the_poll_interval_while_it_waits() -> None:
    late = {**ENDS, "faults": {"poll_timeout": 1}}
    counts = [checked(**late, old_client=old).rules["poll_timeout:heard"] for old in (False, True)]
    assert counts[0] > counts[1] > 0


def test_a_member_whose_coordinator_has_moved_may_be_removed_by_the_new_one() -> None:
    moves = {**ENDS, "faults": {"fail_over": 1, "session_timeout": 1}, "phases": True}
    verdict = checked(**moves)
    assert verdict.verdict == HOLDS and verdict.rules["session_timeout:member"]
