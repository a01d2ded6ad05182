"""Static members on the real coordinator where no row of few members leads: rounds that begin while
a takeover waits for its append, and random schedules of three and four members.
"""

from __future__ import annotations

import pytest
from drawn import walked
from random_walk import RandomWalk

from groupcheck.model.protocol.classic.features.takeover import takeover_committed, takeover_failed
from groupcheck.model.protocol.classic.group import Phase, leader_of
from groupcheck.model.protocol.classic.timers import (
    append_committed,
    initial_delay,
    rebalance_timeout,
)
from groupcheck.model.protocol.messages import NO_ID, JoinGroup, LeaveGroup, SyncGroup
from groupcheck.model.variants import load
from groupcheck.oracles.conform.conformance import conform, rows_at, scopes_of
from groupcheck.oracles.conform.row import Asks, Fires
from groupcheck.oracles.kafka.driver import Driver

STATIC = load("static_membership")
FAULTS = [fault for fault in STATIC.coordinator_faults if fault != "fail_over"]


def walk(coordinator: Driver, members: int, seed: int = 0, **fields: object) -> RandomWalk:
    scope = STATIC.scope_type(
        members=members,
        generations=40,
        assignor="range",
        faults=dict.fromkeys(FAULTS, 99),
        **fields,
    )
    return RandomWalk(coordinator, scope, STATIC.spec, STATIC.coordinator, seed)


def stable(coordinator: Driver) -> tuple[RandomWalk, int, int, int]:
    """A Stable group of three, with its leader and the two others."""
    group = walk(coordinator, 3)
    for member in range(3):
        assert group.step(Asks(member, JoinGroup(NO_ID)))
    while group.memory.core.initial:  # it is extended for members that were added
        assert group.step(Fires(initial_delay.name))
        group.catch_up()
    for member in range(3):
        assert group.step(Asks(member, SyncGroup(0, 1)))
    assert group.step(Fires(append_committed.name))
    leader = leader_of(group.memory.seats)
    assert leader is not None
    one, other = {0, 1, 2} - {leader[0]}
    return group, leader[0], one, other


def test_without_options_conform_executes_the_scopes_that_the_variant_names() -> None:
    scopes = list(scopes_of(STATIC, None, None, None, None))
    assert [(s["members"], bool(s["settings"])) for s in scopes] == [
        (2, False),
        (1, False),
        (1, False),
        (2, True),
    ]
    assert "fail_over" in scopes[2]["faults"] and "fail_over" not in scopes[0]["faults"]


def test_fail_overs_of_several_static_members_agree(coordinator: Driver) -> None:
    """The beginning of them; all are too many for a test."""
    fails = {"members": 2, "generations": 1, "faults": {"fail_over": 1}, "max_rows": 600}
    found = conform("static_membership", kafka="4.3.0", driver=coordinator, **fails)
    assert (found.differing, found.counts.agreeing > 400) == (0, True)


def test_a_takeover_is_not_followed_by_one_of_the_same_process_behind_that_of_another() -> None:
    """The record of the second one holds the id of the first, which the model has forgotten."""
    rows = rows_at("static_membership", 2, 1, ("fail_over",), None, {})[1]
    memory = rows.start()
    for given in (Asks(0, JoinGroup(NO_ID)), Asks(1, JoinGroup(NO_ID)), Fires(initial_delay.name)):
        memory = rows.outcomes(memory, given)[0].after
    while memory.core.initial:  # it is extended for the second member
        memory = rows.outcomes(memory, Fires(initial_delay.name))[0].after
    for given in (Asks(0, SyncGroup(0, 1)), Asks(1, SyncGroup(0, 1)), Fires(append_committed.name)):
        memory = rows.outcomes(memory, given)[0].after
    again = Asks(0, JoinGroup(NO_ID))
    while not any(seat.takes for _, seat in memory.seats[0]):
        assert again in rows.inputs(memory)
        memory = rows.outcomes(memory, again)[0].after
    assert again in rows.inputs(memory)
    memory = rows.outcomes(memory, Asks(1, JoinGroup(NO_ID)))[0].after
    assert again not in rows.inputs(memory)


@pytest.mark.parametrize(
    ("leads", "rule", "outcome"),
    [
        (False, takeover_committed.name, "answered_in_round"),
        (True, takeover_committed.name, "unanswered_in_round"),
        (False, takeover_failed.name, "reverted_in_round"),
        (True, takeover_failed.name, "reverted_in_round"),
    ],
)
def test_a_takeover_ends_while_a_round_waits(
    leads: bool, rule: str, outcome: str, coordinator: Driver
) -> None:
    group, leader, one, other = stable(coordinator)
    who = leader if leads else one
    assert group.step(Asks(who, JoinGroup(NO_ID)))
    assert group.step(Asks(other, LeaveGroup(NO_ID)))
    assert group.memory.core.phase == Phase.PREPARING
    assert group.step(Fires(rule, who))
    group.catch_up()
    assert f"{rule}:{outcome}" in group.fired


def test_a_round_keeps_static_members_that_do_not_join(coordinator: Driver) -> None:
    group, _, one, other = stable(coordinator)
    assert group.step(Asks(other, LeaveGroup(NO_ID)))
    assert group.step(Fires(rebalance_timeout.name))
    assert group.step(Asks(one, JoinGroup(0)))
    assert group.step(Fires(rebalance_timeout.name))
    group.catch_up()
    labels = {"rebalance_timeout:postponed", "rebalance_timeout:missing"}
    assert labels <= group.fired
    assert group.memory.core.members == 2 and leader_of(group.memory.seats) == (one, 0)


@pytest.mark.parametrize("seed", range(8))
def test_random_schedules_agree(seed: int, coordinator: Driver) -> None:
    group = walk(coordinator, 3 + seed % 2, seed, max_size=[None, None, None, 2][seed % 4])
    walked(group, seed, joins=(3.0, 1.5))
    assert group.steps == 40
