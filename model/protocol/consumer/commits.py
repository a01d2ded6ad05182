"""How the coordinator handles OffsetCommit and OffsetFetch (ConsumerGroup.validateOffsetCommit and
validateOffsetFetch): by the epoch of the member and, from Kafka 4.3 on, by partition (KIP-1251).

One partition is watched, and one of its records: an offset is beyond this record or it is not. A
promise about offsets compares two of them, so one record shows whatever any record would, and
nothing has to be counted.

Transactions are in `transactions`, expiry in `expiry`. Left out: a group that a simple consumer
creates with its commit, and metadata.
"""

from __future__ import annotations

from collections.abc import Iterator

from attrs import frozen

from groupcheck.model.engine import evolve, urgent
from groupcheck.model.protocol.codes import (
    COORDINATOR_NOT_AVAILABLE,
    GROUP_ID_NOT_FOUND,
    NONE,
    STALE_MEMBER_EPOCH,
    UNKNOWN_MEMBER_ID,
    UNSTABLE_OFFSET_COMMIT,
    UNSUPPORTED_VERSION,
)
from groupcheck.model.protocol.consumer.memory import Core, Seat
from groupcheck.model.protocol.consumer.messages import Commit, Fetch, Link, Sender, Tag, Told
from groupcheck.model.protocol.consumer.scope import AS_KAFKA, ConsumerScope

# Why a request about offsets is refused -> its error.
NOT_STORED = {
    "absent": GROUP_ID_NOT_FOUND,
    "unknown": UNKNOWN_MEMBER_ID,
    "unversioned": UNSUPPORTED_VERSION,
    "stale": STALE_MEMBER_EPOCH,
    "failed": COORDINATOR_NOT_AVAILABLE,
    "unstable": UNSTABLE_OFFSET_COMMIT,
}
REFUSED_COMMITS = ("absent", "unknown", "unversioned", "stale", "failed")
STORED = ("accepted", "by_partition", "simple")


@frozen
class Pending:
    """The offset of an open transaction. Whose it is the slots `place` say (`transactions`)."""

    beyond: bool
    # Its record stands behind that of the committed offset.
    newer: bool = True
    # It was committed longer ago than offsets are kept (only with expiry).
    aged: bool = False


@frozen
class Offsets:
    """The offset of the watched partition."""

    # Which partition is watched; it never changes.
    watched: int = 0
    # Is the committed offset beyond the watched record?
    beyond: bool = False
    # A ghost: some application has processed that record.
    processed: bool = False
    # The offsets of open transactions, in the order of their records.
    pending: tuple[Pending, ...] = ()
    # A ghost: a transaction in which that record was processed is committed.
    delivered: bool = False
    # Only with expiry. An offset is committed; that was longer ago than offsets are kept.
    stored: bool = False
    aged: bool = False
    # Only with expiry. A ghost: the group has been empty for as long as offsets are kept.
    rested: bool = False

    @property
    def bit(self) -> int:
        """The watched partition, as a set of partitions."""
        return 1 << self.watched

    def committed(self, beyond: bool, *, aged: bool = False) -> Offsets:
        """With this offset, whose record is the last one."""
        older = tuple(evolve(one, newer=False) for one in self.pending)
        return evolve(self, beyond=beyond, pending=older, aged=aged)


def judged(
    core: Core, seat: Seat | None, commit: Commit, watched: int, scope: ConsumerScope
) -> str:
    """Why a commit is refused, or which of `STORED` it is."""
    if commit.sender == Sender.SIMPLE:
        return "unknown" if core.members else "simple"
    if not core.exists:
        return "absent"
    if seat is None or commit.other:
        return "unknown"
    if commit.unversioned:
        return "unversioned"
    if seat.parked or commit.sender == Sender.AWAY:
        return "accepted" if seat.parked and commit.sender == Sender.AWAY else "stale"
    if commit.tag == Tag.CURRENT:
        owns = scope.k27 == AS_KAFKA or seat.owned & watched
        return "accepted" if owns else "stale"
    newer = commit.given or bool(seat.fresh & watched)
    kept = bool(seat.owned & watched) and not newer
    by_partition = scope.release.keeps_given and commit.tag != Tag.AHEAD
    return "by_partition" if by_partition and kept else "stale"


def plain(link: Link) -> bool:
    """Is a commit handled that is in no transaction?"""
    return isinstance(link.asked, Commit) and not link.asked.in_transaction


@urgent(*REFUSED_COMMITS, *STORED, when=plain)
def offset_commit(
    core: Core, seat: Seat | None, link: Link, offsets: Offsets, scope: ConsumerScope
) -> Iterator[tuple[str, Core, Seat | None, Link, Offsets]]:
    """An OffsetCommit: the last writer wins, so an offset may go backwards."""
    commit = link.asked
    assert isinstance(commit, Commit)
    label = judged(core, seat, commit, offsets.bit, scope)
    if label in STORED and commit.fails:
        label = "failed"
    if label in STORED:
        offsets = offsets.committed(commit.beyond)
    told = Told(NOT_STORED.get(label, NONE))
    yield label, core, seat, evolve(link, asked=None, told=told), offsets


@urgent(
    "absent",
    "unknown",
    "stale",
    "unstable",
    "found",
    "simple",
    when=lambda link: isinstance(link.asked, Fetch),
)
def offset_fetch(
    core: Core, seat: Seat | None, link: Link, offsets: Offsets
) -> Iterator[tuple[str, Core, Seat | None, Link, Offsets]]:
    """An OffsetFetch: of a member only with the epoch that its record has. A group that does not
    exist has no offset, and there is no error. It is told to wait while a transaction has an offset
    of the partition (88).
    """
    fetch = link.asked
    assert isinstance(fetch, Fetch)
    if fetch.sender == Sender.SIMPLE:
        label = "simple"
    elif not core.exists:
        label = "absent"
    elif seat is None or fetch.other:
        label = "unknown"
    elif seat.parked or fetch.sender == Sender.AWAY:
        label = "found" if seat.parked and fetch.sender == Sender.AWAY else "stale"
    else:
        label = "found" if fetch.tag == Tag.CURRENT else "stale"
    if label in ("absent", "found", "simple") and fetch.stable and offsets.pending:
        label = "unstable"
    refused = label in ("unknown", "stale", "unstable")
    told = Told(NOT_STORED[label]) if refused else Told(beyond=core.exists and offsets.beyond)
    yield label, core, seat, evolve(link, asked=None, told=told), offsets


OFFSET_REQUEST_RULES = (offset_commit, offset_fetch)
