"""Offsets across revocations: no record is skipped, and processed records are committed before
their partition gets another owner.
"""

from __future__ import annotations

from typing import Any

from groupcheck.model.engine import invariant, step_invariant
from groupcheck.model.protocol.classic import offsets
from groupcheck.model.protocol.classic.client import Client, Prepare
from groupcheck.model.protocol.classic.offsets import Offsets
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.model.protocol.family import OFFSETS


@invariant(
    source="ConsumerCoordinator.maybeAutoCommitOffsetsAsync; KAFKA-18641; protocol: C8 NoLoss",
    broken=(
        "{actor} commits offset {offsets.committed} of p{offsets.watched} before record"
        " {offsets.processed} is processed, so the next owner skips it"
    ),
    of=OFFSETS,
)
def committed_within_processed(offsets: Offsets, scope: Scope) -> bool:
    """The committed offset is never beyond the first record that no application has processed.

    Why: a classic consumer commits its position in the thread that polls, and polls again only
    after it has processed the last batch. So the next owner, which starts at the committed offset,
    skips no record.
    """
    # With auto.offset.reset=latest, a member that finds no offset does (see `full_offsets`).
    return scope.skips or offsets.committed <= offsets.processed


@invariant(
    source="SubscriptionState.position; protocol: C8",
    broken=(
        "{name} reads p{offsets.watched} from offset {client.position}, so record"
        " {offsets.processed}, which nobody has processed, is skipped"
    ),
    of=OFFSETS,
)
def position_within_processed(offsets: Offsets, client: Client, scope: Scope) -> bool:
    """No member's position is beyond the first record that no application has processed.

    Why: a position starts at the committed offset and advances only when a record is processed.
    """
    # With auto.offset.reset=latest, it may start at the end (see `full_offsets`).
    return scope.skips or client.position <= offsets.processed


@step_invariant(
    "client",
    rules=(offsets.fetch_offset.name, offsets.process_record.name),
    source="ConsumerCoordinator.onJoinPrepare; KAFKA-14196",
    broken=(
        "{name} processes a record of p{offsets.watched} after its last commit, so the next"
        " owner processes it again"
    ),
    of=OFFSETS,
)
def revocation_pauses(before: Any, after: Any, scope: Scope) -> bool:
    """Between its commit in onJoinPrepare and the revocation, an eager member processes no record
    and fetches no offset.

    Why: a consumer does not fetch from partitions that are about to be revoked (pendingRevocation).
    The next owner would process again what was processed after the commit. A cooperative member
    does not know yet what it will revoke, and goes on.
    """
    return scope.cooperative or bool(before.client.prepare != Prepare.COMMITTED)
