"""The sticky partitioner of a producer: no group, but half of what spreads records over members."""

from __future__ import annotations

from groupcheck.model.protocol.covers import Fields, covers_of
from groupcheck.model.protocol.family import PARTITIONER
from groupcheck.model.protocol.sticky_partitioner.rules import spec
from groupcheck.model.protocol.sticky_partitioner.scope import FAULTS, PartitionerScope
from groupcheck.model.protocol.sticky_partitioner.words import story_of, tell
from groupcheck.model.protocol.variant import Variant

# The smallest first.
SHOWS: tuple[Fields, ...] = (
    {"partitions": 1, "records": 1, "batch": 1},
    {"partitions": 1, "records": 1},
    {"partitions": 1, "records": 2, "batch": 2, "linger": 2},
    {"partitions": 1, "records": 1, "any_faults": 1},
    {"records": 2},
    {"partitions": 1, "records": 2, "batch": 1, "partitioner": "built_in"},
)


VARIANT = Variant(
    name="sticky_partitioner",
    title="Sticky partitioner of a producer",
    doc=(
        "Records without a key go to one partition until its batch is closed, then to another one"
        " (KIP-480, UniformStickyPartitioner); or until batch.size has gone there (KIP-794,"
        " BuiltInPartitioner)."
    ),
    scope_type=PartitionerScope,
    spec=spec,
    faults=FAULTS,
    families=(PARTITIONER,),
    tell=tell,
    story=story_of,
    spent_by={"slow_broker": ("slow_broker",)},
    shows=SHOWS,
    covers=covers_of("sticky_partitioner"),
    unreal=(
        "a partitioner is no coordinator; tests/oracles/kafka/test_kafka_partitioners.py compares"
        " it with Kafka's classes"
    ),
    unreal_member="a producer is no member",
)
