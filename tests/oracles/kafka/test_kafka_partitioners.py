"""The model's partitioner beside Kafka's classes, row by row: UniformStickyPartitioner of Kafka
3.2.3 (KIP-480), BuiltInPartitioner of Kafka 4.3.0 and 3.3.2 (KIP-794).

Each row of Kafka's is tried a hundred times, because the next partition is chosen at random. What
RecordAccumulator does, which asks the partitioner for a new batch, is read and not executed.
"""

from __future__ import annotations

import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

from groupcheck.model.engine.step import Semantics
from groupcheck.model.protocol.sticky_partitioner.rules import Part, Producer, must_change, spec
from groupcheck.model.protocol.sticky_partitioner.scope import PartitionerScope
from groupcheck.oracles.kafka import install
from groupcheck.oracles.museum.members import MEMBERS

PROGRAM = Path(__file__).parent / "java" / "StickyRows.java"
RELEASES = {"3.2.3": MEMBERS, "3.3.2": MEMBERS, "4.3.0": install.DRIVER}


@cache
def rows(release: str, kind: str) -> list[list[str]]:
    """The rows that a release prints: words, with a set of partitions as one word."""
    jars = install.classpath(release, program=RELEASES[release])
    done = subprocess.run(
        [install.java(), "-cp", jars, str(PROGRAM), kind],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    lines = [re.sub(r",\s+", ",", line).split() for line in done.stdout.splitlines()]
    return [words for words in lines if words[0] in ("sticky", "built_in", "next")]


def partitions(text: str) -> set[int]:
    return {int(p) for p in text.strip("[]").split(",")}


def chosen(partitioner: str, n: int, old: int) -> set[int]:
    """The partitions to which the model's next record may go, when the sticky one (-1: none) has no
    batch and gave what it had to.
    """
    scope = PartitionerScope(partitioner=partitioner, partitions=n, batch=1, records=1)
    see = Semantics(spec(scope))
    parts = tuple(Part(sticky=p == old) for p in range(n))
    producer = Producer(left=1, choosing=old < 0, produced=1)
    frontier, found = [see.state({"producer": producer, "part": parts})], set()
    while frontier:
        state = frontier.pop()
        for step, _ in see.steps(state):
            if step.firing.name.startswith("append"):
                assert step.firing.me is not None
                found.add(step.firing.me)
            else:
                frontier.append(step.state)
    return found


def test_the_partitioner_of_kip_480_chooses_as_the_model_does() -> None:
    compared = 0
    for _, n, old, previous, after in rows("3.2.3", "sticky"):
        if old in ("-1", previous):
            assert partitions(after) == chosen("sticky", int(n), int(old)), (n, old)
            compared += 1
    assert compared == 1 + 1 + 2 + 2 + 3 + 3


def test_a_new_batch_of_another_partition_changes_nothing() -> None:
    """As of a record with a key, which the model leaves out."""
    others = [r for r in rows("3.2.3", "sticky") if r[2] not in ("-1", r[3])]
    assert len(others) == 8
    assert all(partitions(after) == {int(old)} for _, _, old, _, after in others)


@pytest.mark.parametrize("release", ["4.3.0", "3.3.2"])
def test_the_partitioner_of_kip_794_leaves_a_partition_when_the_model_does(release: str) -> None:
    compared = 0
    for name, *words in rows(release, "built_in"):
        if name != "built_in":
            continue
        batch, produced, enabled, changed = *map(int, words[:2]), words[2], words[3]
        scope = PartitionerScope(partitioner="built_in", batch=batch)
        part = Part(sticky=True, open=batch if enabled == "true" else 1)
        if batch == 1 and enabled == "false":
            continue  # a batch of one record never has room
        leaves = must_change(Producer(left=1, produced=produced + 1), part, scope)
        assert leaves is (changed == "true"), (batch, produced, enabled)
        compared += 1
    assert compared == 2 * (2 + 4 + 6 + 8) - 2


@pytest.mark.parametrize("release", ["4.3.0", "3.3.2"])
def test_the_partitioner_of_kip_794_may_choose_the_same_partition_again(release: str) -> None:
    followed = {int(r[1]): partitions(r[2]) for r in rows(release, "built_in") if r[0] == "next"}
    assert followed == {n: chosen("built_in", n, 0) for n in (1, 2, 3)}
