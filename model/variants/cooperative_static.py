"""The classic group with static members and cooperative rebalancing: the base with two features,
`groupcheck.model.protocol.classic.static` and `groupcheck.model.protocol.classic.cooperative`.
"""

from __future__ import annotations

from functools import partial

import attrs
from attrs import frozen

from groupcheck.model.engine import Spec
from groupcheck.model.protocol.classic import rules
from groupcheck.model.protocol.classic.assignment import look_at_claims
from groupcheck.model.protocol.classic.cooperative import ASSIGNORS, CooperativeScope, cooperative
from groupcheck.model.protocol.classic.covers import (
    BOOKKEEPING,
    KAFKA_COORDINATOR,
    KAFKA_MEMBER,
    MEMBER_APART,
    ROWS_IN_PHASES,
    cover,
)
from groupcheck.model.protocol.classic.moving import PHASES, SWITCHED, moving
from groupcheck.model.protocol.classic.progress.feature import progress
from groupcheck.model.protocol.classic.rules import COORDINATOR
from groupcheck.model.protocol.classic.static import (
    MORE,
    STATIC_SPENT_BY,
    WORDS,
    StaticScope,
    static_membership,
)
from groupcheck.model.protocol.classic.static_covers import (
    ASKED,
    EXECUTED,
    IN_PHASES_STATIC,
    NEVER_EXECUTED,
    NO_LEAVING,
    UNREACHED,
)
from groupcheck.model.protocol.classic.story import story
from groupcheck.model.protocol.classic.takeover import MORE_RULES
from groupcheck.model.protocol.family import (
    CLASSIC_GROUP,
    COOPERATIVE,
    COOPERATIVE_STATIC,
    OFFSETS,
    STATIC_MEMBERS,
)
from groupcheck.model.protocol.faults import CLASSIC_FAULTS, PROGRESS_FAULTS
from groupcheck.model.protocol.feature import composed
from groupcheck.model.protocol.variant import Variant

COVERS = (
    cover(
        """
        answer_joins answer_syncs append_committed begin_walk commit_answer:done completing
        end_walk fetch_offset ghost_id heartbeat:accepted heartbeat_answer:well initial_delay:over
        join_answer:joined join_group:added look_at_claims offset_commit:accepted preparing
        process_record send_commit send_heartbeat send_join:sent send_sync stable
        store_offset:forwards sync_answer:assigned sync_group:led
        """,
        members=1,
        generations=1,
    ),
    cover(
        "join_complete",
        members=1,
        generations=1,
        atomic_complete=False,
    ),
    cover(
        """
        heartbeat:rebalancing heartbeat_answer:ignored heartbeat_answer:told_to_rejoin
        initial_delay:extended join_group:parked send_back send_join:committed_first
        sync_answer:retry sync_group:parked sync_group:rebalancing sync_group:stable together
        told_to_rejoin
        """,
        members=2,
        generations=1,
    ),
    cover(
        """
        commit_answer:fatal delay_request fenced_member heartbeat:fenced heartbeat_answer:fatal
        join_answer:fatal join_group:replaced join_group:replaced_and_parked
        join_group:replaced_and_restarted join_group:restarted late_request offset_commit:fenced
        store_offset:again store_offset:backwards sync_answer:fatal sync_group:fenced
        takeover_committed:answered
        """,
        members=1,
        generations=1,
        records=2,
        faults={"delay_request": 1},
    ),
    cover(
        """
        append_failed close:silent close_books commit_answer:refused crash disconnect elect
        empty_again fail_over forget heartbeat:unknown heartbeat_answer:refused join_answer:refused
        join_group:too_many join_group:unknown leave_group:removed leave_group:unknown
        lose_request:sync lose_response new_member_timeout offset_commit:unknown poll_timeout:silent
        rebalance_timeout:rejected record_plan reload remove_instance request_timeout
        restart_refused_at_the_cap session_timeout:member superseded sync_answer:ignored
        sync_answer:refused sync_group:illegal_generation sync_group:unknown sync_timeout
        """,
        members=2,
        generations=2,
        max_size=1,
        any_faults=1,
    ),
    cover(
        """
        join_answer:retry processed_twice takeover_committed:unanswered_in_round
        takeover_failed:reverted takeover_failed:reverted_in_round
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
        "owed_by_a_replaced_id takeover_committed:answered_in_round",
        members=2,
        generations=1,
        faults={"crash": 1, "sync_timeout": 1},
    ),
    cover(
        "commit_behind_join late_commit lose_request:commit",
        members=2,
        generations=1,
        any_faults=1,
    ),
    cover(
        """
        late_join_overlap offset_commit:illegal_generation read_next rebalance_timeout:missing
        withheld_from_nobody zombie_owner
        """,
        members=2,
        generations=2,
        any_faults=1,
    ),
    IN_PHASES_STATIC,
    cover(
        "both_claim kept_owner_overlap",
        members=2,
        generations=3,
        records=0,
        faults={"delay_request": 1, "rebalance_timeout": 1},
    ),
)
LOOKS = {look_at_claims.name: "The leader does this, not the coordinator."}


@frozen
class Scope(CooperativeScope, StaticScope):
    """The scope of a group in which all members are cooperative and static."""


def spec(scope: Scope) -> Spec:
    """The protocol at a scope, without invariants."""
    features = [static_membership, cooperative, moving]
    return attrs.evolve(composed(rules.spec(scope), features), name="cooperative_static")


VARIANT = Variant(
    name="cooperative_static",
    title="Classic group, static members and cooperative rebalancing",
    doc=(
        "Members keep their partitions while they join, and a process that comes back to a Stable"
        " group takes over its share without a round (KIP-345, KIP-429)."
    ),
    scope_type=Scope,
    spec=spec,
    faults={**CLASSIC_FAULTS, **MORE},
    progress=progress,
    progress_faults=PROGRESS_FAULTS,
    assignors=ASSIGNORS,
    families=(CLASSIC_GROUP, OFFSETS, STATIC_MEMBERS, COOPERATIVE, COOPERATIVE_STATIC),
    switched=SWITCHED,
    coordinator=COORDINATOR | PHASES | {r.name for r in MORE_RULES} | {look_at_claims.name},
    tell=WORDS.tell,
    story=partial(story, words=WORDS),
    spent_by=STATIC_SPENT_BY,
    covers=COVERS,
    unreached=UNREACHED,
    real=KAFKA_COORDINATOR,
    executed=EXECUTED,
    conformed=(ROWS_IN_PHASES,),
    asked=ASKED,
    bookkeeping={**BOOKKEEPING, **NEVER_EXECUTED, **LOOKS},
    real_member=KAFKA_MEMBER,
    member_generations=1,
    member_apart={**MEMBER_APART, "leave_answer": NO_LEAVING},
)
