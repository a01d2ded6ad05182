"""The cooperative group with an application whose rebalance callbacks take time: `cooperative` with
one feature more, `groupcheck.model.protocol.classic.callbacks`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import attrs

from groupcheck.model.engine import Spec
from groupcheck.model.protocol.classic import covers, rules
from groupcheck.model.protocol.classic.assignment import look_at_claims
from groupcheck.model.protocol.classic.callbacks import (
    LACKS,
    WORDS,
    CooperativeCallbacksScope,
    callbacks,
)
from groupcheck.model.protocol.classic.cooperative import ASSIGNORS, cooperative
from groupcheck.model.protocol.classic.covers import (
    BOOKKEEPING,
    IN_PHASES,
    KAFKA_COORDINATOR,
    cover,
)
from groupcheck.model.protocol.classic.moving import PHASES, SWITCHED, moving
from groupcheck.model.protocol.classic.rules import COORDINATOR
from groupcheck.model.protocol.classic.story import story
from groupcheck.model.protocol.family import CALLBACKS, CLASSIC_GROUP, COOPERATIVE, OFFSETS
from groupcheck.model.protocol.faults import CLASSIC_FAULTS, SPENT_BY
from groupcheck.model.protocol.feature import composed
from groupcheck.model.protocol.variant import Variant

COVERS = (
    cover(
        """
        answer_joins answer_syncs append_committed begin_walk commit_answer:done completing
        end_walk fetch_offset heartbeat:accepted heartbeat_answer:well initial_delay:over
        join_answer:id_given join_answer:joined join_group:added join_group:id_required
        look_at_claims offset_commit:accepted preparing process_record send_commit
        send_heartbeat send_join:sent send_sync stable store_offset:forwards
        sync_answer:assigned sync_group:led
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
        heartbeat:rebalancing heartbeat_answer:ignored heartbeat_answer:told_to_rejoin
        initial_delay:extended join_group:parked send_back sync_answer:retry
        sync_group:parked sync_group:rebalancing sync_group:stable together told_to_rejoin
        """,
        members=2,
        generations=1,
        autocommit=False,
    ),
    cover(
        """
        delay_request ghost_id join_group:restarted join_group:unchanged late_request
        request_timeout send_join:committed_first store_offset:again store_offset:backwards
        superseded unheard_member
        """,
        members=1,
        generations=1,
        records=2,
        faults={"delay_request": 1},
    ),
    cover(
        """
        append_failed close:behind close:heard close:unheard close_books closed
        commit_answer:refused crash disconnect empty_again fail_over forget
        heartbeat:unknown heartbeat_answer:refused join_answer:ignored join_answer:refused
        join_group:unknown leave_answer leave_behind_parked leave_group:left
        leave_group:pending lose_request:sync lose_response new_member_timeout
        offset_commit:unknown poll_timeout:heard read_next record_plan reload
        session_timeout:member session_timeout:pending sync_answer:ignored
        sync_answer:refused sync_group:unknown sync_timeout
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
        "callback_runs:committed callback_runs:returned",
        members=2,
        generations=2,
    ),
    cover(
        "rebalance_timeout:missing zombie_owner",
        members=2,
        generations=2,
        faults={"rebalance_timeout": 1},
    ),
    cover(
        "elect leave_group:unknown lose_request:commit poll_timeout:unheard",
        members=1,
        generations=1,
        any_faults=2,
    ),
    cover(
        "rebalance_timeout:nobody rebalance_timeout:rejected",
        members=2,
        generations=2,
        max_size=1,
        any_faults=1,
    ),
    cover(
        "callback_outlasts_membership",
        members=2,
        generations=2,
        faults={"session_timeout": 1},
    ),
    cover(
        "both_claim late_join_overlap",
        members=2,
        generations=3,
        records=0,
        partitions=1,
        faults={"delay_request": 1, "disconnect": 1},
    ),
    IN_PHASES,
)
# Arguments of `conform`. The coordinator's rules are those of `cooperative`.
EXECUTED: tuple[Mapping[str, Any], ...] = (
    {"members": 1, "generations": 1},
    {"members": 2, "generations": 1, "faults": {}, "settings": {"max_size": "1"}},
    {"members": 2, "generations": 1, "faults": {}, "settings": {"protocols": "own|sticky"}},
)
AFTER = "A cooperative member revokes once its SyncGroup is answered, not before it joins."
LATE = "Such an application commits in its callback, which ends before JoinGroup is sent."
UNREACHED: Mapping[str, str] = {
    **covers.UNREACHED,
    "late_commit": LATE,
    "commit_behind_join": LATE,
    "callback_runs:threw": AFTER,
    "call_back": AFTER,
}


def spec(scope: CooperativeCallbacksScope) -> Spec:
    """The protocol at a scope, without invariants."""
    features = [cooperative, callbacks, moving]
    return attrs.evolve(composed(rules.spec(scope), features), name="cooperative_callbacks")


VARIANT = Variant(
    name="cooperative_callbacks",
    title="Cooperative group whose applications commit in their callbacks",
    doc=(
        "The cooperative group in which onPartitionsRevoked takes time. It runs once SyncGroup is"
        " answered, so a commit in it is one of the new generation (ConsumerRebalanceListener)."
    ),
    scope_type=CooperativeCallbacksScope,
    spec=spec,
    faults={fault: doc for fault, doc in CLASSIC_FAULTS.items() if fault not in LACKS},
    families=(CLASSIC_GROUP, OFFSETS, COOPERATIVE, CALLBACKS),
    lacks=LACKS,
    assignors=ASSIGNORS,
    switched=SWITCHED,
    coordinator=COORDINATOR | PHASES | {look_at_claims.name},
    tell=WORDS.tell,
    story=partial(story, words=WORDS),
    spent_by={fault: names for fault, names in SPENT_BY.items() if fault not in LACKS},
    covers=COVERS,
    unreached=UNREACHED,
    real=KAFKA_COORDINATOR,
    executed=EXECUTED,
    bookkeeping={**BOOKKEEPING, look_at_claims.name: "The leader does this, not the coordinator."},
)
