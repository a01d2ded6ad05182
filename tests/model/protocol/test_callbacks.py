"""Callbacks that commit, throw and take long. The comparison with the real client is in
`tests/oracles/conform/test_callbacks_of_java.py`.
"""

from __future__ import annotations

from typing import Any

from groupcheck.model.engine import evolve
from groupcheck.model.protocol.classic.client import NOTHING, Client, Member, Prepare
from groupcheck.model.protocol.classic.features.callbacks import callback_runs
from groupcheck.model.protocol.classic.offsets import Offsets, process_record
from groupcheck.model.protocol.codes import FENCED_INSTANCE_ID, ILLEGAL_GENERATION
from groupcheck.model.protocol.faults import Budget
from groupcheck.model.protocol.link import Link
from groupcheck.model.protocol.messages import (
    NO_GENERATION,
    NO_ID,
    Answer,
    Heartbeat,
    JoinGroup,
    OffsetCommit,
)
from groupcheck.model.variants import load

EAGER, COOPERATIVE = load("callbacks"), load("cooperative_callbacks")
SCOPE = EAGER.scope_type(members=2, partitions=2)
OWNER = Client(Member.STABLE, generation=1, id=0, rejoin=True, owned=1, position=0)
REVOKING = evolve(OWNER, prepare=Prepare.REVOKING)


def rules(variant: Any) -> dict[str, Any]:
    return {rule.name: rule for rule in variant.spec(variant.scope_type()).rules}


def test_an_eager_member_calls_back_before_it_joins_and_owns_its_partitions_meanwhile():
    (called,) = rules(EAGER)["call_back"].call(OWNER, Link(), SCOPE)
    assert called == (REVOKING, Link())
    assert list(rules(EAGER)["send_join"].call(OWNER, Link(), SCOPE)) == []
    assert list(rules(EAGER)["call_back"].call(REVOKING, Link(), SCOPE)) == []


def test_a_callback_that_returns_is_followed_by_join_group_and_one_that_throws_is_not():
    ways = {
        label: (after, link) for label, after, link in callback_runs.call(REVOKING, Link(), SCOPE)
    }
    joined, link = ways["returned"]
    assert link.request == JoinGroup(0, 1) and joined.state == Member.PREPARING
    threw, link = ways["threw"]
    assert link.request is None and threw.state == Member.STABLE and threw.rejoin
    assert joined.owned == threw.owned == 0
    ((_, sent, link),) = rules(EAGER)["send_join"].call(threw, Link(), SCOPE)
    assert link.request == JoinGroup(0, 1) and sent == joined


def test_nothing_is_processed_while_the_callback_runs():
    reading = evolve(OWNER, rejoin=False)
    assert list(process_record.call(reading, Offsets(), SCOPE)) != []
    assert (
        list(process_record.call(evolve(reading, prepare=Prepare.REVOKING), Offsets(), SCOPE)) == []
    )


def test_a_member_that_has_left_meanwhile_commits_nothing_and_gives_everything_up():
    gone = Client(owned=1, position=1, dirty=True, prepare=Prepare.REVOKING)
    assert list(callback_runs.call(gone, Link(), SCOPE)) == [("returned", Client(), Link())]


def test_a_member_that_is_fenced_while_its_callback_runs_joins_once_more_before_it_stops():
    told = evolve(Link(), answer=Answer(Heartbeat(0, 1), FENCED_INSTANCE_ID))
    ((_, fenced, link),) = rules(EAGER)["heartbeat_answer"].call(REVOKING, told)
    ways = {label: (after, link) for label, after, link in callback_runs.call(fenced, link, SCOPE)}
    stopped, link = ways["returned"]
    assert (link.request, link.live) == (JoinGroup(NO_ID), False)
    assert (stopped.failed, stopped.owned) == (FENCED_INSTANCE_ID, 0)
    assert ways["threw"] == (stopped, Link())


def test_a_commit_that_is_answered_22_costs_the_id_only_where_it_ends_on_join_complete():
    for variant, granted, id in ((EAGER, NOTHING, 0), (COOPERATIVE, 0, NO_ID)):
        revoking = evolve(REVOKING, granted=granted)
        told = evolve(Link(), answer=Answer(OffsetCommit(0, 1, 0), ILLEGAL_GENERATION))
        scope = variant.scope_type(members=2, partitions=2)
        ((_, after, _),) = rules(variant)["commit_answer"].call(revoking, told, scope)
        assert (after.state, after.generation, after.id) == (Member.UNJOINED, NO_GENERATION, id)
        assert (after.owned, after.granted) == (0, NOTHING)


def test_nobody_closes_while_the_callback_runs():
    budget = Budget((("close", 1), ("delay_request", 1), ("lose_request", 1)))
    for name in ("close", "delay_request"):
        scope = [SCOPE] if name == "delay_request" else []
        between = list(rules(EAGER)[name].call(evolve(OWNER, rejoin=False), Link(), budget, *scope))
        assert between and not list(rules(EAGER)[name].call(REVOKING, Link(), budget, *scope))


def test_a_cooperative_member_calls_back_in_its_new_generation_and_then_takes_its_share():
    scope = COOPERATIVE.scope_type(members=2, partitions=2)
    both = Client(
        Member.STABLE,
        generation=2,
        id=0,
        owned=3,
        position=1,
        dirty=True,
        granted=2,
        prepare=Prepare.REVOKING,
    )
    ways = {label: (after, link) for label, after, link in callback_runs.call(both, Link(), scope)}
    assert ways["committed"][1].request == OffsetCommit(0, 2, 1)
    taken, link = ways["returned"]
    assert link == Link() and "threw" not in ways
    assert (taken.owned, taken.rejoin, taken.position) == (2, True, -1)


def test_a_heartbeat_that_is_refused_does_not_end_the_callback():
    answers = {22: 0, 25: -1}
    for code, id in answers.items():
        beat = Heartbeat(0, 1)
        link = evolve(Link(), answer=Answer(beat, code))
        ((label, after, _),) = rules(COOPERATIVE)["heartbeat_answer"].call(REVOKING, link)
        assert label == "refused" and after.prepare == Prepare.REVOKING
        assert (after.state, after.id, after.owned) == (Member.UNJOINED, id, 1)
