"""What the coordinator promises, asked of memories made by hand: each promise can be broken, and
none is by a healthy one.
"""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from groupcheck.oracles.conform.promises import broken
from groupcheck.oracles.kafka.answers import Answer, Subscription
from groupcheck.oracles.kafka.commands import Command, Heartbeat, JoinGroup, LeaveGroup, SyncGroup
from groupcheck.oracles.kafka.memory import ClassicMember, ClassicMemory, Timer
from groupcheck.oracles.kafka.records import GroupRecord, LoggedMember
from groupcheck.oracles.kafka.schedule import Step

MEMBER = ClassicMember("m1", None, False, False, None, None, False, 10_000, 30_000, (), frozenset())
STABLE = ClassicMemory(
    "ACTIVE",
    (Timer("heartbeat-g-m1", 5),),
    "Stable",
    "CompletingRebalance",
    1,
    "m1",
    "consumer",
    "range",
    False,
    0,
    (),
    (),
    (),
    (MEMBER,),
)
LOGGED = GroupRecord(
    0,
    None,
    "g",
    False,
    "consumer",
    1,
    "range",
    "m1",
    0,
    (LoggedMember("m1", None, 1, 1, Subscription(), None),),
)
BEAT = Heartbeat(member="m1", generation=1)


def steps(*given: tuple[Command, dict[int, int]]) -> tuple[Step, ...]:
    return tuple(
        Step(k, command, answered=tuple((n, Answer(code)) for n, code in answers.items()))
        for k, (command, answers) in enumerate(given, 1)
    )


def kinds(
    memory: ClassicMemory,
    told: tuple[Step, ...] = steps((BEAT, {1: 0})),
    log: Any = (LOGGED,),
    in_flight: bool = False,
) -> set[str]:
    return {
        f"{promise}: {kind}"
        for promise, kind in broken(told, told[-1].command, memory, log, in_flight)
    }


def test_a_healthy_group_breaks_nothing():
    assert kinds(STABLE) == set()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"timers": ()}, "member_timer: Heartbeat"),
        ({"leader": "m9"}, "leader: Heartbeat"),
        ({"state": "PreparingRebalance"}, "round_timer: Heartbeat"),
    ],
)
def test_a_memory_that_nothing_would_repair_is_a_finding(changes: dict[str, Any], said: str):
    assert kinds(attrs.evolve(STABLE, **changes)) == {said}


def test_a_parked_member_needs_no_timer():
    parked = attrs.evolve(
        STABLE,
        timers=(Timer("join-g", 5),),
        state="PreparingRebalance",
        members=(attrs.evolve(MEMBER, awaiting_join=True),),
    )
    assert kinds(parked, steps((JoinGroup(member="m1"), {}))) == set()


def test_a_request_that_another_one_replaced_will_not_be_answered():
    parked = attrs.evolve(
        STABLE,
        timers=(Timer("join-g", 5),),
        state="PreparingRebalance",
        members=(attrs.evolve(MEMBER, awaiting_join=True),),
    )
    twice = steps((JoinGroup(member="m1"), {}), (JoinGroup(member="m1"), {}))
    assert kinds(parked, twice) == {"answered: JoinGroup of a member that asks again"}


def test_a_sync_of_somebody_who_is_gone_will_not_be_answered():
    empty = attrs.evolve(STABLE, state="Empty", leader=None, members=(), timers=())
    told = steps((SyncGroup(member="m1", generation=1), {}), (LeaveGroup(member="m1"), {2: 0}))
    assert kinds(empty, told, (attrs.evolve(LOGGED, members=()),)) == {
        "answered: SyncGroup of a member that is gone"
    }
    assert kinds(empty, told, (attrs.evolve(LOGGED, members=()),), in_flight=True) == set()


def test_a_leave_that_failed_and_yet_removed_the_member_is_two_findings():
    empty = attrs.evolve(STABLE, state="Empty", leader=None, members=(), timers=())
    assert kinds(empty, steps((LeaveGroup(member="m1"), {1: 15}))) == {
        "leaving: LeaveGroup",
        "log: Empty, after LeaveGroup",
    }


def test_a_plan_that_was_refused_and_yet_is_in_the_log():
    round_ = attrs.evolve(
        STABLE, state="PreparingRebalance", timers=(Timer("join-g", 5), *STABLE.timers)
    )
    told = steps((SyncGroup(member="m1", generation=1, assignments={"m1": {"t": [0]}}), {1: 15}))
    assert kinds(round_, told) == {"refused_plan: answered 15"}
    assert kinds(round_, told, ()) == set()
