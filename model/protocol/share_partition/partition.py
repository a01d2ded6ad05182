"""What the leader of a share partition, its persister and its members know."""

from __future__ import annotations

from enum import IntEnum

from attrs import frozen

from groupcheck.model.engine import evolve
from groupcheck.model.protocol.masks import numbers
from groupcheck.model.protocol.share_partition.scope import SharePartitionScope


class Delivery(IntEnum):
    """Kafka's RecordState, without ARCHIVING (KIP-1191)."""

    AVAILABLE = 0
    ACQUIRED = 1
    ACKNOWLEDGED = 2
    ARCHIVED = 4


TERMINAL = (Delivery.ACKNOWLEDGED, Delivery.ARCHIVED)


@frozen
class Record:
    """A record in flight (InFlightState)."""

    state: Delivery = Delivery.AVAILABLE
    # How often it was acquired.
    count: int = 0
    # Its new state is being written, and is undone if that fails; meanwhile the acquisition lock
    # has run out.
    moving: bool = False
    expired: bool = False
    # The start offset that is written with it.
    start: int = 0
    # What the persister has stored of it.
    stored: Delivery = Delivery.AVAILABLE
    stored_count: int = 0
    # Ghosts: some member accepted it; some member rejected it, or it is a gap; how often leaders
    # have given it out, one beyond the limit at most; some member has it, or has had it.
    accepted: bool = False
    rejected: bool = False
    given: int = 0
    seen: bool = False


@frozen
class InFlight:
    """A batch of records in flight (InFlightBatch)."""

    first: int
    last: int
    # All of its records have one state and one lock.
    whole: bool = True

    @property
    def range(self) -> range:
        """Its offsets."""
        return range(self.first, self.last + 1)


@frozen
class Partition:
    """The partition: its records, and its start offset (SPSO)."""

    records: tuple[Record, ...] = ()
    # The batches in flight, in their order; none where each record is fetched by itself.
    batches: tuple[InFlight, ...] = ()
    start: int = 0
    stored_start: int = 0
    # Which leader it has.
    term: int = 0
    # The leader has read the state of records with others between them of which the persister knew
    # nothing: the first of these that was not acquired since, and the last record that it read. The
    # start offset does not pass the first one (GapWindow). None: there are none, or all are past.
    gap: tuple[int, int] | None = None

    def with_record(self, number: int, record: Record) -> Partition:
        """With another record in the place of one."""
        records = (*self.records[:number], record, *self.records[number + 1 :])
        return evolve(self, records=records)

    def advanced(self) -> Partition:
        """The start offset goes on behind what is finished (maybeUpdateCachedStateAndOffsets)."""
        if self.batches:
            return self._advanced_over_batches()
        start = self.start
        last = len(self.records) if self.gap is None else self.gap[0]
        while start < last and _finished(self.records[start]):
            start += 1
        return evolve(self, start=start)

    def _advanced_over_batches(self) -> Partition:
        """No batch is passed in part if it reaches into a gap. One that is passed is forgotten."""
        first = self.floor(self.start)
        if first is None or not _finished(self.records[self.start]):
            return self
        done = -1
        for batch in self.batches:
            if self.gap is not None and batch.last >= self.gap[0]:
                break
            finished = [n for n in batch.range if _finished(self.records[n])]
            whole = len(finished) == len(batch.range)
            done = batch.last if whole else self._last_finished(batch, done)
            if not whole:
                break
        if done < 0:
            return self
        left = tuple(batch for batch in self.batches if batch.last > done)
        behind = left[0].first if left and left[0].first > done else done + 1
        start = max(self.start, behind)
        if self.gap is not None and behind > done + 1:
            start = min(self.gap[0], start)
        return evolve(self, start=start, batches=left)

    def _last_finished(self, batch: InFlight, before: int) -> int:
        for n in batch.range:
            if not _finished(self.records[n]):
                break
            before = n
        return before

    def floor(self, offset: int) -> InFlight | None:
        """The last batch in flight that begins at or before an offset."""
        before = [batch for batch in self.batches if batch.first <= offset]
        return before[-1] if before else None

    def between(self, first: int, last: int) -> list[InFlight]:
        """The batches in flight that begin at these offsets."""
        return [batch for batch in self.batches if first <= batch.first <= last]

    def split(self, batch: InFlight) -> Partition:
        """From now on each record of a batch has a state and a lock of its own."""
        changed = tuple(evolve(b, whole=False) if b == batch else b for b in self.batches)
        return evolve(self, batches=changed)

    def with_batch(self, batch: InFlight) -> Partition:
        """With one more batch in flight."""
        every = sorted((*self.batches, batch), key=lambda b: b.first)
        return evolve(self, batches=tuple(every))

    def together(self, number: int) -> int:
        """The records that have one lock with this one."""
        batch = self.floor(number)
        if batch is None or not batch.whole or batch.last < number:
            return 1 << number
        return sum(1 << n for n in batch.range)

    def acquired(self, number: int) -> Partition:
        """Once this record is acquired, the gap begins behind it, or it is past
        (maybeUpdatePersisterGapWindowStartOffset).
        """
        if self.gap is None:
            return self
        _, end = self.gap
        return evolve(self, gap=(number + 1, end) if number < end else None)

    def read(self, scope: SharePartitionScope) -> Partition:
        """The partition as the next leader knows it, from what the persister has. It has records
        with one state and one count in one batch (PersisterStateBatchCombiner).
        """
        records = tuple(
            evolve(still(r), state=r.stored, count=r.stored_count) for r in self.records
        )
        there = [n for n in range(self.stored_start, len(records)) if records[n].count]
        missing = [n for n in range(self.stored_start, max(there, default=0)) if n not in there]
        return evolve(
            self,
            records=records,
            batches=_combined(records, there) if scope.batch else (),
            start=self.stored_start,
            term=self.term + 1,
            gap=(missing[0], there[-1]) if missing else None,
        ).advanced()


def _combined(records: tuple[Record, ...], there: list[int]) -> tuple[InFlight, ...]:
    found: list[InFlight] = []
    for n in there:
        alike = (records[n].state, records[n].count)
        if found and found[-1].last == n - 1:
            before = records[n - 1]
            if (before.state, before.count) == alike:
                found[-1] = evolve(found[-1], last=n)
                continue
        found.append(InFlight(n, n))
    return tuple(found)


def available(record: Record, scope: SharePartitionScope) -> Record:
    """A record that was acquired and is not any more: available, or archived at the limit."""
    full = record.count >= scope.max_delivery
    return evolve(record, state=Delivery.ARCHIVED if full else Delivery.AVAILABLE)


def still(record: Record) -> Record:
    """A record that is not being written any more."""
    return evolve(record, moving=False, expired=False, start=0)


def _finished(record: Record) -> bool:
    return record.state in TERMINAL and not record.moving


@frozen
class Holder:
    """What the leader knows of a member. Records are bits."""

    # Acquired by it; in a write that it waits for, and those among them that it accepted.
    acquired: int = 0
    moving: int = 0
    accepts: int = 0
    # Writes of several records each, which end together: what the end of its session has released,
    # or what it has accepted in one request.
    together: tuple[int, ...] = ()
    # The leader that knows this. Another one knows nothing of the member.
    term: int = 0

    @property
    def writes(self) -> tuple[int, ...]:
        """The records of each write that it waits for."""
        alone = self.moving & ~sum(self.together)
        return (*(1 << number for number in numbers(alone)), *self.together)

    @property
    def has(self) -> int:
        """What is the member's, or is again if a write fails."""
        return self.acquired | self.moving


@frozen
class Reader:
    """A member."""

    # The records that it has and has not acknowledged.
    has: int = 0
    # Those whose acceptance was confirmed.
    accepted: int = 0


def known(holder: Holder, part: Partition) -> Holder:
    """What this leader knows of the member."""
    return holder if holder.term == part.term else Holder(term=part.term)
