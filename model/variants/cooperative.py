"""The classic group with cooperative rebalancing: the base with one feature,
`groupcheck.model.protocol.classic.cooperative`.
"""

from __future__ import annotations

from functools import partial

import attrs

from groupcheck.model.engine import Spec
from groupcheck.model.protocol.classic import covers, rules
from groupcheck.model.protocol.classic.assignment import look_at_claims
from groupcheck.model.protocol.classic.cooperative import ASSIGNORS, CooperativeScope, cooperative
from groupcheck.model.protocol.classic.covers import BOOKKEEPING, cover
from groupcheck.model.protocol.classic.rules import COORDINATOR
from groupcheck.model.protocol.classic.story import story
from groupcheck.model.protocol.classic.telling import Words
from groupcheck.model.protocol.family import CLASSIC_GROUP, OFFSETS
from groupcheck.model.protocol.faults import CLASSIC_FAULTS, SPENT_BY
from groupcheck.model.protocol.feature import composed
from groupcheck.model.protocol.variant import Variant

WORDS = Words()
COVERS = ()
UNREACHED = {
    **covers.UNREACHED,
}


def spec(scope: CooperativeScope) -> Spec:
    """The protocol at a scope, without invariants."""
    return attrs.evolve(composed(rules.spec(scope), [cooperative]), name="cooperative")


VARIANT = Variant(
    name="cooperative",
    title="Classic group, cooperative rebalancing",
    doc=(
        "Members keep their partitions while they join, and say what they own. What moves is"
        " revoked in one round and given away in the next (KIP-429, KIP-792), as with the"
        " CooperativeStickyAssignor."
    ),
    scope_type=CooperativeScope,
    spec=spec,
    faults=CLASSIC_FAULTS,
    assignors=ASSIGNORS,
    families=(CLASSIC_GROUP, OFFSETS),
    coordinator=COORDINATOR | {look_at_claims.name},
    tell=WORDS.tell,
    story=partial(story, words=WORDS),
    spent_by=SPENT_BY,
    covers=COVERS,
    unreached=UNREACHED,
    unreal="`conform` does not know yet what cooperative members claim",
    bookkeeping=BOOKKEEPING,
)
