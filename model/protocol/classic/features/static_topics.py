"""Static members of groups whose topics and subscriptions change: what the features `static` and
`triggers` need of each other.

- A leader that comes back to a Stable group is told the subscriptions of all members, so that it
  watches their topics, and makes no plan (skipAssignment, KIP-814). Before that it was told that
  its old id leads: it took itself for a follower, and nobody watched the topics (KAFKA-13435).
- A static member that misses a round stays, so the leader of the round is told its subscription
  (`planning.survey`).

A takeover changes a subscription without a round, and the stored shares stay as they are. So a
member may hold a share of a topic that it has dropped, and a topic that it has added waits for the
next round. Neither does a leader that comes back notice what happened to the topics while it was
down: it takes what it sees then for what the plan was made from (`assignmentSnapshot`).

What it leaves out: what both features leave out, lists of assignors above all, and JoinGroup below
version 9, which Kafka still answers as it did before KIP-814.

Kafka: GroupMetadataManager.updateStaticMemberThenRebalanceOrCompleteJoin,
ConsumerCoordinator.onLeaderElected.

`Core.topics` is of the last round, and no rule sees all seats, so a survey goes before the answer
to a leader that comes back. Shares outlive the subscriptions of static members, so
`assigned_as_subscribed`, `owned_as_joined` and `everything_is_assigned` exempt them;
`planned_as_subscribed` holds the plan itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from attrs import frozen

from groupcheck.model.engine import Spec, evolve, urgent
from groupcheck.model.engine.rule import Rule
from groupcheck.model.protocol.classic import walks
from groupcheck.model.protocol.classic.assignment import answer_syncs
from groupcheck.model.protocol.classic.feature import Feature
from groupcheck.model.protocol.classic.features import takeover
from groupcheck.model.protocol.classic.features.triggers.planning import (
    Survey,
    blind_to_subscriptions,
)
from groupcheck.model.protocol.classic.features.triggers.scope import TriggersScope
from groupcheck.model.protocol.classic.group import REST, Core, Errand, Seats, Walk
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.model.protocol.classic.step_words import Words
from groupcheck.model.protocol.codes import NONE
from groupcheck.model.protocol.family import Family
from groupcheck.model.protocol.link import Link, deliver
from groupcheck.model.protocol.messages import FOLLOWS, JoinGroup
from groupcheck.model.protocol.mutation import Mutation
from groupcheck.model.protocol.transform import extended, inserted, own, rebuilt, rewritten

FAMILY = Family("topics of static members", base="static_triggers")

ONE_LIST = "Static members that list different assignors are left out."


@frozen(slots=False)
class StaticTopicsScope(Scope):
    """The scope of a group of static members whose topics change; `LACKS` says what it has not."""

    LACKS: ClassVar[Mapping[str, str]] = {"change_assignors": ONE_LIST}


# -- Tell: a leader that has come back hears to which topics the members subscribe


@frozen(kw_only=True)
class Tell(Errand):
    """The leader's JoinGroup is answered, with the subscriptions of all members. (See `walks` for
    what a walk is.)
    """

    # The generation that runs.
    generation: int
    # The topics of all members, as a bit mask: what the survey before it has found.
    topics: int = 0


def asking(takeover_committed: Rule) -> Rule:
    """Begin: the record with the leader's new id is replicated; a survey finds what members
    subscribe to at this moment (currentClassicGroupMembers).
    """

    def call(core: Core, seats: Seats, link: Link) -> Iterator[tuple[Any, ...]]:
        for label, after, known, told in takeover_committed.call(core, seats, link):
            if label == "answered" and known.leader is not None:
                survey = Survey(then=Tell(generation=core.generation))
                after, told = evolve(after, errands=(survey,)), link
            yield label, after, known, told

    return rewritten(takeover_committed, call)


@urgent(when=lambda me, walk: walk.at == me and isinstance(walk.errand, Tell))
def tell_leader(
    walk: Walk[Tell], seats: Seats, link: Link, scope: Scope
) -> Iterator[tuple[Walk[Tell], Seats, Link]]:
    """The leader that has come back is answered, if its connection still waits."""
    errand, id = walk.errand, seats.leader
    if id is not None:
        told = deliver(link, JoinGroup, id, NONE, id, errand.generation, 0, errand.topics)
        link = told
    yield walk.passed(errand, scope), seats, link


def ending(end_walk: Rule) -> Rule:
    """End of the survey: what it has found goes to the leader; then nothing is left to do."""

    def call(
        core: Core, walk: Walk[Errand], scope: TriggersScope
    ) -> Iterator[tuple[Core, Walk[Errand]]]:
        errand = walk.errand
        if isinstance(errand, Survey) and isinstance(errand.then, Tell):
            yield core, Walk(0, evolve(errand.then, topics=errand.union))
        elif isinstance(errand, Tell):
            yield core, REST
        else:
            yield from end_walk.call(core, walk, scope)

    return rewritten(end_walk, call)


# -- The feature, put together


def static_topics(spec: Spec) -> Spec:
    """The feature. It comes after `static_membership` and `triggers`."""
    rules = [asking(own(spec, takeover.takeover_committed)), ending(own(spec, walks.end_walk))]
    return inserted(rebuilt(spec, rules), walks.end_walk, tell_leader)


# Every subscription to two topics, of which the leader may know any number of partitions.
ASKED: Mapping[str, Any] = {
    "members": 1,
    "generations": 1,
    "faults": {"append_failure": 1},
    "settings": {"topics": "t:1,u:1"},
}
ALL = {"topics": "t:1", "subscriptions": "t|t", "max_size": "1"}
LOWERED: Mapping[str, Any] = {"generations": 1, "faults": {"fail_over": 1, "lower_max_size": 1}}


# -- How it can be wrong


def _takes_itself_for_a_follower(usual: Rule) -> Rule:
    def change(
        before: Mapping[str, Any], label: str, after: dict[str, Any], scope: Any
    ) -> dict[str, Any]:
        link = after["link"]
        if link.answer is None:
            return after
        return {**after, "link": evolve(link, answer=evolve(link.answer, group_topics=FOLLOWS))}

    return extended(usual, change)


BUGS = (
    Mutation(
        id="restarted_leader_follows",
        ticket="KAFKA-13435",
        title="A leader that comes back takes itself for a follower: nobody watches the topics.",
        family=FAMILY,
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
        family=FAMILY,
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

# -- The feature

FEATURE = Feature(
    name="static_topics",
    title="static members whose topics change",
    doc=(
        "A member that comes back to a Stable group keeps its share, whatever it subscribes to now;"
        " a leader that comes back is told the topics of the group and makes no plan (KIP-345,"
        " KIP-814)."
    ),
    change=static_topics,
    over=("static", "triggers"),
    joint=True,
    scope_type=StaticTopicsScope,
    families=(FAMILY,),
    words=Words(hears={"tell_leader": ""}),
    coordinator=(tell_leader,),
    shows=(
        {"members": 1, "generations": 2, "any_faults": 2},
        {
            "members": 1,
            "generations": 1,
            "records": 0,
            "topics": "t:1,u:1",
            "subscriptions": "t",
            "faults": {"crash": 1, "subscribe": 1},
        },
    ),
    unreached={"change_assignors": ONE_LIST},
    asked=ASKED,
    # Rounds that begin while a takeover waits for its append need three members, as in groups of
    # static members alone: schedules in the tests execute them.
    executed=(
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
    ),
    conformed=(
        {**ASKED, "faults": {"append_failure": 1, "rebalance_timeout": 1}},
        {**LOWERED, "members": 2, "settings": {**ALL, "max_size": "2"}},
        {
            "members": 2,
            "generations": 1,
            "faults": {},
            "settings": {"topics": "t:1", "subscriptions": "t|*"},
        },
    ),
    member_apart={"change_assignors": ONE_LIST},
    bugs=BUGS,
)
