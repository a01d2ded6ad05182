"""Groups of static and dynamic members on the real coordinator where no row of few members leads:
rounds that keep one kind and remove the other, takeovers beside dynamic members, random schedules.
"""

from __future__ import annotations

import pytest
from drawn import STEPS, walked
from random_walk import RandomWalk

from groupcheck.model.protocol.classic.features.takeover import takeover_committed, takeover_failed
from groupcheck.model.protocol.classic.group import Phase, leader_of
from groupcheck.model.protocol.classic.timers import (
    append_committed,
    append_failed,
    initial_delay,
    rebalance_timeout,
)
from groupcheck.model.protocol.messages import NO_ID, JoinGroup, LeaveGroup, SyncGroup
from groupcheck.model.variants import load
from groupcheck.oracles.conform.row import Asks, Fires
from groupcheck.oracles.kafka.driver import Driver

MIXED = load("mixed_membership")
FAULTS = [fault for fault in MIXED.coordinator_faults if fault != "fail_over"]


def walk(coordinator: Driver, members: int, static: int, seed: int = 0) -> RandomWalk:
    scope = MIXED.scope_type(
        members=members,
        static_members=static,
        generations=40,
        assignor="range",
        faults=dict.fromkeys(FAULTS, 99),
    )
    return RandomWalk(coordinator, scope, MIXED.spec, MIXED.coordinator, seed)


def joined(coordinator: Driver, static: int) -> RandomWalk:
    """A group of three whose first generation has begun; nobody has synced."""
    group = walk(coordinator, 3, static)
    for member in range(3):
        assert group.step(Asks(member, JoinGroup(NO_ID)))
        if member >= static:
            assert group.step(Asks(member, JoinGroup(0)))
    while group.memory.core.initial:  # it is extended for members that were added
        assert group.step(Fires(initial_delay.name))
        group.catch_up()
    return group


def led_by(group: RandomWalk) -> int:
    leader = leader_of(group.memory.seats)
    assert leader is not None
    return leader[0]


@pytest.mark.parametrize("static", [1, 2])
def test_a_round_of_nobody_removes_dynamic_members_and_waits_on_for_static_ones(
    static: int, coordinator: Driver
) -> None:
    group = joined(coordinator, static)
    assert group.step(Asks(led_by(group), SyncGroup(0, 1)))
    assert group.step(Fires(append_failed.name))
    assert group.step(Fires(rebalance_timeout.name))
    group.catch_up()
    assert {"rebalance_timeout:postponed", "dismiss_absent"} <= group.fired
    core = group.memory.core
    assert (core.phase, core.generation, core.members) == (Phase.PREPARING, 1, static)
    assert led_by(group) < static


def test_a_round_removes_the_dynamic_members_that_are_missing_and_keeps_the_static_ones(
    coordinator: Driver,
) -> None:
    group = joined(coordinator, 1)
    leader = led_by(group)
    assert group.step(Asks(leader, SyncGroup(0, 1)))
    assert group.step(Fires(append_failed.name))
    assert group.step(Asks(2, JoinGroup(0)))
    assert group.step(Fires(rebalance_timeout.name))
    group.catch_up()
    assert "rebalance_timeout:missing" in group.fired
    assert [bool(seats.ids) for seats in group.memory.seats] == [True, False, True]
    assert led_by(group) == 2


@pytest.mark.parametrize(
    ("rule", "outcome"),
    [(takeover_committed.name, "in_round"), (takeover_failed.name, "reverted_in_round")],
)
def test_a_takeover_ends_while_a_round_waits_that_a_dynamic_member_has_begun(
    rule: str, outcome: str, coordinator: Driver
) -> None:
    group = joined(coordinator, 2)
    for member in (0, 1, 2):
        assert group.step(Asks(member, SyncGroup(0, 1)))
    assert group.step(Fires(append_committed.name))
    assert group.step(Asks(1, JoinGroup(NO_ID)))
    assert group.step(Asks(2, LeaveGroup(0)))
    assert group.step(Fires(rule, 1))
    group.catch_up()
    assert any(f.startswith(rule) and f.endswith(outcome) for f in group.fired)


@pytest.mark.parametrize("seed", range(4))
def test_random_schedules_agree(seed: int, coordinator: Driver) -> None:
    group = walk(coordinator, 3 + seed % 2, 1 + seed % 2, seed)
    walked(group, seed, joins=(3.0, 1.5))
    assert group.steps == STEPS
