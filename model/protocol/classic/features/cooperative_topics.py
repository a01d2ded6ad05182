"""Cooperative members whose topics and subscriptions change: what the features `cooperative` and
`triggers` need of each other.

- The leader's plan goes by the claims and by the subscriptions: a partition is given to a
  subscriber of its topic, and to none while another member owns it (`plans`).
- A member revokes the partitions of the topics that it has dropped before it joins, and keeps the
  others (onJoinPrepare). Its JoinGroup says what is left. This happens once in a round: a member
  that drops a topic after that, and has to send JoinGroup again, claims partitions of a topic to
  which it no longer subscribes. The leader withholds these from their next owner, and the member
  revokes them when it learns its share.
- A member that refuses its share, because it no longer subscribes to a topic in it, goes on with
  what it owned, and joins again.

What it leaves out:

- What CooperativeStickyAssignor does with two claims to one partition if not all members subscribe
  to the same topics: it may give the partition to the one of the earlier generation, or to one of
  two that claim it in the same, although the other one has not revoked it (finding 11). Here the
  latest claim counts, and equal ones cancel each other, as where all subscribe to the same topics.
- A claim to a partition that no longer exists, because its topic was deleted and created again with
  fewer. That assignor throws, or its plan is wrong (finding 8). Here such claims do not count.
- Which plans `sticky` may make for four and more members with different topics: here any of `any`.
- The application's callbacks (`callbacks`): onPartitionsRevoked would run before the member joins,
  for the topics that it has dropped alone, and again once it learns its share.

Kafka: ConsumerCoordinator (onJoinPrepare, onJoinComplete), AbstractStickyAssignor,
CooperativeStickyAssignor.

`Subscription.watched` says which partition is watched: the rules of a member do not see the
offsets, and a cooperative one goes on with its position in what it keeps.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import reduce
from operator import or_
from typing import Any, ClassVar

import attrs
from attrs import frozen

from groupcheck.model.engine import Spec, evolve
from groupcheck.model.engine.rule import Rule
from groupcheck.model.protocol.classic import client, walks
from groupcheck.model.protocol.classic.assignment import Claims
from groupcheck.model.protocol.classic.client import NOTHING, Calls, Client, Prepare
from groupcheck.model.protocol.classic.feature import Feature
from groupcheck.model.protocol.classic.features import cooperative
from groupcheck.model.protocol.classic.features.triggers.feature import ASKED
from groupcheck.model.protocol.classic.features.triggers.scope import TriggersScope
from groupcheck.model.protocol.classic.features.triggers.subscription import (
    MISMATCHED,
    SENDING,
)
from groupcheck.model.protocol.classic.group import Core, Errand, Walk
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.model.protocol.family import Family
from groupcheck.model.protocol.messages import NO_GENERATION, JoinGroup
from groupcheck.model.protocol.mutation import SEEDED, Mutation
from groupcheck.model.protocol.transform import extended, own, rebuilt, rewritten

FAMILY = Family("topics of cooperative members", base="cooperative_triggers")


@frozen(slots=False)
class CooperativeTopicsScope(Scope):
    """The scope of a cooperative group whose topics change."""

    ASSIGNORS: ClassVar[Mapping[str, str]] = {
        **cooperative.ASSIGNORS,
        "sticky": (
            "Shares of equal size, or bigger by one for some, while all members subscribe to the"
            " same topics; each keeps what it owns, up to its size. Otherwise each plan that the"
            " class of Kafka makes for some ids of up to three members (CooperativeStickyAssignor)."
        ),
    }


# -- The member

# The outcomes of a SyncGroup answer, and of onJoinComplete by itself, that may change what a member
# owns.
INSTALLS = ("assigned", MISMATCHED, "")


def kept(before: Client, after: Client, watched: int) -> Client:
    """A member after its partitions have changed: it goes on with what it keeps, and has not
    fetched the committed offset of what is new.
    """
    if (before.owned & after.owned) >> watched & 1:
        return evolve(after, position=before.position, dirty=before.dirty, calls=before.calls)
    return evolve(after, position=-1, dirty=False, calls=Calls.NOTHING)


def revoking(original: Rule) -> Rule:
    """onJoinPrepare: the member revokes what it does not subscribe to any more."""

    def change(
        before: Mapping[str, Any], label: str, after: dict[str, Any], scope: TriggersScope
    ) -> dict[str, Any]:
        mine, link, s = after["client"], after["link"], after["subscription"]
        if before["client"].prepare == Prepare.DONE:
            return after
        for place in ("request", "late"):
            sent = getattr(link, place)
            if isinstance(sent, JoinGroup) and getattr(before["link"], place) is None:
                left = sent.owned & scope.partitions_of(s.topics)
                link = evolve(link, **{place: evolve(sent, owned=left)})
                if left != mine.owned:
                    mine = kept(mine, evolve(mine, owned=left), s.watched)
        return {**after, "client": mine, "link": link}

    return extended(original, change)


def going_on(original: Rule) -> Rule:
    """onJoinComplete: the member goes on with the watched partition if it keeps that."""

    def change(
        before: Mapping[str, Any], label: str, after: dict[str, Any], scope: TriggersScope
    ) -> dict[str, Any]:
        now = after["client"]
        if label not in INSTALLS or now.granted != NOTHING:
            return after
        return {**after, "client": kept(before["client"], now, after["subscription"].watched)}

    return extended(original, change)


def cooperative_topics(spec: Spec) -> Spec:
    """The feature. It comes after `cooperative` and `triggers`."""
    rules = [revoking(own(spec, r)) for r in SENDING if r is not client.send_sync]
    rules += [going_on(own(spec, r)) for r in (client.sync_answer, client.join_complete)]
    initial = []
    for given in spec.initial:
        p = given.get("offsets", spec.slots["offsets"].initial).watched
        watching = tuple([evolve(s, watched=p) for s in given["subscription"]])
        initial.append({**given, "subscription": watching})
    return attrs.evolve(rebuilt(spec, rules), initial=initial)


# -- How it can be wrong

CHANGES: Mapping[str, Any] = {"topics": "t:1,u:1", "faults": {"subscribe": 1}}
ONE_DROPS: Mapping[str, Any] = {"members": 1, "generations": 1, "records": 0, **CHANGES}


def _revokes_nothing(usual: Rule) -> Rule:
    def change(
        before: Mapping[str, Any], label: str, after: dict[str, Any], scope: Any
    ) -> dict[str, Any]:
        was, now, sent = before["client"], after["client"], after["link"].request
        if label != "sent" or was.generation == NO_GENERATION:
            return after
        link = evolve(after["link"], request=evolve(sent, owned=was.owned))
        return {**after, "client": evolve(now, owned=was.owned), "link": link}

    return extended(usual, change)


def _plans_what_is_claimed(usual: Rule) -> Rule:
    def call(core: Core, walk: Walk[Errand], scope: Any) -> Iterator[tuple[Core, Walk[Errand]]]:
        if isinstance(walk.errand, Claims):
            claimed = reduce(or_, (owned for _, owned, _ in walk.errand.claims), 0)
            if claimed:
                plan = evolve(walk.errand.plan, free=walk.errand.plan.free & claimed)
                walk = evolve(walk, errand=evolve(walk.errand, plan=plan))
        yield from usual.call(core, walk, scope)

    return rewritten(usual, call)


BUGS = (
    Mutation(
        id="dropped_topic_is_kept",
        ticket=SEEDED,
        title="A cooperative member that drops a topic joins with the partitions of that topic.",
        family=FAMILY,
        invariant="joining_keeps_what_is_subscribed",
        doc=(
            "Seeded: onJoinPrepare revokes nothing in a cooperative group, whatever the member"
            " subscribes to. It consumes a topic that it has dropped until it learns its share."
        ),
        scope=ONE_DROPS,
        twists={client.send_join.name: _revokes_nothing},
    ),
    Mutation(
        id="new_topic_is_not_planned",
        ticket=SEEDED,
        title="The plan of a cooperative leader covers only what members own already.",
        family=FAMILY,
        invariant="only_what_is_claimed_is_withheld",
        doc=(
            "Seeded: a leader that hears of claims plans just the partitions in them, so topics to"
            " which members begin to subscribe stay with nobody."
        ),
        scope={**ONE_DROPS, "generations": 2, "subscriptions": "t"},
        twists={walks.end_walk.name: _plans_what_is_claimed},
        progress="everything_is_assigned",
        progress_scope={"members": 1, "records": 0, **CHANGES, "subscriptions": "t"},
    ),
)

# -- The feature

FEATURE = Feature(
    name="cooperative_topics",
    title="cooperative members whose topics change",
    doc=(
        "A member revokes the partitions of topics that it has dropped before it joins, and keeps"
        " the others; the leader withholds what another member still owns (KIP-429)."
    ),
    change=cooperative_topics,
    over=("cooperative", "triggers"),
    joint=True,
    refuses={
        "callbacks": (
            "onPartitionsRevoked of a cooperative member that drops a topic would run before it"
            " joins, for that topic alone, and again once it learns its share; that is not modelled"
        ),
    },
    scope_type=CooperativeTopicsScope,
    families=(FAMILY,),
    shows=(
        # It drops one topic and sends JoinGroup, then another one, and sends it again.
        {**ONE_DROPS, "faults": {"subscribe": 2, "lose_response": 1}},
    ),
    conformed=(ASKED,),
    bugs=BUGS,
)
