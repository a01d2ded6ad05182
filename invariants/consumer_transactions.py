"""What a consumer group of KIP-848 promises about offsets that are committed in transactions, and
about those that expire.
"""

from __future__ import annotations

from typing import Any

from groupcheck.model.engine import goal, step_invariant
from groupcheck.model.protocol.codes import ILLEGAL_GENERATION, NONE, STALE_MEMBER_EPOCH
from groupcheck.model.protocol.consumer import commits, expiry, transactions
from groupcheck.model.protocol.consumer.commits import Offsets
from groupcheck.model.protocol.consumer.expiry import Sweep
from groupcheck.model.protocol.consumer.scope import ConsumerScope
from groupcheck.model.protocol.family import (
    CONSUMER_EXPIRY,
    CONSUMER_TRANSACTIONS,
    TRANSACTIONAL_MEMBERS,
)


@step_invariant(
    "offsets",
    "txn",
    rules=(transactions.end_transaction.name,),
    source="KIP-447",
    broken="a record is processed in two transactions that are both committed",
    of=TRANSACTIONAL_MEMBERS,
)
def record_is_delivered_once(before: Any, after: Any, label: str) -> bool:
    """No two transactions that are committed have processed the same record.

    Why: this is what exactly-once means. Who gets the partition next must not begin before the last
    owner's transaction has ended, and who has lost it must not commit in one.
    """
    return label != "commit" or not before.offsets.delivered


@step_invariant(
    "link",
    "offsets",
    rules=(commits.offset_fetch.name,),
    source="KIP-447, requireStable",
    broken="a member begins where an open transaction may still move the committed offset",
    of=CONSUMER_TRANSACTIONS,
)
def fetch_waits_for_transactions(before: Any, after: Any) -> bool:
    """Who asks for stable offsets is told none while a transaction has one of the partition."""
    waits = before.link.asked.stable and before.offsets.pending
    return not waits or after.link.told.code != NONE


@step_invariant(
    "link",
    "offsets",
    "place",
    rules=(transactions.write_txn_marker.name,),
    source="OffsetMetadataManager.replayEndTransactionMarker",
    broken="the end of a transaction loses an offset, or sets it back",
    of=CONSUMER_TRANSACTIONS,
)
def transaction_counts_as_a_whole(before: Any, after: Any) -> bool:
    """The offset of a transaction that is committed is the committed one, unless another was
    committed after it; that of an aborted one is gone; either way it waits no longer.
    """
    ended, beyond = before.offsets.pending[before.place], before.offsets.beyond
    if before.link.asked.commits and ended.newer:
        beyond = ended.beyond
    over = len(after.offsets.pending) == len(before.offsets.pending) - 1 and after.place is None
    return bool(after.offsets.beyond == beyond) and over


@step_invariant(
    "link",
    "offsets",
    rules=(transactions.txn_offset_commit.name,),
    source="OffsetMetadataManager.commitTransactionalOffset",
    broken="an offset counts although its transaction is not committed",
    of=CONSUMER_TRANSACTIONS,
)
def open_transaction_moves_nothing(before: Any, after: Any) -> bool:
    """A TxnOffsetCommit leaves the committed offset alone, and waits if it is acknowledged."""
    stored = after.link.told.code == NONE
    known = any(one.beyond == before.link.asked.beyond for one in after.offsets.pending[-1:])
    same = after.offsets.pending == before.offsets.pending
    return bool(after.offsets.beyond == before.offsets.beyond) and (known if stored else same)


@step_invariant(
    "seat",
    "link",
    "offsets",
    rules=(transactions.txn_offset_commit.name,),
    source="KIP-1251",
    broken="a transaction is aborted, because the commit of the partition's owner is refused",
    of=TRANSACTIONAL_MEMBERS,
)
def transaction_of_owner_counts(before: Any, after: Any) -> bool:
    """No TxnOffsetCommit is refused for its epoch that comes from the member that owns the
    partition, and has owned it since before the request was sent.
    """
    refused = after.link.told.code in (STALE_MEMBER_EPOCH, ILLEGAL_GENERATION)
    return not refused or not before.link.asked.of_owner(before.seat, before.offsets.bit)


@step_invariant(
    "core",
    "walk",
    "offsets",
    rules=(expiry.offsets_expire.name,),
    source="KIP-211",
    broken="a group that was empty only for a moment has lost its offsets",
    of=CONSUMER_EXPIRY,
)
def offset_outlives_its_group(before: Any, after: Any, scope: ConsumerScope) -> bool:
    """An offset expires only in a group that has been empty for as long as offsets are kept, or
    that has members, none of which subscribes to its topic.

    Why: the next member would begin at auto.offset.reset, and skip records or repeat all of them.
    """
    if after.offsets.stored or not before.offsets.stored:
        return True
    errand = before.walk.errand
    assert isinstance(errand, Sweep)
    unused = not errand.subscribed & before.offsets.bit
    return unused if before.core.members else bool(before.offsets.rested)


@step_invariant(
    "walk",
    "seat",
    rules=(expiry.read_subscription.name,),
    source="ModernGroup.isSubscribedToTopic",
    broken="an offset expires that a member still needs",
    of=CONSUMER_EXPIRY,
)
def subscription_keeps_offsets(before: Any, after: Any) -> bool:
    """The topics of every member count as subscribed, also while it is away for a while."""
    errand = after.walk.errand
    assert isinstance(errand, Sweep)
    return before.seat is None or not before.seat.topics & ~errand.subscribed


@step_invariant(
    "core",
    "offsets",
    rules=(expiry.offsets_expire.name,),
    source="OffsetMetadataManager.cleanupExpiredOffsets",
    broken="a group is deleted, and what an open transaction commits is lost",
    of=CONSUMER_EXPIRY,
)
def pending_offset_keeps_its_group(before: Any, after: Any) -> bool:
    """A group with members, with an offset, or with an open transaction is not deleted."""
    needed = before.core.members or after.offsets.stored or before.offsets.pending
    return not needed or bool(after.core.exists)


@goal(of=TRANSACTIONAL_MEMBERS)
def transaction_is_committed(offsets: Offsets) -> bool:
    """A transaction is committed, and so is its offset."""
    return offsets.delivered and offsets.beyond and not offsets.pending


@goal(of=CONSUMER_TRANSACTIONS)
def offset_waits_for_its_transaction(offsets: Offsets) -> bool:
    """An offset waits for the end of its transaction."""
    return bool(offsets.pending)
