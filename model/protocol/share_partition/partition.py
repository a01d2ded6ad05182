"""What the leader of a share partition, its persister and its members know."""

from __future__ import annotations

from enum import IntEnum

from attrs import frozen

from groupcheck.model.engine import evolve
from groupcheck.model.protocol.masks import numbers


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
    # Ghosts: some member rejected it; how often the leaders have given it out, one beyond the limit
    # at most; some member has it, or has had it.
    rejected: bool = False
    given: int = 0
    seen: bool = False


@frozen
class Partition:
    """The partition: its records, and its start offset (SPSO)."""

    records: tuple[Record, ...] = ()
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
        start = self.start
        last = len(self.records) if self.gap is None else self.gap[0]
        while start < last and _finished(self.records[start]):
            start += 1
        return evolve(self, start=start)

    def acquired(self, number: int) -> Partition:
        """Once this record is acquired, the gap begins behind it, or it is past
        (maybeUpdatePersisterGapWindowStartOffset).
        """
        if self.gap is None:
            return self
        _, end = self.gap
        return evolve(self, gap=(number + 1, end) if number < end else None)

    def read(self) -> Partition:
        """The partition as the next leader knows it, from what the persister has."""
        records = tuple(
            evolve(still(r), state=r.stored, count=r.stored_count) for r in self.records
        )
        there = [n for n in range(self.stored_start, len(records)) if records[n].count]
        missing = [n for n in range(self.stored_start, max(there, default=0)) if n not in there]
        return evolve(
            self,
            records=records,
            start=self.stored_start,
            term=self.term + 1,
            gap=(missing[0], there[-1]) if missing else None,
        ).advanced()


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
