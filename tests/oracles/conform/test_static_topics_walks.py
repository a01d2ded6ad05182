"""Static members whose topics and subscriptions change, on the real coordinator, in groups of three
and four members: what leaders are told when they come back, and when members are missing.
"""

from __future__ import annotations

import pytest
from drawn import walked
from random_walk import RandomWalk

from groupcheck.model.protocol.classic.features.takeover import takeover_committed
from groupcheck.model.protocol.classic.group import Phase, leader_of
from groupcheck.model.protocol.classic.timers import (
    append_committed,
    initial_delay,
    rebalance_timeout,
)
from groupcheck.model.protocol.messages import NO_ID, JoinGroup, LeaveGroup, SyncGroup
from groupcheck.model.variants import load
from groupcheck.oracles.conform.row import Asks, Fires
from groupcheck.oracles.kafka.driver import Driver

BOTH = load("static_triggers")
FAULTS = [f for f in BOTH.coordinator_faults if f not in ("fail_over", "lower_max_size")]
T, U, T_AND_U = 1, 2, 3  # topics, as bit masks


def walk(coordinator: Driver, members: int, seed: int = 0) -> RandomWalk:
    scope = BOTH.scope_type(
        members=members,
        generations=40,
        assignor="range",
        topics="t:1,u:1",
        faults=dict.fromkeys(FAULTS, 99),
    )
    return RandomWalk(coordinator, scope, BOTH.spec, BOTH.coordinator, seed)


def stable(coordinator: Driver) -> tuple[RandomWalk, int, int, int]:
    """A Stable group of three that subscribe to `t`, with its leader and the two others."""
    group = walk(coordinator, 3)
    for member in range(3):
        assert group.step(Asks(member, JoinGroup(NO_ID, topics=T)))
    while group.memory.core.initial:  # it is extended for members that were added
        assert group.step(Fires(initial_delay.name))
        group.catch_up()
    leader = leader_of(group.memory.seats)
    assert leader is not None
    for member in (0, 1, 2):
        assert group.step(Asks(member, SyncGroup(0, 1, sees=T if member == leader[0] else 0)))
    assert group.step(Fires(append_committed.name))
    one, other = {0, 1, 2} - {leader[0]}
    return group, leader[0], one, other


def test_a_leader_that_comes_back_is_told_what_members_subscribe_to_by_now(
    coordinator: Driver,
) -> None:
    """Another member has come back with one more topic, and no round has begun since."""
    group, leader, one, _ = stable(coordinator)
    for who, topics in ((one, T_AND_U), (leader, T)):
        assert group.step(Asks(who, JoinGroup(NO_ID, topics=topics)))
        assert group.step(Fires(takeover_committed.name, who))
    group.catch_up()
    assert (group.memory.core.phase, group.memory.core.topics) == (Phase.STABLE, T)
    assert "tell_leader" in group.fired


def test_a_leader_is_told_the_subscription_of_a_member_that_misses_the_round(
    coordinator: Driver,
) -> None:
    group, leader, one, other = stable(coordinator)
    assert group.step(Asks(one, JoinGroup(NO_ID, topics=U)))
    assert group.step(Fires(takeover_committed.name, one))
    assert group.step(Asks(other, LeaveGroup(NO_ID)))
    assert group.step(Asks(leader, JoinGroup(0, topics=T)))
    assert group.step(Fires(rebalance_timeout.name))
    group.catch_up()
    assert (group.memory.core.members, group.memory.core.topics) == (2, T_AND_U)


@pytest.mark.parametrize(
    ("leads", "outcome"), [(False, "answered_in_round"), (True, "unanswered_in_round")]
)
def test_a_takeover_ends_while_a_round_waits(
    leads: bool, outcome: str, coordinator: Driver
) -> None:
    group, leader, one, other = stable(coordinator)
    who = leader if leads else one
    assert group.step(Asks(who, JoinGroup(NO_ID, topics=T_AND_U)))
    assert group.step(Asks(other, LeaveGroup(NO_ID)))
    assert group.memory.core.phase == Phase.PREPARING
    assert group.step(Fires(takeover_committed.name, who))
    group.catch_up()
    assert f"{takeover_committed.name}:{outcome}" in group.fired


@pytest.mark.parametrize("seed", range(4))
def test_random_schedules_agree(seed: int, coordinator: Driver) -> None:
    group = walk(coordinator, 3 + seed % 2, seed)
    walked(group, seed, joins=(1.0, 0.4))
    assert group.steps == 40
