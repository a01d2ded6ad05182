"""The cover scopes of groups that migrate, and what their outcomes stand for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from groupcheck.model.protocol.consumer.scope import AS_KAFKA
from groupcheck.model.protocol.covers import Fields

# Fault -> the outcomes each of which always spends one of it.
SPENT_BY: Mapping[str, tuple[str, ...]] = {
    "crash": ("crash",),
    "close": ("close_member:well", "close_member:silent"),
    "lose_request": ("lose_heartbeat",),
    "lose_response": ("lose_answer:answer", "lose_classic_answer:join", "lose_classic_answer:sync"),
    "session_timeout": ("session_timeout:removed", "classic_session_timeout"),
    "rebalance_timeout": ("rebalance_timeout:removed", "classic_rebalance_timeout"),
    "join_timeout": ("join_timeout",),
    "sync_timeout": ("sync_timeout",),
    "fail_over": ("move_coordinator",),
}
_TWO: Mapping[str, Any] = {"members": 2, "partitions": 1}
# The smallest first.
SHOWS: tuple[Fields, ...] = (
    _TWO,
    {"members": 2},
    {"members": 2, "restarts": "both", "cooperative": True},
    {**_TWO, "restarts": "both", "any_faults": 1},
    {**_TWO, "restarts": "both", "static_members": 1, "any_faults": 1},
    {**_TWO, "restarts": "downgrade", "policy": "disabled"},
    {**_TWO, "policy": "disabled"},
    {**_TWO, "k13": AS_KAFKA},
    {
        **_TWO,
        "requests": "anybody",
        "static_members": 1,
        "faults": {"session_timeout": 1, "join_timeout": 1, "sync_timeout": 1, "fail_over": 1},
    },
    {**_TWO, "requests": "anybody", "static_members": 2, "max_size": 1},
    {**_TWO, "requests": "anybody", "policy": "disabled"},
)
UNREACHED: Mapping[str, str] = {}
BOOKKEEPING: Mapping[str, str] = {}
