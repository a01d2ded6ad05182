"""Replicas of the offsets: an in-sync one has what the leader has."""

from __future__ import annotations

from groupcheck.model.engine import goal, invariant
from groupcheck.model.protocol.classic.features.full_offsets.kept import NO_OFFSET
from groupcheck.model.protocol.classic.features.replicas import FAMILY as REPLICATED
from groupcheck.model.protocol.classic.features.replicas import Copy


@invariant(
    source="Partition.inSyncReplicaIds; TopicConfig.DELETE_RETENTION_MS_DOC",
    broken=(
        "A replica is in sync and has the offset {copy.held}, where the leader has {copy.led}"
        " (-1: none); elected, it would bring that back"
    ),
    of=REPLICATED,
)
def in_sync_replicas_agree(copy: Copy) -> bool:
    """An in-sync replica would load the offset that the leader has.

    Why: any of them may be elected. It falls where a tombstone is removed before a slow replica has
    seen it: a deleted offset comes back, and the group starts there.
    """
    return not copy.in_sync or copy.held == copy.led


@goal(source="LogCleaner", of=REPLICATED)
def old_offset_behind_a_tombstone(copy: Copy) -> bool:
    """A replica that is out of sync has an offset that the leader has deleted."""
    return not copy.in_sync and copy.held != NO_OFFSET and copy.led == NO_OFFSET


@goal(source="LogCleaner", of=REPLICATED)
def commit_without_a_replica(copy: Copy) -> bool:
    """A commit was answered that a replica out of sync does not have."""
    return not copy.in_sync and copy.led != NO_OFFSET and copy.held != copy.led
