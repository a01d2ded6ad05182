"""The cover scopes of groups that migrate, and what their outcomes stand for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from groupcheck.model.protocol.covers import Fields

# Fault -> the outcomes each of which always spends one of it.
SPENT_BY: Mapping[str, tuple[str, ...]] = {
    "crash": ("crash",),
    "close": ("close_member:well", "close_member:silent"),
    "lose_request": ("lose_heartbeat",),
    "lose_response": ("lose_answer:answer", "lose_classic_answer:join", "lose_classic_answer:sync"),
    "session_timeout": (
        "session_timeout:removed",
        "round_session_timeout:removed",
        "round_session_timeout:forgotten",
    ),
    "rebalance_timeout": (
        "rebalance_timeout:removed",
        "join_phase_over:longer",
        "join_phase_over:ended",
    ),
    "join_timeout": ("join_timeout",),
    "sync_timeout": ("sync_timeout", "sync_phase_over"),
    "fail_over": ("move_coordinator",),
}
_TWO: Mapping[str, Any] = {"members": 2, "partitions": 1}
# The smallest first.
SHOWS: tuple[Fields, ...] = (
    _TWO,
    {"members": 2},
    *({**_TWO, "faults": {fault: 1}} for fault in SPENT_BY if fault != "crash"),
    {"members": 1, "partitions": 1, "faults": {"crash": 1, "session_timeout": 1}},
    {**_TWO, "faults": {"crash": 1}},
    {**_TWO, "static_members": 1, "faults": {"close": 1, "session_timeout": 1}},
    {**_TWO, "restarts": "downgrade", "faults": {"session_timeout": 1}},
    {**_TWO, "restarts": "downgrade", "faults": {"lose_response": 1}},
    {**_TWO, "restarts": "downgrade", "static_members": 1, "faults": {"session_timeout": 1}},
    {**_TWO, "restarts": "downgrade", "policy": "disabled"},
    {**_TWO, "policy": "disabled"},
    {"members": 1, "partitions": 1, "static_members": 1, "faults": {"crash": 1}},
    {"members": 1, "partitions": 1, "requests": "anybody", "assignor": "named"},
    {
        "members": 1,
        "partitions": 1,
        "requests": "anybody",
        "static_members": 1,
        "faults": {
            "session_timeout": 1,
            "rebalance_timeout": 1,
            "join_timeout": 1,
            "sync_timeout": 1,
            "fail_over": 1,
        },
    },
    {**_TWO, "requests": "anybody", "static_members": 2, "max_size": 1},
    {**_TWO, "requests": "anybody", "policy": "disabled"},
)
_APPENDS = "appends succeed in groups that migrate"
_INSTANT = "members of groups that migrate take a new assignment in one step"
UNREACHED: Mapping[str, str] = {
    "hear_either:unavailable": _APPENDS,
    "leave_consumer_group:failed": _APPENDS,
    "reconcile_member:failed": _APPENDS,
    "rebalance_timeout:failed": _APPENDS,
    "session_timeout:failed": _APPENDS,
    "reconcile:assigning": _INSTANT,
    "reconcile:revoking": _INSTANT,
    "lose_answer:connection": "the wire of groups that migrate is never explicit",
    "upgrade_group:broken": "only with k13=as_kafka, which breaks a promise",
}
BOOKKEEPING: Mapping[str, str] = {}
