"""The cover scopes of streams groups, and what its outcomes stand for."""

from __future__ import annotations

from collections.abc import Mapping

from groupcheck.model.protocol.covers import Fields

# Fault -> the outcomes each of which always spends one of it.
SPENT_BY: Mapping[str, tuple[str, ...]] = {
    "crash": ("crash",),
    "close": ("close_consumer:well", "close_consumer:failed"),
    "lose_request": ("lose_heartbeat",),
    "lose_response": ("lose_answer:answer",),
    "append_failure": ("fail_append",),
    "session_timeout": ("streams_session_timeout:removed", "streams_session_timeout:failed"),
    "rebalance_timeout": (
        "streams_rebalance_timeout:removed",
        "streams_rebalance_timeout:failed",
    ),
    "fail_over": ("move_streams_coordinator",),
    "metadata": ("topics_change",),
    "shutdown": ("ask_to_stop",),
}
# The smallest first.
SHOWS: tuple[Fields, ...] = (
    {"members": 1},
    {"members": 2},
    {"members": 2, "tasks": 1, "any_faults": 1},
    {"members": 2, "tasks": 1, "max_size": 1},
    {"members": 2, "tasks": 1, "topologies": 2},
    {"members": 2, "tasks": 1, "standbys": 1},
    {"members": 2, "tasks": 1, "interval": True},
    {
        "members": 2,
        "tasks": 1,
        "kafka": "4.4.0",
        "interval": True,
        "faults": {"session_timeout": 1},
    },
    {"members": 2, "tasks": 1, "delay": True, "faults": {"append_failure": 1}},
    {"members": 2, "tasks": 1, "faults": {"rebalance_timeout": 1, "append_failure": 1}},
    {"members": 1, "tasks": 1, "any_faults": 2},
    {"members": 2, "tasks": 1, "requests": "anybody"},
    {"members": 1, "tasks": 1, "requests": "anybody", "faults": {"append_failure": 1}},
)
UNREACHED: Mapping[str, str] = {
    "lose_answer:connection": "the wire of streams groups is never explicit",
}
BOOKKEEPING: Mapping[str, str] = {
    "streams_ghost_expires": (
        "A session timeout, of a member whose thread is gone: no row has threads."
    ),
}
