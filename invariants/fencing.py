"""The coordinator accepts heartbeats, SyncGroups and commits only from members of the current
generation.
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
    broken="The coordinator accepts a heartbeat from {outsider}",
    of=CLASSIC_GROUP,
)
def heartbeat_fenced(before: Any, after: Any, label: str) -> bool:
    """The coordinator answers a heartbeat with NONE or 27 REBALANCE_IN_PROGRESS only if it comes
    from a member of the current generation.

    Why: 22 ILLEGAL_GENERATION and 25 UNKNOWN_MEMBER_ID tell a process that it has missed a
    generation or is no longer a member. After NONE it would never join again.
    """
    return label not in ("accepted", "rebalancing") or _entitled(before)


@step_invariant(
    "core",
    "seats",
    "link",
    rules=(coordinator.heartbeat.name,),
    source="GroupMetadataManager.classicGroupHeartbeat",
    broken="{name} sends a heartbeat and is not told that the group is rebalancing",
    of=CLASSIC_GROUP,
)
def round_announced(before: Any, after: Any, label: str) -> bool:
    """The coordinator answers a heartbeat with NONE only in CompletingRebalance and Stable.

    Why: in PreparingRebalance the answer 27 REBALANCE_IN_PROGRESS tells members that a round is
    collecting JoinGroups.
    """
    return label != "accepted" or before.core.phase in (Phase.COMPLETING, Phase.STABLE)


@step_invariant(
    "core",
    "seats",
    "link",
    rules=(coordinator.sync_group.name,),
    source="GroupMetadataManager.classicGroupSync; ILLEGAL_GENERATION",
    broken="The coordinator accepts a SyncGroup from {outsider}",
    of=CLASSIC_GROUP,
)
def sync_fenced(before: Any, after: Any, label: str) -> bool:
    """The coordinator parks a SyncGroup, or answers it with a share of the assignment, only if it
    comes from a member of the current generation.

    Why: a share belongs to one generation. A member of an earlier generation would own partitions
    that others have been given since.
    """
    return label not in ("stable", "led", "parked") or _entitled(before)


@step_invariant(
    "core",
    "seats",
    "link",
    rules=(coordinator.offset_commit.name,),
    source="ClassicGroup.validateOffsetCommit; protocol: C7 ZombieCommitFenced",
    broken="The coordinator accepts a commit from {outsider}",
    of=CLASSIC_GROUP,
)
def commit_fenced(before: Any, after: Any, label: str) -> bool:
    """Outside CompletingRebalance, the coordinator accepts an OffsetCommit only from a member of
    the current generation.

    Why: only such a member can own the partition. A member of an earlier generation would overwrite
    what the next owner has committed.
    """
    return label != "accepted" or before.core.phase == Phase.COMPLETING or _entitled(before)


@step_invariant(
    "core",
    "seats",
    "link",
    rules=(coordinator.offset_commit.name,),
    source="ClassicGroup.validateOffsetCommit; REBALANCE_IN_PROGRESS",
    broken=(
        "The coordinator accepts a commit from {name} while generation {core.generation}"
        " waits for its assignment"
    ),
    of=CLASSIC_GROUP,
)
def commits_wait_for_sync(before: Any, after: Any, label: str) -> bool:
    """The coordinator accepts no OffsetCommit in CompletingRebalance.

    Why: such a commit is for partitions of the previous generation, which are about to be
    reassigned.
    """
    return label != "accepted" or before.core.phase != Phase.COMPLETING
