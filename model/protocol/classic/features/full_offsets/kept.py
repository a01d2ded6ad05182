"""The coordinator's memory of the watched partition, and of each producer's transaction."""

from __future__ import annotations

from attrs import frozen

from groupcheck.model.engine import evolve
from groupcheck.model.protocol.classic.offsets import Offsets
from groupcheck.model.protocol.messages import Answer

NO_OFFSET = -1  # what an OffsetFetch returns where nothing is committed
VOID = -2  # `Txn.offset`: it was deleted while its transaction was open


@frozen(kw_only=True)
class OffsetStore(Offsets):
    """The offsets of the watched partition, and whether the group is there."""

    committed: int = NO_OFFSET
    # What a fail-over would load as `committed`. A ghost: healthy rules keep both the same.
    logged: int = NO_OFFSET
    # The group exists. One that is not Empty always does.
    there: bool = False
    # Open transactions with an offset of the partition.
    pending: int = 0
    # Places in the log, as far as they matter while a transaction is open: of the last record of
    # the partition, and of the committed offset. 0: before all records of open transactions.
    top: int = 0
    place: int = 0
    # A second group is on the same coordinator: Empty, with an offset.
    other: bool = False
    # How many records are processed in transactions that were committed. A ghost.
    delivered: int = 0
    # Somebody has taken offsets away from outside: from then on, records may be processed again,
    # because that was wanted. A ghost.
    disturbed: bool = False


@frozen(kw_only=True)
class Txn:
    """The transaction of one process's producer."""

    # The offset that waits for its end at the coordinator; NO_OFFSET, or VOID.
    offset: int = NO_OFFSET
    # Its place in the log (see `Kept.top`).
    place: int = 0
    # It was committed (True) or aborted, and the marker is on its way to the coordinator.
    decided: bool | None = None
    # The first record that was processed in it, or NO_OFFSET. Only the producer knows that.
    since: int = NO_OFFSET

    @property
    def pends(self) -> bool:
        """Does an offset wait for its end?"""
        return self.offset >= 0

    @property
    def idle(self) -> bool:
        """Has the producer sent no offset since the last marker?"""
        return self.offset == NO_OFFSET and self.decided is None


@frozen(kw_only=True)
class Fetched(Answer):
    """The answer to an OffsetFetch."""

    # The committed offset; NO_OFFSET if there is none, or with an error.
    offset: int = NO_OFFSET


def written(kept: OffsetStore, offset: int) -> OffsetStore:
    """A record of the partition is appended outside of transactions: a commit, or with NO_OFFSET a
    tombstone. It is newer than what open transactions have appended before.
    """
    top = kept.top + (kept.pending > 0 and kept.place != kept.top)
    return evolve(kept, committed=offset, logged=offset, top=top, place=top, there=True)


def emptied(kept: OffsetStore) -> OffsetStore:
    """The offsets of the partition are deleted, also those of open transactions."""
    disturbed = kept.disturbed or kept.committed >= 0 or kept.pending > 0
    return evolve(
        kept,
        committed=NO_OFFSET,
        logged=NO_OFFSET,
        pending=0,
        top=0,
        place=0,
        disturbed=disturbed,
    )


def ranked(kept: OffsetStore, txns: tuple[Txn, ...]) -> tuple[OffsetStore, tuple[Txn, ...]]:
    """The same with the least numbers for the places that are in the same order: where transactions
    overlap for ever, there are no more than one for each and one for the committed offset.
    """
    if not kept.pending:
        return kept, txns
    places = {kept.place, *(txn.place for txn in txns if txn.pends)} - {0}
    rank = {0: 0, **{place: k for k, place in enumerate(sorted(places), 1)}}
    ordered = tuple([evolve(txn, place=rank[txn.place]) if txn.pends else txn for txn in txns])
    return evolve(kept, place=rank[kept.place], top=len(places)), ordered
