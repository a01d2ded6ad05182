"""What goes wrong in Kafka's member of consumer groups, on the whole AsyncKafkaConsumer: each
schedule on the releases that show it and on those that do not.
"""

from __future__ import annotations

from typing import Any

import pytest

from groupcheck.oracles.kafka.async_member import AsyncSchedule, AsyncTranscript
from groupcheck.oracles.kafka.driver import shared

RELEASES = ("4.2.0", "4.3.1", "4.4.0")
# The others of a finding run at night.
NIGHTLY = pytest.mark.night
INTERVAL_MS = 5_000
ROUNDS = 10
# The epoch of a group's first member.
EPOCHS = {"4.2.0": 1, "4.3.1": 2, "4.4.0": 2}


def releases(*quick: str) -> list[Any]:
    return [v if v in quick else pytest.param(v, marks=NIGHTLY) for v in RELEASES]


class Group:
    """Two processes, A = 0 and B = 1, beside Kafka's coordinator."""

    def __init__(self, *members: dict[str, Any], topics: dict[str, int] | None = None) -> None:
        self.members = list(members) or [{}, {}]
        self.topics = topics or {"t": 2}
        self.commands: list[dict[str, Any]] = []

    def do(self, i: int, *ops: str, **more: Any) -> Group:
        """Commands to a process; the fields go to the last one."""
        self.commands += [{"op": op, "i": i} for op in ops]
        self.commands[-1] |= more
        return self

    def join(self, i: int, **subscription: Any) -> Group:
        """It subscribes and joins, and has read the answer."""
        self.do(i, "subscribe", **(subscription or {"topics": ["t"]}))
        return self.do(i, "poll", "background", "background", "deliver", "background")

    def take(self, i: int) -> Group:
        """It takes its assignment, and has read the answer to its acknowledgement."""
        return self.do(i, *("poll", "background") * 3, "deliver", "background")

    def beat(self, i: int, *then: str) -> Group:
        """Its next heartbeat is sent."""
        self.do(i, "advance", ms=INTERVAL_MS)
        return self.do(i, "background", *then)

    def lose(self, i: int) -> Group:
        """Its next heartbeat is lost, and the one after that, which is full, is sent."""
        self.beat(i, "cut", "background", "background").do(i, "advance", ms=10)
        return self.do(i, "background")

    def coordinator(self, **command: Any) -> Group:
        self.commands.append({"op": "coordinator", "do": command})
        return self

    def run(self, kafka: str) -> AsyncTranscript:
        config = {"group.consumer.assignment.interval.ms": "0"} if kafka >= "4.3" else {}
        setup = {"topics": self.topics, "config": config, "members": self.members}
        result = shared(kafka).run(AsyncSchedule(self.commands, setup))
        assert isinstance(result, AsyncTranscript), result
        assert not result.refused, (result.refused, len(result.replies))
        return result


def memory_of(transcript: AsyncTranscript) -> Any:
    """What the coordinator knows at the end."""
    return transcript.replies[-1]["memory"]


def heartbeats(transcript: AsyncTranscript, i: int = 0) -> list[dict[str, Any]]:
    """The heartbeats that a process has sent, in order."""
    found: dict[tuple[int, int], dict[str, Any]] = {}
    lives = 0
    for command, reply in zip(transcript.schedule.commands, transcript.replies):
        if command.get("i") == i:
            lives += command["op"] == "restart"
            sent = [r for r in reply.get("requests", []) if "owned" in r]
            found |= {(lives, r["number"]): r for r in sent}
    return [*found.values()]


def calls(transcript: AsyncTranscript) -> list[str]:
    """The callbacks of the first process, in order."""
    pairs = zip(transcript.schedule.commands, transcript.replies)
    mine = [reply for command, reply in pairs if command.get("i") == 0]
    return [call["call"] for reply in mine for call in reply.get("calls", [])]


BOTH = {"t": [0, 1]}


@pytest.mark.parametrize("kafka", releases("4.4.0"))
def test_k1_what_a_callback_is_just_given_is_not_reported(kafka: str) -> None:
    """While onPartitionsAssigned runs, a full heartbeat acknowledges a revocation that did not
    happen: two members at the same epoch consume t-1, and may commit it.
    """
    group = Group().join(0).do(0, "poll", hold=["assigned"]).do(0, "background", "poll")
    group.lose(0).join(1).do(0, "deliver", "background")
    group.take(1).do(1, *("poll", "background") * 2).do(0, "return", "background")
    last = EPOCHS[kafka] + 1
    group.coordinator(op="OffsetCommit", member="a0", generation=last, offsets={"t": {"1": 5}})
    end = group.run(kafka)
    (sent,) = [r for r in heartbeats(end) if r["epoch"] == EPOCHS[kafka] and not r["owned"]][1:2]
    assert sent["rebalanceTimeoutMs"] > 0
    a, b = end.look(0), end.look(1)
    assert (a["assigned"], b["ready"]) == (BOTH, {"t": [1]})
    assert a["ready"] == ({"t": [0]} if kafka == "4.2.0" else BOTH)
    assert a["epoch"] == b["epoch"]
    assert end.replies[-1]["answered"][0]["error"] == 0


@pytest.mark.parametrize("kafka", releases("4.3.1", "4.2.0"))
def test_k1_without_a_listener_a_heartbeat_under_way_does_the_same(kafka: str) -> None:
    """K1': Kafka 4.2.0 takes an assignment before its next heartbeat, so it is safe."""
    group = Group({"listener": False}, {}).join(0)
    group.lose(0).do(0, *("poll", "background") * 2)
    group.join(1).do(0, "take").take(1).do(1, *("poll", "background") * 2)
    end = group.run(kafka)
    a, b = end.look(0), end.look(1)
    assert a["ready"] == BOTH
    assert b["ready"] == ({} if kafka == "4.2.0" else {"t": [1]})


@pytest.mark.parametrize("kafka", releases("4.3.1", "4.2.0"))
def test_k16_an_assignment_is_applied_after_the_member_was_fenced(kafka: str) -> None:
    """From 4.3.0 on what the background has ended waits for poll, and fencing does not undo it."""
    group = Group().join(0).do(0, "background")
    group.coordinator(op="Fire", timer="session-timeout-g-a0").join(1)
    group.do(1, *("poll", "background") * 3)
    group.beat(0, "deliver", "background", "poll", "background")
    end = group.run(kafka)
    a, b = end.look(0), end.look(1)
    assert (a["state"], a["epoch"], b["ready"]) == ("JOINING", 0, BOTH)
    if kafka == "4.2.0":
        assert (a["assigned"], calls(end)) == ({}, ["assigned", "lost"])
    else:
        assert (a["ready"], calls(end)) == (BOTH, ["assigned"])


@pytest.mark.parametrize("kafka", releases("4.3.1", "4.4.0"))
def test_k22_a_static_successor_is_given_what_it_does_not_read(kafka: str) -> None:
    """Its predecessor subscribed by a pattern, it does by names: nobody consumes u-0. Up to 4.3.1
    it acknowledges the rest in each round (KAFKA-20145).
    """
    group = Group({"instance": "i0"}, topics={"t": 1, "u": 1}).join(0, regex="t|u")
    group.beat(0, "deliver", "background").do(0, *("poll", "background") * 3)
    group.do(0, "flush", "background")
    group.do(0, "close", "deliver", "background", "return", "restart")
    group.join(0, topics=["t"])
    for _ in range(ROUNDS):
        group.do(0, "poll", "background", "flush", "background")
    group.coordinator(op="Look", group="g")
    end = group.run(kafka)
    (member,) = memory_of(end)["members"]
    assert (member["assigned"], member["topics"]) == ({"t": [0], "u": [0]}, ["t"])
    look = end.look(0)
    assert look["assigned"] == {"t": [0]}
    sent = [r for r in heartbeats(end) if r["epoch"] == look["epoch"]]
    assert len(sent) == (ROUNDS - 1 if kafka < "4.4" else 1)
    assert (look["state"] == "RECONCILING") == (kafka >= "4.4")


@pytest.mark.parametrize("kafka", releases("4.2.0"))
def test_k23_a_member_that_was_removed_takes_an_old_answer(kafka: str) -> None:
    """The answer to a heartbeat that was in flight when the poll timer ran out is adopted after the
    application has polled again: B has the partitions, and A consumes them, too.
    """
    group = Group().join(0).take(0).lose(0)
    group.do(0, "advance", ms=300_001).do(0, "background", "poll", "background")
    group.do(0, "deliver", "background", *("poll", "background") * 2)
    group.do(0, "deliver").join(1).do(1, *("poll", "background") * 3)
    group.coordinator(op="Look", group="g")
    end = group.run(kafka)
    a, b = end.look(0), end.look(1)
    assert (a["ready"], b["ready"]) == (BOTH, BOTH)
    assert [m["member"] for m in memory_of(end)["members"]] == ["a1"]


@pytest.mark.parametrize("kafka", releases("4.4.0"))
def test_k25_unsubscribe_leaves_its_callback_to_the_next_subscription(kafka: str) -> None:
    """The member is fenced while unsubscribe waits, so unsubscribe returns before its callback has
    run. It runs in the first poll of the next subscription, and ends that.
    """
    group = Group().join(0).take(0).do(0, "flush", "background", "background")
    group.do(0, "answer", api="ListOffsets").do(0, "background", "poll").beat(0)
    group.coordinator(op="Fire", timer="session-timeout-g-a0")
    group.do(0, "unsubscribe", "background", "deliver", "background", "return")
    group.do(0, "subscribe", topics=["t"]).do(0, "poll", hold=["revoked"])
    group.do(0, "background", "deliver", "background", "return", "background", "poll")
    end = group.run(kafka)
    look = end.look(0)
    assert calls(end) == ["assigned", "revoked"]
    assert (look["state"], look["epoch"], look["assigned"]) == ("RECONCILING", -1, {})
    assert look["thrown"]["type"] == "IllegalStateException"


@pytest.mark.parametrize("kafka", releases("4.3.1"))
def test_k28_a_member_without_an_epoch_commits_to_an_empty_group(kafka: str) -> None:
    """A does not poll in time and leaves. B commits 50 and is removed. A's application commits 10
    before its next poll: without an epoch, and the group is empty, so the offset is 10.
    """
    group = Group().join(0).take(0).do(0, "flush", "background", "background")
    group.do(0, "advance", ms=300_001).do(0, "background", "deliver", "background").join(1)
    epoch = EPOCHS[kafka] + 2 - (kafka >= "4.4")
    group.coordinator(op="OffsetCommit", member="a1", generation=epoch, offsets={"t": {"0": 50}})
    group.coordinator(op="Fire", timer="session-timeout-g-a1")
    group.do(0, "commit", topic="t", offset=10).do(0, "background", "flush", "background")
    group.coordinator(op="Look", group="g")
    end = group.run(kafka)
    assert end.replies[-7]["answered"][0]["error"] == 0
    assert [r["epoch"] for r in end.replies[-4]["requests"] if r["api"] == "OffsetCommit"] == [-1]
    assert end.look(0)["state"] == "STALE"
    assert (memory_of(end)["members"], memory_of(end)["offsets"]) == ([], {"t": {"0": 10}})
