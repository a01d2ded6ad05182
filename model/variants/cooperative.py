"""The classic group with cooperative rebalancing: the base with one feature,
`groupcheck.model.protocol.classic.features.cooperative`.
"""

from __future__ import annotations

from attrs import frozen

from groupcheck.model.protocol.classic.assignment import look_at_claims
from groupcheck.model.protocol.classic.cooperative_covers import COVERS, EXECUTED, LOOKS
from groupcheck.model.protocol.classic.covers import KAFKA_MEMBER, MEMBER_APART, ROWS_IN_PHASES
from groupcheck.model.protocol.classic.features.cooperative import (
    CooperativeScope,
    cooperative,
    user_data_bound,
)
from groupcheck.model.protocol.classic.preset import preset
from groupcheck.model.protocol.classic.progress.feature import progress
from groupcheck.model.protocol.family import COOPERATIVE


@frozen
class Scope(CooperativeScope):
    """The scope of a group in which all members are cooperative."""

    user_data: bool = user_data_bound()


VARIANT = preset(
    name="cooperative",
    title="Classic group, cooperative rebalancing",
    doc=(
        "Members keep their partitions while they join, and say what they own. What moves is"
        " revoked in one round and given away in the next (KIP-429, KIP-792), as with the"
        " CooperativeStickyAssignor."
    ),
    features=[cooperative],
    scope_type=Scope,
    families=[COOPERATIVE],
    coordinator=[look_at_claims],
    progress=progress,
    covers=COVERS,
    executed=EXECUTED,
    conformed=(ROWS_IN_PHASES,),
    bookkeeping=LOOKS,
    real_member=KAFKA_MEMBER,
    member_generations=1,
    member_apart=MEMBER_APART,
)
