"""What a share partition promises of its records (KIP-932)."""

from __future__ import annotations

from typing import Annotated

from groupcheck.model.engine import goal, invariant, view
from groupcheck.model.protocol.family import SHARE_PARTITION
from groupcheck.model.protocol.masks import numbers
from groupcheck.model.protocol.share_partition.partition import (
    TERMINAL,
    Delivery,
    Holder,
    Partition,
    Reader,
    known,
)
from groupcheck.model.protocol.share_partition.scope import SharePartitionScope


@view(of=SHARE_PARTITION)
def records_of(part: Partition, holder: Holder) -> int:
    """What the leader has for a member."""
    return known(holder, part).has


@invariant(
    of=SHARE_PARTITION,
    source="KIP-932, acquisition lock",
    broken="two members have acquired one record",
)
def record_has_one_holder(
    a: Annotated[int, "records_of[i]"], b: Annotated[int, "records_of[j]"]
) -> bool:
    """No record is acquired by two members, one whose acknowledgement is being written included."""
    return not a & b


@invariant(
    of=SHARE_PARTITION,
    source="KIP-932, acknowledgement",
    broken="two members were told that they have acknowledged one record",
)
def record_is_acknowledged_once(
    a: Annotated[Reader, "reader[i]"], b: Annotated[Reader, "reader[j]"]
) -> bool:
    """No two members are told that their acceptance of one record counts."""
    return not a.accepted & b.accepted


@invariant(
    of=SHARE_PARTITION,
    source="KIP-932, share-group persistence",
    broken="a record whose acceptance was confirmed may be delivered again",
)
def acknowledged_is_kept(part: Partition, reader: Reader) -> bool:
    """A record whose acceptance was confirmed was accepted and stays finished, also for the next
    leader. (The persister may have it as archived: of two states with one delivery count it keeps
    the higher, and the answer to the first may have been lost.)
    """
    return all(
        part.records[n].accepted and {part.records[n].state, part.records[n].stored} <= {*TERMINAL}
        for n in numbers(reader.accepted)
    )


@invariant(
    of=SHARE_PARTITION,
    source="KIP-932, acknowledgement",
    broken="a record counts as acknowledged although no member has accepted it: nobody gets it",
)
def acknowledged_was_accepted(part: Partition) -> bool:
    """Only a record that some member has accepted is acknowledged, also for the persister."""
    return all(
        record.accepted
        for record in part.records
        if Delivery.ACKNOWLEDGED in (record.state, record.stored)
    )


@invariant(
    of=SHARE_PARTITION,
    source="KIP-932, share-partition start offset",
    broken="the start offset has passed a record that is not finished: nobody gets it any more",
)
def start_passes_finished_records(part: Partition) -> bool:
    """The start offset, also the stored one, passes only records that are finished."""
    passed = part.records[: max(part.start, part.stored_start)]
    return all(record.state in TERMINAL and not record.moving for record in passed)


@invariant(
    of=SHARE_PARTITION,
    source="group.share.delivery.count.limit",
    broken="a record is given up before it was acquired as often as it should be",
)
def archived_at_the_limit(part: Partition, scope: SharePartitionScope) -> bool:
    """A record is archived only if a member rejected it or found a gap, or at the limit of
    deliveries.
    """
    return all(
        record.rejected or record.count >= scope.max_delivery
        for record in part.records
        if record.state == Delivery.ARCHIVED
    )


@invariant(
    of=SHARE_PARTITION,
    source="group.share.delivery.count.limit",
    broken="a record is acquired although it was at the limit of deliveries",
)
def count_is_limited(part: Partition, scope: SharePartitionScope) -> bool:
    """No record counts more deliveries than the limit."""
    return all(0 <= record.count <= scope.max_delivery for record in part.records)


@invariant(
    of=SHARE_PARTITION,
    source="KIP-932, delivery count",
    broken="a record is given up that no member has ever seen",
    promised=False,
)
def archived_record_was_seen(part: Partition) -> bool:
    """A record that is archived was seen by some member. Not promised: what counts is that it was
    acquired, and an answer may be lost each time.
    """
    return all(r.seen for r in part.records if r.state == Delivery.ARCHIVED and not r.moving)


@invariant(
    of=SHARE_PARTITION,
    source="KIP-932, delivery count",
    broken="a record is given out more often than the limit",
    promised=False,
)
def deliveries_are_limited(part: Partition, scope: SharePartitionScope) -> bool:
    """No record is given out more often than the limit. Not promised: an acquisition is not
    written, so the next leader does not count it.
    """
    return all(record.given <= scope.max_delivery for record in part.records)


@goal(of=SHARE_PARTITION)
def partition_is_done(part: Partition) -> bool:
    """Every record is acknowledged, and the start offset is at the end."""
    done = all(record.state == Delivery.ACKNOWLEDGED for record in part.records)
    return done and part.start == len(part.records)


@goal(of=SHARE_PARTITION)
def record_is_given_up(part: Partition) -> bool:
    """A record is archived that nobody rejected."""
    return any(r.state == Delivery.ARCHIVED and not r.rejected for r in part.records)
