"""Which partition of __consumer_offsets has a group: Kafka's own function and ours."""

from __future__ import annotations

import random

import pytest

from groupcheck.model.protocol.lookup import partition_for
from groupcheck.oracles.kafka.answers import PartitionAnswer
from groupcheck.oracles.kafka.commands import PartitionFor
from groupcheck.oracles.kafka.driver import Driver, shared
from groupcheck.oracles.kafka.schedule import Looks, LostSchedule, Schedule

SMALLEST = "polygenelubricants"  # its hash is Integer.MIN_VALUE
NAMES = ("g", "", "a group", "gruppe-ä", "グループ", "😀", "x" * 249, SMALLEST)


@pytest.fixture(scope="module")
def coordinator() -> Driver:
    return shared()


def kafkas(driver: Driver, asked: list[tuple[str, int]]) -> list[int]:
    commands = [PartitionFor(group=group, partitions=n) for group, n in asked]
    result = driver.run(Schedule(commands, looks=Looks.NEVER))
    assert not isinstance(result, LostSchedule), result
    answers = [answer for step in result.steps for _, answer in step.answered]
    assert all(isinstance(answer, PartitionAnswer) for answer in answers)
    return [answer.partition for answer in answers]


def drawn(seed: int, count: int) -> list[tuple[str, int]]:
    draw = random.Random(seed)
    alphabet = "abcXYZ019-._ äß€😀𝔘日"
    return [
        ("".join(draw.choices(alphabet, k=draw.randrange(1, 40))), draw.choice((1, 3, 50, 1000)))
        for _ in range(count)
    ]


def test_the_partition_of_a_group_is_kafkas(coordinator: Driver) -> None:
    asked = [(group, n) for group in NAMES for n in (1, 7, 50)] + drawn(1, 300)
    assert [partition_for(group, n) for group, n in asked] == kafkas(coordinator, asked)


def test_the_smallest_hash_counts_as_0() -> None:
    assert [partition_for(SMALLEST, n) for n in (50, 7)] == [0, 0]


def test_groups_are_spread_over_all_partitions() -> None:
    assert {partition_for(f"group-{k}", 50) for k in range(1000)} == {*range(50)}
