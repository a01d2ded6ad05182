"""The cover scopes of offsets in full: small ones that together fire every outcome and meet every
goal.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from groupcheck.model.protocol.classic.covers import PHASES_SCOPE, ROWS_IN_PHASES, cover
from groupcheck.model.protocol.classic.covers import UNREACHED as UNREACHED_IN_CLASSIC
from groupcheck.model.protocol.classic.keeping.scope import MORE

# The smallest first; each lists what no smaller one reaches.
COVERS = (
    cover(
        """
        answer_joins answer_syncs append_committed begin_walk completing end_walk
        fetch_answer:stopped fetch_offset heartbeat:accepted heartbeat_answer:well
        initial_delay:over join_answer:id_given join_answer:joined join_group:added
        join_group:id_required offset_fetch:nothing preparing send_heartbeat send_join:sent
        send_sync stable sync_answer:assigned sync_group:led
        """,
        members=1,
        generations=1,
        reset="none",
    ),
    cover(
        """
        commit_answer:done fetch_answer:reset join_complete offset_commit:accepted
        process_record send_commit store_offset:forwards
        """,
        members=1,
        generations=1,
        atomic_complete=False,
    ),
    cover(
        """
        end_transaction:abort end_transaction:commit fetch_answer:unstable offset_fetch:unstable
        processed_twice reading_again send_txn_commit txn_answer:added
        txn_offset_commit:anonymous write_marker:aborted write_marker:committed
        """,
        members=1,
        generations=1,
        commits="anonymous",
    ),
    cover(
        """
        join_answer:fatal join_group:inconsistent vote
        """,
        members=2,
        generations=1,
        protocols="range|sticky",
    ),
    cover(
        """
        delay_request ghost_id heartbeat:rebalancing heartbeat_answer:told_to_rejoin
        join_group:parked join_group:restarted join_group:unchanged late_request request_timeout
        send_back send_join:committed_first store_offset:again store_offset:backwards superseded
        sync_group:rebalancing told_to_rejoin unheard_member
        """,
        members=1,
        generations=1,
        records=2,
        faults={"delay_request": 1},
    ),
    cover(
        """
        commit_answer:dropped commit_answer:refused delete_groups:deleted delete_groups:no_group
        delete_groups:non_empty empty_again erase heartbeat:unknown heartbeat_answer:refused
        join_answer:refused join_group:unknown joining_without_subscriptions
        offset_commit:no_group offset_commit:unknown session_timeout:member
        session_timeout:pending sync_answer:refused sync_group:unknown
        """,
        members=1,
        generations=2,
        faults={"session_timeout": 1, "delete_groups": 1},
    ),
    cover(
        """
        fetch_answer:started offset_fetch:committed pending_and_committed reset_offsets:accepted
        reset_offsets:refused txn_answer:refused txn_offset_commit:accepted
        txn_offset_commit:unknown write_marker:superseded
        """,
        members=1,
        generations=2,
        faults={"session_timeout": 1, "reset_offsets": 1},
        commits="transactions",
    ),
    cover(
        """
        close_books connect fail_over:regained fail_over:resigned fail_over:unnoticed
        fetch_answer:retry find_coordinator:former find_coordinator:found
        find_coordinator:unavailable forget former_heartbeat:accepted
        former_heartbeat:not_coordinator former_join_group:not_coordinator former_learns
        former_offset_fetch:not_coordinator former_offset_fetch:nothing
        former_offset_fetch:unstable former_sync_group:not_coordinator
        former_txn_offset_commit:not_coordinator heartbeat:loading heartbeat_answer:ignored
        join_answer:retry join_group:loading load_group loading_seen offset_fetch:loading
        plan_of_nobody record_plan reload sync_answer:fatal sync_answer:retry sync_group:loading
        txn_answer:retry txn_offset_commit:loading unload zombie_coordinator
        """,
        members=1,
        generations=1,
        faults={"fail_over": 1},
        phases=True,
        commits="transactions",
    ),
    cover(
        """
        txn_offset_commit:no_group write_marker:void
        """,
        members=1,
        generations=2,
        faults={"session_timeout": 1, "delete_groups": 1},
        commits="transactions",
    ),
    cover(
        """
        append_failed close:behind close:heard close:unheard closed crash
        delete_offsets:deleted delete_offsets:no_group delete_offsets:subscribed disconnect
        expire_offsets:deleted expire_offsets:spared fail_over heartbeat:illegal_generation
        initial_delay:extended join_answer:ignored leave_answer leave_behind_parked
        leave_group:left leave_group:pending lose_request:sync lose_response new_member_timeout
        poll_timeout:heard read_next sync_answer:ignored sync_group:illegal_generation
        sync_group:parked sync_timeout txn_offset_commit:illegal_generation
        """,
        members=1,
        generations=2,
        any_faults=1,
        commits="transactions",
    ),
    cover(
        """
        rebalance_timeout:missing sync_group:stable together zombie_owner
        """,
        members=2,
        generations=2,
        faults={"rebalance_timeout": 1},
    ),
    cover(
        """
        commit_behind_join elect late_commit leave_group:unknown lose_request:commit
        poll_timeout:unheard
        """,
        members=1,
        generations=1,
        any_faults=2,
    ),
    cover(
        """
        join_group:too_many offset_commit:illegal_generation rebalance_timeout:nobody
        rebalance_timeout:rejected
        """,
        members=2,
        generations=2,
        max_size=1,
        any_faults=1,
    ),
    cover(
        """
        commit_answer:retry former_heartbeat:rebalancing former_offset_commit:not_coordinator
        former_offset_fetch:committed former_sync_group:rebalancing former_sync_group:stable
        generation_issued_twice offset_commit:loading
        """,
        **PHASES_SCOPE,
    ),
    cover(
        """
        late_join_overlap
        """,
        members=2,
        generations=2,
        faults={"delay_request": 1, "disconnect": 1},
    ),
)

UNREACHED: Mapping[str, str] = {
    outcome: why
    for outcome, why in UNREACHED_IN_CLASSIC.items()
    # A group that was deleted answers 69.
    if outcome != "commit_answer:dropped"
}

TIMERS = ("append_failure", "session_timeout", "rebalance_timeout", "sync_timeout")
IN_TRANSACTIONS = {"commits": "transactions"}
# Arguments of `conform`. An administrator's requests and fail-overs have rows of their own.
ASKED: Mapping[str, Any] = {
    "members": 1,
    "generations": 1,
    "faults": dict.fromkeys((*TIMERS, *MORE), 1),
}
EXECUTED: tuple[Mapping[str, Any], ...] = (
    {
        "members": 1,
        "generations": 1,
        "faults": dict.fromkeys((*TIMERS, "new_member_timeout", "fail_over"), 1),
        "settings": {"commits": "consumer"},
    },
    {
        "members": 2,
        "generations": 1,
        "faults": {},
        "settings": {"max_size": "1", "records": "0"},
    },
    {
        "members": 2,
        "generations": 1,
        "faults": {},
        "settings": {"protocols": "range|sticky", "records": "0"},
    },
    {
        "members": 1,
        "generations": 1,
        "faults": dict.fromkeys(MORE, 1),
        "settings": {"commits": "consumer"},
    },
    {
        "members": 1,
        "generations": 1,
        "faults": {"delete_offsets": 1},
        "settings": IN_TRANSACTIONS,
    },
)
CONFORMED: tuple[Mapping[str, Any], ...] = (
    ASKED,
    {**ASKED, "settings": IN_TRANSACTIONS},
    {**ASKED, "faults": {"fail_over": 1, "session_timeout": 1}, "settings": IN_TRANSACTIONS},
    ROWS_IN_PHASES,
    {**ROWS_IN_PHASES, "settings": {"phases": "yes", **IN_TRANSACTIONS}},
)
