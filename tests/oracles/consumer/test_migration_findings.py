"""What FINDINGS.md says of groups that migrate, on Kafka's own coordinator: K13, K29 to
K31, and K36 to K38."""

from __future__ import annotations

from typing import Any

import pytest

from groupcheck.oracles.kafka.commands import (
    Advance,
    AutoCommit,
    Command,
    ConsumerGroupHeartbeat,
    FailOver,
    Fire,
    Heartbeat,
    JoinGroup,
    LeaveGroup,
    OffsetCommit,
    Reset,
    SyncGroup,
)
from groupcheck.oracles.kafka.driver import Conversation, Driver, shared
from groupcheck.oracles.kafka.memory import ClassicMemory, ConsumerMemory

OTHERS = ("4.1.1", "4.2.0", "4.4.0")
VERSIONS = ["4.3.1", *(pytest.param(v, marks=pytest.mark.night) for v in OTHERS)]
BOTH = {"t": [0, 1]}
REBALANCE_MS = 30_000


class Group:
    """A real coordinator with one topic of two partitions, which lets groups migrate."""

    def __init__(self, driver: Driver, policy: str = "bidirectional") -> None:
        config = {"group.consumer.migration.policy": policy}
        if driver.version >= "4.3":
            config["group.consumer.assignment.interval.ms"] = "0"
        self._talk = Conversation(driver, Reset(topics={"t": 2}, config=config))
        self.answers: dict[int, Any] = {}

    def do(self, command: Command) -> Any:
        """The answer to a request; None: it waits."""
        step = self._talk.do(command, look=True)
        self.memory, self.now_ms = step.memory, step.now_ms
        self.answers |= dict(step.answered)
        self.last = step.number
        return self.answers.get(step.number)

    def classic(self, member: str, **more: Any) -> Any:
        return self.do(JoinGroup(member=member, topics=("t",), **more))

    def new_id(self) -> str:
        return str(self.classic("").member)

    def beat(self, member: str, epoch: int, **more: Any) -> Any:
        if not epoch:
            more = {"topics": ("t",), "owned": {}, "rebalance_timeout_ms": REBALANCE_MS, **more}
        return self.do(ConsumerGroupHeartbeat(member=member, epoch=epoch, **more))

    def commit(self, member: str, generation: int, partition: int) -> int:
        asked = OffsetCommit(member=member, generation=generation, offsets=(("t", partition, 9),))
        return int(self.do(asked).error)

    def alone(self) -> tuple[str, int]:
        """A classic member that has both partitions: its id, and the generation."""
        a = self.new_id()
        self.classic(a)
        parked = self.last
        self.do(Advance(ms=3_000))
        generation = self.answers[parked].generation
        self.do(SyncGroup(member=a, generation=generation, assignments={a: BOTH}))
        return a, generation


@pytest.fixture
def group(request: pytest.FixtureRequest) -> Group:
    return Group(shared(request.param))


@pytest.mark.parametrize("group", VERSIONS, indirect=True)
def test_k13_a_member_that_upgrades_a_group_in_its_first_round_fails_for_good(group: Group) -> None:
    group.classic(group.new_id())
    parked = group.last
    assert group.beat("c", 0).error == -1
    assert group.answers[parked].error == 27
    assert isinstance(group.memory, ClassicMemory)


@pytest.mark.parametrize("group", VERSIONS, indirect=True)
def test_k29_a_downgrade_by_a_static_successor_gives_it_what_another_still_has(
    group: Group,
) -> None:
    a, generation = group.alone()
    epoch = group.beat("b", 0, instance="i").epoch
    assert group.beat("b", epoch).assigned in (None, frozenset())  # A has not given up anything
    group.beat("b", -2, instance="i")
    joined = group.classic("", instance="i")
    assert isinstance(group.memory, ClassicMemory) and group.memory.state == "Stable"
    share = group.do(
        SyncGroup(member=joined.member, instance="i", generation=joined.generation)
    ).assigned
    assert len(share) == 1  # A consumes it, and has heard of nothing
    assert group.do(Heartbeat(member=a, generation=generation)).error == 22


@pytest.mark.parametrize("group", VERSIONS, indirect=True)
def test_k30_an_upgrade_gives_away_what_a_cooperative_member_is_just_revoking(group: Group) -> None:
    a, _ = group.alone()
    b = group.new_id()
    group.classic(b)
    group.classic(a, owned=BOTH)
    generation = group.answers[group.last].generation
    shares = {a: {"t": [1]}, b: {}}
    revokes = group.do(SyncGroup(member=a, generation=generation, assignments=shares))
    assert revokes.assigned == {("t", 1)}  # onPartitionsRevoked of t-0 runs from now on
    group.do(SyncGroup(member=b, generation=generation))
    assert ("t", 0) in group.beat("c", 0).assigned
    assert group.commit("c", group.memory.epoch, 0) == 0
    assert group.commit(a, generation, 0) == 0  # and over that, the commit of the callback


@pytest.mark.parametrize("group", VERSIONS, indirect=True)
def test_k31_a_classic_member_that_was_removed_is_not_told_when_it_joins(group: Group) -> None:
    a, _ = group.alone()
    epoch = group.beat("b", 0).epoch
    group.do(Fire(timer=f"session-timeout-g-{a}"))
    assert isinstance(group.memory, ConsumerMemory)
    assert group.beat("b", epoch).assigned == {("t", 0), ("t", 1)}
    joined = group.classic(a, owned=BOTH)
    assert joined.error == 0
    assert group.commit(a, joined.generation, 0) == 0  # B's partition


@pytest.mark.parametrize("group", VERSIONS, indirect=True)
def test_k36_a_member_that_was_a_classic_one_revokes_without_a_rebalance_timer(
    group: Group,
) -> None:
    a, _ = group.alone()
    group.beat("b", 0)
    joined = group.classic(a, owned=BOTH)
    assert group.beat(a, joined.generation).error == 0
    (member,) = (m for m in group.memory.members if m.member == a)
    assert (member.classic, member.state) == (False, "UNREVOKED_PARTITIONS")
    assert f"rebalance-timeout-g-{a}" not in group.memory.armed


@pytest.mark.parametrize("group", VERSIONS, indirect=True)
def test_k37_the_join_timer_of_a_group_before_its_upgrade_removes_a_member_after_its_downgrade(
    group: Group,
) -> None:
    a, _ = group.alone()
    group.classic("", instance="i")
    static = group.last
    group.classic(a)
    generation = group.answers[group.last].generation
    group.do(SyncGroup(member=a, generation=generation, assignments={a: BOTH}))
    b = group.answers[static].member
    group.do(SyncGroup(member=b, instance="i", generation=generation))
    group.classic(a, owned=BOTH)  # another round, whose timer runs
    group.beat("c", 0, instance="i")
    group.classic(a, owned=BOTH)
    joined = group.classic("", instance="i")
    assert isinstance(group.memory, ClassicMemory) and group.memory.state == "Stable"
    assert group.do(Heartbeat(member=a, generation=joined.generation)).error == 0
    group.do(Fire(timer="join-g"))
    assert group.do(Heartbeat(member=a, generation=joined.generation)).error == 25


@pytest.mark.parametrize("group", VERSIONS, indirect=True)
def test_k38_a_member_that_comes_back_with_the_classic_protocol_still_counts_as_away(
    group: Group,
) -> None:
    group.beat("b", 0, instance="i")
    group.beat("b", -2, instance="i")
    group.beat("c", 0)
    joined = group.classic("b", instance="i", owned=BOTH)
    assert (joined.error, joined.generation) == (0, -2)
    (member,) = (m for m in group.memory.members if m.member == "b")
    assert (member.epoch, member.state) == (-2, "UNREVOKED_PARTITIONS")
    share = group.do(SyncGroup(member="b", instance="i", generation=-2)).assigned
    assert len(share) == 1 and group.commit("b", -2, 0) == 0
    assert "rebalance-timeout-g-b" not in group.memory.armed


# Kafka: K15, what a classic member alone with an old target hears; KAFKA-20640, what a JoinGroup is
# answered that the policy forbids; KAFKA-20273, where a group is that is ahead of its target when
# it becomes a classic one.
DIFFER = {
    "4.1.1": (27, 0, "Stable"),
    "4.2.0": (27, 0, "Stable"),
    "4.3.0": (0, 0, "PreparingRebalance"),
    "4.3.1": (0, 23, "PreparingRebalance"),
    "4.4.0": (0, 23, "PreparingRebalance"),
}


@pytest.mark.parametrize(
    "kafka", [v if v == "4.3.1" else pytest.param(v, marks=pytest.mark.night) for v in DIFFER]
)
def test_versions_differ_in_targets_of_classic_members_policies_and_downgrades(kafka: str) -> None:
    group = Group(shared(kafka), "upgrade")
    a, _ = group.alone()
    group.beat("c", 0)
    generation = group.classic(a).generation
    group.beat("c", -1)
    alone = group.do(Heartbeat(member=a, generation=generation)).error

    group = Group(shared(kafka), "disabled")
    group.beat("c", 0)
    forbidden = group.classic("", instance="i").error

    group = Group(shared(kafka))
    group.alone()
    group.beat("b", 0, instance="i")
    d = group.new_id()
    group.classic(d)
    group.do(LeaveGroup(member=d))
    group.classic("", instance="i")
    assert isinstance(group.memory, ClassicMemory)
    assert (alone, forbidden, group.memory.state) == DIFFER[kafka]


@pytest.mark.parametrize("group", VERSIONS, indirect=True)
def test_after_a_load_a_classic_member_has_the_session_timeout_of_others(group: Group) -> None:
    a, _ = group.alone()
    group.beat("c", 0)
    timer = f"session-timeout-g-{a}"
    own = group.memory.due(timer) - group.now_ms
    group.do(FailOver())
    assert (own, group.memory.due(timer) - group.now_ms) == (10_000, 45_000)


@pytest.mark.parametrize("group", VERSIONS, indirect=True)
def test_x4_a_join_that_is_not_replicated_in_time_leaves_a_member_without_timers(
    group: Group,
) -> None:
    group.beat("c", 0)
    group.do(AutoCommit(on=False))
    assert group.classic("", instance="i") is None
    parked = group.last
    group.do(Advance(ms=5_001))
    assert group.answers[parked].error == 15
    (member,) = (m.member for m in group.memory.members if m.classic)
    assert not [timer for timer in group.memory.armed if timer.endswith(f"-g-{member}")]
