"""The feature `transactions` (with offsets): members process in transactions, and commit their
offsets in them (Producer.sendOffsetsToTransaction).

A TxnOffsetCommit is judged as an OffsetCommit is (ConsumerGroup.validateOffsetCommit), and waits at
the coordinator for the end of its transaction (OffsetMetadataManager). Meanwhile an OffsetFetch
that wants stable offsets is refused (88). One without a member id is taken from anybody: then only
the transactional.id fences.

Offsets that wait stand in the order of their records, and each process has the place of its own in
the slot `place`, not its number in the record: so processes may be exchanged.

Left out: the transaction coordinator, which numbers producers and fences them (KIP-360, KIP-890),
so no TxnOffsetCommit is held up. The end of a transaction is decided at once, and its marker comes
later.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import Any

import attrs
from attrs import frozen

from groupcheck.model.engine import Spec, array, evolve, rule, urgent
from groupcheck.model.protocol.codes import ILLEGAL_GENERATION, NONE
from groupcheck.model.protocol.consumer import client_faults, offsets
from groupcheck.model.protocol.consumer.client import Client
from groupcheck.model.protocol.consumer.commits import NOT_STORED, Offsets, Pending, judged
from groupcheck.model.protocol.consumer.memory import GHOSTS, REST, Core, Errand, Seat, Walk
from groupcheck.model.protocol.consumer.messages import (
    Commit,
    Fetch,
    Link,
    Marker,
    Sender,
    Tag,
    Told,
)
from groupcheck.model.protocol.consumer.offsets import Position, commit_of
from groupcheck.model.protocol.consumer.scope import ConsumerScope
from groupcheck.model.protocol.faults import Budget
from groupcheck.model.protocol.transform import (
    extended,
    inserted,
    outcomes_changed,
    own,
    rebuilt,
    without,
)

Values = dict[str, Any]
PENDS = ("accepted", "by_partition", "nameless")


class Txn(Enum):
    """Where the transaction of a process is."""

    NONE = "none"
    # The watched record is processed in it.
    OPEN = "open"
    # Its offset is at the coordinator.
    SENT = "sent"
    # The same, and the process is gone.
    LEFT = "left"
    # Its end is decided, and the marker is on its way to the coordinator.
    COMMITS = "commits"
    ABORTS = "aborts"


def judged_in_transaction(
    core: Core, seat: Seat | None, commit: Commit, watched: int, scope: ConsumerScope
) -> str:
    """Why a TxnOffsetCommit is refused, or which of `PENDS` it is. Any version knows epochs."""
    if commit.sender == Sender.SIMPLE:
        return "nameless"
    return judged(core, seat, attrs.evolve(commit, unversioned=False), watched, scope)


def code_of(label: str, commit: Commit, scope: ConsumerScope) -> int:
    """The error of a TxnOffsetCommit that is refused."""
    older = commit.unversioned or not scope.release.tells_transactions
    return ILLEGAL_GENERATION if older and label in ("stale", "absent") else NOT_STORED[label]


@frozen
class MoveUp(Errand):
    """An offset that waited at this place does so no more, and those behind it move up."""

    place: int


def with_pending(known: Offsets, place: int | None, beyond: bool) -> Offsets:
    """With an offset that waits for the end of a transaction, in place of the one that it had."""
    others = tuple(one for k, one in enumerate(known.pending) if k != place)
    return evolve(known, pending=(*others, Pending(beyond)))


def _moving(known: Offsets, place: int | None, walk: Walk) -> Walk:
    """A walk over those whose offsets stand behind this place, if there are any."""
    if place is None or place == len(known.pending) - 1:
        return walk
    return Walk(0, MoveUp(place))


def without_pending(known: Offsets, at: int, commits: bool) -> tuple[str, Offsets]:
    """After the end of a transaction: its offset is the committed one, if its record stands behind
    that. Those whose records stand before it are older than the committed one from then on.
    """
    own, before, after = known.pending[at], known.pending[:at], known.pending[at + 1 :]
    rest = evolve(known, pending=(*before, *after))
    if not commits:
        return "aborted", rest
    if not own.newer:
        return "superseded", rest
    stored = evolve(known, pending=before).committed(own.beyond, aged=own.aged)
    return "committed", evolve(stored, pending=(*stored.pending, *after))


@urgent(
    "absent",
    "unknown",
    "stale",
    "failed",
    *PENDS,
    when=lambda link: isinstance(link.asked, Commit) and link.asked.in_transaction,
)
def txn_offset_commit(
    core: Core,
    seat: Seat | None,
    link: Link,
    offsets: Offsets,
    place: int | None,
    walk: Walk,
    scope: ConsumerScope,
) -> Iterator[tuple[str, Core, Seat | None, Link, Offsets, int | None, Walk]]:
    """A TxnOffsetCommit: the offset waits for the end of the transaction."""
    commit = link.asked
    assert isinstance(commit, Commit)
    label = judged_in_transaction(core, seat, commit, offsets.bit, scope)
    if label in PENDS and commit.fails:
        label = "failed"
    if label in PENDS:
        # Behind the last one. If its former place is another one, the walk moves it up, too.
        moves = _moving(offsets, place, walk)
        last = len(offsets.pending) - (place is not None and moves == walk)
        offsets, place, walk = with_pending(offsets, place, commit.beyond), last, moves
    code = NONE if label in PENDS else code_of(label, commit, scope)
    told = Told(code, in_transaction=True)
    yield label, core, seat, evolve(link, asked=None, told=told), offsets, place, walk


@urgent("committed", "superseded", "aborted", when=lambda link: isinstance(link.asked, Marker))
def write_txn_marker(
    link: Link, offsets: Offsets, place: int | None, walk: Walk
) -> Iterator[tuple[str, Link, Offsets, None, Walk]]:
    """The marker that ends a transaction (replayEndTransactionMarker)."""
    marker = link.asked
    assert isinstance(marker, Marker) and place is not None
    walk = _moving(offsets, place, walk)
    label, offsets = without_pending(offsets, place, marker.commits)
    yield label, evolve(link, asked=None), offsets, None, walk


@urgent(when=lambda me, walk: walk.at == me and isinstance(walk.errand, MoveUp))
def move_up(
    walk: Walk, place: int | None, scope: ConsumerScope
) -> Iterator[tuple[Walk, int | None]]:
    """The offset of a process moves up, if it stands behind the one that is gone."""
    errand = walk.errand
    assert isinstance(errand, MoveUp)
    behind = place is not None and place > errand.place
    yield walk.passed(errand, scope.members), place - 1 if place is not None and behind else place


@urgent(when=lambda walk: walk.at == GHOSTS and isinstance(walk.errand, MoveUp))
def moved_up(walk: Walk) -> Iterator[Walk]:
    """All have moved up."""
    yield REST


@rule(when=lambda txn: txn == Txn.OPEN)
def send_offsets_to_transaction(
    client: Client, link: Link, seat: Seat | None, reading: Position, offsets: Offsets, txn: Txn
) -> Iterator[tuple[Client, Link, Seat | None, Position, Offsets, Txn]]:
    """A member commits its position in its transaction, with the epoch that it knows."""
    if client.holds & offsets.bit and client.beats:
        commit = commit_of(client, link, seat, reading, offsets)
        asked = evolve(link, asked=attrs.evolve(commit, in_transaction=True))
        yield client, asked, seat, reading, offsets, txn


@rule("commit", "abort", when=lambda txn: txn in (Txn.SENT, Txn.LEFT))
def end_transaction(
    reading: Position, offsets: Offsets, txn: Txn
) -> Iterator[tuple[str, Position, Offsets, Txn]]:
    """A process commits its transaction, or aborts it and begins again where the group has
    committed. What a process that is gone has left open is aborted after a while.
    """
    if txn == Txn.SENT:
        yield "commit", reading, evolve(offsets, delivered=True), Txn.COMMITS
        reading = Position.NONE
    yield "abort", reading, offsets, Txn.ABORTS


@rule(when=lambda txn: txn in (Txn.COMMITS, Txn.ABORTS))
def marker_arrives(link: Link, txn: Txn) -> Iterator[tuple[Link, Txn]]:
    """The coordinator of the group hears how a transaction has ended."""
    yield evolve(link, asked=Marker(txn == Txn.COMMITS)), Txn.NONE


def commits_in_transaction(
    core: Core, seat: Seat | None, *, static: bool, scope: ConsumerScope
) -> Iterator[Commit]:
    """All TxnOffsetCommits from one member, and one that names none."""
    for commit in offsets.commits(core, seat, static=static):
        if commit.unversioned:
            continue
        sent = attrs.evolve(commit, in_transaction=True)
        yield sent
        if (scope.release.tells_transactions and commit.tag != Tag.CURRENT) or not core.exists:
            yield attrs.evolve(sent, unversioned=True)


@rule("request", "failing", when=lambda link: link.answer is None and link.told is None)
def anybody_commits_in_transaction(
    core: Core, link: Link, seat: Seat | None, budget: Budget, scope: ConsumerScope
) -> Iterator[tuple[str, Core, Link, Seat | None, Budget]]:
    """A TxnOffsetCommit arrives that some client could have sent; perhaps its append fails."""
    sent = commits_in_transaction(core, seat, static=link.static, scope=scope)
    yield from offsets.arriving(sent, core, link, seat, budget)


@rule("commit", "abort", when=lambda link: link.answer is None and link.told is None)
def anybody_ends_a_transaction(
    link: Link, place: int | None
) -> Iterator[tuple[str, Link, int | None]]:
    """The marker of a transaction arrives."""
    if place is not None:
        yield "commit", evolve(link, asked=Marker(True)), place
        yield "abort", evolve(link, asked=Marker(False)), place


@rule(when=lambda link: link.answer is None and link.told is None)
def anybody_fetches_unstable(link: Link, seat: Seat | None) -> Iterator[tuple[Link, Seat | None]]:
    """A fetch arrives that does not wait for transactions."""
    yield evolve(link, asked=Fetch(tag=Tag.CURRENT, stable=False)), seat


def _heard(before: Values, label: str, after: Values, scope: Any) -> Values:
    """A member is told that its TxnOffsetCommit waits for the end; or it is refused, and the member
    aborts its transaction and begins again where the group has committed.
    """
    told = before["link"].told
    if not told.in_transaction:
        return after
    if told.code == NONE:
        return {**after, "txn": Txn.SENT}
    return {**after, "txn": Txn.NONE, "reading": Position.NONE}


def _processed(before: Values, label: str, after: Values, scope: Any) -> Values:
    """The watched record is processed in a transaction."""
    return {**after, "txn": Txn.OPEN}


def _begins(before: Values, label: str, after: Values) -> Values | None:
    """A record is processed once the last transaction has ended."""
    return after if before["txn"] == Txn.NONE else None


def _lost(before: Values, label: str, after: Values, scope: Any) -> Values:
    """Who loses the partition aborts what it has not sent."""
    lost = before["txn"] == Txn.OPEN and after["reading"] == Position.NONE
    return {**after, "txn": Txn.NONE} if lost else after


def _gone(before: Values, label: str, after: Values, scope: Any) -> Values:
    """The process is gone: its transaction ends by itself."""
    leaves = {Txn.OPEN: Txn.NONE, Txn.SENT: Txn.LEFT}
    return {**after, "txn": leaves.get(before["txn"], before["txn"])}


TRANSACTION_REQUEST_RULES = (move_up, moved_up, txn_offset_commit, write_txn_marker)
MEMBER_RULES = (send_offsets_to_transaction, end_transaction, marker_arrives)
ANYBODY_RULES = (
    anybody_commits_in_transaction,
    anybody_ends_a_transaction,
    anybody_fetches_unstable,
)
# Whose members commit outside of transactions.
OUTSIDE = (offsets.commit_position, offsets.delay_commit, offsets.late_commit)


def transactions(spec: Spec) -> Spec:
    """The feature, on the spec of members with offsets, or of anybody."""
    scope: ConsumerScope = spec.scope
    first = next(r for r in spec.rules if r.urgent)
    spec = rebuilt(spec, place=array(scope.members, None, of=int | None))
    spec = inserted(spec, first, *TRANSACTION_REQUEST_RULES)
    if scope.requests == "anybody":
        return rebuilt(spec, (), ANYBODY_RULES)
    changed = [
        extended(own(spec, offsets.hear_of_offsets), _heard, "txn"),
        extended(own(spec, offsets.position_is_lost), _lost, "txn"),
        extended(own(spec, client_faults.crash), _gone, "txn"),
        extended(own(spec, client_faults.close_consumer), _gone, "txn"),
        outcomes_changed(
            extended(own(spec, offsets.process_watched_record), _processed, "txn"), _begins
        ),
    ]
    slots = {"txn": array(scope.members, Txn.NONE, of=Txn)}
    spec = rebuilt(spec, changed, MEMBER_RULES, **slots)
    return without(spec, *OUTSIDE)
