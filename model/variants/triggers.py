"""The classic group with what makes it rebalance although nobody comes or goes: the base with one
feature, `groupcheck.model.protocol.classic.triggers`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import attrs

from groupcheck.model.engine import Spec
from groupcheck.model.protocol.classic import rules
from groupcheck.model.protocol.classic.covers import (
    BOOKKEEPING,
    KAFKA_COORDINATOR,
    ROWS_IN_PHASES,
    UNREACHED,
)
from groupcheck.model.protocol.classic.moving import PHASES, SWITCHED, moving
from groupcheck.model.protocol.classic.rules import COORDINATOR
from groupcheck.model.protocol.classic.scope import ASSIGNORS
from groupcheck.model.protocol.classic.story import story
from groupcheck.model.protocol.classic.triggers.covers import COVERS
from groupcheck.model.protocol.classic.triggers.feature import triggers, triggers_progress
from groupcheck.model.protocol.classic.triggers.scope import MORE, TriggersScope
from groupcheck.model.protocol.classic.triggers.words import WORDS
from groupcheck.model.protocol.family import CLASSIC_GROUP, OFFSETS, TOPICS
from groupcheck.model.protocol.faults import CLASSIC_FAULTS, PROGRESS_FAULTS, SPENT_BY
from groupcheck.model.protocol.feature import composed
from groupcheck.model.protocol.variant import Variant

# Every subscription to two topics, of which the leader may know any number of partitions.
ASKED: Mapping[str, Any] = {"members": 2, "generations": 1, "faults": {"rebalance_timeout": 1}}
SAME = {"topics": "t:1", "subscriptions": "t|t"}
LOWERED: Mapping[str, Any] = {
    "members": 2,
    "generations": 1,
    "faults": {"fail_over": 1, "lower_max_size": 1},
}
# Processes list different assignors, and other ones after they were down.
LISTING: Mapping[str, Any] = {"generations": 1, "faults": {}}
RELISTED = {"protocols": "range|sticky", "protocols_after": "range,sticky|range"}
# The faults of the coordinator that the classic group has, too.
CLASSIC: Mapping[str, Any] = {
    "append_failure": 1,
    "fail_over": 1,
    "session_timeout": 1,
    "rebalance_timeout": 1,
    "sync_timeout": 1,
    "new_member_timeout": 1,
}
EXECUTED: tuple[Mapping[str, Any], ...] = (
    {**ROWS_IN_PHASES, "settings": {"phases": "yes", "topics": "t:1"}},
    {"members": 1, "generations": 1, "faults": CLASSIC, "settings": {"topics": "t:1"}},
    {
        "members": 2,
        "generations": 1,
        "faults": {"rebalance_timeout": 1},
        "settings": {"topics": "t:1,u:1", "subscriptions": "t|t,u"},
    },
    {**LOWERED, "settings": {**SAME, "max_size": "2", "two_step": "no"}},
    {**LISTING, "members": 2, "settings": {**SAME, "protocols": "range|sticky"}},
    {
        **LISTING,
        "members": 1,
        "settings": {"topics": "t:1", "protocols": "range", "protocols_after": "range,sticky"},
    },
)
CONFORMED: tuple[Mapping[str, Any], ...] = (
    ASKED,
    {**LOWERED, "settings": {**SAME, "max_size": "2"}},
    {**LISTING, "members": 2, "settings": {**SAME, **RELISTED}},
    {"members": 2, "generations": 2, "faults": CLASSIC, "settings": SAME},
)


def spec(scope: TriggersScope) -> Spec:
    """The protocol at a scope, without invariants."""
    return attrs.evolve(composed(rules.spec(scope), [triggers, moving]), name="triggers")


VARIANT = Variant(
    name="triggers",
    title="Classic group whose topics, subscriptions and settings change",
    doc=(
        "The classic group with several topics. Members may subscribe to different ones, by name or"
        " by a pattern, and change that; topics grow, are created and are deleted; group.max.size"
        " is lowered; members are configured with other assignors. The leader watches the topics of"
        " the group, each member its own subscription (KIP-62, KIP-389)."
    ),
    scope_type=TriggersScope,
    spec=spec,
    faults={**CLASSIC_FAULTS, **MORE},
    progress=triggers_progress,
    progress_faults=PROGRESS_FAULTS,
    families=(CLASSIC_GROUP, OFFSETS, TOPICS),
    assignors=ASSIGNORS,
    switched=SWITCHED,
    coordinator=COORDINATOR | PHASES | {"survey", "lower_max_size"},
    tell=WORDS.tell,
    story=partial(story, words=WORDS),
    spent_by={
        **SPENT_BY,
        "subscribe": ("change_subscription",),
        **{fault: (fault,) for fault in MORE if fault != "subscribe"},
    },
    covers=COVERS,
    unreached=UNREACHED,
    real=KAFKA_COORDINATOR,
    executed=EXECUTED,
    asked=ASKED,
    conformed=CONFORMED,
    bookkeeping=BOOKKEEPING,
)
