"""The cover scopes of groups of static members, what they never show, and the scopes in which
`conform` executes them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from groupcheck.model.protocol.classic import covers
from groupcheck.model.protocol.classic.covers import (
    BY_HAND,
    OF_PHASES,
    PHASES_SCOPE,
    STYLES_SCOPE,
    cover,
)

ONE_STEP = "A static member is never told to come again with an id."
NO_LEAVING = "A static member sends no LeaveGroup; an administrator names no member id."
SAME = "All members list the same assignors."
# What the styles of commits add.
IN_STYLES = (
    BY_HAND,
    cover("close:committed_first leave:silent", **STYLES_SCOPE, commit_style="auto"),
    cover("commit_answer:dropped lose_request:async", **STYLES_SCOPE, commit_style="async"),
)
# The smallest first; each lists what no smaller one reaches.
COVERS = (
    cover(
        """
        answer_joins answer_syncs append_committed begin_walk commit_answer:done completing
        end_walk fetch_offset ghost_id heartbeat:accepted heartbeat_answer:well initial_delay:over
        join_answer:joined join_group:added offset_commit:accepted preparing process_record
        send_commit send_heartbeat send_join:sent send_sync stable store_offset:forwards
        sync_answer:assigned sync_group:led
        """,
        members=1,
        generations=1,
    ),
    cover(
        """
        join_complete
        """,
        members=1,
        generations=1,
        atomic_complete=False,
    ),
    cover(
        """
        commit_answer:fatal delay_request fenced_member heartbeat:fenced heartbeat_answer:fatal
        join_answer:fatal join_group:replaced join_group:replaced_and_parked
        join_group:replaced_and_restarted join_group:restarted late_request offset_commit:fenced
        send_back store_offset:again store_offset:backwards sync_answer:fatal sync_group:fenced
        sync_group:rebalancing takeover_committed:answered
        """,
        members=1,
        generations=1,
        records=2,
        faults={"delay_request": 1},
    ),
    cover(
        """
        append_failed close:silent close_books commit_answer:refused crash disconnect elect
        empty_again fail_over forget heartbeat:rebalancing heartbeat:unknown
        heartbeat_answer:ignored heartbeat_answer:refused initial_delay:extended
        join_answer:refused join_group:parked join_group:too_many join_group:unknown
        leave_group:removed leave_group:unknown lose_request:sync lose_response new_member_timeout
        offset_commit:unknown poll_timeout:silent rebalance_timeout:rejected record_plan reload
        remove_instance request_timeout restart_refused_at_the_cap session_timeout:member
        superseded sync_answer:ignored sync_answer:refused sync_answer:retry
        sync_group:illegal_generation sync_group:unknown sync_timeout
        """,
        members=2,
        generations=2,
        max_size=1,
        any_faults=1,
    ),
    cover(
        """
        heartbeat_answer:told_to_rejoin join_answer:retry processed_twice
        send_join:committed_first sync_group:parked sync_group:stable
        takeover_committed:unanswered_in_round takeover_failed:reverted
        takeover_failed:reverted_in_round together told_to_rejoin
        """,
        members=2,
        generations=1,
        faults={"crash": 1, "append_failure": 1},
    ),
    cover(
        """
        heartbeat:illegal_generation join_group:fenced join_group:unchanged
        rebalance_timeout:postponed unheard_member
        """,
        members=1,
        generations=2,
        any_faults=2,
    ),
    cover(
        """
        owed_by_a_replaced_id takeover_committed:answered_in_round
        """,
        members=2,
        generations=1,
        faults={"crash": 1, "sync_timeout": 1},
    ),
    cover(
        """
        commit_behind_join late_commit lose_request:commit
        """,
        members=2,
        generations=1,
        any_faults=1,
    ),
    cover(OF_PHASES, **PHASES_SCOPE),
    cover(
        """
        late_join_overlap offset_commit:illegal_generation read_next rebalance_timeout:missing
        zombie_owner
        """,
        members=2,
        generations=2,
        any_faults=1,
    ),
    *IN_STYLES,
)
UNREACHED = {
    **covers.UNREACHED,
    "join_group:id_required": ONE_STEP,
    "join_answer:id_given": ONE_STEP,
    "session_timeout:pending": ONE_STEP,
    "rebalance_timeout:nobody": ONE_STEP,
    "join_answer:ignored": "Only a LeaveGroup or an id that was replaced could be heard before.",
    "leave_group:left": NO_LEAVING,
    "leave_group:pending": NO_LEAVING,
    "leave_group:fenced": NO_LEAVING,
    "leave_behind_parked": NO_LEAVING,
    "leave_answer": NO_LEAVING,
    "closed": NO_LEAVING,
    "join_group:inconsistent": SAME,
    "vote": SAME,
}
# Arguments of `conform`. A round that begins while a takeover waits for its append needs three
# members, which are too many for rows: schedules in the tests execute those outcomes.
EXECUTED: tuple[Mapping[str, Any], ...] = (
    {"members": 1, "generations": 1, "faults": {"append_failure": 1, "sync_timeout": 1}},
    {
        "members": 1,
        "generations": 1,
        "faults": {"fail_over": 1, "session_timeout": 1, "new_member_timeout": 1},
    },
    {
        "members": 2,
        "generations": 1,
        "faults": {"append_failure": 1},
        "settings": {"max_size": "1"},
    },
)
ASKED: Mapping[str, Any] = {
    "members": 2,
    "generations": 1,
    "faults": {"append_failure": 1, "rebalance_timeout": 1},
}
# Outcomes of the coordinator that a group of static members does not have.
NEVER_EXECUTED = {
    name: UNREACHED[name]
    for name in (
        "join_group:id_required",
        "join_group:inconsistent",
        "leave_group:pending",
        "rebalance_timeout:nobody",
        "session_timeout:pending",
        "vote",
    )
}
