"""What topics, subscriptions and settings that change show beyond the classic group, and the scopes
of the members that `conform` executes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from groupcheck.model.protocol.classic import covers
from groupcheck.model.protocol.classic.covers import IN_PHASES, PHASES_SCOPE, cover, derived
from groupcheck.model.protocol.variant import Cover

# What other features that change topics reach in the same scopes.
CHANGES = (
    cover(
        "refresh_metadata:matched",
        members=1,
        generations=2,
        records=0,
        subscriptions="*",
        faults={"create_topic": 1},
    ),
    cover(
        "lower_max_size",
        members=2,
        generations=2,
        records=0,
        max_size=2,
        topics="t:1",
        faults={"lower_max_size": 1, "fail_over": 1},
    ),
)
COVERS = derived(
    covers.COVERS,
    cover("survey", members=1, generations=1),
    cover(
        """
        add_partitions change_subscription create_topic delete_topic owner_of_nothing
        refresh_metadata:outdated refresh_metadata:seen refused_share sync_answer:mismatched
        unseen_partition
        """,
        members=1,
        generations=1,
        any_faults=1,
    ),
    cover(
        "change_assignors",
        members=1,
        generations=1,
        records=0,
        topics="t:1",
        protocols="range",
        protocols_after="range,sticky",
        faults={"change_assignors": 1},
    ),
    *CHANGES,
    cover(
        "late_join_overlap",
        members=2,
        generations=2,
        records=0,
        topics="t:1",
        faults={"delay_request": 1, "disconnect": 1},
    ),
    Cover({**PHASES_SCOPE, "topics": "t:1"}, IN_PHASES.reaches),
)

# The members that `conform --side member` executes: of a topic that stays as it is; of topics that
# grow, that do not exist yet, that it no longer subscribes to, and that a pattern finds.
AS_IT_IS: tuple[Mapping[str, Any], ...] = ({"members": 1, "topics": "t:1", "subscriptions": "t"},)
CHANGING: tuple[Mapping[str, Any], ...] = (
    {"topics": "t:1-2,u:0-1", "subscriptions": "t"},
    {"topics": "t:1,u:1", "subscriptions": "t,u"},
    {"topics": "t:1,u:1", "subscriptions": "t,u", "atomic_complete": False},
    {"topics": "t:1,u:0-1", "subscriptions": "*"},
)
