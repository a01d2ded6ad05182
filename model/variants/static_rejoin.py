"""The classic group with static members that come back without a round: the base with one feature,
`groupcheck.model.protocol.classic.static_rejoin`.
"""

from __future__ import annotations

from functools import partial

import attrs

from groupcheck.model.engine import Spec
from groupcheck.model.protocol.classic import covers, rules
from groupcheck.model.protocol.classic.covers import (
    BOOKKEEPING,
    IN_PHASES,
    KAFKA_COORDINATOR,
    cover,
)
from groupcheck.model.protocol.classic.moving import PHASES, SWITCHED, moving
from groupcheck.model.protocol.classic.rules import COORDINATOR
from groupcheck.model.protocol.classic.scope import ASSIGNORS
from groupcheck.model.protocol.classic.static_rejoin import (
    LACKS,
    REPLACED,
    WORDS,
    StaticScope,
    static_rejoin,
)
from groupcheck.model.protocol.classic.story import story
from groupcheck.model.protocol.family import CLASSIC_GROUP, OFFSETS
from groupcheck.model.protocol.faults import CLASSIC_FAULTS, SPENT_BY
from groupcheck.model.protocol.feature import composed
from groupcheck.model.protocol.variant import Variant

COVERS = (
    cover(
        """
        answer_joins answer_syncs append_committed begin_walk commit_answer:done completing
        end_walk fetch_offset ghost_id heartbeat:accepted heartbeat_answer:well
        initial_delay:over join_answer:joined join_group:added offset_commit:accepted
        preparing process_record send_commit send_heartbeat send_join:sent send_sync stable
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
        """
        append_failed close_books commit_answer:refused crash disconnect empty_again
        fail_over forget heartbeat:rebalancing heartbeat:unknown heartbeat_answer:ignored
        heartbeat_answer:refused join_answer:refused join_group:parked join_group:replaced
        join_group:replaced_and_parked join_group:replaced_and_restarted
        join_group:restarted join_group:unknown lose_request:sync lose_response
        new_member_timeout offset_commit:unknown processed_twice record_plan reload
        send_back session_timeout:member store_offset:again sync_answer:refused
        sync_answer:retry sync_group:stable sync_group:unknown sync_timeout
        """,
        members=1,
        generations=1,
        any_faults=1,
    ),
    cover(
        """
        heartbeat_answer:told_to_rejoin initial_delay:extended send_join:committed_first
        sync_group:parked sync_group:rebalancing together told_to_rejoin
        """,
        members=2,
        generations=1,
    ),
    cover(
        "elect rebalance_timeout:rejected",
        members=2,
        generations=2,
        max_size=1,
        any_faults=1,
    ),
    cover(
        """
        heartbeat:illegal_generation join_group:unchanged rebalance_timeout:missing
        sync_group:illegal_generation unheard_member
        """,
        members=1,
        generations=2,
        any_faults=2,
    ),
    cover(
        "commit_behind_join late_commit lose_request:commit",
        members=2,
        generations=1,
        any_faults=1,
    ),
    cover(
        "offset_commit:illegal_generation read_next sync_answer:ignored zombie_owner",
        members=2,
        generations=2,
        any_faults=1,
    ),
    IN_PHASES,
)
ONE_STEP = "A static member is never told to come again with an id."
NO_LEAVING = "A static member sends no LeaveGroup."
NOTHING_LATE = "No request arrives late."
UNREACHED = {
    **covers.UNREACHED,
    "join_group:id_required": ONE_STEP,
    "join_answer:id_given": ONE_STEP,
    "session_timeout:pending": ONE_STEP,
    "rebalance_timeout:nobody": ONE_STEP,
    "leave_group:left": NO_LEAVING,
    "leave_group:pending": NO_LEAVING,
    "leave_group:unknown": NO_LEAVING,
    "leave_behind_parked": NO_LEAVING,
    "late_join_overlap": NOTHING_LATE,
    "superseded": NOTHING_LATE,
    "request_timeout": NOTHING_LATE,
    "store_offset:backwards": NOTHING_LATE,
    "join_answer:ignored": NOTHING_LATE,
    "join_group:inconsistent": "All members list the same assignors.",
    "vote": "All members list the same assignors.",
}


def spec(scope: StaticScope) -> Spec:
    """The protocol at a scope, without invariants."""
    return attrs.evolve(composed(rules.spec(scope), [static_rejoin, moving]), name="static_rejoin")


VARIANT = Variant(
    name="static_rejoin",
    title="Classic group, static members that come back without a round",
    doc=(
        "The classic group in which every process has a group.instance.id: a member that comes back"
        " to a Stable group takes over its share at once, in the same generation (KIP-345). An"
        " example of a feature; it leaves out fencing."
    ),
    scope_type=StaticScope,
    spec=spec,
    faults={fault: doc for fault, doc in CLASSIC_FAULTS.items() if fault not in LACKS},
    assignors=ASSIGNORS,
    families=(CLASSIC_GROUP, OFFSETS),
    lacks=LACKS,
    switched=SWITCHED,
    coordinator=COORDINATOR | PHASES,
    tell=WORDS.tell,
    story=partial(story, words=WORDS),
    spent_by={fault: outcomes for fault, outcomes in SPENT_BY.items() if fault not in LACKS},
    covers=COVERS,
    unreached=UNREACHED,
    real=KAFKA_COORDINATOR,
    unexecuted={f"join_group:{label}": "no row has an instance id" for label in REPLACED},
    bookkeeping=BOOKKEEPING,
)
