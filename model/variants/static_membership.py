"""The classic group with static members: the base with one feature,
`groupcheck.model.protocol.classic.static`.
"""

from __future__ import annotations

from functools import partial

import attrs

from groupcheck.model.engine import Spec
from groupcheck.model.protocol.classic import covers, rules
from groupcheck.model.protocol.classic.covers import BOOKKEEPING, KAFKA_COORDINATOR, cover
from groupcheck.model.protocol.classic.rules import COORDINATOR
from groupcheck.model.protocol.classic.scope import ASSIGNORS
from groupcheck.model.protocol.classic.static import (
    LACKS,
    MORE,
    STATIC_SPENT_BY,
    WORDS,
    StaticScope,
    static_membership,
)
from groupcheck.model.protocol.classic.story import story
from groupcheck.model.protocol.classic.takeover import MORE_RULES
from groupcheck.model.protocol.family import CLASSIC_GROUP, OFFSETS
from groupcheck.model.protocol.faults import CLASSIC_FAULTS
from groupcheck.model.protocol.feature import composed
from groupcheck.model.protocol.variant import Variant


def spec(scope: StaticScope) -> Spec:
    """The protocol at a scope, without invariants."""
    return attrs.evolve(composed(rules.spec(scope), [static_membership]), name="static_membership")


COVERS = (cover("", members=1, generations=1),)
UNREACHED = {**covers.UNREACHED}
VARIANT = Variant(
    name="static_membership",
    title="Classic group, static members",
    doc=(
        "The classic group in which every process has a group.instance.id: a member that comes back"
        " to a Stable group takes over its share in the same generation, without a round, and"
        " whoever still uses its old id is fenced (KIP-345, KIP-814)."
    ),
    scope_type=StaticScope,
    spec=spec,
    faults={**{f: doc for f, doc in CLASSIC_FAULTS.items() if f not in LACKS}, **MORE},
    assignors=ASSIGNORS,
    families=(CLASSIC_GROUP, OFFSETS),
    lacks=LACKS,
    coordinator=COORDINATOR | {r.name for r in MORE_RULES},
    tell=WORDS.tell,
    story=partial(story, words=WORDS),
    spent_by=STATIC_SPENT_BY,
    covers=COVERS,
    unreached=UNREACHED,
    real=KAFKA_COORDINATOR,
    bookkeeping=BOOKKEEPING,
)
