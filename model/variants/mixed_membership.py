"""The classic group with static and dynamic members: the base with two features,
`groupcheck.model.protocol.classic.static` and `groupcheck.model.protocol.classic.mixed`.
"""

from __future__ import annotations

from functools import partial

import attrs

from groupcheck.model.engine import Spec
from groupcheck.model.protocol.classic import rules
from groupcheck.model.protocol.classic.covers import (
    BOOKKEEPING,
    KAFKA_COORDINATOR,
    ROWS_IN_PHASES,
    cover,
)
from groupcheck.model.protocol.classic.mixed import MIXED_SPENT_BY, WORDS, MixedScope, mixed
from groupcheck.model.protocol.classic.mixed_covers import (
    ASKED,
    EXECUTED,
    NEVER_EXECUTED,
    UNREACHED,
)
from groupcheck.model.protocol.classic.moving import PHASES, SWITCHED, moving
from groupcheck.model.protocol.classic.rounds import dismiss_absent
from groupcheck.model.protocol.classic.rules import COORDINATOR
from groupcheck.model.protocol.classic.scope import ASSIGNORS
from groupcheck.model.protocol.classic.static import MORE, static_membership
from groupcheck.model.protocol.classic.static_covers import IN_PHASES_STATIC
from groupcheck.model.protocol.classic.story import story
from groupcheck.model.protocol.classic.takeover import MORE_RULES
from groupcheck.model.protocol.family import CLASSIC_GROUP, MIXED, OFFSETS, STATIC_MEMBERS
from groupcheck.model.protocol.faults import CLASSIC_FAULTS
from groupcheck.model.protocol.feature import composed
from groupcheck.model.protocol.variant import Variant

COVERS = (
    cover(
        """
        answer_joins answer_syncs append_committed begin_walk commit_answer:done completing
        end_walk fetch_offset ghost_id heartbeat:accepted heartbeat_answer:well
        initial_delay:over join_answer:joined join_group:added offset_commit:accepted preparing
        process_record send_commit send_heartbeat send_join:sent send_sync stable
        store_offset:forwards sync_answer:assigned sync_group:led
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
        join_answer:fatal join_answer:id_given join_group:id_required join_group:too_many
        """,
        members=2,
        generations=1,
        max_size=1,
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
        join_group:replaced join_group:replaced_and_parked join_group:replaced_and_restarted
        join_group:restarted late_request offset_commit:fenced store_offset:again
        store_offset:backwards sync_answer:fatal sync_group:fenced takeover_committed:answered
        """,
        members=1,
        generations=1,
        records=2,
        faults={"delay_request": 1},
    ),
    cover(
        """
        append_failed close:behind close:heard close:unheard close_books closed
        commit_answer:refused crash disconnect empty_again fail_over forget heartbeat:unknown
        heartbeat_answer:refused join_answer:ignored join_answer:refused join_group:unchanged
        join_group:unknown leave_answer leave_behind_parked leave_group:left leave_group:pending
        lose_request:sync lose_response new_member_timeout offset_commit:unknown
        poll_timeout:heard read_next record_plan reload request_timeout session_timeout:member
        session_timeout:pending superseded sync_answer:ignored sync_answer:refused
        sync_group:unknown sync_timeout unheard_member
        """,
        members=1,
        generations=1,
        static_members=0,
        any_faults=1,
    ),
    cover(
        """
        join_answer:retry processed_twice takeover_committed:unanswered_in_round
        takeover_failed:reverted takeover_failed:reverted_in_round
        """,
        members=2,
        generations=1,
        static_members=2,
        faults={"crash": 1, "append_failure": 1},
    ),
    cover(
        """
        elect lose_request:commit poll_timeout:silent poll_timeout:unheard
        """,
        members=2,
        generations=1,
        faults={"poll_timeout": 1, "lose_request": 1},
    ),
    cover(
        """
        dismiss_absent heartbeat:illegal_generation late_join_overlap led_past_a_static_member
        offset_commit:illegal_generation rebalance_timeout:missing rebalance_timeout:postponed
        sync_group:illegal_generation zombie_owner
        """,
        members=2,
        generations=2,
        faults={"append_failure": 1, "rebalance_timeout": 1},
    ),
    cover(
        """
        close:silent join_group:fenced leave_group:removed leave_group:unknown remove_instance
        """,
        members=1,
        generations=2,
        any_faults=2,
    ),
    cover(
        """
        rebalance_timeout:nobody rebalance_timeout:rejected restart_refused_at_the_cap
        """,
        members=2,
        generations=2,
        max_size=1,
        any_faults=1,
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
        commit_behind_join late_commit
        """,
        members=2,
        generations=1,
        any_faults=1,
    ),
    IN_PHASES_STATIC,
)


def spec(scope: MixedScope) -> Spec:
    """The protocol at a scope, without invariants."""
    features = [static_membership, mixed, moving]
    return attrs.evolve(composed(rules.spec(scope), features), name="mixed_membership")


VARIANT = Variant(
    name="mixed_membership",
    title="Classic group, static and dynamic members",
    doc=(
        "The classic group in which some processes have a group.instance.id and the others have"
        " none: static members are kept and fenced, dynamic ones are removed, leave and ask for an"
        " id first (KIP-345, KIP-394)."
    ),
    scope_type=MixedScope,
    spec=spec,
    faults={**CLASSIC_FAULTS, **MORE},
    assignors=ASSIGNORS,
    families=(CLASSIC_GROUP, MIXED, OFFSETS, STATIC_MEMBERS),
    switched=SWITCHED,
    coordinator=COORDINATOR | PHASES | {r.name for r in MORE_RULES} | {dismiss_absent.name},
    tell=WORDS.tell,
    story=partial(story, words=WORDS),
    spent_by=MIXED_SPENT_BY,
    covers=COVERS,
    unreached=UNREACHED,
    real=KAFKA_COORDINATOR,
    executed=EXECUTED,
    asked=ASKED,
    conformed=(ASKED, ROWS_IN_PHASES),
    bookkeeping={**BOOKKEEPING, **NEVER_EXECUTED},
)
