"""Whom the coordinator still listens to: heartbeats, syncs and commits of the current generation
alone.
"""

from __future__ import annotations

from typing import Any

from groupcheck.model.engine import step_invariant
from groupcheck.model.protocol.classic import coordinator
from groupcheck.model.protocol.classic.group import Phase, is_member
from groupcheck.model.protocol.family import CLASSIC_GROUP


def _entitled(before: Any) -> bool:
    """Did the request at hand come from a member of the current generation?"""
    request = before.link.request
    return is_member(before.seats[request.id]) and request.generation == before.core.generation


@step_invariant(
    "core",
    "seats",
    "link",
    rules=(coordinator.heartbeat.name,),
    source="ClassicGroup.validateMember; ILLEGAL_GENERATION",
)
def heartbeat_fenced(before: Any, after: Any, label: str) -> bool:
    """A heartbeat is answered well (or with 27) only to a member of the current generation.

    Why: the answer is how a member that was left behind learns that it is out (22, 25); a good one
    would keep it where it is for ever.
    """
    return label not in ("accepted", "rebalancing") or _entitled(before)


@step_invariant(
    "core",
    "seats",
    "link",
    rules=(coordinator.heartbeat.name,),
    source="GroupMetadataManager.classicGroupHeartbeat",
)
def round_announced(before: Any, after: Any, label: str) -> bool:
    """A heartbeat is answered NONE only while no round is collecting JoinGroups.

    Why: 27 in the answer to a heartbeat is how members learn of a round.
    """
    return label != "accepted" or before.core.phase in (Phase.COMPLETING, Phase.STABLE)


@step_invariant(
    "core",
    "seats",
    "link",
    rules=(coordinator.sync_group.name,),
    source="GroupMetadataManager.classicGroupSync; ILLEGAL_GENERATION",
)
def sync_fenced(before: Any, after: Any, label: str) -> bool:
    """A SyncGroup is parked, or answered with a share, only for a member of the current generation.

    Why: the share belongs to one generation; a member of an older one would own what others were
    given since.
    """
    return label not in ("stable", "led", "parked") or _entitled(before)


@step_invariant(
    "core",
    "seats",
    "link",
    rules=(coordinator.offset_commit.name,),
    source="ClassicGroup.validateOffsetCommit",
)
def commit_fenced(before: Any, after: Any, label: str) -> bool:
    """While no generation is being synced, a commit is accepted only from a member of the current
    generation.

    Why: only those can own the partition; an older member would overwrite what its successor has
    committed.
    """
    return label != "accepted" or before.core.phase == Phase.COMPLETING or _entitled(before)


@step_invariant(
    "core",
    "seats",
    "link",
    rules=(coordinator.offset_commit.name,),
    source="ClassicGroup.validateOffsetCommit; REBALANCE_IN_PROGRESS",
)
def commits_wait_for_sync(before: Any, after: Any, label: str) -> bool:
    """No commit is accepted while a generation is being synced.

    Why: whoever still wants to commit then, commits for the generation before, whose partitions are
    about to be handed out.
    """
    return label != "accepted" or before.core.phase != Phase.COMPLETING


INVARIANTS = {
    CLASSIC_GROUP: (
        heartbeat_fenced,
        round_announced,
        sync_fenced,
        commit_fenced,
        commits_wait_for_sync,
    )
}
