"""The cover scopes of the protocol, and what its outcomes stand for.
`tests/model/variants/test_variant_contract.py` holds each to what it says.
"""

from __future__ import annotations

from collections.abc import Mapping

from groupcheck.model.protocol.classic.covers import cover

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
# The smallest first; each lists what no smaller one reaches.
COVERS = (
    cover(
        """
        all_own answer_joins begin_walk commit_answer:done deal end_walk heartbeat:accepted
        heartbeat_answer:well initial_delay join_answer:id_given join_answer:joined
        join_group:added join_group:id_required look_at_reports offset_commit:accepted send_commit
        send_heartbeat send_join
        """,
        members=1,
        generations=1,
    ),
    cover("ask_again heartbeat:reported reports_are_collected", members=2, generations=1),
    cover(
        """
        heartbeat:told heartbeat_answer:told_to_rejoin join_group:parked join_group:rejoined
        mark_is_overtaken waits_for_a_partition
        """,
        members=2,
        generations=2,
        old_clients=1,
    ),
    cover(
        """
        close:heard close:unheard close_books commit_answer:refused crash delay_request disconnect
        fail_over forget heartbeat:unknown heartbeat_answer:refused join_group:answered_again
        join_group:repeated late_request leave_group:left loaded_and_silent lose_response
        offset_commit:unknown reload session_timeout
        """,
        members=1,
        generations=1,
        any_faults=1,
    ),
    cover(
        "join_answer:refused join_group:unknown rebalance_timeout",
        members=2,
        generations=2,
        faults={"rebalance_timeout": 1},
    ),
    cover(
        "leave_group:unknown",
        members=1,
        generations=2,
        faults={"close": 1, "session_timeout": 1},
    ),
    cover("zombie_beside_owner", members=2, generations=2, faults={"session_timeout": 1}),
    cover("dies_between", members=2, generations=2, faults={"crash": 1}),
    cover(
        "heartbeat:illegal_generation offset_commit:illegal_generation",
        members=1,
        generations=1,
        any_faults=2,
    ),
    cover("goes_on_meanwhile", members=3, generations=2, partitions=3),
    cover(
        "offset_commit:rebalancing",
        members=2,
        generations=2,
        faults={"delay_request": 1, "fail_over": 1},
    ),
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
