"""The classic group whose offsets are modelled in full: the base with one feature,
`groupcheck.model.protocol.classic.keeping`.
"""

from __future__ import annotations

from functools import partial

import attrs

from groupcheck.model.engine import Spec
from groupcheck.model.protocol.classic import rules
from groupcheck.model.protocol.classic.covers import BOOKKEEPING, KAFKA_COORDINATOR
from groupcheck.model.protocol.classic.keeping.covers import (
    ASKED,
    CONFORMED,
    COVERS,
    EXECUTED,
    UNREACHED,
)
from groupcheck.model.protocol.classic.keeping.feature import COORDINATOR_RULES, keeping
from groupcheck.model.protocol.classic.keeping.scope import MORE, KeepingScope
from groupcheck.model.protocol.classic.keeping.words import WORDS
from groupcheck.model.protocol.classic.moving import PHASES, SWITCHED, moving
from groupcheck.model.protocol.classic.rules import COORDINATOR
from groupcheck.model.protocol.classic.scope import ASSIGNORS
from groupcheck.model.protocol.classic.story import story
from groupcheck.model.protocol.family import CLASSIC_GROUP, KEPT_OFFSETS, OFFSETS
from groupcheck.model.protocol.faults import CLASSIC_FAULTS, SPENT_BY
from groupcheck.model.protocol.feature import composed
from groupcheck.model.protocol.variant import Variant


def spec(scope: KeepingScope) -> Spec:
    """The protocol at a scope, without invariants."""
    return attrs.evolve(composed(rules.spec(scope), [keeping, moving]), name="offsets")


VARIANT = Variant(
    name="offsets",
    title="Classic group, offsets in full",
    doc=(
        "The classic group with all that may happen to its offsets: members and producers in"
        " transactions commit (KIP-447), offsets expire (KIP-211), an administrator resets and"
        " deletes offsets (KIP-496) and deletes groups (KIP-229), and a member that finds no offset"
        " starts where auto.offset.reset says."
    ),
    scope_type=KeepingScope,
    spec=spec,
    faults={**CLASSIC_FAULTS, **MORE},
    families=(CLASSIC_GROUP, OFFSETS, KEPT_OFFSETS),
    assignors=ASSIGNORS,
    switched=SWITCHED,
    coordinator=COORDINATOR | PHASES | {r.name for r in COORDINATOR_RULES},
    tell=WORDS.tell,
    story=partial(story, words=WORDS),
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
    unreached=UNREACHED,
    real=KAFKA_COORDINATOR,
    executed=EXECUTED,
    asked=ASKED,
    conformed=CONFORMED,
    bookkeeping=BOOKKEEPING,
)
