"""The cover scopes of Connect workers: small scopes that together fire every outcome and meet every
goal. `tests/model/variants/test_variant_contract.py` holds each to what it says.
"""

from __future__ import annotations

from collections.abc import Mapping

from attrs import evolve

from groupcheck.model.protocol.classic.covers import cover, derived
from groupcheck.model.protocol.variant import Cover

# The smallest first; each lists what no smaller one reaches.
COVERS = (
    cover(
        """
        answer_joins answer_syncs append_committed begin_walk completing deal_out
        end_walk heartbeat:accepted heartbeat_answer:well initial_delay:over
        join_answer:id_given join_answer:joined join_group:added join_group:id_required
        make_plan:planned preparing send_heartbeat send_join:sent send_sync stable
        survey sync_answer:assigned sync_group:led
        """,
        members=1,
        generations=1,
    ),
    cover(
        "join_answer:fatal join_group:too_many",
        members=2,
        generations=1,
        max_size=1,
    ),
    cover(
        """
        delay_request ghost_id heartbeat:rebalancing heartbeat_answer:told_to_rejoin
        join_group:parked join_group:restarted join_group:unchanged late_request
        make_plan:unheard request_timeout send_back superseded sync_group:parked
        sync_group:stable told_to_rejoin unheard_member
        """,
        members=1,
        generations=1,
        faults={"delay_request": 1},
    ),
    cover(
        """
        heartbeat_answer:ignored initial_delay:extended sync_answer:retry
        sync_group:rebalancing together
        """,
        members=2,
        generations=1,
    ),
    cover(
        """
        append_failed close:behind close:heard close:unheard close_books closed crash
        disconnect empty_again fail_over forget heartbeat:unknown
        heartbeat_answer:refused join_answer:ignored join_answer:refused
        join_group:unknown leave_answer leave_behind_parked leave_group:left
        leave_group:pending lose_coordinator lose_request:sync lose_response
        new_member_timeout poll_timeout:heard read_config read_next record_plan reload
        session_timeout:member session_timeout:pending sync_answer:ignored
        sync_answer:outdated sync_answer:refused sync_group:unknown sync_timeout
        update_config
        """,
        members=1,
        generations=1,
        any_faults=1,
    ),
    cover(
        "heartbeat:illegal_generation",
        members=1,
        generations=2,
        any_faults=1,
    ),
    cover(
        """
        both_report late_join_overlap presumed_dead_runs rebalance_timeout:missing
        zombie_owner
        """,
        members=2,
        generations=2,
        faults={"rebalance_timeout": 1},
    ),
    cover(
        """
        candidate_waits delay_over delay_runs elect make_plan:delayed
        rebalance_timeout:nobody scheduled_rejoin
        """,
        members=2,
        generations=2,
        faults={"sync_timeout": 1},
    ),
    cover(
        "leave_group:unknown poll_timeout:unheard",
        members=1,
        generations=1,
        any_faults=2,
    ),
    cover(
        "rebalance_timeout:rejected",
        members=2,
        generations=2,
        max_size=1,
        any_faults=1,
    ),
    cover(
        "make_plan:behind sync_answer:mismatched",
        members=2,
        generations=2,
        faults={"config_update": 1},
    ),
    cover(
        "sync_group:illegal_generation",
        members=2,
        generations=2,
        any_faults=1,
    ),
)

COMMITS = "A worker commits nothing to the group of the workers."
ONE_PROTOCOL = "All workers list the same protocols."
UNREACHED: Mapping[str, str] = {
    **dict.fromkeys(
        """
        commit_answer:done commit_answer:dropped commit_answer:fatal commit_answer:ignored
        commit_answer:rebalancing commit_answer:refused commit_answer:retry commit_behind_join
        lose_request:commit offset_commit:accepted offset_commit:illegal_generation
        offset_commit:rebalancing offset_commit:unknown processed_twice send_join:committed_first
        store_offset:again store_offset:backwards store_offset:forwards
        """.split(),
        COMMITS,
    ),
    "heartbeat_answer:fatal": "Only a static member can be fenced (82).",
    "join_answer:retry": "A coordinator that has loaded never answers JoinGroup with 14 or 16.",
    "sync_answer:fatal": "A coordinator that has loaded never answers SyncGroup with 14.",
    "join_group:inconsistent": ONE_PROTOCOL,
    "vote": ONE_PROTOCOL,
}


def _incremental(one: Cover) -> Cover:
    """The scope with workers that all rebalance incrementally, of which some list more versions."""
    count = one.fields.get("members", 1)
    names = "|".join(["compatible", "sessioned"][k % 2] for k in range(count))
    return evolve(one, fields={**one.fields, "connect_protocol": names})


VERSIONS_COVERS = derived(
    map(_incremental, COVERS),
    cover("vote", members=1, generations=1, connect_protocol="compatible"),
    cover("bounce", members=1, generations=1, any_faults=1, connect_protocol="compatible"),
    # After a fail-over the group knows of the chosen version alone.
    cover(
        "join_group:inconsistent",
        members=2,
        generations=2,
        any_faults=1,
        connect_protocol="compatible|sessioned",
    ),
    cover("upgraded", members=1, generations=1, any_faults=1),
    cover("runs_what_another_has", members=2, generations=2, connect_protocol="eager|compatible"),
)
VERSIONS_UNREACHED = {
    name: why for name, why in UNREACHED.items() if name not in ("vote", "join_group:inconsistent")
}
BACKOFF_COVERS = derived(
    COVERS,
    cover(
        "sync_answer:unread reads_again backs_off_no_more runs_while_it_backs_off",
        members=2,
        partitions=2,
        generations=5,
        faults={"config_timeout": 1, "config_update": 1},
    ),
)
