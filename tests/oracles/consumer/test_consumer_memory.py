"""What the driver shows of a consumer group's memory."""

from __future__ import annotations

import pytest

from groupcheck.oracles.kafka.commands import Advance, Command, ConsumerGroupHeartbeat, Reset
from groupcheck.oracles.kafka.driver import Driver
from groupcheck.oracles.kafka.memory import ConsumerMemory
from groupcheck.oracles.kafka.schedule import Schedule, Transcript

NO_INTERVAL = {"group.consumer.assignment.interval.ms": "0"}


def joined(member: str, **more: object) -> ConsumerGroupHeartbeat:
    whole = {"epoch": 0, "topics": ("t",), "owned": {}, "rebalance_timeout_ms": 30_000}
    return ConsumerGroupHeartbeat(member=member, **{**whole, **more})  # type: ignore[arg-type]


def memory_after(version: str, *commands: Command) -> ConsumerMemory:
    config = NO_INTERVAL if version >= "4.3" else {}
    with Driver(version) as driver:
        result = driver.run(Schedule(commands, Reset(topics={"t": 2, "u": 1}, config=config)))
    assert isinstance(result, Transcript)
    assert isinstance(result.memory, ConsumerMemory)
    return result.memory


@pytest.mark.parametrize(
    "version",
    ["4.3.1", *(pytest.param(v, marks=pytest.mark.night) for v in ("4.0.0", "4.1.1", "4.4.0"))],
)
def test_the_whole_memory_of_a_consumer_group_is_shown(version: str) -> None:
    memory = memory_after(
        version,
        joined("a", assignor="range", rack="r1"),
        joined("b", topics=(), regex="u.*"),
        Advance(ms=5),
        ConsumerGroupHeartbeat(member="a", epoch=2 if version >= "4.3" else 1),
    )
    a, b = memory.members
    assert (a.rack, a.assignor, a.regex or "") == ("r1", "range", "")
    assert (b.rack, b.assignor, b.regex) == (None, None, "u.*")
    (regex,) = memory.regexes
    assert (regex.regex, regex.topics) == ("u.*", ("u",))
    assert memory.subscription_type.upper() == "HETEROGENEOUS"
    assert memory.metadata_deadline_ms > 0
    assert (memory.metadata_hash is not None) == (version >= "4.1")
    assert (memory.assignment_timestamp_ms is not None) == (version >= "4.3")
    given = {(topic, number) for topic, number, _ in a.assignment_epochs}
    assert given == (a.assigned if version >= "4.3" else set())
