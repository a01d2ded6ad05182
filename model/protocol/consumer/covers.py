"""The cover scopes of the protocol, and what its outcomes stand for.
`tests/model/variants/test_variant_contract.py` holds each to what it says.
"""

from __future__ import annotations

from collections.abc import Mapping

from groupcheck.model.protocol.covers import Fields

# Fault -> the outcomes each of which always spends one of it.
SPENT_BY: Mapping[str, tuple[str, ...]] = {
    "crash": ("crash",),
    "close": (
        "close_consumer:well",
        "close_consumer:failed",
        "application_closes:closed",
        "application_closes:called",
    ),
    "poll_timeout": ("poll_timeout", "java_poll_timeout"),
    "unsubscribe": ("application_unsubscribes:left", "application_unsubscribes:called"),
    "callback_failure": ("java_callback_returns:failed",),
    "lose_request": ("lose_heartbeat",),
    "lose_response": ("lose_answer:answer", "lose_answer:connection"),
    "append_failure": ("fail_append", "resolution_ends:failed"),
    "session_timeout": ("session_timeout:removed", "session_timeout:failed"),
    "rebalance_timeout": ("rebalance_timeout:removed", "rebalance_timeout:failed"),
    "fail_over": ("move_coordinator",),
    "subscription": ("change_subscription",),
    "metadata": ("add_partition", "delete_topic"),
    "delay_request": ("delay_heartbeat",),
    "delay_commit": ("delay_commit",),
}
# The smallest first.
SHOWS: tuple[Fields, ...] = (
    {"members": 1},
    {"members": 2},
    {"members": 2, "any_faults": 1},
    {"members": 1, "wire": "explicit", "faults": {"lose_response": 1}},
    {"members": 2, "callbacks": "phased", "faults": {"poll_timeout": 1}},
    {"members": 2, "faults": {"delay_request": 1}},
    {"members": 1, "faults": {"delay_request": 1}, "k18": "as_kafka"},
    {"members": 1, "topics": 2, "partitions": 1, "faults": {"subscription": 1}},
    {"members": 2, "partitions": 1, "interval": True},
    {"members": 1, "static_members": 1, "faults": {"close": 1, "crash": 1}},
    {"members": 2, "static_members": 1, "max_size": 1},
    {"members": 2, "partitions": 1, "faults": {"rebalance_timeout": 1, "append_failure": 1}},
    {
        "members": 1,
        "partitions": 1,
        "faults": {"session_timeout": 1, "close": 1, "append_failure": 1},
    },
    {"members": 2, "partitions": 1, "static_members": 1, "requests": "anybody"},
    {"members": 1, "partitions": 1, "requests": "anybody", "faults": {"append_failure": 1}},
    {"members": 1, "java": True},
    {"members": 2, "partitions": 1, "java": True, "callbacks": "phased"},
    {"members": 1, "java": True, "callbacks": "phased", "faults": {"poll_timeout": 1}},
    {
        "members": 1,
        "java": True,
        "callbacks": "phased",
        "faults": {"unsubscribe": 1, "callback_failure": 1},
    },
    {"members": 1, "java": True, "callbacks": "phased", "faults": {"close": 1}},
    {
        "members": 1,
        "java": True,
        "callbacks": "phased",
        "auto_commit": True,
        "faults": {"session_timeout": 1},
    },
    {
        "members": 1,
        "java": True,
        "wire": "explicit",
        "faults": {"poll_timeout": 1, "lose_response": 1},
    },
    {
        "members": 1,
        "java": True,
        "faults": {"unsubscribe": 1, "close": 1, "session_timeout": 1},
    },
    {"members": 1, "java": True, "static_members": 1, "faults": {"crash": 1}},
    {
        "members": 1,
        "partitions": 1,
        "requests": "anybody",
        "patterns": True,
        "assignor": "named",
    },
    {
        "members": 2,
        "partitions": 1,
        "offsets": True,
        "auto_commit": True,
        "faults": {"delay_commit": 1},
    },
    {
        "members": 1,
        "partitions": 1,
        "static_members": 1,
        "requests": "anybody",
        "offsets": True,
        "faults": {"append_failure": 1},
    },
    {"members": 2, "partitions": 1, "offsets": True, "transactions": True},
    {
        "members": 1,
        "partitions": 1,
        "offsets": True,
        "transactions": True,
        "requests": "anybody",
        "faults": {"append_failure": 1},
    },
    {
        "members": 2,
        "partitions": 1,
        "max_size": 1,
        "offsets": True,
        "transactions": True,
        "requests": "anybody",
    },
    {
        "members": 1,
        "topics": 2,
        "partitions": 1,
        "offsets": True,
        "expiry": True,
        "faults": {"subscription": 1, "close": 1},
    },
    {
        "members": 1,
        "topics": 2,
        "partitions": 1,
        "regexes": 2,
        "faults": {"subscription": 1, "metadata": 1},
    },
    {
        "members": 1,
        "partitions": 1,
        "regexes": 1,
        "faults": {"append_failure": 1},
    },
)
UNREACHED: Mapping[str, str] = {}
BOOKKEEPING: Mapping[str, str] = {
    "ghost_expires": "A session timeout, of a member whose process is gone: no row has processes.",
}
