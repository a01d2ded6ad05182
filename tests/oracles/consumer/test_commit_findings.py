"""Two late commits that Kafka's own coordinator stores over the commit of the next owner (K26 and
K27), and what it does without the step that opens the gap.
"""

from __future__ import annotations

from typing import Any

import pytest

from groupcheck.oracles.kafka.commands import (
    Advance,
    Command,
    ConsumerGroupHeartbeat,
    OffsetCommit,
    Reset,
)
from groupcheck.oracles.kafka.driver import shared
from groupcheck.oracles.kafka.schedule import Schedule

VERSIONS = ["4.3.1", pytest.param("4.4.0", marks=pytest.mark.night)]
NEXT, FORMER = 50, 10  # the offsets that the owners commit
STALE_MEMBER_EPOCH = 113


def join(member: str, *topics: str, **more: Any) -> Command:
    full = {"rebalance_timeout_ms": 30_000, "owned": {}}
    return ConsumerGroupHeartbeat(member=member, epoch=0, topics=topics, **full, **more)


def beat(member: str, epoch: int, **more: Any) -> Command:
    return ConsumerGroupHeartbeat(member=member, epoch=epoch, **more)


def commit(member: str, epoch: int, offset: int, topic: str, number: int) -> Command:
    at = ((topic, number, offset),)
    return OffsetCommit(member=member, generation=epoch, offsets=at)


def carried_out(
    kafka: str, commands: list[Command], topics: dict[str, int], interval: int
) -> tuple[list[int], int]:
    """The errors of the commits, and the offset at the end."""
    config = {
        "group.consumer.assignors": "uniform",
        "group.consumer.assignment.interval.ms": str(interval),
    }
    found = shared(kafka).run(Schedule(tuple(commands), Reset(topics=topics, config=config)))
    memory = found.steps[-1].memory
    assert memory is not None
    asked = [s.number for s in found.steps if isinstance(s.command, OffsetCommit)]
    return [found.answers[number].error for number in asked], memory.offsets[0][2]


@pytest.mark.parametrize("kafka", VERSIONS)
def test_a_static_member_that_comes_back_may_set_back_what_the_last_owner_committed(
    kafka: str,
) -> None:
    late = commit("a", 2, FORMER, "t0", 1)
    commands = [
        join("a", "t0", instance="i"),
        join("b", "t0"),
        beat("a", 2, instance="i"),
        beat("a", 2, instance="i", owned={"t0": [0]}),
        beat("b", 3),
        commit("b", 3, NEXT, "t0", 1),
        beat("b", -1),
        beat("a", 3, instance="i"),
        late,
    ]
    sizes = {"t0": 2}
    assert carried_out(kafka, commands, sizes, 0) == ([0, STALE_MEMBER_EPOCH], NEXT)
    back = [beat("a", -2, instance="i"), join("a", "t0", instance="i"), late]
    told = carried_out(kafka, [*commands, *back], sizes, 0)
    assert told == ([0, STALE_MEMBER_EPOCH, 0], FORMER)


@pytest.mark.parametrize("kafka", VERSIONS)
def test_a_topic_that_is_dropped_within_the_interval_may_still_be_committed(kafka: str) -> None:
    def commands(between: int) -> list[Command]:
        return [
            join("a", "t0", "t1"),
            join("b", "t1"),
            Advance(ms=between),
            beat("a", 2, topics=("t0",)),
            beat("a", 2, owned={"t0": [0]}),
            Advance(ms=1_000),
            beat("b", 2),
            commit("b", 4, NEXT, "t1", 0),
            commit("a", 2, FORMER, "t1", 0),
        ]

    sizes = {"t0": 1, "t1": 1}
    assert carried_out(kafka, commands(1), sizes, 1_000) == ([0, 0], FORMER)
    # Once the interval is over, the member goes to the epoch of the target as it gives up.
    assert carried_out(kafka, commands(1_000), sizes, 1_000) == ([0, STALE_MEMBER_EPOCH], NEXT)
