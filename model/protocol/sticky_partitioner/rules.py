"""How a producer deals records without a key to partitions.

KIP-480: all records go to one partition, so that batches fill. When a record needs a new batch
there, because the last one is full or was sent, the producer calls `onNewBatch`, which chooses
another partition at random (UniformStickyPartitioner, StickyPartitionCache.nextPartition;
RecordAccumulator.append with abortOnNewBatch).

KIP-794: the partition changes after batch.size bytes, whatever became of its batches; not while its
last batch has room, but after twice batch.size at the latest (RecordAccumulator.partitionChanged,
BuiltInPartitioner.updatePartitionInfo). The next one may be the same.

Left out: records with keys or partitions; several producer threads; partitions without a leader;
the weights by which KIP-794 prefers short queues, because a choice at random may be any;
partitioner.availability.timeout.ms; records of different sizes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from attrs import frozen

from groupcheck.model.engine import Spec, array, end, evolve, rule, single
from groupcheck.model.protocol.faults import Budget
from groupcheck.model.protocol.sticky_partitioner.scope import PartitionerScope


@frozen
class Producer:
    """The producer, and what its partitioner remembers."""

    # Records that are still to be sent.
    left: int
    # No partition is sticky: the next one is to be chosen.
    choosing: bool = True
    # The sticky partition was just chosen, and may get a new batch without another choice.
    fresh: bool = False
    # Records that have gone to the sticky partition since it was chosen
    # (StickyPartitionInfo.producedBytes; the partitioner of KIP-480 does not know it).
    produced: int = 0


@frozen
class Part:
    """One partition."""

    # The records without a partition of their own go here.
    sticky: bool = False
    # Records in its last batch; 0: there is none, or it was sent.
    open: int = 0
    # Its broker is slow.
    slow: bool = False
    # How often it was chosen and left again.
    stays: int = 0
    # The records that it has got meanwhile.
    got: int = 0


def closed(part: Part, scope: PartitionerScope) -> bool:
    """Would a record need a new batch (RecordAccumulator.allBatchesFull)?"""
    return part.open in (0, scope.batch)


def lingered(part: Part, scope: PartitionerScope) -> bool:
    """Is the batch to be sent before another record comes? A full one may wait for its broker."""
    return not part.slow and 0 < part.open < scope.batch and part.open >= scope.linger


def left(part: Part, producer: Producer) -> Part:
    """The partition is sticky no more."""
    return evolve(part, sticky=False, stays=part.stays + 1, got=part.got + producer.produced)


def must_change(producer: Producer, part: Part, scope: PartitionerScope) -> bool:
    """Does the next record go to a partition that is to be chosen first?"""
    if scope.built_in:
        enough = producer.produced >= scope.batch and closed(part, scope)
        return enough or producer.produced >= 2 * scope.batch
    return closed(part, scope) and not producer.fresh and scope.partitions > 1


@rule(when=lambda producer: producer.choosing)
def choose(producer: Producer, part: Part) -> Iterator[tuple[Producer, Part]]:
    """A partition is chosen at random."""
    chosen = evolve(producer, choosing=False, fresh=True, produced=0)
    yield chosen, evolve(part, sticky=True)


@rule("into_batch", "new_batch", when=lambda part: part.sticky)
def append_record(
    producer: Producer, part: Part, scope: PartitionerScope
) -> Iterator[tuple[str, Producer, Part]]:
    """The next record goes to the sticky partition, into its last batch or a new one."""
    if producer.left and not must_change(producer, part, scope) and not lingered(part, scope):
        sent = evolve(
            producer,
            left=producer.left - 1,
            fresh=False,
            produced=producer.produced + 1,
        )
        opens = closed(part, scope)
        filled = evolve(part, open=1 if opens else part.open + 1)
        yield "new_batch" if opens else "into_batch", sent, filled


@rule(when=lambda old: old.sticky)
def on_new_batch(
    producer: Producer,
    old: Annotated[Part, "part[i]"],
    new: Annotated[Part, "part[j]"],
    scope: PartitionerScope,
) -> Iterator[tuple[Producer, Part, Part]]:
    """KIP-480: the next record needs a new batch, and another partition is chosen at random."""
    if not scope.built_in and producer.left and must_change(producer, old, scope):
        chosen = evolve(producer, fresh=True, produced=0)
        yield chosen, left(old, producer), evolve(new, sticky=True)


@rule(when=lambda part: part.sticky)
def leave_partition(
    producer: Producer, part: Part, scope: PartitionerScope
) -> Iterator[tuple[Producer, Part]]:
    """KIP-794: enough records went to this partition; the next one is to be chosen."""
    if scope.built_in and must_change(producer, part, scope):
        yield evolve(producer, choosing=True, produced=0), left(part, producer)


@rule("full", "linger", when=lambda part: part.open > 0)
def drain_batch(part: Part, scope: PartitionerScope) -> Iterator[tuple[str, Part]]:
    """The sender takes the last batch: it is full, or linger.ms is over and its broker is ready
    (RecordAccumulator.drain).
    """
    if part.open == scope.batch:
        yield "full", evolve(part, open=0)
    elif lingered(part, scope):
        yield "linger", evolve(part, open=0)


@rule(when=lambda budget: budget.allows("slow_broker"))
def slow_broker(part: Part, budget: Budget) -> Iterator[tuple[Part, Budget]]:
    """The broker of a partition becomes slow, and stays so."""
    if not part.slow:
        yield evolve(part, slow=True), evolve(budget.spend("slow_broker"), closing=False)


@end
def all_sent(producer: Producer) -> bool:
    """The producer has no more records."""
    return producer.left == 0


RULES = (choose, append_record, on_new_batch, leave_partition, drain_batch, slow_broker)


def spec(scope: PartitionerScope) -> Spec:
    """The partitioner at a scope, without invariants."""
    slots = {
        "producer": single(Producer(left=scope.records)),
        "budget": single(scope.budget),
        "part": array(scope.partitions, Part()),
    }
    return Spec("sticky_partitioner", slots, RULES, scope, ends=(all_sent,))
