"""The classic group with static and dynamic members and cooperative rebalancing: the base with the
features `static_membership`, `mixed` and `cooperative` of `groupcheck.model.protocol.classic`.
"""

from __future__ import annotations

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
from groupcheck.model.protocol.family import COOPERATIVE, COOPERATIVE_STATIC, MIXED, STATIC_MEMBERS


@frozen
class Scope(CooperativeScope, MixedScope):
    """The scope of a group of static and dynamic members that are all cooperative."""

    user_data: bool = user_data_bound()


VARIANT = preset(
    name="cooperative_mixed",
    title="Classic group, static and dynamic members and cooperative rebalancing",
    doc=(
        "Members keep their partitions while they join. Some processes have a group.instance.id and"
        " come back without a round, the others have none (KIP-345, KIP-429)."
    ),
    features=[static_membership, mixed, cooperative],
    scope_type=Scope,
    families=[COOPERATIVE, COOPERATIVE_STATIC, MIXED, STATIC_MEMBERS],
    words=WORDS,
    coordinator=[*MORE_RULES, dismiss_absent, look_at_claims],
    spent_by=MIXED_SPENT_BY,
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
    conformed=(ROWS_IN_PHASES,),
    bookkeeping={**NEVER_EXECUTED, **LOOKS},
    real_member=KAFKA_MEMBER,
    member_generations=1,
    member_apart=MEMBER_APART,
    member_scopes=KINDS,
)
