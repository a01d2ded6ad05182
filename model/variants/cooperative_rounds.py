"""The cooperative group with a ghost that counts rounds: the base with two features,
`groupcheck.model.protocol.classic.cooperative` and `groupcheck.model.protocol.classic.round_count`.
"""

from __future__ import annotations

from functools import partial

import attrs

from groupcheck.model.engine import Spec
from groupcheck.model.protocol.classic import rules
from groupcheck.model.protocol.classic.assignment import look_at_claims
from groupcheck.model.protocol.classic.cooperative import cooperative
from groupcheck.model.protocol.classic.covers import IN_PHASES, UNREACHED, cover
from groupcheck.model.protocol.classic.moving import PHASES, SWITCHED, moving
from groupcheck.model.protocol.classic.round_count import LACKS, RoundsScope, round_count
from groupcheck.model.protocol.classic.rules import COORDINATOR
from groupcheck.model.protocol.classic.story import story
from groupcheck.model.protocol.classic.telling import Words
from groupcheck.model.protocol.family import CLASSIC_GROUP, COOPERATIVE, OFFSETS, ROUNDS
from groupcheck.model.protocol.faults import CLASSIC_FAULTS, SPENT_BY
from groupcheck.model.protocol.feature import composed
from groupcheck.model.protocol.variant import Variant

WORDS = Words()
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
        """
        join_complete
        """,
        members=1,
        generations=1,
        atomic_complete=False,
    ),
    cover(
        """
        join_answer:fatal join_group:inconsistent vote
        """,
        members=2,
        generations=1,
        protocols="own|sticky",
    ),
    cover(
        """
        join_group:too_many
        """,
        members=2,
        generations=1,
        max_size=1,
    ),
    cover(
        """
        append_failed close:behind close:heard close:unheard close_books closed
        commit_answer:refused crash disconnect empty_again fail_over forget ghost_id
        heartbeat:rebalancing heartbeat:unknown heartbeat_answer:ignored
        heartbeat_answer:refused initial_delay:extended join_answer:ignored join_answer:refused
        join_group:parked join_group:restarted join_group:unchanged join_group:unknown
        leave_answer leave_behind_parked leave_group:left leave_group:pending lose_request:sync
        lose_response new_member_timeout offset_commit:unknown poll_timeout:heard read_next
        record_plan reload send_back session_timeout:member session_timeout:pending
        store_offset:again sync_answer:ignored sync_answer:refused sync_answer:retry
        sync_group:parked sync_group:unknown sync_timeout unheard_member
        """,
        members=1,
        generations=1,
        any_faults=1,
    ),
    cover(
        """
        heartbeat_answer:told_to_rejoin send_join:committed_first sync_group:rebalancing
        sync_group:stable together told_to_rejoin
        """,
        members=2,
        generations=1,
    ),
    cover(
        """
        second_round
        """,
        members=2,
        generations=3,
        records=0,
    ),
    cover(
        """
        commit_behind_join late_commit offset_commit:illegal_generation
        """,
        members=2,
        generations=2,
        faults={"late_commit": 1},
    ),
    cover(
        """
        processed_twice rebalance_timeout:missing zombie_owner
        """,
        members=2,
        generations=2,
        faults={"rebalance_timeout": 1},
    ),
    cover(
        """
        elect leave_group:unknown poll_timeout:unheard
        """,
        members=1,
        generations=1,
        any_faults=2,
    ),
    cover(
        """
        lose_request:commit
        """,
        members=2,
        generations=2,
        faults={"lose_request": 1},
    ),
    cover(
        """
        heartbeat:illegal_generation rebalance_timeout:nobody sync_group:illegal_generation
        """,
        members=1,
        generations=2,
        any_faults=2,
    ),
    cover(
        """
        rebalance_timeout:rejected
        """,
        members=2,
        generations=2,
        max_size=1,
        any_faults=1,
    ),
    IN_PHASES,
)

# What only a request leads to that is held up.
OF_LATE_REQUESTS = (
    "both_claim",
    "delay_request",
    "late_join_overlap",
    "late_request",
    "request_timeout",
    "store_offset:backwards",
    "superseded",
)


def spec(scope: RoundsScope) -> Spec:
    """The protocol at a scope, without invariants."""
    features = [cooperative, round_count, moving]
    return attrs.evolve(composed(rules.spec(scope), features), name="cooperative_rounds")


VARIANT = Variant(
    name="cooperative_rounds",
    title="Classic group, cooperative rebalancing, rounds counted",
    doc=(
        "The cooperative group with the CooperativeStickyAssignor, and a ghost that counts the"
        " rounds since the last change: one more than the change needs at most (KIP-429)."
    ),
    scope_type=RoundsScope,
    spec=spec,
    faults={fault: doc for fault, doc in CLASSIC_FAULTS.items() if fault not in LACKS},
    assignors=RoundsScope.ASSIGNORS,
    families=(CLASSIC_GROUP, COOPERATIVE, OFFSETS, ROUNDS),
    lacks=LACKS,
    switched=SWITCHED,
    coordinator=COORDINATOR | PHASES | {look_at_claims.name},
    tell=WORDS.tell,
    story=partial(story, words=WORDS),
    spent_by={fault: spent for fault, spent in SPENT_BY.items() if fault not in LACKS},
    covers=COVERS,
    unreached={
        **UNREACHED,
        **dict.fromkeys(OF_LATE_REQUESTS, LACKS["delay_request"]),
    },
    unreal="it is `cooperative` with a ghost; compare that",
)
