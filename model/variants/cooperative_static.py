"""The classic group with static members and cooperative rebalancing: the base with two features,
`groupcheck.model.protocol.classic.features.static` and `groupcheck.model.protocol.classic.features.cooperative`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import frozen

from groupcheck.model.protocol.classic.assignment import look_at_claims
from groupcheck.model.protocol.classic.cooperative_covers import CLAIMS_LATE, LOOKS
from groupcheck.model.protocol.classic.covers import (
    KAFKA_MEMBER,
    MEMBER_APART,
    ROWS_IN_PHASES,
    cover,
    derived,
)
from groupcheck.model.protocol.classic.features.cooperative import (
    CooperativeScope,
    cooperative,
    user_data_bound,
)
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
from groupcheck.model.protocol.family import COOPERATIVE, COOPERATIVE_STATIC, STATIC_MEMBERS


@frozen
class Scope(CooperativeScope, StaticScope):
    """The scope of a group in which all members are cooperative and static."""

    user_data: bool = user_data_bound()


# Arguments of `conform`: 18,086 rows, which take about 35 s.
USER_DATA: Mapping[str, Any] = {
    "members": 1,
    "generations": 2,
    "faults": {"fail_over": 1},
    "settings": {"user_data": "yes"},
}

VARIANT = preset(
    name="cooperative_static",
    title="Classic group, static members and cooperative rebalancing",
    doc=(
        "Members keep their partitions while they join, and a process that comes back to a Stable"
        " group takes over its share without a round (KIP-345, KIP-429)."
    ),
    features=[static_membership, cooperative],
    scope_type=Scope,
    families=[STATIC_MEMBERS, COOPERATIVE, COOPERATIVE_STATIC],
    words=WORDS,
    coordinator=[*MORE_RULES, look_at_claims],
    spent_by=STATIC_SPENT_BY,
    progress=progress,
    covers=derived(
        COVERS,
        cover("look_at_claims", members=1, generations=1),
        CLAIMS_LATE,
        cover("withheld_from_nobody", members=2, generations=2, any_faults=1),
        cover(
            "both_claim kept_owner_overlap",
            members=2,
            generations=3,
            records=0,
            faults={"delay_request": 1, "rebalance_timeout": 1},
        ),
    ),
    unreached=UNREACHED,
    executed=EXECUTED,
    asked=ASKED,
    conformed=(ROWS_IN_PHASES, USER_DATA),
    bookkeeping={**NEVER_EXECUTED, **LOOKS},
    real_member=KAFKA_MEMBER,
    member_generations=1,
    member_apart={**MEMBER_APART, "leave_answer": NO_LEAVING},
)
