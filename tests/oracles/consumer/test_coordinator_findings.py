"""What FINDINGS.md says of the coordinator of consumer groups, on Kafka's own code: K17 to K21, and
K24.
"""

from __future__ import annotations

from typing import Any

import pytest

from groupcheck.oracles.kafka.commands import (
    Advance,
    Command,
    ConsumerGroupHeartbeat,
    FailAppends,
    FailOver,
    JoinGroup,
    OffsetCommit,
    Reset,
    SetTopics,
)
from groupcheck.oracles.kafka.driver import Conversation, Driver, shared
from groupcheck.oracles.kafka.memory import ConsumerMember, ConsumerMemory
from groupcheck.oracles.kafka.values import Partitions

OLD = ("4.0.0", "4.1.1", "4.2.0", "4.4.0")
VERSIONS = ["4.3.1", *(pytest.param(v, marks=pytest.mark.night) for v in OLD)]
TIMER = "rebalance-timeout-g-a"
REBALANCE_MS = 30_000


class Group:
    """A real coordinator with two assignors and no assignment interval."""

    def __init__(self, driver: Driver) -> None:
        config = {"group.consumer.assignors": "uniform,range"}
        if driver.version >= "4.3":
            config["group.consumer.assignment.interval.ms"] = "0"
        self._talk = Conversation(driver, Reset(topics={"t": 2}, config=config))

    def do(self, command: Command) -> Any:
        """The answer to a request."""
        step = self._talk.do(command, look=True)
        self.memory = step.memory
        return dict(step.answered).get(step.number)

    def join(self, member: str, **more: Any) -> Any:
        fields = {"topics": ("t",), "owned": {}, "rebalance_timeout_ms": REBALANCE_MS, **more}
        return self.do(ConsumerGroupHeartbeat(member=member, epoch=0, **fields))

    def beat(self, member: str, epoch: int, **more: Any) -> Any:
        return self.do(ConsumerGroupHeartbeat(member=member, epoch=epoch, **more))

    def member(self, name: str) -> ConsumerMember | None:
        assert isinstance(self.memory, ConsumerMemory)
        return next((m for m in self.memory.members if m.member == name), None)


@pytest.fixture
def group(request: pytest.FixtureRequest) -> Group:
    return Group(shared(request.param))


def two(group: Group) -> tuple[int, int, Partitions]:
    """A alone with both partitions; B joins, and the target gives it one of them. The epochs of A
    and of B, and B's partition.
    """
    a, b = group.join("a").epoch, group.join("b").epoch
    return a, b, dict(group.memory.target)["b"]


def one_of(partitions: Partitions) -> dict[str, list[int]]:
    return {topic: [number] for topic, number in partitions}


@pytest.mark.parametrize("group", VERSIONS, indirect=True)
def test_k17_a_join_that_comes_late_gives_away_what_its_member_uses(group: Group) -> None:
    a, b, lost = two(group)
    assert group.join("a").error == 0  # from a connection that A has given up
    assert group.beat("b", b).assigned == lost
    ((topic, number),) = lost
    commit = OffsetCommit(member="a", generation=a, offsets=((topic, number, 9),))
    assert group.do(commit).error == 113
    assert group.beat("a", a).error == 110  # only now A is told


@pytest.mark.parametrize("group", VERSIONS, indirect=True)
def test_k18_a_heartbeat_that_comes_late_acknowledges_a_revocation(group: Group) -> None:
    a = group.join("a").epoch
    group.do(SetTopics(topics={"t": 3}))
    assert group.beat("a", a, owned={"t": [0, 1]}).error == 0
    b = group.join("b").epoch
    lost = dict(group.memory.target)["b"]
    assert group.beat("a", a, owned={}).error == 0  # A's previous epoch, from before
    assert group.beat("b", b).assigned == lost


@pytest.mark.parametrize("group", VERSIONS, indirect=True)
def test_k19_an_acknowledgement_whose_append_fails_stops_the_timer(group: Group) -> None:
    a, b, lost = two(group)
    kept = group.beat("a", a).assigned
    assert TIMER in group.memory.armed
    group.do(FailAppends())
    assert group.beat("a", a, owned=one_of(kept)).error == 15
    assert TIMER not in group.memory.armed
    for _ in range(20):  # 400 s, with a rebalance timeout of 30 s
        group.do(Advance(ms=20_000))
        group.beat("a", a)
        assert group.beat("b", b).error == 0
    waits = group.member("a")
    assert waits is not None and waits.pending_revocation == lost


@pytest.mark.parametrize("group", VERSIONS, indirect=True)
def test_k20_a_revocation_whose_append_fails_removes_a_stable_member(group: Group) -> None:
    a, _, _ = two(group)
    group.do(FailAppends())
    assert group.beat("a", a).error == 15
    stable = group.member("a")
    assert stable is not None and stable.state == "STABLE" and TIMER in group.memory.armed
    group.beat("b", -1)  # nobody waits for A any more
    for _ in range(3):
        group.do(Advance(ms=10_500))
    assert group.member("a") is None  # 31.5 s after its heartbeat; its session lasts 45 s


@pytest.mark.parametrize("group", VERSIONS, indirect=True)
def test_k21_a_load_gives_a_classic_member_the_session_timeout_of_others(group: Group) -> None:
    group.join("a")
    group.do(JoinGroup(member="x", session_timeout_ms=10_000))
    before = {t.key: t.due_ms for t in group.memory.timers if t.key.endswith("-x")}
    assert {*before} == {"session-timeout-g-x", "sync-g-x"}
    group.do(FailOver())
    after = {t.key: t.due_ms for t in group.memory.timers if t.key.endswith("-x")}
    longer = after["session-timeout-g-x"] - before["session-timeout-g-x"]
    assert ({*after}, longer) == ({"session-timeout-g-x"}, 35_000)


@pytest.mark.parametrize(
    ("group", "grows"),
    [("4.4.0", True), pytest.param("4.3.1", False, marks=pytest.mark.night)],
    indirect=["group"],
)
def test_k24_two_assignors_with_a_vote_each_rebalance_for_ever(group: Group, grows: bool) -> None:
    epoch = {m: group.join(m, assignor=n).epoch for m, n in (("a", "uniform"), ("b", "range"))}
    epochs = []
    for _ in range(5):
        group.do(Advance(ms=5_000))
        for name in epoch:  # each has at once what it was told
            member = group.member(name)
            assert member is not None
            owned = {"t": [number for _, number in member.assigned or ()]}
            epoch[name] = group.beat(name, epoch[name], owned=owned).epoch
        epochs.append((group.memory.epoch, group.memory.state))
    assert len({number for number, _ in epochs}) == (5 if grows else 1)
    assert {state for _, state in epochs[1:]} == ({"Reconciling"} if grows else {"Stable"})
