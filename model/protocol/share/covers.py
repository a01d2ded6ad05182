"""The cover scopes of share groups, and what its outcomes stand for."""

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
    "session_timeout": ("share_session_timeout:removed", "share_session_timeout:failed"),
    "fail_over": ("move_share_coordinator",),
    "initialization_failure": ("persister_answers:failed",),
    "subscription": ("change_subscription",),
    "metadata": ("add_partition",),
}
# The smallest first.
SHOWS: tuple[Fields, ...] = (
    {"members": 1},
    {"members": 2},
    {"members": 2, "any_faults": 1},
    {"members": 1, "topics": 2, "partitions": 1, "faults": {"subscription": 1}},
    {"members": 2, "partitions": 1, "max_size": 1},
    {"members": 2, "partitions": 1, "interval": True},
    {"members": 1, "partitions": 1, "any_faults": 2},
    {"members": 2, "partitions": 1, "requests": "anybody"},
    {"members": 1, "partitions": 1, "requests": "anybody", "faults": {"append_failure": 1}},
)
UNREACHED: Mapping[str, str] = {
    "lose_answer:connection": "the wire of share groups is never explicit",
}
BOOKKEEPING: Mapping[str, str] = {
    "share_ghost_expires": (
        "A session timeout, of a member whose process is gone: no row has processes."
    ),
}
