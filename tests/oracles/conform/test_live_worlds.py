"""What the model lets one expect of a broker, on groups small enough to know by hand; and what it
makes of answers that are not so.
"""

from __future__ import annotations

from typing import Any

import pytest

from groupcheck.model.protocol.messages import NO_ID, Heartbeat, JoinGroup, LeaveGroup, SyncGroup
from groupcheck.oracles.conform.conformance import rows_at
from groupcheck.oracles.conform.row import STRANGER, Asks
from groupcheck.oracles.conform.rows import Rows
from groupcheck.oracles.judge.following import worlds
from groupcheck.oracles.judge.following.refused import SAID
from groupcheck.oracles.judge.following.requests import JOIN_GROUP, versions, wire
from groupcheck.oracles.judge.following.said import subscription
from groupcheck.oracles.judge.following.worlds import (
    UNANSWERED,
    UNASKED,
    Problem,
    RequestNumber,
    World,
    ends,
    fits,
)
from groupcheck.oracles.judge.live.asking import SPOKEN
from groupcheck.oracles.wire.connections import Answered, Closed
from groupcheck.traces.messages import consumer_protocol


@pytest.fixture(scope="module")
def rows() -> Rows:
    return rows_of("classic")


def rows_of(variant: str, **settings: str) -> Rows:
    return rows_at(variant, 2, 6, (), None, settings)[1]


def joined(member: str, generation: int, leader: str, *members: str, **more: Any) -> dict[str, Any]:
    """An answer to JoinGroup; `members` as `x` or, with its instance, `x=i0`."""
    listed = []
    for one in members:
        name, _, instance = one.partition("=")
        listed.append({"memberId": name, "groupInstanceId": instance or None, "metadata": SAID})
    about = {"errorCode": 0, "memberId": member, "generationId": generation, "leader": leader}
    return {**about, "protocolName": "range", "members": listed, **more}


def reached(
    rows: Rows,
    world: World,
    given: Asks,
    number: int,
    answers: dict[int, Answered],
    version: int = 8,
) -> set[World]:
    """The worlds in which the broker may be when it has answered so."""
    every = ends(rows, [world], given, RequestNumber(number, version))
    return {w for end in every if (w := fits(end, answers)) is not None}


def after(*step: Any, **how: Any) -> World:
    """The only one of them."""
    (one,) = reached(*step, **how)
    return one


@pytest.fixture
def alone(rows: Rows) -> World:
    """One member, `x`, with the partitions of its plan."""
    world = World(rows.start(), "gone")
    world = after(
        rows, world, Asks(0, JoinGroup(NO_ID)), 1, {1: {"errorCode": 79, "memberId": "x"}}
    )
    (id, _), = world.memory.seats[0].ids  # fmt: skip
    world = after(rows, world, Asks(0, JoinGroup(id)), 2, {2: joined("x", 1, "x", "x")})
    return after(
        rows,
        world,
        Asks(0, SyncGroup(id, 1)),
        3,
        {3: {"errorCode": 0, "assignment": worlds.share_bytes(3)}},
    )


def test_the_first_member_joins_an_empty_group_alone_and_without_waiting(rows: Rows, alone: World):
    assert (
        alone.name(0, 0) == "x" and alone.parked == () and str(alone.memory.core.phase) == "Stable"
    )


def test_a_heartbeat_is_answered_in_exactly_one_way(rows: Rows, alone: World):
    given = Asks(0, Heartbeat(0, 1))
    assert after(rows, alone, given, 9, {9: {"errorCode": 0}}) == alone
    for wrong in (
        {9: {"errorCode": 27}},
        {},
        {9: {"errorCode": 0}, 8: {"errorCode": 0}},
        {9: Closed()},
    ):
        assert not reached(rows, alone, given, 9, wrong)


def test_a_join_that_has_to_wait_is_answered_together_with_the_one_that_it_waits_for(
    rows: Rows, alone: World
):
    world = after(
        rows, alone, Asks(1, JoinGroup(NO_ID)), 4, {4: {"errorCode": 79, "memberId": "y"}}
    )
    world = after(rows, world, Asks(1, JoinGroup(0)), 5, {})
    assert world.parked == ((1, RequestNumber(5, 8)),)
    both = {5: joined("y", 2, "x"), 6: joined("x", 2, "x", "x", "y")}
    assert after(rows, world, Asks(0, JoinGroup(0)), 6, both).parked == ()
    for wrong in (
        both | {5: joined("y", 2, "y", "x", "y")},
        both | {6: joined("x", 3, "x", "x", "y")},
        both | {6: joined("x", 2, "x", "x")},
        both | {6: joined("x", 2, "x", "x", "y=i1")},
        both | {6: joined("x", 2, "x", "x", "y", protocolName="sticky")},
    ):
        assert not reached(rows, world, Asks(0, JoinGroup(0)), 6, wrong)


def test_an_id_that_has_left_is_the_one_that_nobody_knows(rows: Rows, alone: World):
    world = after(
        rows,
        alone,
        Asks(0, LeaveGroup(0)),
        4,
        {4: {"errorCode": 0, "members": [{"memberId": "x", "errorCode": 0}]}},
    )
    assert world.names == () and world.name(0, STRANGER) == world.name(0, 0) == "x"


def test_the_leader_alone_brings_a_plan_with_a_share_for_each(rows: Rows, alone: World):
    world = after(
        rows, alone, Asks(1, JoinGroup(NO_ID)), 4, {4: {"errorCode": 79, "memberId": "y"}}
    )
    world = after(rows, world, Asks(1, JoinGroup(0)), 5, {})
    world = after(
        rows,
        world,
        Asks(0, JoinGroup(0)),
        6,
        {5: joined("y", 2, "x"), 6: joined("x", 2, "x", "x", "y")},
    )
    assert worlds.plan(rows, world, Asks(0, SyncGroup(0, 2))) == (
        ("x", worlds.share_bytes(1)),
        ("y", worlds.share_bytes(2)),
    )
    assert worlds.plan(rows, world, Asks(1, SyncGroup(0, 2))) is None


def test_what_is_not_as_expected_is_said_in_words(rows: Rows, alone: World):
    (end,) = ends(rows, [alone], Asks(0, Heartbeat(0, 1)), RequestNumber(9))
    assert worlds.problems(end, {8: {"errorCode": 3}}) == [
        Problem(UNANSWERED, "request 9 gets no answer, in the model error 0"),
        Problem(UNASKED, "request 8 is answered with error 3, in the model not at all"),
    ]
    assert worlds.problems(end, {9: {"errorCode": 27}}) == [
        Problem("errorCode", "request 9: error is 27, in the model 0")
    ]


def test_an_id_that_nobody_was_told_is_not_used_and_is_learned_from_the_answer(
    rows: Rows, alone: World
):
    """Members of old versions get their ids with the answer to a JoinGroup that waits."""
    rows = rows_of("classic", two_step="no")
    world = after(rows, alone, Asks(1, JoinGroup(NO_ID)), 4, {}, version=3)
    assert world.names == (((0, 0), "x"), ((1, 0), "?4"))
    assert [world.knows(Asks(me, Heartbeat(0, 1))) for me in (0, 1)] == [True, False]
    both = {4: joined("y", 2, "x"), 5: joined("x", 2, "x", "x", "y")}
    step = (rows, world, Asks(0, JoinGroup(0)), 5)
    assert after(*step, both).name(1, 0) == "y"
    for wrong in ("x", "z"):  # the leader hears of another id than the member itself
        assert not reached(*step, both | {5: joined("x", 2, "x", "x", wrong)})


@pytest.fixture
def static() -> tuple[Rows, World]:
    """One static member, `x`, with the partitions of its plan."""
    rows = rows_of("static_membership")
    told = joined("x", 1, "x", "x=i0")
    world = after(rows, World(rows.start(), "gone"), Asks(0, JoinGroup(NO_ID)), 1, {1: told})
    share = {"errorCode": 0, "assignment": worlds.share_bytes(3)}
    return rows, after(rows, world, Asks(0, SyncGroup(0, 1)), 2, {2: share})


BACK = Asks(0, JoinGroup(NO_ID))


@pytest.mark.parametrize(
    ("version", "answer"),
    [
        (8, joined("y", 1, "x")),
        (9, joined("y", 1, "y", "y=i0", skipAssignment=True)),
    ],
)
def test_a_leader_that_comes_back_is_told_as_its_version_can_say(
    static: tuple[Rows, World], version: int, answer: Answered
):
    rows, world = static
    now = after(rows, world, BACK, 3, {3: answer}, version=version)
    assert (now.gone, now.name(0, 1)) == ("x", "y") and now.memory.core.generation == 1
    assert not reached(rows, world, BACK, 3, {3: answer}, version=17 - version)
    old = Asks(0, Heartbeat(STRANGER, 1))
    assert after(rows, now, old, 4, {4: {"errorCode": 82}}) == now


def test_a_static_member_names_its_instance_in_versions_that_can(static: tuple[Rows, World]):
    rows, world = static
    assert [versions(api, rows.scope, "i0", spoken).start for api, spoken in SPOKEN.items()] == [
        5,
        3,
        3,
        3,
        7,
    ]
    assert wire("g", world, BACK, 9, rows.scope).values["groupInstanceId"] == "i0"
    (left,) = wire("g", world, Asks(0, LeaveGroup(NO_ID)), 5, rows.scope).values["members"]
    assert left == {"memberId": "", "groupInstanceId": "i0"}


def test_twins_name_one_instance_and_take_each_others_place():
    rows = rows_of("twins")
    told = {1: joined("x", 1, "x", "x=i0")}
    world = after(rows, World(rows.start(), "gone"), Asks(0, JoinGroup(NO_ID)), 1, told)
    sent = [wire("g", world, Asks(k, JoinGroup(NO_ID)), 9, rows.scope).values for k in (0, 1)]
    assert [values["groupInstanceId"] for values in sent] == ["i0", "i0"]
    told = {2: joined("y", 2, "y", "y=i0")}
    world = after(rows, world, Asks(1, JoinGroup(NO_ID)), 2, told)
    assert (world.gone, world.names) == ("x", (((1, 0), "y"),))
    after(rows, world, Asks(0, Heartbeat(STRANGER, 2)), 3, {3: {"errorCode": 82}})


@pytest.mark.parametrize(("two_step", "known"), [("yes", range(4, 10)), ("no", range(2, 4))])
def test_the_version_of_a_join_says_whether_an_id_is_asked_for_first(two_step: str, known: range):
    scope = rows_of("classic", two_step=two_step).scope
    assert versions(JOIN_GROUP, scope, None, SPOKEN[JOIN_GROUP]) == known
    assert versions(JOIN_GROUP, scope, "i0", SPOKEN[JOIN_GROUP]) == range(5, 10)


def test_a_cooperative_member_sends_what_it_claims():
    rows = rows_of("cooperative")
    claims = [
        given.request
        for given in rows.inputs(after_joining(rows).memory)
        if isinstance(given, Asks) and isinstance(given.request, JoinGroup) and given.request.owned
    ]
    assert claims
    told = consumer_protocol.subscription(subscription(claims[0]))
    assert (told.owned, told.generation) == ((("t", 0),), claims[0].claimed)


def after_joining(rows: Rows) -> World:
    world = World(rows.start(), "gone")
    world = after(
        rows, world, Asks(0, JoinGroup(NO_ID)), 1, {1: {"errorCode": 79, "memberId": "x"}}
    )
    told = joined("x", 1, "x", "x", protocolName="cooperative-sticky")
    return after(rows, world, Asks(0, JoinGroup(0)), 2, {2: told})


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        ({"errorCode": 25}, 25),
        ({"errorCode": 0, "members": [{"memberId": "x", "errorCode": 25}]}, 25),
        ({"topics": [{"partitions": [{"errorCode": 22}]}]}, 22),
        (Closed(), -1),
    ],
)
def test_the_error_of_an_answer_is_found_where_its_version_has_it(answer: Answered, error: int):
    assert worlds.seen(answer)[0] == error
