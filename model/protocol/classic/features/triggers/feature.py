"""The feature, put together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from groupcheck.model.engine import Spec, array, single, weak
from groupcheck.model.engine.rule import Rule
from groupcheck.model.protocol.classic import client, coordinator, rounds, walks
from groupcheck.model.protocol.classic.client import Client
from groupcheck.model.protocol.classic.failover import fail_over
from groupcheck.model.protocol.classic.feature import Feature
from groupcheck.model.protocol.classic.features.commit_styles import (
    leave,
    may_poll,
    only_if,
)
from groupcheck.model.protocol.classic.features.progress.processes import NOT_RUNNING, start
from groupcheck.model.protocol.classic.features.triggers import cluster, planning, settings
from groupcheck.model.protocol.classic.features.triggers.cluster import CLUSTER_RULES
from groupcheck.model.protocol.classic.features.triggers.scope import TriggersScope
from groupcheck.model.protocol.classic.features.triggers.subscription import (
    ENDING,
    SENDING,
    Subscription,
    change_subscription,
    completing,
    elected,
    forgetting,
    installing,
    refresh_metadata,
    stamped,
)
from groupcheck.model.protocol.classic.plain_group import PHASES_SCOPE, ROWS_IN_PHASES
from groupcheck.model.protocol.classic.step_words import Words
from groupcheck.model.protocol.family import Family
from groupcheck.model.protocol.transform import inserted, own, rebuilt

ADMIN = "an administrator"
CLUSTER = ("add_partitions", "create_topic", "delete_topic")
WORDS = Words(
    does={
        "change_subscription": "subscribes to other topics, and must join again",
        "refresh_metadata:seen": "learns how the topics are now",
        "refresh_metadata:outdated": (
            "leads the group and learns that topics have changed since it made the plan, so it must"
            " join again"
        ),
        "refresh_metadata:matched": (
            "learns that its pattern matches other topics than before, so it must join again"
        ),
        "add_partitions": "adds a partition to a topic",
        "create_topic": "creates a topic",
        "delete_topic": "deletes a topic",
        "lower_max_size": (
            "moves to another broker, whose group.max.size is smaller and which loads the last"
            " group record; connections break"
        ),
        "change_assignors": "is configured with another list of assignors before it starts",
    },
    hears={
        "sync_answer:mismatched": (
            "does not take its share, because it no longer subscribes to a topic in it, and must"
            " join again"
        ),
        "survey": "",
    },
    notes={
        "change_subscription": "event",
        "refresh_metadata": "event",
        **dict.fromkeys(CLUSTER, "fault"),
        "lower_max_size": "fault",
        "change_assignors": "event",
    },
    others=dict.fromkeys(CLUSTER, ADMIN),
)


FAMILY = Family("topics", base="triggers")

RUNS = (refresh_metadata, change_subscription, *CLUSTER_RULES)


def triggers(spec: Spec) -> Spec:
    """The feature: topics, subscriptions and settings change."""
    scope = spec.scope
    first = tuple(Subscription(*scope.subscribed(k)) for k in range(scope.members))
    spec = rebuilt(spec, cluster=single(scope.cluster), subscription=array(scope.members, first[0]))
    initial = [{"subscription": first, **given} for given in _watched(spec)]
    spec = attrs.evolve(spec, initial=initial)
    spec = rebuilt(spec, [stamped(own(spec, r)) for r in SENDING])
    spec = rebuilt(spec, [forgetting(own(spec, r), Client()) for r in ENDING])
    join = settings.accepting(planning.answering_again(own(spec, coordinator.join_group)))
    end = settings.loading(planning.ending(own(spec, walks.end_walk)))
    moves = settings.keeping_size(own(spec, fail_over))
    new: list[Rule] = [
        elected(own(spec, client.join_answer)),
        completing(own(spec, client.sync_answer)),
        installing(own(spec, client.join_complete)),
        planning.surveying(own(spec, walks.begin_walk)),
        planning.listing(own(spec, rounds.answer_joins)),
        planning.planning(own(spec, coordinator.sync_group)),
        join,
        end,
        moves,
    ]
    more = (*RUNS, settings.lowering(own(spec, fail_over)), settings.changing_assignors(Client()))
    return rebuilt(inserted(rebuilt(spec, new), walks.end_walk, planning.survey), [], more)


def _watched(spec: Spec) -> list[dict[str, object]]:
    """Partitions of different topics are not alike, so each is watched in turn."""
    scope, given = spec.scope, dict(spec.initial[0])
    offsets = given.pop("offsets")
    count = scope.partition_count if scope.records else 1
    return [{**given, "offsets": attrs.evolve(offsets, watched=p)} for p in range(count)]


def styles(spec: Spec) -> Spec:
    """Styles of commits, of members that look at topics in poll."""
    if spec.scope.commit_style is None:
        return spec
    new = [only_if(own(spec, r), may_poll) for r in (refresh_metadata, change_subscription)]
    new += [forgetting(r, Client()) for r in spec.rules if r.name == leave.name]
    return rebuilt(spec, new)


def progress(spec: Spec) -> Spec:
    """Processes that start and end have subscriptions."""
    ending = {rule.name for rule in (*ENDING, leave)}
    spec = rebuilt(spec, [forgetting(r, NOT_RUNNING) for r in spec.rules if r.name in ending])
    spec = rebuilt(spec, [stamped(own(spec, start))])
    relisting = settings.changing_assignors(Client(), NOT_RUNNING)
    spec = rebuilt(spec, [relisting])
    return attrs.evolve(spec, fair=[*spec.fair, weak(refresh_metadata.name)])


# -- What Kafka's code executes

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

FEATURE = Feature(
    name="triggers",
    title="topics, subscriptions and settings that change",
    doc=(
        "Several topics. Members may subscribe to different ones, by name or by a pattern, and"
        " change that; topics grow, are created and are deleted; group.max.size is lowered; members"
        " are configured with other assignors. The leader watches the topics of the group, each"
        " member its own subscription (KIP-62, KIP-389)."
    ),
    change=triggers,
    after=("static", "mixed", "twins"),
    scope_type=TriggersScope,
    families=(FAMILY,),
    words=WORDS,
    coordinator=(planning.survey, settings.lowering(fail_over)),
    spent_by={"subscribe": ("change_subscription",)},
    not_simulated={
        cluster.create_topic.name: "no topic comes",
        cluster.delete_topic.name: "no topic goes",
        change_subscription.name: "no member subscribes to other topics",
        "change_assignors": "no process lists other assignors",
        "lower_max_size": "group.max.size stays as it is",
    },
    styles=styles,
    progress=progress,
    shows=(
        {
            "members": 1,
            "generations": 1,
            "records": 0,
            "topics": "t:1",
            "protocols": "range",
            "protocols_after": "range,sticky",
            "faults": {"change_assignors": 1},
        },
        {
            "members": 1,
            "generations": 2,
            "records": 0,
            "subscriptions": "*",
            "faults": {"create_topic": 1},
        },
        {
            "members": 2,
            "generations": 2,
            "records": 0,
            "max_size": 2,
            "topics": "t:1",
            "faults": {"lower_max_size": 1, "fail_over": 1},
        },
        {
            "members": 2,
            "generations": 2,
            "records": 0,
            "topics": "t:1",
            "faults": {"delay_request": 1, "disconnect": 1},
        },
        {**PHASES_SCOPE, "topics": "t:1"},
    ),
    asked=ASKED,
    executed=(
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
    ),
    conformed=(
        ASKED,
        {**LOWERED, "settings": {**SAME, "max_size": "2"}},
        {**LISTING, "members": 2, "settings": {**SAME, **RELISTED}},
        {"members": 2, "generations": 2, "faults": CLASSIC, "settings": SAME},
    ),
    member_generations=1,
    member_apart={"change_assignors": "It happens to a process that is down."},
    # Members of a topic that stays as it is; of topics that grow, that do not exist yet, that they
    # no longer subscribe to, and that a pattern finds.
    member_scopes=({"members": 1, "topics": "t:1", "subscriptions": "t"},),
    member_changing=(
        {"topics": "t:1-2,u:0-1", "subscriptions": "t"},
        {"topics": "t:1,u:1", "subscriptions": "t,u"},
        {"topics": "t:1,u:1", "subscriptions": "t,u", "atomic_complete": False},
        {"topics": "t:1,u:0-1", "subscriptions": "*"},
    ),
)
