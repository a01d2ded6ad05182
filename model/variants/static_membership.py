"""The classic group with static members: the base with one feature,
`groupcheck.model.protocol.classic.features.static`.
"""

from __future__ import annotations

from groupcheck.model.protocol.classic.covers import KAFKA_MEMBER, MEMBER_APART, ROWS_IN_PHASES
from groupcheck.model.protocol.classic.features.static import (
    STATIC_SPENT_BY,
    WORDS,
    StaticScope,
    static_membership,
)
from groupcheck.model.protocol.classic.features.takeover import MORE_RULES
from groupcheck.model.protocol.classic.preset import preset
from groupcheck.model.protocol.classic.progress.feature import progress
from groupcheck.model.protocol.classic.static_covers import (
    ASKED,
    COVERS,
    EXECUTED,
    NEVER_EXECUTED,
    NO_LEAVING,
    UNREACHED,
)
from groupcheck.model.protocol.family import STATIC_MEMBERS

VARIANT = preset(
    name="static_membership",
    title="Classic group, static members",
    doc=(
        "The classic group in which every process has a group.instance.id: a member that comes back"
        " to a Stable group takes over its share in the same generation, without a round, and"
        " whoever still uses its old id is fenced (KIP-345, KIP-814)."
    ),
    features=[static_membership],
    scope_type=StaticScope,
    families=[STATIC_MEMBERS],
    words=WORDS,
    coordinator=MORE_RULES,
    spent_by=STATIC_SPENT_BY,
    progress=progress,
    covers=COVERS,
    unreached=UNREACHED,
    executed=EXECUTED,
    asked=ASKED,
    conformed=(ASKED, {"members": 1, "generations": 1}, ROWS_IN_PHASES),
    bookkeeping=NEVER_EXECUTED,
    real_member=KAFKA_MEMBER,
    member_apart={**MEMBER_APART, "leave_answer": NO_LEAVING},
)
