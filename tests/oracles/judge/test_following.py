"""A set of states that fit, the way to what nobody has seen, and groups that go on for ever."""

from __future__ import annotations

from attrs import evolve

from groupcheck.model.protocol.messages import NO_ID, Heartbeat, JoinGroup
from groupcheck.oracles.conform.row import Asks
from groupcheck.oracles.judge.broker.graph import KeptRows
from groupcheck.oracles.judge.broker.profiles import TWO_STEP, rows_of
from groupcheck.oracles.judge.following.nearest import nearest
from groupcheck.oracles.judge.following.requests import OFFSET_COMMIT, versions, wire
from groupcheck.oracles.judge.following.said import subscription
from groupcheck.oracles.judge.following.states import follow, in_all
from groupcheck.oracles.judge.following.worlds import RequestNumber, World, ends, fits, relative


def test_the_states_that_fit_what_was_seen_are_kept():
    ways = [1, 2, 3]
    fitting = follow(ways, "odd", lambda way, seen: -way if way % 2 else None)
    assert fitting.states == (-1, -3) and fitting.reached == ((1, -1), (3, -3))
    assert follow(ways, "even", lambda way, seen: None).states == ()
    assert list(in_all([5, 3], range)) == [0, 1, 2]


def test_the_nearest_way_is_a_shortest_one():
    def way(start: int, goal: int, limit: int = 100):
        steps = {"double": lambda n: [2 * n], "more": lambda n: [n + 1], "jump": lambda n: [7, n]}
        return nearest(
            start,
            lambda n: steps if n < 50 else (),
            lambda n, given: steps[given](n),
            lambda n, given: n == goal and given == "more",
            limit,
        )

    assert way(1, 1) == ((1, "more"),)
    assert way(3, 12) == ((3, "double"), (6, "double"), (12, "more"))
    assert [given for _, given in way(1, 8) or ()] == ["jump", "more", "more"]
    assert way(3, 2) is None and way(3, 49, limit=4) is None


def joined(member: str, generation: int) -> dict[str, object]:
    listed = {"memberId": member, "groupInstanceId": None}
    return {
        "errorCode": 0,
        "memberId": member,
        "generationId": generation,
        "leader": member,
        "protocolName": "range",
        "members": [{**listed, "metadata": subscription(JoinGroup(NO_ID))}],
    }


def alone(rows: KeptRows, generation: int) -> World:
    """The world in which one member has joined, and has been told this generation."""
    world = World(rows.start(), "gone")
    for number, id, answer in ((1, NO_ID, {"errorCode": 79, "memberId": "x"}), (2, 0, None)):
        ways = ends(rows, [world], Asks(0, JoinGroup(id)), RequestNumber(number, 5))
        told = {number: answer or joined("x", generation)}
        (world,) = follow(ways, told, fits).states
    return world


def test_a_group_may_begin_with_any_generation_and_its_numbers_are_the_brokers():
    rows = rows_of(TWO_STEP)
    for first in (0, 1, 17):
        world = alone(rows, first)
        assert world.generations == ((1, first),)
        beat = wire("g", world, Asks(0, Heartbeat(0, 1)), 3, rows.scope)
        assert beat.values["generationId"] == first
        # One before the first is only named where it is none of -1.
        assert world.knows(Asks(0, Heartbeat(0, 0))) == (first > 0)


def test_a_new_generation_is_larger_than_those_before():
    rows, again = rows_of(TWO_STEP), Asks(0, JoinGroup(0, 0))
    world = alone(rows, 5)
    ways = ends(rows, [world], again, RequestNumber(3, 5))
    changed = joined("x", 9)
    changed["members"] = [
        {"memberId": "x", "groupInstanceId": None, "metadata": subscription(JoinGroup(0, 0))}
    ]
    assert follow(ways, {3: changed}, fits).states[0].generations == ((1, 5), (2, 9))
    for wrong in (5, 4):
        assert follow(ways, {3: {**changed, "generationId": wrong}}, fits).states == ()


def test_a_group_that_goes_on_for_ever_has_finitely_many_memories():
    rows = rows_of(TWO_STEP)
    world = alone(rows, 5)
    later = evolve(world.memory, core=evolve(world.memory.core, generation=7))
    moved = relative(evolve(world, memory=later, generations=((6, 50), (7, 60))))
    assert moved.memory.core.generation == 2 and moved.generations == ((1, 50), (2, 60))
    seen, stack = {rows.start()}, [rows.start()]
    while stack:
        memory = stack.pop()
        for given in rows.asks(memory):
            for after in set(rows.after(memory, given)) - seen:
                seen.add(after)
                stack.append(after)
    assert len(seen) == 134


def test_a_commit_of_a_version_without_members_is_not_sent():
    scope = rows_of(TWO_STEP).scope
    assert versions(OFFSET_COMMIT, scope, None, range(10)) == range(1, 10)
