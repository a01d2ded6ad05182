"""The cover scopes of `triggers`: small ones that together fire every outcome
and meet every goal.
"""

from __future__ import annotations

from attrs import evolve

from groupcheck.model.protocol.classic.covers import IN_PHASES, PHASES_SCOPE, cover

# The smallest first; each lists what no smaller one reaches.
COVERS = (
    cover(
        """
        answer_joins answer_syncs append_committed begin_walk change_assignors
        completing end_walk fetch_offset heartbeat:accepted heartbeat_answer:well
        initial_delay:over join_answer:id_given join_answer:joined join_group:added
        join_group:id_required preparing send_heartbeat send_join:sent send_sync stable
        survey sync_answer:assigned sync_group:led vote
        """,
        members=1,
        generations=1,
        records=0,
        topics="t:1",
        protocols="range",
        protocols_after="range,sticky",
        faults={"change_assignors": 1},
    ),
    cover(
        """
        commit_answer:done offset_commit:accepted process_record send_commit
        store_offset:forwards
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
        delete_topic join_group:restarted owner_of_nothing refresh_metadata:outdated
        refresh_metadata:seen send_back told_to_rejoin
        """,
        members=1,
        generations=2,
        records=0,
        faults={"delete_topic": 1},
    ),
    cover(
        """
        add_partitions unseen_partition
        """,
        members=1,
        generations=2,
        records=0,
        faults={"add_partitions": 1},
    ),
    cover(
        """
        create_topic refresh_metadata:matched
        """,
        members=1,
        generations=2,
        records=0,
        subscriptions="*",
        faults={"create_topic": 1},
    ),
    cover(
        """
        change_subscription refused_share sync_answer:mismatched
        """,
        members=1,
        generations=2,
        records=0,
        faults={"subscribe": 1},
    ),
    cover(
        """
        join_answer:fatal join_group:too_many
        """,
        members=2,
        generations=1,
        max_size=1,
    ),
    cover(
        """
        join_group:inconsistent
        """,
        members=2,
        generations=1,
        protocols="range|sticky",
    ),
    cover(
        """
        delay_request ghost_id heartbeat:rebalancing heartbeat_answer:told_to_rejoin
        join_group:parked join_group:unchanged late_request request_timeout
        send_join:committed_first store_offset:again store_offset:backwards superseded
        sync_group:rebalancing unheard_member
        """,
        members=1,
        generations=1,
        records=2,
        faults={"delay_request": 1},
    ),
    cover(
        """
        heartbeat_answer:ignored initial_delay:extended sync_answer:retry
        sync_group:parked sync_group:stable together
        """,
        members=2,
        generations=1,
    ),
    cover(
        """
        append_failed close:behind close:heard close:unheard close_books closed
        commit_answer:refused crash disconnect empty_again fail_over forget
        heartbeat:unknown heartbeat_answer:refused join_answer:ignored
        join_answer:refused join_group:unknown leave_answer leave_behind_parked
        leave_group:left leave_group:pending lose_request:sync lose_response
        new_member_timeout offset_commit:unknown poll_timeout:heard read_next
        record_plan reload session_timeout:member session_timeout:pending
        sync_answer:ignored sync_answer:refused sync_group:unknown sync_timeout
        """,
        members=1,
        generations=1,
        any_faults=1,
    ),
    cover(
        """
        heartbeat:illegal_generation offset_commit:illegal_generation processed_twice
        sync_group:illegal_generation
        """,
        members=1,
        generations=2,
        any_faults=1,
    ),
    cover(
        """
        rebalance_timeout:missing zombie_owner
        """,
        members=2,
        generations=2,
        faults={"rebalance_timeout": 1},
    ),
    cover(
        """
        elect lower_max_size rebalance_timeout:rejected
        """,
        members=2,
        generations=2,
        records=0,
        max_size=2,
        topics="t:1",
        faults={"lower_max_size": 1, "fail_over": 1},
    ),
    cover(
        """
        late_join_overlap
        """,
        members=2,
        generations=2,
        records=0,
        topics="t:1",
        faults={"delay_request": 1, "disconnect": 1},
    ),
    cover(
        """
        leave_group:unknown rebalance_timeout:nobody
        """,
        members=2,
        generations=2,
        max_size=1,
        any_faults=1,
    ),
    cover(
        """
        commit_behind_join late_commit lose_request:commit poll_timeout:unheard
        """,
        members=1,
        generations=1,
        any_faults=2,
    ),
    evolve(IN_PHASES, fields={**PHASES_SCOPE, "topics": "t:1"}),
)
