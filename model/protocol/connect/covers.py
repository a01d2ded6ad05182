"""The cover scopes of Connect workers, and the outcomes that no scope reaches."""

from __future__ import annotations

from collections.abc import Mapping

from groupcheck.model.protocol.covers import Fields

# The smallest first.
SHOWS: tuple[Fields, ...] = (
    {"members": 1, "generations": 1},
    {"members": 2, "generations": 1, "max_size": 1},
    {"members": 1, "generations": 1, "faults": {"delay_request": 1}},
    {"members": 2, "generations": 1},
    {"members": 1, "generations": 1, "any_faults": 1},
    {"members": 1, "generations": 2, "any_faults": 1},
    {"members": 2, "generations": 2, "faults": {"rebalance_timeout": 1}},
    {"members": 2, "generations": 2, "faults": {"sync_timeout": 1}},
    {"members": 1, "generations": 1, "any_faults": 2},
    {"members": 2, "generations": 2, "max_size": 1, "any_faults": 1},
    {"members": 2, "generations": 2, "faults": {"config_update": 1}},
    {"members": 2, "generations": 2, "any_faults": 1},
)

COMMITS = "A worker commits nothing to the group of the workers."
ONE_PROTOCOL = "All workers list the same protocols."
UNREACHED: Mapping[str, str] = {
    **dict.fromkeys(
        """
        commit_answer:done commit_answer:dropped commit_answer:fatal commit_answer:ignored
        commit_answer:rebalancing commit_answer:refused commit_answer:retry commit_behind_join
        lose_request:commit offset_commit:accepted offset_commit:illegal_generation
        offset_commit:rebalancing offset_commit:unknown processed_twice send_join:committed_first
        store_offset:again store_offset:backwards store_offset:forwards
        """.split(),
        COMMITS,
    ),
    "heartbeat_answer:fatal": "Only a static member can be fenced (82).",
    "join_answer:retry": "A coordinator that has loaded never answers JoinGroup with 14 or 16.",
    "sync_answer:fatal": "A coordinator that has loaded never answers SyncGroup with 14.",
    "join_group:inconsistent": ONE_PROTOCOL,
    "vote": ONE_PROTOCOL,
}


def _incremental(fields: Fields) -> Fields:
    """The scope with workers that all rebalance incrementally, of which some list more versions."""
    count = fields.get("members", 1)
    names = "|".join(["compatible", "sessioned"][k % 2] for k in range(count))
    return {**fields, "connect_protocol": names}


VERSIONS_SHOWS: tuple[Fields, ...] = (
    *map(_incremental, SHOWS),
    {"members": 1, "generations": 1, "connect_protocol": "compatible"},
    {"members": 1, "generations": 1, "any_faults": 1, "connect_protocol": "compatible"},
    # After a fail-over the group knows of the chosen version alone.
    {
        "members": 2,
        "generations": 2,
        "any_faults": 1,
        "connect_protocol": "compatible|sessioned",
    },
    {"members": 1, "generations": 1, "any_faults": 1},
    {"members": 2, "generations": 2, "connect_protocol": "eager|compatible"},
)
VERSIONS_UNREACHED = {
    name: why for name, why in UNREACHED.items() if name not in ("vote", "join_group:inconsistent")
}
BACKOFF_SHOWS: tuple[Fields, ...] = (
    *SHOWS,
    {
        "members": 2,
        "partitions": 2,
        "generations": 5,
        "faults": {"config_timeout": 1, "config_update": 1},
    },
)
