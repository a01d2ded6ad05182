"""The feature, put together."""

from __future__ import annotations

import attrs

from groupcheck.model.engine import Spec, array, single, weak
from groupcheck.model.engine.rule import Rule
from groupcheck.model.protocol.classic import client, coordinator, rounds, walks
from groupcheck.model.protocol.classic.client import Client
from groupcheck.model.protocol.classic.failover import fail_over
from groupcheck.model.protocol.classic.features.commit_styles import (
    commit_styles,
    leave,
    may_poll,
    only_if,
)
from groupcheck.model.protocol.classic.features.triggers import planning, settings
from groupcheck.model.protocol.classic.features.triggers.cluster import CLUSTER_RULES
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
from groupcheck.model.protocol.classic.progress.feature import progress
from groupcheck.model.protocol.classic.progress.processes import NOT_RUNNING, start
from groupcheck.model.protocol.transform import inserted, own, rebuilt

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


def triggers_styles(spec: Spec) -> Spec:
    """Styles of commits, of members that look at topics in poll."""
    spec = commit_styles(spec)
    if spec.scope.commit_style is None:
        return spec
    new = [only_if(own(spec, r), may_poll) for r in (refresh_metadata, change_subscription)]
    new += [forgetting(r, Client()) for r in spec.rules if r.name == leave.name]
    return rebuilt(spec, new)


def triggers_progress(spec: Spec) -> Spec:
    """`progress`, where processes that start and end have subscriptions."""
    spec = progress(spec)
    ending = {rule.name for rule in (*ENDING, leave)}
    spec = rebuilt(spec, [forgetting(r, NOT_RUNNING) for r in spec.rules if r.name in ending])
    spec = rebuilt(spec, [stamped(own(spec, start))])
    relisting = settings.changing_assignors(Client(), NOT_RUNNING)
    spec = rebuilt(spec, [relisting])
    return attrs.evolve(spec, fair=[*spec.fair, weak(refresh_metadata.name)])
