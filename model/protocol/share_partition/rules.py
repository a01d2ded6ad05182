"""What happens to the records of a share partition (kafka.server.share.SharePartition).

Each record is acquired by itself, and acknowledged by itself or with all others that its member
has; or records are fetched in batches (`batch_rules`). Renewal of the lock, the limit of records in
flight, the log start offset, transactions and the dead-letter queue are left out.
"""

from __future__ import annotations

from collections.abc import Iterator

from groupcheck.model.engine import Spec, array, end, evolve, rule, single
from groupcheck.model.protocol.faults import Budget
from groupcheck.model.protocol.masks import numbers
from groupcheck.model.protocol.share_partition.batch_rules import BATCH_RULES
from groupcheck.model.protocol.share_partition.partition import (
    TERMINAL,
    Delivery,
    Holder,
    Partition,
    Reader,
    Record,
    available,
    known,
    still,
)
from groupcheck.model.protocol.share_partition.scope import AS_KAFKA, SharePartitionScope


def _stored(record: Record) -> Record:
    """The persister keeps what has the higher delivery count, and of one count the higher state
    (PersisterStateBatchCombiner): what is released after an acceptance whose answer did not come
    stays accepted there.
    """
    if (record.count, record.state) < (record.stored_count, record.stored):
        return record
    return evolve(record, stored=record.state, stored_count=record.count)


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
        seen = part.with_record(number, evolve(taken, seen=True)).acquired(number)
        yield "delivered", seen, owner, evolve(reader, has=reader.has | bit), budget
        if budget.allows("lose_response"):
            left = budget.spend("lose_response")
            yield "lost", part.with_record(number, taken).acquired(number), owner, reader, left


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
        accepted = evolve(record, state=Delivery.ACKNOWLEDGED, accepted=True)
        rejected = evolve(record, state=Delivery.ARCHIVED, rejected=True)
        yield "accept", part.with_record(number, accepted), accepts, after
        yield "release", part.with_record(number, available(record, scope)), moved, after
        yield "reject", part.with_record(number, rejected), moved, after


@rule("accepted", "refused", when=lambda reader: bool(reader.has & (reader.has - 1)))
def acknowledge_batches(
    part: Partition, holder: Holder, reader: Reader
) -> Iterator[tuple[str, Partition, Holder, Reader]]:
    """A member accepts all records that it has in one request, which is written at once. If it has
    not acquired one of them, or no longer, all are refused. (Records that the start offset has
    passed are acknowledged one by one here.)
    """
    holder = known(holder, part)
    several = numbers(reader.has)
    if several[0] < part.start:
        return
    after = evolve(reader, has=0)
    records = [part.records[number] for number in several]
    acquired = all(r.state == Delivery.ACQUIRED and not r.moving for r in records)
    if not acquired or reader.has & ~holder.acquired:
        yield "refused", part, holder, after
        return
    for number, record in zip(several, records):
        moving = evolve(record, moving=True, start=part.start)
        accepted = evolve(moving, state=Delivery.ACKNOWLEDGED, accepted=True)
        part = part.with_record(number, accepted)
    moved = evolve(
        holder,
        acquired=holder.acquired & ~reader.has,
        moving=holder.moving | reader.has,
        accepts=holder.accepts | reader.has,
        together=tuple(sorted((*holder.together, reader.has))),
    )
    yield "accepted", part, moved, after


@rule("stored", "failed", "unanswered", when=lambda holder: holder.moving != 0)
def write_ends(
    part: Partition,
    holder: Holder,
    reader: Reader,
    budget: Budget,
    scope: SharePartitionScope,
) -> Iterator[tuple[str, Partition, Holder, Reader, Budget]]:
    """The write of the state of records ends: of one, or of all that a session's end has released,
    or that a request has accepted.
    """
    if holder.term != part.term:
        return
    for write in holder.writes:
        left = tuple(several for several in holder.together if several != write)
        moving, accepts = holder.moving & ~write, holder.accepts & ~write
        done = evolve(holder, moving=moving, accepts=accepts, together=left)
        told = evolve(reader, accepted=reader.accepted | holder.accepts & write)
        yield "stored", _with_stored(part, write), done, told, budget
        for label, fault in (("failed", "persister_failure"), ("unanswered", "persister_timeout")):
            if budget.allows(fault):
                there = label == "unanswered"
                back, owner = _undone(part, done, write, scope, there=there)
                yield label, back, owner, reader, budget.spend(fault)


def _with_stored(part: Partition, write: int) -> Partition:
    """A write is stored, and the leader knows that."""
    start = part.stored_start
    for number in numbers(write):
        record = part.records[number]
        start = max(start, record.start)
        part = part.with_record(number, _stored(still(record)))
    return evolve(part, stored_start=start).advanced()


def _undone(
    part: Partition, holder: Holder, write: int, scope: SharePartitionScope, *, there: bool
) -> tuple[Partition, Holder]:
    """A write has failed for the leader: its records are acquired as before, or, if the lock has
    run out meanwhile, available or archived (completeStateTransition). `there`: it is stored.
    """
    for number in numbers(write):
        record = part.records[number]
        start = max(part.stored_start, record.start) if there else part.stored_start
        undone = still(_stored(record) if there else record)
        if record.expired:
            undone = available(undone, scope)
        else:
            undone = evolve(undone, state=Delivery.ACQUIRED)
            holder = evolve(holder, acquired=holder.acquired | 1 << number)
        part = evolve(part.with_record(number, undone), stored_start=start)
    return part, holder


@rule("released", "unwritten", "in_a_write", when=lambda holder: holder.has != 0)
def lock_runs_out(
    part: Partition, holder: Holder, budget: Budget, scope: SharePartitionScope
) -> Iterator[tuple[str, Partition, Holder, Budget]]:
    """The acquisition lock of a record runs out. It is released, whether that can be written or
    not; in a write it only counts if the write fails.
    """
    if holder.term != part.term:
        return
    for lock in _locks(holder.acquired, part):
        rest = evolve(holder, acquired=holder.acquired & ~lock)
        free = _freed(part, lock, scope)
        stored = free
        for number in numbers(lock):
            stored = stored.with_record(number, _stored(free.records[number]))
        yield "released", evolve(stored, stored_start=part.start).advanced(), rest, budget
        if budget.allows("persister_failure"):
            yield "unwritten", free.advanced(), rest, budget.spend("persister_failure")
    for lock in _locks(holder.moving, part):
        if not part.records[numbers(lock)[0]].expired:
            expired = part
            for number in numbers(lock):
                expired = expired.with_record(number, evolve(part.records[number], expired=True))
            yield "in_a_write", expired, holder, budget


def _locks(records: int, part: Partition) -> list[int]:
    """The records that have one lock, for each lock of these."""
    found: list[int] = []
    for number in numbers(records):
        lock = part.together(number) & records
        if lock not in found:
            found.append(lock)
    return found


def _freed(part: Partition, lock: int, scope: SharePartitionScope) -> Partition:
    for number in numbers(lock):
        part = part.with_record(number, available(part.records[number], scope))
    return part


@rule(when=lambda budget: budget.allows("session_end"))
def session_ends(
    part: Partition, holder: Holder, budget: Budget, scope: SharePartitionScope
) -> Iterator[tuple[Partition, Holder, Budget]]:
    """The share session of a member ends: all that it has acquired is released, as if it had said
    so, in one write (releaseAcquiredRecords).
    """
    if holder.term != part.term or not holder.acquired:
        return
    for number in numbers(holder.acquired):
        free = evolve(available(part.records[number], scope), moving=True, start=part.start)
        part = part.with_record(number, free)
    freed = holder.acquired
    several = (freed,) if freed & (freed - 1) else ()
    released = evolve(
        holder,
        acquired=0,
        moving=holder.moving | freed,
        together=tuple(sorted((*holder.together, *several))),
    )
    yield part, released, budget.spend("session_end")


@rule("unwritten", "written", when=lambda budget: budget.allows("fail_over"))
def leader_changes(
    part: Partition, budget: Budget, scope: SharePartitionScope
) -> Iterator[tuple[str, Partition, Budget]]:
    """Another leader reads what the persister has. What was being written is there or is not."""
    left = budget.spend("fail_over")
    yield "unwritten", part.read(scope), left
    if any(record.moving for record in part.records):
        written = tuple(_stored(r) if r.moving else r for r in part.records)
        start = max(part.stored_start, *(r.start for r in part.records if r.moving))
        yield "written", evolve(part, records=written, stored_start=start).read(scope), left


@end
def all_finished(part: Partition) -> bool:
    """Every record is finished."""
    return all(record.state in TERMINAL for record in part.records)


ONE_BY_ONE = (acquire_records, acknowledge_record, acknowledge_batches)
LEADERS = (
    write_ends,
    lock_runs_out,
    session_ends,
    leader_changes,
)
RULES = (*ONE_BY_ONE, *BATCH_RULES, *LEADERS)


def spec(scope: SharePartitionScope) -> Spec:
    """The share partition at a scope, without invariants."""
    slots = {
        "part": single(Partition(records=(Record(),) * scope.records)),
        "budget": single(scope.budget),
        "holder": array(scope.members, Holder()),
        "reader": array(scope.members, Reader()),
    }
    rules = (*(BATCH_RULES if scope.batch else ONE_BY_ONE), *LEADERS)
    return Spec("share_partition", slots, rules, scope, ends=(all_finished,))
