"""Bugs about topics that change and members with different subscriptions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from groupcheck.model.engine import evolve
from groupcheck.model.engine.rule import Rule
from groupcheck.model.protocol.classic.assignment import answer_syncs
from groupcheck.model.protocol.classic.client import Member, install, send_join, sync_answer
from groupcheck.model.protocol.classic.client_faults import lose_response
from groupcheck.model.protocol.classic.failover import Reload
from groupcheck.model.protocol.classic.features.triggers.feature import FAMILY as TOPICS
from groupcheck.model.protocol.classic.features.triggers.planning import (
    blind_to_subscriptions,
)
from groupcheck.model.protocol.classic.features.triggers.subscription import (
    change_subscription,
    due,
    refresh_metadata,
)
from groupcheck.model.protocol.classic.group import Phase
from groupcheck.model.protocol.classic.walks import end_walk
from groupcheck.model.protocol.messages import NO_GENERATION
from groupcheck.model.protocol.mutation import SEEDED, Mutation
from groupcheck.model.protocol.transform import extended, rewritten

Slots = Mapping[str, Any]
Changed = dict[str, Any]


def _twist(change: Callable[[Slots, str, Changed, Any], Any]) -> Callable[[Rule], Rule]:
    return partial(_changed, change=change)


def _changed(usual: Rule, change: Callable[[Slots, str, Changed, Any], Any]) -> Rule:
    return extended(usual, change)


def _leaves_one_out(before: Slots, label: str, after: Changed, scope: Any) -> Changed:
    given = before["walk"].errand.free & ~after["walk"].errand.free
    lost = given & -given
    if not lost:
        return after
    ids = [(id, evolve(seat, share=seat.share & ~lost)) for id, seat in after["seats"]]
    link, walk = after["link"], after["walk"]
    if link.answer is not None:
        link = evolve(link, answer=evolve(link.answer, share=link.answer.share & ~lost))
    errand = evolve(walk.errand, free=walk.errand.free | lost)
    seats = evolve(after["seats"], ids=tuple(ids))
    return {**after, "walk": evolve(walk, errand=errand), "seats": seats, "link": link}


def _keeps_dropped_topics(before: Slots, label: str, after: Changed, scope: Any) -> Changed:
    owned = before["client"].owned
    return {**after, "client": evolve(after["client"], owned=owned)} if label == "sent" else after


def _takes_what_it_dropped(before: Slots, label: str, after: Changed, scope: Any) -> Any:
    if label != "mismatched":
        return after
    granted = evolve(before["client"], state=Member.STABLE, granted=before["link"].answer.share)
    return "assigned", {**after, "client": evolve(install(granted, scope), rejoin=True)}


def _forgets_the_change(before: Slots, label: str, after: Changed, scope: Any) -> Changed:
    done = label == "assigned"
    return {**after, "client": evolve(after["client"], rejoin=False)} if done else after


def _leader_looks_away(before: Slots, label: str, after: Changed, scope: Any) -> Any:
    if label != "outdated":
        return after
    return {**after, "client": evolve(after["client"], rejoin=before["client"].rejoin)}


def _says_nothing(before: Slots, label: str, after: Changed, scope: Any) -> Changed:
    return {**after, "client": before["client"]}


def _reason_gone(before: Slots, label: str, after: Changed, scope: Any) -> Changed:
    """The answer to JoinGroup is lost, and the reason for joining does not exist any more."""
    client, s = before["client"], before["subscription"]
    joins = client.state == Member.STABLE and after["client"].state == Member.PREPARING
    gone = joins and s.joined is not None and not due(s, scope)
    return {**after, "client": evolve(after["client"], state=Member.UNJOINED)} if gone else after


def _has_no_reason(usual: Rule) -> Rule:
    def call(client: Any, *rest: Any) -> Iterator[Any]:
        if client.state != Member.UNJOINED or client.generation == NO_GENERATION:
            yield from usual.call(client, *rest)

    return rewritten(usual, call)


def _stays_over_sized(usual: Rule) -> Rule:
    def call(core: Any, walk: Any, scope: Any) -> Iterator[Any]:
        for after, rest in usual.call(core, walk, scope):
            if isinstance(walk.errand, Reload) and after.members:
                after = evolve(after, phase=Phase.STABLE, errands=())
            yield after, rest

    return rewritten(usual, call)


# One member, whose topic gets a partition.
GROWING: Mapping[str, Any] = {
    "members": 1,
    "records": 0,
    "topics": "t:1-2",
    "faults": {"add_partitions": 1},
}

MUTATIONS = (
    Mutation(
        id="plan_ignores_subscriptions",
        ticket="groupcheck finding 7, groupcheck finding 9",
        title="A member is given partitions of a topic to which it does not subscribe.",
        family=TOPICS,
        invariant="assigned_as_subscribed",
        doc=(
            "AbstractStickyAssignor takes subscriptions for equal that are not, and gives a"
            " partition back to a member that no longer subscribes to its topic (Kafka 4.0 to 4.3)."
            " Seeded: every member counts as one that subscribes to all topics of the group."
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
    Mutation(
        id="plan_leaves_partition_out",
        ticket="twmb/franz-go 4deed686",
        title="The leader's plan gives a partition to nobody.",
        family=TOPICS,
        invariant="plan_covers_what_is_known",
        doc=(
            "The balancer kept its plan in two places and updated one of them, so that one"
            " partition was planned twice and another one nowhere (fixed in v1.21.4)."
            " Seeded: each member loses the first partition of its share."
        ),
        scope={"members": 1, "generations": 1, "records": 0, "topics": "t:1"},
        twists={answer_syncs.name: _twist(_leaves_one_out)},
    ),
    Mutation(
        id="dropped_topic_stays_owned",
        ticket=SEEDED,
        title="A member that drops a topic goes on with its partitions in the next generation.",
        family=TOPICS,
        invariant="owned_as_joined",
        doc="Seeded: onJoinPrepare revokes nothing from a member that joins again.",
        scope={
            "members": 1,
            "generations": 1,
            "records": 0,
            "topics": "t:1,u:1",
            "faults": {"subscribe": 1},
        },
        twists={send_join.name: _twist(_keeps_dropped_topics)},
    ),
    Mutation(
        id="answer_to_an_earlier_subscription",
        ticket="librdkafka 1.8.0",
        title="A member takes over a share of the topics that it has dropped meanwhile.",
        family=TOPICS,
        invariant="taken_as_subscribed",
        doc=(
            "A subscription that changed while JoinGroup or SyncGroup was under way let a member"
            " take the answer to the earlier one for that to the new one."
            " Seeded: the share is not compared with the present subscription."
        ),
        scope={
            "members": 1,
            "generations": 1,
            "records": 0,
            "topics": "t:1,u:1",
            "faults": {"subscribe": 1},
        },
        twists={sync_answer.name: _twist(_takes_what_it_dropped)},
    ),
    Mutation(
        id="change_during_round_forgotten",
        ticket="KAFKA-3949, KAFKA-3117",
        title="A change of the topics during a round is forgotten when the round ends.",
        family=TOPICS,
        invariant="change_is_remembered",
        doc=(
            "The flag that says that metadata has changed was overwritten when the rebalance that"
            " was under way completed (0.10.1.0, 0.10.0.0)."
            " Seeded: the member that takes over its share does not look at what it has noticed."
        ),
        scope={**GROWING, "generations": 1},
        twists={sync_answer.name: _twist(_forgets_the_change)},
        progress="plan_is_current",
        progress_scope=GROWING,
    ),
    Mutation(
        id="leader_ignores_new_partitions",
        ticket="tulios/kafkajs#923, segmentio/kafka-go#646, IBM/sarama#1462",
        title="A topic gets a partition, and the leader of the group does not ask for a new plan.",
        family=TOPICS,
        invariant="change_is_remembered",
        doc=(
            "Clients looked at partitions when they made a plan, and not later, or let members"
            " notice the change whose JoinGroup changes nothing."
            " Seeded: the leader learns of the partition and does not join again."
        ),
        scope={**GROWING, "generations": 1},
        twists={refresh_metadata.name: _twist(_leader_looks_away)},
        progress="everything_is_assigned",
        progress_scope=GROWING,
    ),
    Mutation(
        id="subscription_change_unheard",
        ticket="KAFKA-7831",
        title="A member subscribes to other topics and does not join again.",
        family=TOPICS,
        invariant="change_is_remembered",
        doc=(
            "A subscription that another thread changed was not seen by the coordinator of the"
            " client (fixed in 2.3.0). Seeded: the change does not make the member join."
        ),
        scope={
            "members": 1,
            "generations": 1,
            "records": 0,
            "topics": "t:1,u:1",
            "faults": {"subscribe": 1},
        },
        twists={change_subscription.name: _twist(_says_nothing)},
        progress="subscription_is_told",
        progress_scope={
            "members": 1,
            "records": 0,
            "topics": "t:1,u:1",
            "faults": {"subscribe": 1},
        },
    ),
    Mutation(
        id="reason_to_join_forgotten",
        ticket="KAFKA-9815",
        title="A member gives up everything to join, JoinGroup fails, and it does not try again.",
        family=TOPICS,
        invariant="stops_joining_only_if_refused",
        doc=(
            "Whether a member had to join was found by comparing what it knew with what it had"
            " known, and was not remembered. If the change was undone before JoinGroup failed, the"
            " member owned nothing and stayed away (before 2.5.0). Seeded: a member whose JoinGroup"
            " gets no answer compares anew; the change is one of its subscription."
        ),
        scope={
            "members": 1,
            "generations": 1,
            "records": 0,
            "topics": "t:1,u:1",
            "faults": {"subscribe": 2, "lose_response": 1},
        },
        twists={
            lose_response.name: _twist(_reason_gone),
            send_join.name: _has_no_reason,
        },
        progress="member_gets_share",
        progress_scope={
            "members": 1,
            "records": 0,
            "topics": "t:1,u:1",
            "faults": {"subscribe": 2, "lose_response": 1},
        },
    ),
    Mutation(
        id="over_sized_group_stays",
        ticket=SEEDED,
        title="A group that is loaded with more members than the new limit allows stays as it is.",
        family=TOPICS,
        invariant="lowered_size_cap",
        doc="Seeded: a coordinator that loads a group does not compare it with group.max.size.",
        scope={
            "members": 2,
            "generations": 1,
            "records": 0,
            "topics": "t:1",
            "max_size": 2,
            "faults": {"fail_over": 1, "lower_max_size": 1},
        },
        twists={end_walk.name: _stays_over_sized},
    ),
)
