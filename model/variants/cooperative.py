"""The classic group with cooperative rebalancing: the base with one feature,
`groupcheck.model.protocol.classic.cooperative`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import attrs

from groupcheck.model.engine import Spec
from groupcheck.model.protocol.classic import covers, rules
from groupcheck.model.protocol.classic.assignment import look_at_claims
from groupcheck.model.protocol.classic.cooperative import ASSIGNORS, CooperativeScope, cooperative
from groupcheck.model.protocol.classic.covers import (
    BOOKKEEPING,
    IN_PHASES,
    KAFKA_COORDINATOR,
    KAFKA_MEMBER,
    MEMBER_APART,
    ROWS_IN_PHASES,
    cover,
)
from groupcheck.model.protocol.classic.moving import PHASES, SWITCHED, moving
from groupcheck.model.protocol.classic.progress.feature import progress
from groupcheck.model.protocol.classic.rules import COORDINATOR
from groupcheck.model.protocol.classic.story import story
from groupcheck.model.protocol.classic.telling import Words
from groupcheck.model.protocol.family import CLASSIC_GROUP, COOPERATIVE, OFFSETS
from groupcheck.model.protocol.faults import CLASSIC_FAULTS, PROGRESS_FAULTS, SPENT_BY
from groupcheck.model.protocol.feature import composed
from groupcheck.model.protocol.variant import Variant

WORDS = Words()
COVERS = (
    cover(
        """
        answer_joins answer_syncs append_committed begin_walk commit_answer:done
        completing end_walk fetch_offset heartbeat:accepted heartbeat_answer:well
        initial_delay:over join_answer:id_given join_answer:joined join_group:added
        join_group:id_required look_at_claims offset_commit:accepted preparing
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
        "join_answer:fatal join_group:too_many",
        members=2,
        generations=1,
        max_size=1,
    ),
    cover(
        "join_group:inconsistent vote",
        members=2,
        generations=1,
        protocols="own|sticky",
    ),
    cover(
        """
        delay_request ghost_id heartbeat:rebalancing heartbeat_answer:told_to_rejoin
        join_group:parked join_group:restarted join_group:unchanged late_request
        request_timeout send_back send_join:committed_first store_offset:again
        store_offset:backwards superseded sync_group:rebalancing told_to_rejoin
        unheard_member
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
        "late_commit",
        members=2,
        generations=2,
        faults={"late_commit": 1},
    ),
    cover(
        "rebalance_timeout:missing zombie_owner",
        members=2,
        generations=2,
        faults={"rebalance_timeout": 1},
    ),
    cover(
        """
        commit_behind_join elect leave_group:unknown lose_request:commit
        poll_timeout:unheard
        """,
        members=1,
        generations=1,
        any_faults=2,
    ),
    cover(
        "rebalance_timeout:nobody",
        members=2,
        generations=2,
        faults={"sync_timeout": 1},
    ),
    cover(
        "rebalance_timeout:rejected",
        members=2,
        generations=2,
        max_size=1,
        any_faults=1,
    ),
    IN_PHASES,
    cover(
        "both_claim late_join_overlap",
        members=2,
        generations=3,
        records=0,
        faults={"delay_request": 1, "disconnect": 1},
    ),
)
# Arguments of `conform`.
EXECUTED: tuple[Mapping[str, Any], ...] = (
    {"members": 1, "generations": 1},
    {"members": 2, "generations": 1, "faults": {}, "settings": {"max_size": "1"}},
    {"members": 2, "generations": 1, "faults": {}, "settings": {"protocols": "own|sticky"}},
)


def spec(scope: CooperativeScope) -> Spec:
    """The protocol at a scope, without invariants."""
    return attrs.evolve(composed(rules.spec(scope), [cooperative, moving]), name="cooperative")


VARIANT = Variant(
    name="cooperative",
    title="Classic group, cooperative rebalancing",
    doc=(
        "Members keep their partitions while they join, and say what they own. What moves is"
        " revoked in one round and given away in the next (KIP-429, KIP-792), as with the"
        " CooperativeStickyAssignor."
    ),
    scope_type=CooperativeScope,
    spec=spec,
    faults=CLASSIC_FAULTS,
    progress=progress,
    progress_faults=PROGRESS_FAULTS,
    assignors=ASSIGNORS,
    families=(CLASSIC_GROUP, COOPERATIVE, OFFSETS),
    switched=SWITCHED,
    coordinator=COORDINATOR | PHASES | {look_at_claims.name},
    tell=WORDS.tell,
    story=partial(story, words=WORDS),
    spent_by=SPENT_BY,
    covers=COVERS,
    unreached=covers.UNREACHED,
    real=KAFKA_COORDINATOR,
    executed=EXECUTED,
    conformed=(ROWS_IN_PHASES,),
    bookkeeping={**BOOKKEEPING, look_at_claims.name: "The leader does this, not the coordinator."},
    real_member=KAFKA_MEMBER,
    member_generations=1,
    member_apart=MEMBER_APART,
)
