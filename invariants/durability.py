"""Offsets across revocations: nothing is skipped, and what was processed is committed before it is
handed on.
"""

from __future__ import annotations

from typing import Any

from groupcheck.model.engine import invariant, step_invariant
from groupcheck.model.protocol.classic import offsets
from groupcheck.model.protocol.classic.client import Client, Prepare
from groupcheck.model.protocol.classic.offsets import Offsets
from groupcheck.model.protocol.family import OFFSETS


@invariant(source="ConsumerCoordinator.maybeAutoCommitOffsetsAsync; KAFKA-18641")
def committed_within_processed(offsets: Offsets) -> bool:
    """The committed offset never passes the first record that no application has finished.

    Why: a classic consumer commits positions from the thread that polls, and polls again only when
    the last batch is done. So the next owner, who starts at the committed offset, skips nothing.
    """
    return offsets.committed <= offsets.processed


@invariant(source="SubscriptionState.position")
def position_within_processed(offsets: Offsets, client: Client) -> bool:
    """No member reads on from behind a record that no application has finished.

    Why: positions start at the committed offset and move with the processing.
    """
    return client.position <= offsets.processed


@step_invariant(
    "client",
    rules=(offsets.fetch_offset.name, offsets.process_record.name),
    source="ConsumerCoordinator.onJoinPrepare; KAFKA-14196",
)
def revocation_pauses(before: Any, after: Any) -> bool:
    """A member processes nothing between the commit before a revocation and the revocation.

    Why: partitions that are about to be revoked are not fetched (pendingRevocation); what was
    processed then would be processed twice.
    """
    return bool(before.client.prepare != Prepare.COMMITTED)


INVARIANTS = {OFFSETS: (committed_within_processed, position_within_processed, revocation_pauses)}
