"""The classic group with static and dynamic members: the base with two features,
`groupcheck.model.protocol.classic.features.static` and `groupcheck.model.protocol.classic.features.mixed`.
"""

from __future__ import annotations

from groupcheck.model.protocol.classic.covers import KAFKA_MEMBER, MEMBER_APART, ROWS_IN_PHASES
from groupcheck.model.protocol.classic.features.mixed import (
    MIXED_SPENT_BY,
    WORDS,
    MixedScope,
    mixed,
)
from groupcheck.model.protocol.classic.features.static import static_membership
from groupcheck.model.protocol.classic.features.takeover import MORE_RULES
from groupcheck.model.protocol.classic.mixed_covers import (
    ASKED,
    COVERS,
    EXECUTED,
    KINDS,
    NEVER_EXECUTED,
    UNREACHED,
)
from groupcheck.model.protocol.classic.preset import preset
from groupcheck.model.protocol.classic.rounds import dismiss_absent
from groupcheck.model.protocol.family import MIXED, STATIC_MEMBERS

VARIANT = preset(
    name="mixed_membership",
    title="Classic group, static and dynamic members",
    doc=(
        "The classic group in which some processes have a group.instance.id and the others have"
        " none: static members are kept and fenced, dynamic ones are removed, leave and ask for an"
        " id first (KIP-345, KIP-394)."
    ),
    features=[static_membership, mixed],
    scope_type=MixedScope,
    families=[MIXED, STATIC_MEMBERS],
    words=WORDS,
    coordinator=[*MORE_RULES, dismiss_absent],
    spent_by=MIXED_SPENT_BY,
    covers=COVERS,
    unreached=UNREACHED,
    executed=EXECUTED,
    asked=ASKED,
    conformed=(ASKED, ROWS_IN_PHASES),
    bookkeeping=NEVER_EXECUTED,
    real_member=KAFKA_MEMBER,
    member_generations=1,
    member_apart=MEMBER_APART,
    member_scopes=KINDS,
)
