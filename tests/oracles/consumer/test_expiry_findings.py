"""What Kafka's own coordinator does with the offsets of a group whose last member has just left:
those of a consumer group expire (K32), those of a classic group stay (KIP-211).
"""

from __future__ import annotations

from typing import Any

import pytest

from groupcheck.oracles.consumer.committing import KEPT_MS, RETENTION
from groupcheck.oracles.kafka.commands import (
    Advance,
    Command,
    ConsumerGroupHeartbeat,
    Fire,
    JoinGroup,
    LeaveGroup,
    OffsetCommit,
    Reset,
    SyncGroup,
)
from groupcheck.oracles.kafka.driver import shared
from groupcheck.oracles.kafka.memory import SWEEP
from groupcheck.oracles.kafka.schedule import Schedule

VERSIONS = ["4.3.1", *(pytest.param(v, marks=pytest.mark.night) for v in ("4.0.0", "4.4.0"))]
HOUR_MS = 3_600_000
SWEEPS = Fire(timer=SWEEP)
CONSUMER: list[Command] = [
    # It has epoch 1 or, from 4.3 on, 2; the commit that is late or too early is refused.
    ConsumerGroupHeartbeat(
        member="a", epoch=0, topics=("t",), owned={}, rebalance_timeout_ms=HOUR_MS
    ),
    OffsetCommit(member="a", generation=1),
    OffsetCommit(member="a", generation=2),
    Advance(ms=KEPT_MS),
    SWEEPS,
    ConsumerGroupHeartbeat(member="a", epoch=-1),
]
LONG: dict[str, Any] = {"session_timeout_ms": 1_800_000}
CLASSIC: list[Command] = [
    JoinGroup(**LONG),
    JoinGroup(member="m1", **LONG),
    Advance(ms=3_000),
    SyncGroup(member="m1", generation=1),
    OffsetCommit(member="m1", generation=1),
    Advance(ms=KEPT_MS),
    SWEEPS,
    LeaveGroup(member="m1"),
]


def kept(kafka: str, commands: list[Command]) -> list[bool]:
    """Before and after a sweep: is there an offset?"""
    found = []
    for asked in (commands, [*commands, SWEEPS]):
        schedule = Schedule(tuple(asked), Reset(topics={"t": 1}, config=RETENTION))
        memory = shared(kafka).run(schedule).steps[-1].memory
        found.append(memory is not None and bool(memory.offsets))
    return found


@pytest.mark.parametrize("kafka", VERSIONS)
def test_offsets_of_a_consumer_group_expire_as_soon_as_it_is_empty(kafka: str) -> None:
    assert kept(kafka, CONSUMER) == [True, False]
    # Without the last leave, the sweep before has kept it, and so does this one.
    assert kept(kafka, CONSUMER[:-1]) == [True, True]


def test_offsets_of_a_classic_group_stay_from_when_it_is_empty() -> None:
    assert kept("4.3.1", CLASSIC) == [True, True]
    assert kept("4.3.1", [*CLASSIC, Advance(ms=KEPT_MS)]) == [True, False]
