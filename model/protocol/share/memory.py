"""The coordinator's memory of a share group: that of a consumer group, and its partitions."""

from __future__ import annotations

from attrs import frozen

from groupcheck.model.engine import evolve
from groupcheck.model.protocol.consumer.memory import Core, Seat, without
from groupcheck.model.protocol.share.scope import ShareScope


@frozen
class ShareCore(Core):
    """What is true of the group as a whole."""

    # How many members subscribe to each topic.
    readers: tuple[int, ...] = ()
    # The partitions that the last plan gave to anybody.
    planned: int = 0
    # The persister has been asked to initialize these, or has done so (the group's
    # ShareGroupStatePartitionMetadata); and those of which its answer is still to come.
    initializing: int = 0
    initialized: int = 0
    asked: int = 0
    # group.share.initialize.retry.interval.ms is over since that record was written.
    overdue: bool = False


def moved(core: ShareCore, before: int, after: int, partitions: int) -> ShareCore:
    """A member subscribes to the topics of other partitions (each topic has so many)."""
    topic = (1 << partitions) - 1
    readers = tuple(
        n + bool(after >> t * partitions & topic) - bool(before >> t * partitions & topic)
        for t, n in enumerate(core.readers)
    )
    return evolve(core, readers=readers)


def removed(core: ShareCore, seat: Seat, scope: ShareScope) -> ShareCore:
    """The group after a member was removed; its epoch grows (shareGroupFenceMember). From Kafka 4.4
    on, an empty group is at its target.
    """
    left = without(core, seat, settles=scope.release.settles_empty)
    assert isinstance(left, ShareCore)
    left = moved(left, seat.subscribed, 0, scope.partitions)
    return left if left.pending else evolve(left, planned=0)
