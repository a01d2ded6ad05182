"""Bugs of static members in groups whose topics and subscriptions change."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from groupcheck.model.engine import but
from groupcheck.model.engine.rule import Rule
from groupcheck.model.mutations.mutation import Mutation
from groupcheck.model.mutations.topics import blind_to_subscriptions
from groupcheck.model.protocol.classic.assignment import answer_syncs
from groupcheck.model.protocol.classic.features.static_topics import tell_leader
from groupcheck.model.protocol.family import STATIC_TOPICS
from groupcheck.model.protocol.messages import FOLLOWS
from groupcheck.model.protocol.transform import extended


def _takes_itself_for_a_follower(usual: Rule) -> Rule:
    def change(
        before: Mapping[str, Any], label: str, after: dict[str, Any], scope: Any
    ) -> dict[str, Any]:
        link = after["link"]
        if link.answer is None:
            return after
        return {**after, "link": but(link, answer=but(link.answer, group_topics=FOLLOWS))}

    return extended(usual, change)


MUTATIONS = (
    Mutation(
        id="restarted_leader_follows",
        ticket="KAFKA-13435",
        title="A leader that comes back takes itself for a follower: nobody watches the topics.",
        family=STATIC_TOPICS,
        invariant="leader_watches_topics",
        doc=(
            "A leader that came back to a Stable group was told that its old id leads (2.3 to 3.1),"
            " lest it make a plan. So it did not watch the topics, and partitions that were added"
            " later were never assigned. KIP-814 names it as the leader and tells it to make no"
            " plan (skipAssignment). Seeded: its answer lists no members."
        ),
        scope={
            "members": 1,
            "generations": 1,
            "records": 0,
            "topics": "t:1",
            "faults": {"crash": 1},
        },
        twists={tell_leader.name: _takes_itself_for_a_follower},
        progress="plan_is_current",
        progress_scope={
            "members": 1,
            "records": 0,
            "topics": "t:1",
            "faults": {"crash": 1},
        },
    ),
    Mutation(
        id="plan_ignores_static_subscriptions",
        ticket="groupcheck finding 7",
        title="A plan gives a static member partitions of a topic to which it does not subscribe.",
        family=STATIC_TOPICS,
        invariant="planned_as_subscribed",
        doc=(
            "The bug of `plan_ignores_subscriptions`, in a group in which a stored share may be"
            " older than the subscription. Seeded: every member counts as one that subscribes to"
            " all topics of the group."
        ),
        scope={
            "members": 2,
            "generations": 1,
            "records": 0,
            "topics": "t:1,u:1",
            "subscriptions": "t|u",
        },
        twists={answer_syncs.name: blind_to_subscriptions},
    ),
)
