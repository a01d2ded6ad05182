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
from groupcheck.oracles.wire import worlds
from groupcheck.oracles.wire.sockets import Answered, Closed
from groupcheck.oracles.wire.worlds import World, ends, fits


@pytest.fixture(scope="module")
def rows() -> Rows:
    return rows_at("classic", 2, 6, (), None, {})[1]


def joined(member: str, generation: int, leader: str, *members: str) -> dict[str, Any]:
    return {
        "error": 0,
        "member": member,
        "generation": generation,
        "leader": leader,
        "members": [{"member": m} for m in members],
    }


def after(
    rows: Rows, world: World, given: Asks, number: int, answers: dict[int, Answered]
) -> World:
    """The one world in which the broker is when it has answered so."""
    (reached,) = {
        w for end in ends(rows, [world], given, number) if (w := fits(end, answers)) is not None
    }
    return reached


@pytest.fixture
def alone(rows: Rows) -> World:
    """One member, `x`, with the partitions of its plan."""
    world = World(rows.start(), "gone")
    world = after(rows, world, Asks(0, JoinGroup(NO_ID)), 1, {1: {"error": 79, "member": "x"}})
    (id, _), = world.memory.seats[0].ids  # fmt: skip
    world = after(rows, world, Asks(0, JoinGroup(id)), 2, {2: joined("x", 1, "x", "x")})
    return after(
        rows,
        world,
        Asks(0, SyncGroup(id, 1)),
        3,
        {3: {"error": 0, "assignment": worlds.share_bytes(3)}},
    )


def test_the_first_member_joins_an_empty_group_alone_and_without_waiting(rows: Rows, alone: World):
    assert (
        alone.name(0, 0) == "x" and alone.parked == () and str(alone.memory.core.phase) == "Stable"
    )


def test_a_heartbeat_is_answered_in_exactly_one_way(rows: Rows, alone: World):
    given = Asks(0, Heartbeat(0, 1))
    assert fits(ends(rows, [alone], given, 9)[0], {9: {"error": 0}}) == alone
    for wrong in ({9: {"error": 27}}, {}, {9: {"error": 0}, 8: {"error": 0}}, {9: Closed()}):
        assert all(fits(end, wrong) is None for end in ends(rows, [alone], given, 9))


def test_a_join_that_has_to_wait_is_answered_together_with_the_one_that_it_waits_for(
    rows: Rows, alone: World
):
    world = after(rows, alone, Asks(1, JoinGroup(NO_ID)), 4, {4: {"error": 79, "member": "y"}})
    world = after(rows, world, Asks(1, JoinGroup(0)), 5, {})
    assert world.parked == ((1, 5),)
    both = {5: joined("y", 2, "x"), 6: joined("x", 2, "x", "x", "y")}
    assert after(rows, world, Asks(0, JoinGroup(0)), 6, both).parked == ()
    for wrong in (
        both | {5: joined("y", 2, "y", "x", "y")},
        both | {6: joined("x", 3, "x", "x", "y")},
        both | {6: joined("x", 2, "x", "x")},
    ):
        assert all(
            fits(end, wrong) is None for end in ends(rows, [world], Asks(0, JoinGroup(0)), 6)
        )


def test_an_id_that_has_left_is_the_one_that_nobody_knows(rows: Rows, alone: World):
    world = after(
        rows,
        alone,
        Asks(0, LeaveGroup(0)),
        4,
        {4: {"error": 0, "members": [{"member": "x", "error": 0}]}},
    )
    assert world.names == () and world.name(0, STRANGER) == world.name(0, 0) == "x"


def test_the_leader_alone_brings_a_plan_with_a_share_for_each(rows: Rows, alone: World):
    world = after(rows, alone, Asks(1, JoinGroup(NO_ID)), 4, {4: {"error": 79, "member": "y"}})
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
    (end,) = ends(rows, [alone], Asks(0, Heartbeat(0, 1)), 9)
    assert worlds.problems(end, {8: {"error": 3}}) == [
        "request 9 gets no answer, in the model error 0",
        "request 8 is answered with error 3, in the model not at all",
    ]
    assert worlds.problems(end, {9: {"error": 27}}) == ["request 9: error is 27, in the model 0"]


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        ({"error": 25}, 25),
        ({"error": 0, "members": [{"member": "x", "error": 25}]}, 25),
        ({"topics": [{"partitions": [{"error": 22}]}]}, 22),
        (Closed(), -1),
    ],
)
def test_the_error_of_an_answer_is_found_where_its_version_has_it(answer: Answered, error: int):
    assert worlds.seen(answer)[0] == error
