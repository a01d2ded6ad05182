"""When Kafka's own coordinator resolves the regular expressions of a consumer group, and what a
group loses while one is not resolved.
"""

from __future__ import annotations

from typing import Any

import pytest

from groupcheck.oracles.consumer.committing import KEPT_MS, RETENTION, SILENT_MS
from groupcheck.oracles.kafka.commands import (
    Advance,
    Command,
    ConsumerGroupHeartbeat,
    Fire,
    OffsetCommit,
    Reset,
    SetTopics,
)
from groupcheck.oracles.kafka.driver import shared
from groupcheck.oracles.kafka.memory import SWEEP, ConsumerMemory
from groupcheck.oracles.kafka.schedule import Schedule

VERSIONS = ["4.3.1", *(pytest.param(v, marks=pytest.mark.night) for v in ("4.0.0", "4.4.0"))]
# Kafka's own.
RULE_MS, REFRESH_MS = 10_000, 600_000


def join(member: str, regex: str) -> Command:
    return ConsumerGroupHeartbeat(
        member=member,
        epoch=0,
        topics=(),
        regex=regex,
        owned={},
        rebalance_timeout_ms=SILENT_MS,
    )


def beat(member: str, epoch: int = 0, **more: Any) -> Command:
    """A heartbeat; by default with the whole subscription, as a member sends it that joins."""
    return ConsumerGroupHeartbeat(member=member, epoch=epoch, **more)


def after(kafka: str, *commands: Command) -> ConsumerMemory:
    topics = {"t": 1, "u": 1}
    found = shared(kafka).run(Schedule(commands, Reset(topics=topics, config=RETENTION)))
    assert not found.refused
    memory = found.steps[-1].memory
    assert isinstance(memory, ConsumerMemory)
    return memory


def resolved(memory: ConsumerMemory) -> dict[str, tuple[str, ...]]:
    return {one.regex: one.topics for one in memory.regexes}


@pytest.mark.parametrize("kafka", VERSIONS)
def test_a_second_pattern_within_ten_seconds_waits_and_needs_another_heartbeat(kafka: str) -> None:
    two = (join("a", "t.*"), join("b", "u.*"))
    assert resolved(after(kafka, *two)) == {"t.*": ("t",)}
    assert resolved(after(kafka, *two, Advance(ms=RULE_MS + 1))) == {"t.*": ("t",)}
    later = after(kafka, *two, Advance(ms=RULE_MS), join("b", "u.*"))
    assert resolved(later) == {"t.*": ("t",)}
    both = after(kafka, *two, Advance(ms=RULE_MS + 1), join("b", "u.*"))
    assert resolved(both) == {"t.*": ("t",), "u.*": ("u",)}


@pytest.mark.parametrize("kafka", VERSIONS)
def test_patterns_are_resolved_anew_for_new_topics(kafka: str) -> None:
    first = join("a", "t.*")
    grown = SetTopics(topics={"t": 1, "u": 1, "tt": 1})
    early = after(kafka, first, grown, Advance(ms=RULE_MS), first)
    assert resolved(early) == {"t.*": ("t",)}
    late = after(kafka, first, grown, Advance(ms=RULE_MS + 1), first)
    assert resolved(late) == {"t.*": ("t", "tt")}


@pytest.mark.parametrize(
    ("kafka", "refreshes"),
    [
        ("4.3.1", True),
        *(
            pytest.param(v, v != "4.0.0", marks=pytest.mark.night)
            for v in ("4.0.0", "4.1.1", "4.4.0")
        ),
    ],
)
def test_patterns_are_resolved_anew_after_ten_minutes_from_4_1_on(
    kafka: str, refreshes: bool
) -> None:
    first = join("a", "t.*")
    began = after(kafka, first).regexes[0].timestamp_ms
    for ms, anew in ((REFRESH_MS, False), (REFRESH_MS + 1, refreshes)):
        (regex,) = after(kafka, first, Advance(ms=ms), first).regexes
        assert (regex.timestamp_ms > began) == anew


@pytest.mark.parametrize("kafka", VERSIONS)
def test_a_pattern_that_is_not_resolved_keeps_no_offset(kafka: str) -> None:
    """K32 in a group that is never empty: the only member of a pattern is replaced within ten
    seconds of another pattern's first heartbeat.
    """
    commit = OffsetCommit(offsets=(("t", 0, 5),))
    old = (
        join("x", "u.*"),
        beat("x", -1),
        commit,
        Advance(ms=KEPT_MS),
        join("a", "t.*"),
    )
    sweep = Fire(timer=SWEEP)
    assert after(kafka, *old, sweep).offsets == (("t", 0, 5),)
    replaced = (Advance(ms=RULE_MS + 1), join("c", "u.*"), beat("a", -1), join("b", "t.*"))
    waits = after(kafka, *old, *replaced)
    assert (resolved(waits), waits.offsets) == ({"u.*": ("u",)}, (("t", 0, 5),))
    assert after(kafka, *old, *replaced, sweep).offsets == ()
    healed = (Advance(ms=RULE_MS + 1), join("b", "t.*"), sweep)
    assert after(kafka, *old, *replaced, *healed).offsets == (("t", 0, 5),)
