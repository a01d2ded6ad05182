"""What happens to the records of a share partition (kafka.server.share.SharePartition).

Each record is acquired and acknowledged by itself; batches, renewal of the lock, the limit of
records in flight, the log start offset, transactions and the dead-letter queue are left out.
"""

from __future__ import annotations

from collections.abc import Iterator

from groupcheck.model.engine import Spec, array, end, evolve, rule, single
from groupcheck.model.protocol.faults import Budget
from groupcheck.model.protocol.masks import numbers
from groupcheck.model.protocol.share_partition.partition import (
    TERMINAL,
    Delivery,
    Holder,
    Partition,
    Reader,
    Record,
    known,
)
from groupcheck.model.protocol.share_partition.scope import AS_KAFKA, SharePartitionScope


def available(record: Record, scope: SharePartitionScope) -> Record:
    """A record that was acquired and is not any more: available, or archived at the limit."""
    full = record.count >= scope.max_delivery
    return evolve(record, state=Delivery.ARCHIVED if full else Delivery.AVAILABLE)


def _stored(record: Record) -> Record:
    return evolve(record, stored=record.state, stored_count=record.count)


def _still(record: Record) -> Record:
    """A record that is not being written any more."""
    return evolve(record, moving=False, expired=False, start=0)


@rule("delivered", "lost")
def acquire_records(
    part: Partition,
    holder: Holder,
    reader: Reader,
    budget: Budget,
    scope: SharePartitionScope,
) -> Iterator[tuple[str, Partition, Holder, Reader, Budget]]:
    """A member fetches: an available record is its own until the acquisition lock runs out. If the
    answer is lost, it never sees it.
    """
    holder = known(holder, part)
    for number, record in enumerate(part.records):
        if record.state != Delivery.AVAILABLE or record.moving or number < part.start:
            continue
        bit = 1 << number
        given = min(record.given + 1, scope.max_delivery + 1)
        taken = evolve(record, state=Delivery.ACQUIRED, count=record.count + 1, given=given)
        owner = evolve(holder, acquired=holder.acquired | bit)
        seen = part.with_record(number, evolve(taken, seen=True))
        yield "delivered", seen, owner, evolve(reader, has=reader.has | bit), budget
        if budget.allows("lose_response"):
            left = budget.spend("lose_response")
            yield "lost", part.with_record(number, taken), owner, reader, left


@rule("accept", "release", "reject", "refused", "passed", when=lambda reader: reader.has != 0)
def acknowledge_record(
    part: Partition, holder: Holder, reader: Reader, scope: SharePartitionScope
) -> Iterator[tuple[str, Partition, Holder, Reader]]:
    """A member acknowledges a record. That is written first. Refused (INVALID_RECORD_STATE): it has
    not acquired the record, or no longer. Passed: the start offset has passed the record, so
    the leader does nothing and says that all is well (K33).
    """
    holder = known(holder, part)
    for number in numbers(reader.has):
        bit, record = 1 << number, part.records[number]
        after = evolve(reader, has=reader.has & ~bit)
        if number < part.start and scope.k33 == AS_KAFKA:
            yield "passed", part, holder, evolve(after, accepted=after.accepted | bit)
            continue
        if not holder.acquired & bit or record.state != Delivery.ACQUIRED or record.moving:
            yield "refused", part, holder, after
            continue
        moved = evolve(holder, acquired=holder.acquired & ~bit, moving=holder.moving | bit)
        accepts = evolve(moved, accepts=moved.accepts | bit)
        record = evolve(record, moving=True, start=part.start)
        accepted = evolve(record, state=Delivery.ACKNOWLEDGED)
        rejected = evolve(record, state=Delivery.ARCHIVED, rejected=True)
        yield "accept", part.with_record(number, accepted), accepts, after
        yield "release", part.with_record(number, available(record, scope)), moved, after
        yield "reject", part.with_record(number, rejected), moved, after


@rule("stored", "failed", "unanswered", when=lambda holder: holder.moving != 0)
def write_ends(
    part: Partition,
    holder: Holder,
    reader: Reader,
    budget: Budget,
    scope: SharePartitionScope,
) -> Iterator[tuple[str, Partition, Holder, Reader, Budget]]:
    """The write of a record's state ends. If it fails, the record is acquired as before, or, if the
    lock has run out meanwhile, available or archived (completeStateTransition).
    """
    if holder.term != part.term:
        return
    for number in numbers(holder.moving):
        bit, record = 1 << number, part.records[number]
        done = evolve(holder, moving=holder.moving & ~bit, accepts=holder.accepts & ~bit)
        well = part.with_record(number, _stored(_still(record)))
        start = max(part.stored_start, record.start)
        well = evolve(well, stored_start=start).advanced()
        told = evolve(reader, accepted=reader.accepted | holder.accepts & bit)
        yield "stored", well, done, told, budget
        for label, fault in (("failed", "persister_failure"), ("unanswered", "persister_timeout")):
            if budget.allows(fault):
                kept = _stored(record) if label == "unanswered" else record
                undone = _still(kept)
                owner = done
                if record.expired:
                    undone = available(undone, scope)
                else:
                    undone = evolve(undone, state=Delivery.ACQUIRED)
                    owner = evolve(done, acquired=done.acquired | bit)
                there = start if label == "unanswered" else part.stored_start
                back = evolve(part.with_record(number, undone), stored_start=there)
                yield label, back, owner, reader, budget.spend(fault)


@rule("released", "unwritten", "in_a_write", when=lambda holder: holder.has != 0)
def lock_runs_out(
    part: Partition, holder: Holder, budget: Budget, scope: SharePartitionScope
) -> Iterator[tuple[str, Partition, Holder, Budget]]:
    """The acquisition lock of a record runs out. It is released, whether that can be written or
    not; in a write it only counts if the write fails.
    """
    if holder.term != part.term:
        return
    for number in numbers(holder.acquired):
        record = available(part.records[number], scope)
        rest = evolve(holder, acquired=holder.acquired & ~(1 << number))
        stored = evolve(part.with_record(number, _stored(record)), stored_start=part.start)
        yield "released", stored.advanced(), rest, budget
        if budget.allows("persister_failure"):
            left = budget.spend("persister_failure")
            yield "unwritten", part.with_record(number, record).advanced(), rest, left
    for number in numbers(holder.moving):
        record = part.records[number]
        if not record.expired:
            expired = part.with_record(number, evolve(record, expired=True))
            yield "in_a_write", expired, holder, budget


@rule(when=lambda budget: budget.allows("session_end"))
def session_ends(
    part: Partition, holder: Holder, budget: Budget, scope: SharePartitionScope
) -> Iterator[tuple[Partition, Holder, Budget]]:
    """The share session of a member ends: all that it has acquired is released, as if it had said
    so (releaseAcquiredRecords).
    """
    if holder.term != part.term or not holder.acquired:
        return
    for number in numbers(holder.acquired):
        free = evolve(available(part.records[number], scope), moving=True, start=part.start)
        part = part.with_record(number, free)
    moving = holder.moving | holder.acquired
    yield part, evolve(holder, acquired=0, moving=moving), budget.spend("session_end")


@rule("unwritten", "written", when=lambda budget: budget.allows("fail_over"))
def leader_changes(part: Partition, budget: Budget) -> Iterator[tuple[str, Partition, Budget]]:
    """Another leader reads what the persister has. What was being written is there or is not."""
    left = budget.spend("fail_over")
    yield "unwritten", _read(part), left
    if any(record.moving for record in part.records):
        written = tuple(_stored(r) if r.moving else r for r in part.records)
        start = max(part.stored_start, *(r.start for r in part.records if r.moving))
        yield "written", _read(evolve(part, records=written, stored_start=start)), left


def _read(part: Partition) -> Partition:
    """The partition as the next leader knows it."""
    records = tuple(evolve(_still(r), state=r.stored, count=r.stored_count) for r in part.records)
    return evolve(part, records=records, start=part.stored_start, term=part.term + 1).advanced()


@end
def all_finished(part: Partition) -> bool:
    """Every record is finished."""
    return all(record.state in TERMINAL for record in part.records)


RULES = (
    acquire_records,
    acknowledge_record,
    write_ends,
    lock_runs_out,
    session_ends,
    leader_changes,
)


def spec(scope: SharePartitionScope) -> Spec:
    """The share partition at a scope, without invariants."""
    slots = {
        "part": single(Partition(records=(Record(),) * scope.records)),
        "budget": single(scope.budget),
        "holder": array(scope.members, Holder()),
        "reader": array(scope.members, Reader()),
    }
    return Spec("share_partition", slots, RULES, scope, ends=(all_finished,))
