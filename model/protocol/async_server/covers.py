"""The cover scopes of the protocol, and what its outcomes stand for.
`tests/model/variants/test_variant_contract.py` holds each to what it says.
"""

from __future__ import annotations

from collections.abc import Mapping

from groupcheck.model.protocol.covers import Fields

# Fault -> the outcomes each of which always spends one of it.
SPENT_BY: Mapping[str, tuple[str, ...]] = {
    "crash": ("crash",),
    "close": ("close:heard", "close:unheard"),
    "lose_response": ("lose_response",),
    "disconnect": ("disconnect",),
    "delay_request": ("delay_request",),
    "fail_over": ("fail_over",),
    "session_timeout": ("session_timeout",),
    "rebalance_timeout": ("rebalance_timeout",),
}
# The smallest first.
SHOWS: tuple[Fields, ...] = (
    {"members": 1, "generations": 1},
    {"members": 2, "generations": 1},
    {"members": 2, "generations": 2, "old_clients": 1},
    {"members": 1, "generations": 1, "any_faults": 1},
    {"members": 2, "generations": 2, "faults": {"rebalance_timeout": 1}},
    {"members": 1, "generations": 2, "faults": {"close": 1, "session_timeout": 1}},
    {"members": 2, "generations": 2, "faults": {"session_timeout": 1}},
    {"members": 2, "generations": 2, "faults": {"crash": 1}},
    {"members": 1, "generations": 1, "any_faults": 2},
    {"members": 3, "generations": 2, "partitions": 3},
    {"members": 2, "generations": 2, "faults": {"delay_request": 1, "fail_over": 1}},
)
UNREACHED: Mapping[str, str] = {
    "commit_answer:rebalancing": (
        "A member sends no commit while its JoinGroup is parked; nobody reads the answer to a late"
        " one."
    ),
}
BOOKKEEPING: Mapping[str, str] = {
    "close_books": "The model forgets what only a fault that is spent could have read.",
    "forget": "The same, seat by seat.",
}
