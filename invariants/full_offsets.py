"""The promises about the offsets that the coordinator keeps: who may commit in a transaction, what
transactions leave behind, what expiry and administrators may take away, and what survives a
fail-over.
"""

from __future__ import annotations

from typing import Any

import attrs

from groupcheck.model.engine import goal, infinitely_often, invariant, step_invariant
from groupcheck.model.protocol.classic.client import Client
from groupcheck.model.protocol.classic.features.failover_phases import LOADING
from groupcheck.model.protocol.classic.features.full_offsets import admin, commits, transactions
from groupcheck.model.protocol.classic.features.full_offsets.feature import FAMILY as KEPT_OFFSETS
from groupcheck.model.protocol.classic.features.full_offsets.kept import NO_OFFSET, OffsetStore
from groupcheck.model.protocol.classic.features.full_offsets.scope import FullOffsetsScope
from groupcheck.model.protocol.classic.group import Core, Phase, is_member


@step_invariant(
    "core",
    "seats",
    "link",
    rules=(commits.txn_offset_commit.name,),
    source="protocol: C7 ZombieCommitFenced; ClassicGroup.validateOffsetCommit; KIP-447",
    broken="The coordinator accepts a transactional commit from {outsider}",
    of=KEPT_OFFSETS,
)
def transactions_fenced(before: Any, after: Any, label: str) -> bool:
    """The coordinator accepts a transactional commit with a generation only from a member of the
    current generation.

    Why: only such a member can own the partition. A zombie would commit what the next owner
    processes, too.
    """
    request = before.link.request
    entitled = is_member(before.seats[request.id]) and request.generation == before.core.generation
    return label != "accepted" or entitled


@step_invariant(
    "core",
    "offsets",
    rules=(admin.reset_offsets.name,),
    source="ClassicGroup.validateOffsetCommit; UNKNOWN_MEMBER_ID",
    broken="The coordinator accepts a commit from outside while the group is {core.phase}",
    of=KEPT_OFFSETS,
)
def outsiders_commit_to_empty_groups(before: Any, after: Any, label: str) -> bool:
    """The coordinator accepts an OffsetCommit without a member only while the group is Empty.

    Why: members of a group that is not Empty have read the committed offset already, and would
    overwrite it with theirs.
    """
    return label != "accepted" or bool(before.core.phase == Phase.EMPTY)


@step_invariant(
    "offsets",
    rules=("fail_over",),
    source="protocol: C9 NoCommitLoss",
    broken=(
        "After the fail-over the committed offset is {offsets.committed}, and not"
        " {was.committed} as before"
    ),
    of=KEPT_OFFSETS,
)
def commits_survive_fail_overs(before: Any, after: Any) -> bool:
    """A coordinator that has just loaded the group returns the offset that was committed last.

    Why: a commit is answered once its record is replicated, and records are loaded in the order of
    the log.
    """
    return bool(after.offsets.committed == before.offsets.committed)


@step_invariant(
    "offsets",
    rules=(commits.offset_fetch.name,),
    source="OffsetMetadataManager.fetchOffsets; UNSTABLE_OFFSET_COMMIT; KIP-447",
    broken="{name} is told an offset that an open transaction may replace",
    of=KEPT_OFFSETS,
)
def unstable_offsets_are_not_returned(before: Any, after: Any, label: str) -> bool:
    """A member is told the committed offset only while no open transaction has an offset of the
    partition.

    Why: the transaction may be committed. Whoever starts before that processes the same records a
    second time.
    """
    return label in ("unstable", LOADING) or bool(before.offsets.pending == 0)


@step_invariant(
    "offsets",
    "txn",
    rules=(transactions.write_marker.name,),
    source="OffsetMetadataManager.replayEndTransactionMarker",
    broken="{name} has aborted its transaction, whose offset {offsets.committed} is committed",
    of=KEPT_OFFSETS,
)
def aborted_offsets_never_show(before: Any, after: Any) -> bool:
    """A transaction that is aborted leaves the committed offset as it is."""
    kept = after.offsets.committed == before.offsets.committed
    return bool(before.txn.decided) or bool(kept)


@step_invariant(
    "offsets",
    "txn",
    rules=(transactions.write_marker.name,),
    source="OffsetMetadataManager.replayEndTransactionMarker; KAFKA-5247",
    broken=(
        "The transaction of {name} replaces offset {was.committed}, which was committed"
        " after its own, by {offsets.committed}"
    ),
    of=KEPT_OFFSETS,
)
def newer_commits_win(before: Any, after: Any) -> bool:
    """The end of a transaction replaces the committed offset only with a record that stands behind
    it in the log.

    Why: a coordinator that loads the log goes by the order of the records, so both would disagree.
    """
    kept = after.offsets.committed == before.offsets.committed
    return bool(kept) or bool(before.txn.place > before.offsets.place)


@step_invariant(
    "offsets",
    "txn",
    rules=(commits.txn_offset_commit.name, transactions.write_marker.name),
    source="OffsetMetadataManager.OpenTransactions; KAFKA-16371",
    broken=(
        "The coordinator counts {offsets.pending} pending offsets, which is not how many there are"
    ),
    of=KEPT_OFFSETS,
)
def pending_offsets_counted(before: Any, after: Any) -> bool:
    """The coordinator counts an offset as pending from the commit in a transaction that it accepts
    until the transaction ends.

    Why: while one is counted, no member is told where to start.
    """
    change = after.txn.pends - before.txn.pends
    return bool(after.offsets.pending - before.offsets.pending == change)


@step_invariant(
    "txn",
    "offsets",
    rules=(transactions.end_transaction.name,),
    source="KIP-129, KIP-447",
    broken="{name} commits a transaction with a record that another committed transaction holds",
    of=KEPT_OFFSETS,
)
def delivered_once(before: Any, after: Any, label: str, scope: FullOffsetsScope) -> bool:
    """No record is part of two transactions that are committed.

    Exempt is what follows once somebody has set back, deleted or let expire an offset, and
    producers that commit without the member's id and generation. Why: the next owner starts only
    when the transaction of the last one has ended, and a zombie's commit is refused.
    """
    if label != "commit" or scope.commits == "anonymous" or before.offsets.disturbed:
        return True
    return bool(before.txn.since >= before.offsets.delivered)


@invariant(
    source="protocol: C8 NoLoss; KIP-447",
    broken=(
        "Offset {offsets.committed} of p{offsets.watched} is committed, but record"
        " {offsets.delivered} is in no committed transaction"
    ),
    of=KEPT_OFFSETS,
)
def committed_within_delivered(offsets: OffsetStore, scope: FullOffsetsScope) -> bool:
    """With transactions, the committed offset is never beyond the first record that is in no
    committed transaction.

    Exempt is auto.offset.reset=latest. Why: the offset and what was produced from the records are
    committed together, or not at all.
    """
    exempt = not scope.transactional or scope.skips
    return exempt or offsets.committed <= offsets.delivered


@invariant(
    source="OffsetMetadataManager.deleteAllOffsets; KAFKA-19163",
    broken="The group is deleted, and something of it stays",
    of=KEPT_OFFSETS,
)
def deleted_groups_keep_nothing(core: Core, offsets: OffsetStore) -> bool:
    """A group that is not there has no offset, no pending one, no member, and no generation."""
    nothing = offsets.committed == NO_OFFSET and not offsets.pending
    return offsets.there or (nothing and core.phase == Phase.EMPTY and core.generation == 0)


@step_invariant(
    "core",
    "offsets",
    rules=(admin.delete_offsets.name, admin.expire_offsets.name, admin.delete_groups.name),
    source="ClassicGroup.isSubscribedToTopic, offsetExpirationCondition; KAFKA-13636",
    broken=(
        "The committed offset {was.committed} is gone while the group is {core.phase} and"
        " has members"
    ),
    of=KEPT_OFFSETS,
)
def live_offsets_stay(before: Any, after: Any) -> bool:
    """No offset expires or is deleted while the group's last generation has members.

    Why: these members go on from it after the next round. Without it they would start where
    auto.offset.reset says, and read records again or skip some.
    """
    kept = after.offsets.committed == before.offsets.committed
    core = before.core
    return bool(kept) or core.phase == Phase.EMPTY or bool(core.initial)


@step_invariant(
    "offsets",
    rules=(admin.expire_offsets.name,),
    source="OffsetMetadataManager.cleanupExpiredOffsets; KAFKA-19163",
    broken="An offset expires that an open transaction is about to replace",
    of=KEPT_OFFSETS,
)
def pending_offsets_stay(before: Any, after: Any) -> bool:
    """Neither a pending offset nor the one that it is about to replace expires.

    Why: the tombstone would stand behind the pending offset in the log, and delete it once the
    transaction is committed.
    """
    same = attrs.evolve(after.offsets, other=before.offsets.other) == before.offsets
    return not before.offsets.pending or same


@step_invariant(
    "core",
    "offsets",
    rules=tuple(r.name for r in admin.ADMIN_RULES),
    source="GroupCoordinatorShard.deleteGroups; KIP-229, KIP-379",
    broken="A request is refused, and changes the group all the same",
    of=KEPT_OFFSETS,
)
def refusals_change_nothing(before: Any, after: Any, label: str) -> bool:
    """A request from outside that is refused leaves the group and its offsets as they are, also if
    it concerns several groups and another one is deleted.
    """
    if label in ("accepted", "deleted"):
        return True
    same = attrs.evolve(after.offsets, other=before.offsets.other) == before.offsets
    return bool(after.core == before.core) and same


@step_invariant(
    "offsets",
    rules=(admin.delete_groups.name,),
    source="GroupCoordinatorService.deleteGroups; KIP-229, KIP-379",
    broken="An Empty group is not deleted, because another one has members",
    of=KEPT_OFFSETS,
)
def groups_fail_apart(before: Any, after: Any) -> bool:
    """Of several groups in one DeleteGroups, an Empty one is deleted whatever becomes of the
    others.
    """
    return not after.offsets.other


# -- goals


@goal(source="KIP-447", of=KEPT_OFFSETS)
def pending_and_committed(offsets: OffsetStore) -> bool:
    """An offset is committed, and a transaction that may replace it is open."""
    return offsets.committed >= 0 and offsets.pending > 0


@goal(source="protocol: C8 NoLoss, a retention that is too short", of=KEPT_OFFSETS)
def reading_again(offsets: OffsetStore, client: Client) -> bool:
    """A member has started at the beginning, although records were processed, because no offset is
    committed.
    """
    gone = offsets.committed == NO_OFFSET
    return gone and 0 <= client.position < offsets.processed


@goal(source="ClassicGroup.isSubscribedToTopic", of=KEPT_OFFSETS)
def joining_without_subscriptions(core: Core) -> bool:
    """Members join a group that was Empty, and the coordinator takes them for members that
    subscribe to nothing.
    """
    return core.members > 0 and not admin.subscribed(core)


@infinitely_often(
    source="KIP-211; OffsetMetadataManager.cleanupExpiredOffsets; protocol: L8 ExpiredOffsets",
    of=KEPT_OFFSETS,
)
def empty_groups_expire(core: Core, offsets: OffsetStore) -> bool:
    """No group stays Empty for ever: its offsets expire, and it goes with them.

    Why: the coordinator sweeps again and again, and once the retention has passed nothing holds
    them but an open transaction, which ends.
    """
    return core.phase != Phase.EMPTY or not offsets.there
