"""Where a producer's records without a key go: into whole batches, and evenly."""

from __future__ import annotations

from typing import Annotated, Any

from groupcheck.model.engine import goal, invariant, step_invariant
from groupcheck.model.protocol.family import PARTITIONER
from groupcheck.model.protocol.sticky_partitioner import rules
from groupcheck.model.protocol.sticky_partitioner.rules import Part, Producer
from groupcheck.model.protocol.sticky_partitioner.scope import PartitionerScope


@invariant(
    source="KIP-480",
    broken="two partitions are sticky, or one while none should be",
    of=PARTITIONER,
)
def one_sticky_partition(
    producer: Producer, a: Annotated[Part, "part[i]"], b: Annotated[Part, "part[j]"]
) -> bool:
    """One partition at most is sticky, and none while the next one is to be chosen."""
    return not (a.sticky and b.sticky) and not (producer.choosing and a.sticky)


@step_invariant(
    "part",
    rules=(rules.on_new_batch.name,),
    source="KIP-480; StickyPartitionCache.nextPartition",
    broken="the producer leaves {partition}, whose last batch has room",
    of=PARTITIONER,
)
def changes_between_batches(before: Any, after: Any, scope: PartitionerScope) -> bool:
    """The sticky partition changes only once its last batch is closed: full, or sent.

    Why: a batch that is left with room is sent small, which is what stickiness avoids.
    """
    leaves = before.part.sticky and not after.part.sticky
    return not leaves or rules.closed(before.part, scope)


@invariant(source="KIP-480", broken="two partitions have a batch with room", of=PARTITIONER)
def one_open_batch(
    a: Annotated[Part, "part[i]"], b: Annotated[Part, "part[j]"], scope: PartitionerScope
) -> bool:
    """With the partitioner of KIP-480, no two partitions have a batch with room."""
    return scope.built_in or rules.closed(a, scope) or rules.closed(b, scope)


@invariant(source="KIP-480", broken="the brokers are equally fast, but {got}", of=PARTITIONER)
def even_among_fast_brokers(
    a: Annotated[Part, "part[i]"], b: Annotated[Part, "part[j]"], scope: PartitionerScope
) -> bool:
    """With the partitioner of KIP-480, two partitions that were chosen equally often have got the
    same number of records, unless the broker of one is slow.
    """
    if scope.built_in or a.slow or b.slow or a.stays != b.stays:
        return True
    return a.got == b.got


@invariant(
    source="KIP-794; BuiltInPartitioner.updatePartitionInfo",
    broken="partition {got}, which does not fit how often it was chosen",
    of=PARTITIONER,
)
def stays_are_measured(part: Part, scope: PartitionerScope) -> bool:
    """With the partitioner of KIP-794, a partition gets at least batch.size each time that it is
    chosen, and twice that at most, whether its broker is slow or not.

    Why: how much a partition gets must not depend on how soon its batches are sent.
    """
    least = scope.batch * part.stays
    return not scope.built_in or least <= part.got <= 2 * least


@invariant(
    source="RecordAccumulator.append",
    broken="the records of the partitions are not those that were sent",
    of=PARTITIONER,
)
def records_are_counted(
    producer: Producer,
    parts: Annotated[tuple[Part, ...], "part[:]"],
    scope: PartitionerScope,
) -> bool:
    """Each record goes to one partition."""
    return sum(part.got for part in parts) + producer.produced == scope.records - producer.left


@invariant(
    source="KAFKA-10888, KIP-794",
    broken="both were chosen equally often, but {got}",
    of=PARTITIONER,
    promised=False,
)
def slow_brokers_get_no_more(a: Annotated[Part, "part[i]"], b: Annotated[Part, "part[j]"]) -> bool:
    """A partition of a slow broker gets twice as many records at most as another one that was
    chosen equally often.

    Why: KIP-480 does not promise this, KIP-794 does. A fast broker takes small batches, and each
    batch that is sent makes the producer choose another partition; a slow one makes batches wait
    until they are full. So the partitions of slow brokers get most, and become slower.
    """
    compared = a.stays == b.stays and a.slow and not b.slow
    return not compared or a.got <= 2 * b.got


@goal(of=PARTITIONER)
def small_batch(part: Part, scope: PartitionerScope) -> bool:
    """A batch is sent before it is full."""
    return rules.lingered(part, scope)


@goal(of=PARTITIONER)
def chosen_again(part: Part) -> bool:
    """A partition is chosen a second time."""
    return part.sticky and part.stays > 0


@goal(source="KIP-480: over time, records are spread evenly", of=PARTITIONER)
def even_in_the_end(producer: Producer, parts: Annotated[tuple[Part, ...], "part[:]"]) -> bool:
    """All records are sent, and each of several partitions has got as many as any other one."""
    got = {part.got + part.sticky * producer.produced for part in parts}
    return producer.left == 0 and len(parts) > 1 and len(got) == 1
