"""Records that the leader has in batches: what a fetch acquires, and what an acknowledgement moves
(SharePartition.acquire and .acknowledge).

A batch in flight has one state and one lock for all of its records until a request needs only a
part of it; then each of its records has its own (InFlightBatch.maybeInitializeOffsetStateUpdate).
"""

from __future__ import annotations

from collections.abc import Mapping

from attrs import define, frozen

from groupcheck.model.engine import evolve
from groupcheck.model.protocol.masks import numbers
from groupcheck.model.protocol.share_partition.partition import (
    Delivery,
    Holder,
    InFlight,
    Partition,
    Record,
    available,
)
from groupcheck.model.protocol.share_partition.scope import SharePartitionScope

# The states that acknowledgements ask for, by the type on the wire. A gap has no record.
GAP, ACCEPT, RELEASE, REJECT = range(4)


@frozen
class Asked:
    """A batch of an acknowledgement: one type for all of its records, or one for each."""

    first: int
    last: int
    types: tuple[int, ...]

    def type_of(self, number: int) -> int:
        """The type for a record."""
        return self.types[number - self.first] if len(self.types) > 1 else self.types[0]


class RefusedError(Exception):
    """Some record of a request is not the member's. `part` has the batches that were told apart
    before that was found, and no other change.
    """

    def __init__(self, part: Partition) -> None:
        super().__init__()
        self.part = part


class BrokenError(Exception):
    """Kafka's leader dereferences null."""


def asked(mask: int, kind: int, scope: SharePartitionScope, rest: int | None = None) -> list[Asked]:
    """The request of a member that acknowledges these records: a batch for each run of offsets.
    `rest`: the type of all but the first. An offset without a record is always a gap.
    """
    runs: list[list[int]] = []
    for n in numbers(mask):
        if runs and runs[-1][-1] == n - 1:
            runs[-1].append(n)
        else:
            runs.append([n])
    first = numbers(mask)[0]

    def of(n: int) -> int:
        if n == scope.missing:
            return GAP
        return kind if rest is None or n == first else rest

    types = [tuple(of(n) for n in run) for run in runs]
    return [
        Asked(run[0], run[-1], kinds[:1] if len({*kinds}) == 1 else kinds)
        for run, kinds in zip(runs, types)
    ]


def next_fetch(part: Partition) -> int:
    """The offset that the leader fetches at next (nextFetchOffset)."""
    if not part.batches:
        return part.start
    gap = -1 if part.gap is None else part.gap[0]
    for batch in part.batches:
        if part.gap is not None:
            if batch.first > gap:
                return gap
            gap = max(batch.last + 1, gap)
        for n in batch.range:
            if _is_available(part, n):
                return n
    return part.batches[-1].last + 1


def _is_available(part: Partition, n: int) -> bool:
    record = part.records[n]
    return record.state == Delivery.AVAILABLE and not record.moving


@define
class Fetching:
    """One fetch of a member, from the log batch with the next offset to the end of the log."""

    part: Partition
    scope: SharePartitionScope
    # At most so many records are wanted, and whether not one more is given (record_limit).
    most: int
    strict: bool
    acquired: int = 0

    def run(self) -> None:
        """Acquires what there is."""
        begin = next_fetch(self.part)
        last = self.scope.records - 1
        if begin > last:
            return
        log = base = begin - begin % self.scope.batch
        floor = self.part.floor(base)
        if floor is None:
            base = max(base, self.part.start)
        elif floor.last >= base:
            base = floor.first
        there = self.part.between(min(log, base), last)
        if not there:
            self._new(base, last)
            return
        self._cached(there, base, log, last)
        if self._left > 0 and there[-1].last < last:
            self._new(there[-1].last + 1, last)
        if self.acquired:
            self.part = self.part.acquired(numbers(self.acquired)[-1])

    @property
    def _left(self) -> int:
        return self.most - self.acquired.bit_count()

    def _cached(self, there: list[InFlight], base: int, log: int, last: int) -> None:
        """What the leader has of these batches, and the gaps between them."""
        gap = base
        for batch in there:
            if self._left <= 0:
                return
            if self.part.gap is not None:
                if gap < batch.first:
                    self._new(gap, batch.first - 1)
                gap = batch.last + 1
                if self._left <= 0:
                    return
            throttled = self._throttled(batch, log)
            if throttled and self.acquired:
                self.most = 0
                return
            limited = self.strict and batch.last - batch.first + 1 > self._left
            whole = batch.whole and batch.first >= log and not limited and not throttled
            if batch.whole and not _is_available(self.part, batch.first):
                continue
            if whole:
                for n in batch.range:
                    self._take(n)
                continue
            self.part = self.part.split(batch)
            before = self.acquired
            self._some(batch, log)
            if throttled and self.acquired != before:
                self.most = 0
                return

    def _throttled(self, batch: InFlight, log: int) -> bool:
        """Was a record of it delivered often? (shouldThrottleRecordsDelivery)"""
        counts = [
            self.part.records[n].count
            for n in batch.range
            if (batch.whole or n >= log) and _is_available(self.part, n)
        ]
        return max(counts, default=0) >= self._often

    @property
    def _often(self) -> int:
        return max(2, -(-self.scope.max_delivery // 2))

    def _some(self, batch: InFlight, log: int) -> None:
        """The records of a batch one by one (acquireSubsetBatchRecords)."""
        limit, taken, throttle = self.scope.max_delivery, 0, 0
        left = self._left
        for n in batch.range:
            count = self.part.records[n].count
            if n < log or not _is_available(self.part, n):
                continue
            if limit > 2 and count == limit - 1 and taken:
                return
            if count >= self._often and not throttle:
                size = batch.last - batch.first + 1
                throttle = max(1, size >> (count - self._often + 1))
            self._take(n)
            taken += 1
            last_time = limit > 2 and count + 1 == limit
            if last_time or (self.strict and taken == left) or taken == throttle:
                return

    def _new(self, first: int, last: int) -> None:
        """A batch that was not in flight (acquireNewBatchRecords)."""
        most = self._left
        end = self.part.start
        if not self.part.batches and end > first:
            first = end
        until = last
        if most < until - first + 1:
            until = first + most - 1
            until += self.scope.batch - 1 - until % self.scope.batch
            until = min(until, self.scope.records - 1)
            if self.part.gap is not None:
                until = min(until, last)
        part = self.strict and until - first + 1 > most
        self.part = self.part.with_batch(InFlight(first, until, whole=not part))
        taken = first + most - 1 if part else until
        for n in range(first, taken + 1):
            self._take(n)
        self.part = self.part.acquired(taken)

    def _take(self, n: int) -> None:
        record = self.part.records[n]
        given = min(record.given + 1, self.scope.max_delivery + 1)
        record = evolve(record, state=Delivery.ACQUIRED, count=record.count + 1, given=given)
        self.part = self.part.with_record(n, record)
        self.acquired |= 1 << n


def acknowledged(
    part: Partition, holder: Holder, request: list[Asked], scope: SharePartitionScope
) -> tuple[Partition, Mapping[int, int]]:
    """The partition while the new states are written, and record -> type of those that move.
    Raises `RefusedError` and `BrokenError`.
    """
    moved: dict[int, int] = {}
    for batch in request:
        if batch.last < part.start:
            continue
        for there in _meant(part, batch):
            if there.last < part.start:
                continue
            mine = [n for n in there.range if n >= part.start]
            if there.whole and not _is_mine(part, holder, there.first, moved):
                raise RefusedError(part)
            inside = batch.first <= there.first and there.last <= batch.last
            if not inside or len(batch.types) > 1 or there.first < part.start:
                part = part.split(there)
            for n in mine:
                if not batch.first <= n <= batch.last:
                    continue
                if not _is_mine(part, holder, n, moved):
                    raise RefusedError(part)
                moved[n] = batch.type_of(n)
    for n, kind in moved.items():
        part = part.with_record(n, _moving(part, n, kind, scope))
    return part, moved


def _meant(part: Partition, batch: Asked) -> list[InFlight]:
    """The batches in flight that a request is about (fetchSubMapForAcknowledgementBatch)."""
    floor = part.floor(batch.first)
    if floor is None:
        if not batch.first < part.start <= batch.last:
            raise RefusedError(part)
        floor = part.floor(part.start)
        if floor is None:
            raise BrokenError
    there = part.between(floor.first, batch.last)
    if not there[-1].last >= batch.last:
        raise RefusedError(part)
    return there


def _is_mine(part: Partition, holder: Holder, n: int, moved: Mapping[int, int]) -> bool:
    record = part.records[n]
    acquired = record.state == Delivery.ACQUIRED and not record.moving and n not in moved
    return acquired and bool(holder.acquired >> n & 1)


def _moving(part: Partition, n: int, kind: int, scope: SharePartitionScope) -> Record:
    record = evolve(part.records[n], moving=True, start=part.start)
    if kind == RELEASE:
        return available(record, scope)
    if kind == ACCEPT:
        return evolve(record, state=Delivery.ACKNOWLEDGED, accepted=True)
    return evolve(record, state=Delivery.ARCHIVED, rejected=True)
