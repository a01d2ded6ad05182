"""The cooperative group with an application whose rebalance callbacks take time: `cooperative` with
one feature more, `groupcheck.model.protocol.classic.features.callbacks`.
"""

from __future__ import annotations

from groupcheck.model.protocol.classic import covers
from groupcheck.model.protocol.classic.assignment import look_at_claims
from groupcheck.model.protocol.classic.cooperative_covers import COVERS, EXECUTED, LOOKS
from groupcheck.model.protocol.classic.covers import (
    KAFKA_MEMBER,
    MEMBER_APART,
    PHASES_SCOPE,
    cover,
    derived,
)
from groupcheck.model.protocol.classic.features.callbacks import (
    UNREACHED,
    WORDS,
    CooperativeCallbacksScope,
    callbacks,
)
from groupcheck.model.protocol.classic.features.cooperative import cooperative
from groupcheck.model.protocol.classic.preset import preset
from groupcheck.model.protocol.family import CALLBACKS, COOPERATIVE

AFTER = "A cooperative member revokes once its SyncGroup is answered, not before it joins."

COMMITTED = (
    "The rows commit in every callback of onJoinComplete and say by themselves what follows. A test"
    " executes this rule beside them."
)

VARIANT = preset(
    name="cooperative_callbacks",
    title="Cooperative group whose applications commit in their callbacks",
    doc=(
        "The cooperative group in which onPartitionsRevoked takes time. It runs once SyncGroup is"
        " answered, so a commit in it is one of the new generation (ConsumerRebalanceListener)."
    ),
    features=[cooperative, callbacks],
    scope_type=CooperativeCallbacksScope,
    families=[COOPERATIVE, CALLBACKS],
    words=WORDS,
    coordinator=[look_at_claims],
    covers=derived(
        COVERS,
        cover(
            "callback_runs:committed callback_runs:returned",
            members=2,
            generations=2,
            faults={"rebalance_timeout": 1},
        ),
        cover("callback_outlasts_membership", **PHASES_SCOPE),
        cover(
            "both_claim late_join_overlap",
            members=2,
            generations=3,
            records=0,
            partitions=1,
            faults={"delay_request": 1, "disconnect": 1},
        ),
        without=UNREACHED,
    ),
    unreached={**covers.UNREACHED, **UNREACHED, "callback_runs:threw": AFTER, "call_back": AFTER},
    executed=EXECUTED,
    bookkeeping=LOOKS,
    real_member=KAFKA_MEMBER,
    member_generations=1,
    member_apart={
        **MEMBER_APART,
        **dict.fromkeys(("call_back", "callback_runs:threw"), AFTER),
        "callback_runs:committed": COMMITTED,
    },
)
