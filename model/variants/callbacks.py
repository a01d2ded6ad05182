"""The classic group, eager, with an application whose rebalance callbacks take time: the base with
one feature, `groupcheck.model.protocol.classic.features.callbacks`.
"""

from __future__ import annotations

from groupcheck.model.protocol.classic import covers
from groupcheck.model.protocol.classic.covers import (
    EXECUTED,
    KAFKA_MEMBER,
    MEMBER_APART,
    cover,
    derived,
)
from groupcheck.model.protocol.classic.features.callbacks import (
    UNREACHED,
    WORDS,
    CallbacksScope,
    callbacks,
)
from groupcheck.model.protocol.classic.preset import preset
from groupcheck.model.protocol.family import CALLBACKS

COVERS = derived(
    covers.COVERS,
    cover(
        "call_back callback_runs:returned callback_runs:threw",
        members=1,
        generations=1,
        records=2,
        faults={"delay_request": 1},
    ),
    cover(
        "callback_outlasts_membership",
        members=2,
        generations=2,
        faults={"rebalance_timeout": 1},
    ),
    cover("callback_runs:committed", members=2, generations=1, autocommit=False),
    without=UNREACHED,
)

VARIANT = preset(
    name="callbacks",
    title="Classic group, eager, whose applications commit in their callbacks",
    doc=(
        "The classic group in which onPartitionsRevoked takes time: the application commits in it,"
        " it throws, or it outlasts a timeout (ConsumerRebalanceListener)."
    ),
    features=[callbacks],
    scope_type=CallbacksScope,
    families=[CALLBACKS],
    words=WORDS,
    covers=COVERS,
    unreached={**covers.UNREACHED, **UNREACHED},
    executed=EXECUTED,
    real_member=KAFKA_MEMBER,
    member_generations=1,
    member_apart=MEMBER_APART,
)
