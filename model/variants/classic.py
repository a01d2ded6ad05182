"""The classic group protocol with an eager assignor: coordinator, members, connections, offsets
(protocol.md 1 and 2).
"""

from __future__ import annotations

from functools import partial

from groupcheck.model.engine import Spec
from groupcheck.model.protocol.classic import rules
from groupcheck.model.protocol.classic.commit_styles import STYLED, commit_styles
from groupcheck.model.protocol.classic.covers import (
    BOOKKEEPING,
    CONFORMED,
    COVERS,
    EXECUTED,
    KAFKA_COORDINATOR,
    KAFKA_MEMBER,
    MEMBER_APART,
    UNREACHED,
)
from groupcheck.model.protocol.classic.moving import PHASES, SWITCHED, moving
from groupcheck.model.protocol.classic.progress.feature import progress
from groupcheck.model.protocol.classic.rules import COORDINATOR
from groupcheck.model.protocol.classic.scope import ASSIGNORS, Scope
from groupcheck.model.protocol.classic.story import story
from groupcheck.model.protocol.classic.telling import Words
from groupcheck.model.protocol.family import CLASSIC_GROUP, OFFSETS
from groupcheck.model.protocol.faults import CLASSIC_FAULTS, PROGRESS_FAULTS, SPENT_BY
from groupcheck.model.protocol.feature import composed
from groupcheck.model.protocol.variant import Variant

WORDS = Words()


def spec(scope: Scope) -> Spec:
    """The protocol at a scope, without invariants."""
    return composed(rules.spec(scope), [commit_styles, moving])


VARIANT = Variant(
    name="classic",
    title="Classic group, eager assignor",
    doc=(
        "Members stop, re-join and get a new assignment at every change: JoinGroup, SyncGroup,"
        " Heartbeat, LeaveGroup (KIP-62, KIP-134, KIP-389, KIP-394)."
    ),
    scope_type=Scope,
    spec=spec,
    faults=CLASSIC_FAULTS,
    progress=progress,
    progress_faults=PROGRESS_FAULTS,
    families=(CLASSIC_GROUP, OFFSETS),
    assignors=ASSIGNORS,
    switched={**SWITCHED, **STYLED},
    coordinator=COORDINATOR | PHASES,
    tell=WORDS.tell,
    story=partial(story, words=WORDS),
    spent_by=SPENT_BY,
    covers=COVERS,
    unreached=UNREACHED,
    real=KAFKA_COORDINATOR,
    executed=EXECUTED,
    conformed=CONFORMED,
    bookkeeping=BOOKKEEPING,
    real_member=KAFKA_MEMBER,
    member_apart=MEMBER_APART,
)
