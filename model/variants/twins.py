"""The classic group with static members, two of which have the same instance id: the base with two
features, `groupcheck.model.protocol.classic.features.static` and `groupcheck.model.protocol.classic.features.twins`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from groupcheck.model.protocol.classic.covers import (
    KAFKA_MEMBER,
    MEMBER_APART,
    PHASES_SCOPE,
    ROWS_IN_PHASES,
    cover,
)
from groupcheck.model.protocol.classic.features.static import (
    STATIC_SPENT_BY,
    StaticScope,
    static_membership,
)
from groupcheck.model.protocol.classic.features.takeover import MORE_RULES
from groupcheck.model.protocol.classic.features.twins import TWIN_RULES, WORDS, twins
from groupcheck.model.protocol.classic.preset import preset
from groupcheck.model.protocol.classic.static_covers import NEVER_EXECUTED, NO_LEAVING, UNREACHED
from groupcheck.model.protocol.family import STATIC_MEMBERS, TWINS

IN_STYLE: Mapping[str, Any] = {"members": 2, "generations": 1, "records": 2, "any_faults": 1}
COVERS = (
    cover(
        """
        answer_joins answer_syncs append_committed begin_walk commit_answer:done
        commit_answer:fatal completing end_walk fenced_member fetch_offset ghost_id
        heartbeat:accepted heartbeat:fenced heartbeat_answer:fatal heartbeat_answer:well
        initial_delay:over join_answer:fatal join_answer:joined join_group:added
        join_group:replaced join_group:replaced_and_parked join_group:replaced_and_restarted
        look_away meet_twin:fenced meet_twin:moved offset_commit:accepted offset_commit:fenced
        preparing process_record processed_twice replaced_twin_owns send_back send_commit
        send_heartbeat send_join:sent send_sync stable store_offset:forwards
        sync_answer:assigned sync_answer:fatal sync_group:fenced sync_group:led
        sync_group:stable takeover_committed:answered tell_twin zombie_owner
        """,
        members=2,
        generations=1,
    ),
    cover(
        """
        close_books forget sync_answer:refused sync_group:unknown sync_timeout
        """,
        members=2,
        generations=1,
        faults={"sync_timeout": 1},
    ),
    cover(
        """
        close:silent join_group:too_many restart_refused_at_the_cap return_to_twin
        """,
        members=3,
        generations=2,
        max_size=1,
        faults={"rebalance_timeout": 1, "close": 1},
    ),
    cover(
        """
        join_complete
        """,
        members=2,
        generations=1,
        atomic_complete=False,
    ),
    cover(
        """
        append_failed heartbeat:rebalancing heartbeat_answer:ignored join_answer:retry
        join_group:fenced join_group:parked sync_answer:retry takeover_failed:reverted
        """,
        members=2,
        generations=1,
        faults={"append_failure": 1},
    ),
    cover(
        """
        rebalance_timeout:postponed
        """,
        members=2,
        generations=2,
        faults={"append_failure": 1, "rebalance_timeout": 1},
    ),
    cover(
        """
        commit_answer:refused crash delay_request disconnect empty_again fail_over
        heartbeat:unknown heartbeat_answer:refused initial_delay:extended join_answer:refused
        join_group:restarted join_group:unknown late_request leave_group:removed
        leave_group:unknown lose_request:sync lose_response new_member_timeout
        offset_commit:unknown poll_timeout:silent record_plan reload remove_instance
        request_timeout session_timeout:member store_offset:again superseded sync_answer:ignored
        sync_group:illegal_generation
        """,
        members=2,
        generations=2,
        max_size=1,
        any_faults=1,
    ),
    cover(
        """
        heartbeat_answer:told_to_rejoin send_join:committed_first sync_group:parked
        sync_group:rebalancing takeover_committed:unanswered_in_round together told_to_rejoin
        """,
        members=3,
        generations=1,
    ),
    cover(
        """
        commit_behind_join late_commit read_next
        """,
        members=3,
        generations=1,
        faults={"late_commit": 1},
    ),
    cover(
        """
        elect rebalance_timeout:rejected
        """,
        members=3,
        generations=2,
        max_size=1,
        records=0,
        any_faults=1,
    ),
    cover(
        """
        takeover_failed:reverted_in_round
        """,
        members=3,
        generations=1,
        faults={"append_failure": 1},
    ),
    cover(
        """
        lose_request:commit
        """,
        members=3,
        generations=1,
        faults={"lose_request": 1},
    ),
    cover(
        """
        owed_by_a_replaced_id takeover_committed:answered_in_round
        """,
        members=3,
        generations=1,
        faults={"sync_timeout": 1},
    ),
    cover(
        """
        store_offset:backwards
        """,
        members=2,
        generations=1,
        records=2,
        faults={"delay_request": 1},
    ),
    cover(
        """
        commit_answer:retry connect fail_over:regained fail_over:resigned fail_over:unnoticed
        find_coordinator:former find_coordinator:found find_coordinator:unavailable
        former_heartbeat:accepted former_heartbeat:fenced former_heartbeat:not_coordinator
        former_join_group:not_coordinator former_learns former_look_away former_meet_twin:fenced
        former_meet_twin:moved former_offset_commit:fenced former_offset_commit:not_coordinator
        former_return_to_twin former_sync_group:fenced former_sync_group:not_coordinator
        former_sync_group:stable generation_issued_twice heartbeat:loading join_group:loading
        load_group loading_seen offset_commit:loading pinned_member_expired sync_group:loading
        unload zombie_coordinator
        """,
        **PHASES_SCOPE,
    ),
    cover(
        """
        heartbeat:illegal_generation join_group:unchanged late_join_overlap
        offset_commit:illegal_generation rebalance_timeout:missing unheard_member
        """,
        members=3,
        generations=2,
        faults={"rebalance_timeout": 1},
    ),
    cover("behind_for_good close:committed_first leave:silent", **IN_STYLE, commit_style="auto"),
    cover(
        "commit_sync_has_thrown commit_throws waits_in_commit_sync",
        **IN_STYLE,
        commit_style="sync",
    ),
    cover("commit_answer:dropped lose_request:async", **IN_STYLE, commit_style="async"),
)

# The rows of the first scope say all that twins make different; the other outcomes are those of
# the rules of `static_membership`.
EXECUTED: tuple[Mapping[str, Any], ...] = (
    {"members": 2, "generations": 1, "faults": {"append_failure": 1}},
)
CONFORMED: tuple[Mapping[str, Any], ...] = (
    {"members": 2, "generations": 1, "faults": {"append_failure": 1, "fail_over": 1}},
    {**ROWS_IN_PHASES, "members": 2},
)
MOVES = tuple(name for r in TWIN_RULES for name in r.names)
OF_THE_MODEL = "The coordinator knows instance ids, and not which process has sent a request."


VARIANT = preset(
    name="twins",
    title="Classic group, two static members with one instance id",
    doc=(
        "The classic group of static members in which the first two processes have the same"
        " group.instance.id by mistake: each takes the place of the other one, which is fenced"
        " (KIP-345)."
    ),
    features=[static_membership, twins],
    scope_type=StaticScope,
    families=[STATIC_MEMBERS, TWINS],
    words=WORDS,
    coordinator=[*MORE_RULES, *TWIN_RULES],
    spent_by=STATIC_SPENT_BY,
    covers=COVERS,
    unreached=UNREACHED,
    executed=EXECUTED,
    asked=EXECUTED[0],
    conformed=CONFORMED,
    bookkeeping={**NEVER_EXECUTED, **dict.fromkeys(MOVES, OF_THE_MODEL)},
    real_member=KAFKA_MEMBER,
    member_generations=1,
    member_apart={**MEMBER_APART, "leave_answer": NO_LEAVING},
    member_scopes=({"members": 2, "partitions": 2},),
)
