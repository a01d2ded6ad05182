"""The classic group with what makes it rebalance although nobody comes or goes: the base with one
feature, `groupcheck.model.protocol.classic.features.triggers`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from groupcheck.model.protocol.classic.covers import KAFKA_MEMBER, MEMBER_APART, ROWS_IN_PHASES
from groupcheck.model.protocol.classic.failover import fail_over
from groupcheck.model.protocol.classic.features.triggers.covers import AS_IT_IS, CHANGING, COVERS
from groupcheck.model.protocol.classic.features.triggers.feature import (
    triggers,
    triggers_progress,
    triggers_styles,
)
from groupcheck.model.protocol.classic.features.triggers.planning import survey
from groupcheck.model.protocol.classic.features.triggers.scope import TriggersScope
from groupcheck.model.protocol.classic.features.triggers.settings import lowering
from groupcheck.model.protocol.classic.features.triggers.words import WORDS
from groupcheck.model.protocol.classic.preset import preset
from groupcheck.model.protocol.family import TOPICS
from groupcheck.model.protocol.faults import SPENT_BY

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

RELISTS = "It happens to a process that is down."

VARIANT = preset(
    name="triggers",
    title="Classic group whose topics, subscriptions and settings change",
    doc=(
        "The classic group with several topics. Members may subscribe to different ones, by name or"
        " by a pattern, and change that; topics grow, are created and are deleted; group.max.size"
        " is lowered; members are configured with other assignors. The leader watches the topics of"
        " the group, each member its own subscription (KIP-62, KIP-389)."
    ),
    features=[triggers],
    scope_type=TriggersScope,
    families=[TOPICS],
    words=WORDS,
    coordinator=[survey, lowering(fail_over)],
    spent_by={**SPENT_BY, "subscribe": ("change_subscription",)},
    styles=triggers_styles,
    progress=triggers_progress,
    covers=COVERS,
    executed=EXECUTED,
    asked=ASKED,
    conformed=CONFORMED,
    real_member=KAFKA_MEMBER,
    member_generations=1,
    member_apart={**MEMBER_APART, "change_assignors": RELISTS},
    member_scopes=AS_IT_IS,
    member_changing=CHANGING,
)
