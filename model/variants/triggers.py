"""The classic group with what makes it rebalance although nobody comes or goes: the base with one
feature, `groupcheck.model.protocol.classic.triggers`.
"""

from __future__ import annotations

from functools import partial

import attrs

from groupcheck.model.engine import Spec
from groupcheck.model.protocol.classic import rules
from groupcheck.model.protocol.classic.covers import BOOKKEEPING, KAFKA_COORDINATOR, UNREACHED
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

# Why rows do not execute a rule on the real coordinator.
ONE_TOPIC = "the rows know one topic, to which all members subscribe"
ONE_LIMIT = "all brokers of the rows have the same group.max.size"


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
    unexecuted={
        "survey": ONE_TOPIC,
        "begin_walk": ONE_TOPIC,
        "answer_joins": ONE_TOPIC,
        "sync_group": "no SyncGroup of a row says which partitions its leader knew",
        "lower_max_size": ONE_LIMIT,
        "fail_over": ONE_LIMIT,
        "join_group": "no row tells a leader the topics of others, or lowers the limit",
        "end_walk": "no row ends a survey, or loads a group that is above the limit",
    },
    bookkeeping=BOOKKEEPING,
)
