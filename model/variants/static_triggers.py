"""The classic group with static members, and topics, subscriptions and settings that change: the
base with the features `groupcheck.model.protocol.classic.features.static` and
`groupcheck.model.protocol.classic.features.triggers`, and what they need of each other.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from groupcheck.model.protocol.classic.covers import KAFKA_MEMBER, MEMBER_APART, cover, derived
from groupcheck.model.protocol.classic.failover import fail_over
from groupcheck.model.protocol.classic.features.static import static_membership
from groupcheck.model.protocol.classic.features.static_topics import (
    ONE_LIST,
    STATIC_TRIGGERS_SPENT_BY,
    WORDS,
    StaticTriggersScope,
    static_topics,
    tell_leader,
)
from groupcheck.model.protocol.classic.features.takeover import MORE_RULES
from groupcheck.model.protocol.classic.features.triggers.covers import AS_IT_IS, CHANGES, CHANGING
from groupcheck.model.protocol.classic.features.triggers.feature import (
    triggers,
    triggers_progress,
    triggers_styles,
)
from groupcheck.model.protocol.classic.features.triggers.planning import survey
from groupcheck.model.protocol.classic.features.triggers.settings import lowering
from groupcheck.model.protocol.classic.preset import preset
from groupcheck.model.protocol.classic.static_covers import (
    COVERS,
    NEVER_EXECUTED,
    NO_LEAVING,
    UNREACHED,
)
from groupcheck.model.protocol.family import STATIC_MEMBERS, STATIC_TOPICS, TOPICS

# Every subscription to two topics, of which the leader may know any number of partitions.
ASKED: Mapping[str, Any] = {
    "members": 1,
    "generations": 1,
    "faults": {"append_failure": 1},
    "settings": {"topics": "t:1,u:1"},
}
ALL = {"topics": "t:1", "subscriptions": "t|t", "max_size": "1"}
LOWERED: Mapping[str, Any] = {"generations": 1, "faults": {"fail_over": 1, "lower_max_size": 1}}
# Rounds that begin while a takeover waits for its append need three members, as in groups of static
# members alone: schedules in the tests execute them.
EXECUTED: tuple[Mapping[str, Any], ...] = (
    {
        "members": 1,
        "generations": 1,
        "faults": {},
        "settings": {"topics": "t:1", "subscriptions": "*"},
    },
    {
        **LOWERED,
        "members": 1,
        "settings": {"topics": "t:1", "subscriptions": "t", "max_size": "2"},
    },
    {"members": 2, "generations": 1, "faults": {"rebalance_timeout": 1}, "settings": ALL},
)
CONFORMED: tuple[Mapping[str, Any], ...] = (
    {**ASKED, "faults": {"append_failure": 1, "rebalance_timeout": 1}},
    {**LOWERED, "members": 2, "settings": {**ALL, "max_size": "2"}},
    {
        "members": 2,
        "generations": 1,
        "faults": {},
        "settings": {"topics": "t:1", "subscriptions": "t|*"},
    },
)
# In the order of the cover scopes of static members; each takes its names from a later one.
OF_BOTH = (
    cover("survey", members=1, generations=1),
    cover("tell_leader", members=1, generations=1, records=2, faults={"delay_request": 1}),
    cover(
        """
        add_partitions change_subscription create_topic delete_topic owner_of_nothing
        refresh_metadata:outdated refresh_metadata:seen refused_share send_join:committed_first
        sync_answer:mismatched told_to_rejoin unseen_partition
        """,
        members=2,
        generations=2,
        max_size=1,
        any_faults=1,
    ),
    cover(
        """
        added_partition_unseen late_commit lose_request:commit offset_commit:illegal_generation
        read_next
        """,
        members=1,
        generations=2,
        any_faults=2,
    ),
    cover(
        "added_topic_unread",
        members=1,
        generations=1,
        records=0,
        topics="t:1,u:1",
        subscriptions="t",
        faults={"crash": 1, "subscribe": 1},
    ),
    *CHANGES,
)

VARIANT = preset(
    name="static_triggers",
    title="Classic group, static members, topics and subscriptions change",
    doc=(
        "Every process has a group.instance.id, topics and subscriptions change. A member that"
        " comes back to a Stable group keeps its share, whatever it subscribes to now; a leader"
        " that comes back is told the topics of the group and makes no plan (KIP-345, KIP-814)."
    ),
    features=[static_membership, triggers, static_topics],
    scope_type=StaticTriggersScope,
    families=[STATIC_MEMBERS, TOPICS, STATIC_TOPICS],
    words=WORDS,
    coordinator=[*MORE_RULES, survey, tell_leader, lowering(fail_over)],
    spent_by=STATIC_TRIGGERS_SPENT_BY,
    styles=triggers_styles,
    progress=triggers_progress,
    covers=derived(COVERS, *OF_BOTH),
    unreached={**UNREACHED, "change_assignors": ONE_LIST},
    executed=EXECUTED,
    asked=ASKED,
    conformed=CONFORMED,
    bookkeeping=NEVER_EXECUTED,
    real_member=KAFKA_MEMBER,
    member_generations=1,
    member_apart={**MEMBER_APART, "leave_answer": NO_LEAVING, "change_assignors": ONE_LIST},
    member_scopes=AS_IT_IS,
    member_changing=CHANGING,
)
