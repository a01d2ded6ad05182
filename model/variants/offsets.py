"""The classic group whose offsets are modelled in full: the base with one feature,
`groupcheck.model.protocol.classic.features.full_offsets`.
"""

from __future__ import annotations

from groupcheck.model.protocol.classic.covers import KAFKA_MEMBER, MEMBER_APART
from groupcheck.model.protocol.classic.features.full_offsets import members, transactions
from groupcheck.model.protocol.classic.features.full_offsets.covers import (
    ASKED,
    CONFORMED,
    COVERS,
    EXECUTED,
)
from groupcheck.model.protocol.classic.features.full_offsets.feature import (
    COORDINATOR_RULES,
    full_offsets,
    full_offsets_progress,
)
from groupcheck.model.protocol.classic.features.full_offsets.scope import RESETS, KeepingScope
from groupcheck.model.protocol.classic.features.full_offsets.words import WORDS
from groupcheck.model.protocol.classic.preset import preset
from groupcheck.model.protocol.family import KEPT_OFFSETS
from groupcheck.model.protocol.faults import SPENT_BY

PRODUCES = "The application's KafkaProducer does it, which is not driven."

VARIANT = preset(
    name="offsets",
    title="Classic group, offsets in full",
    doc=(
        "The classic group with all that may happen to its offsets: members and producers in"
        " transactions commit (KIP-447), offsets expire (KIP-211), an administrator resets and"
        " deletes offsets (KIP-496) and deletes groups (KIP-229), and a member that finds no offset"
        " starts where auto.offset.reset says."
    ),
    features=[full_offsets],
    scope_type=KeepingScope,
    families=[KEPT_OFFSETS],
    words=WORDS,
    coordinator=COORDINATOR_RULES,
    progress=full_offsets_progress,
    spent_by={
        **SPENT_BY,
        "reset_offsets": ("reset_offsets:accepted", "reset_offsets:refused"),
        "delete_offsets": (
            "delete_offsets:deleted",
            "delete_offsets:subscribed",
            "delete_offsets:no_group",
        ),
        "delete_groups": (
            "delete_groups:deleted",
            "delete_groups:non_empty",
            "delete_groups:no_group",
        ),
        "expire_offsets": ("expire_offsets:deleted", "expire_offsets:spared"),
    },
    covers=COVERS,
    executed=EXECUTED,
    asked=ASKED,
    conformed=CONFORMED,
    real_member=KAFKA_MEMBER,
    member_generations=1,
    member_scopes=tuple({"members": 1, "partitions": 1, "reset": reset} for reset in RESETS),
    member_apart={
        **MEMBER_APART,
        **dict.fromkeys(
            (
                members.send_txn_commit.name,
                *members.txn_answer.names,
                *transactions.end_transaction.names,
            ),
            PRODUCES,
        ),
    },
)
