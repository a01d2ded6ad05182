"""The cooperative group with a ghost that counts rounds: the base with two features,
`groupcheck.model.protocol.classic.features.cooperative` and `groupcheck.model.protocol.classic.features.round_count`.
"""

from __future__ import annotations

from groupcheck.model.protocol.classic.assignment import look_at_claims
from groupcheck.model.protocol.classic.cooperative_covers import COVERS
from groupcheck.model.protocol.classic.covers import (
    KAFKA_MEMBER,
    MEMBER_APART,
    PHASES_SCOPE,
    UNREACHED,
    cover,
    derived,
)
from groupcheck.model.protocol.classic.features.cooperative import cooperative
from groupcheck.model.protocol.classic.features.round_count import LACKS, RoundsScope, round_count
from groupcheck.model.protocol.classic.preset import preset
from groupcheck.model.protocol.family import COOPERATIVE, ROUNDS

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

VARIANT = preset(
    name="cooperative_rounds",
    title="Classic group, cooperative rebalancing, rounds counted",
    doc=(
        "The cooperative group with the CooperativeStickyAssignor, and a ghost that counts the"
        " rounds since the last change: one more than the change needs at most (KIP-429)."
    ),
    features=[cooperative, round_count],
    scope_type=RoundsScope,
    families=[COOPERATIVE, ROUNDS],
    coordinator=[look_at_claims],
    covers=derived(
        COVERS,
        cover(
            """
            heartbeat:rebalancing heartbeat_answer:told_to_rejoin join_group:parked send_back
            send_join:committed_first sync_group:rebalancing told_to_rejoin
            """,
            members=2,
            generations=1,
        ),
        cover(
            """
            ghost_id join_group:restarted join_group:unchanged store_offset:again unheard_member
            """,
            members=1,
            generations=1,
            any_faults=1,
        ),
        cover("processed_twice", members=2, generations=2, faults={"rebalance_timeout": 1}),
        cover("second_round", members=2, generations=3, records=0),
        cover(
            "commit_behind_join late_commit offset_commit:illegal_generation",
            members=2,
            generations=2,
            faults={"late_commit": 1},
        ),
        cover("lose_request:commit", members=2, generations=2, faults={"lose_request": 1}),
        cover(
            "heartbeat:illegal_generation sync_group:illegal_generation",
            **PHASES_SCOPE,
        ),
        without=OF_LATE_REQUESTS,
    ),
    unreached={**UNREACHED, **dict.fromkeys(OF_LATE_REQUESTS, LACKS["delay_request"])},
    real="",
    unreal="it is `cooperative` with a ghost; compare that",
    real_member=KAFKA_MEMBER,
    member_generations=1,
    member_apart={**MEMBER_APART, "delay_request": LACKS["delay_request"]},
)
