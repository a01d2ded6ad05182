"""The coordinator and the plan: what members subscribe to, and what the leader knew of the topics.

A coordinator of Kafka does not read subscriptions: it compares their bytes, and hands them to the
leader, which makes the plan. In the model the plan is chosen late (see `assignment`), so the leader
only says which partitions it knew, and the walk that hands out the shares asks each seat what its
member subscribes to. A walk before it, `survey`, collects all subscriptions, because a share
depends on those of the others: a partition that nobody after this member may get is its own.

Kafka: ClassicGroup.currentClassicGroupMembers; ConsumerCoordinator.onLeaderElected.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from operator import or_
from typing import Any

import attrs
from attrs import frozen

from groupcheck.model.engine import evolve, urgent
from groupcheck.model.engine.rule import Rule
from groupcheck.model.protocol.classic.assignment import Assign, Claims, Plan, WriteRecord
from groupcheck.model.protocol.classic.features.triggers.scope import Topic, TriggersScope
from groupcheck.model.protocol.classic.group import Core, Errand, Seats, Walk
from groupcheck.model.protocol.classic.plans import interval
from groupcheck.model.protocol.classic.rounds import Complete, Restart
from groupcheck.model.protocol.messages import JoinGroup
from groupcheck.model.protocol.transform import extended, rewritten

# -- Survey: what all members subscribe to


@frozen(kw_only=True)
class Survey(Errand):
    """The subscriptions of all members are collected. (See `walks` for what a walk is.)"""

    # The errand that needs them.
    then: Errand
    # The topics of the members visited so far, as bit masks, in the order of the walk.
    topics: tuple[int, ...] = ()

    @property
    def union(self) -> int:
        """The topics of all of them, as a bit mask."""
        return reduce(or_, self.topics, 0)


@urgent(when=lambda me, walk: walk.at == me and isinstance(walk.errand, Survey))
def survey(
    walk: Walk[Survey], seats: Seats, scope: TriggersScope
) -> Iterator[tuple[Walk[Survey], Seats]]:
    """The subscriptions of the members of one process are noted: of all of them, or of those that
    have joined the round that completes. (A static member stays in it, even if it has not joined.)
    """
    joins = isinstance(walk.errand.then, Complete) and not seats.static
    mine = [seat.topics for _, seat in seats if seat.member and (seat.join or not joins)]
    yield walk.passed(evolve(walk.errand, topics=(*walk.errand.topics, *mine)), scope), seats


def surveying(original: Rule) -> Rule:
    """A walk that needs all subscriptions begins with a survey. A leader that looks at claims
    learns the subscriptions with them, and makes its plan of what it knew.
    """

    def begin_walk(core: Core, walk: Walk[Errand]) -> Iterator[tuple[Core, Walk[Errand]]]:
        for after, begun in original.call(core, walk):
            errand = begun.errand
            if isinstance(errand, Claims):
                begun = Walk(0, evolve(errand, plan=evolve(errand.plan, free=core.planned)))
            elif isinstance(errand, Complete | Plan) and not _is_chosen(errand):
                begun = Walk(0, Survey(then=errand))
            yield after, begun

    return rewritten(original, begin_walk)


def _is_chosen(errand: Complete | Plan) -> bool:
    """Is this a plan that was made already?"""
    return getattr(errand, "again", False) or getattr(errand, "chosen", None) is not None


def informed(errand: Survey, core: Core, scope: TriggersScope) -> tuple[Core, Errand]:
    """End of the survey: the errand that needs the subscriptions, with them."""
    told = {a.name: getattr(errand.then, a.name) for a in attrs.fields(type(errand.then))}
    union = errand.union
    if isinstance(errand.then, Complete):
        return evolve(core, topics=union), Led(**told, topics=union)
    known = core.planned & scope.partitions_of(union)
    kind = AssignTopics if isinstance(errand.then, Assign) else RecordTopics
    return core, kind(**{**told, "free": known}, known=known, topics=errand.topics)


# -- the plan


@frozen(kw_only=True)
class Led(Complete):
    """A round completes, and the leader is told what all members subscribe to."""

    # The topics of all members that have joined, as a bit mask.
    topics: int


class _ByTopic:
    """How a plan shares partitions among members with different subscriptions."""

    __slots__ = ()

    def shares(self: Any, claim: Any, scope: Any) -> list[int]:
        """The shares that the next member may get (bit masks). Under `range` its interval of each
        topic; under `any` every subset of the free partitions of its topics, and all that nobody
        after it may get.
        """
        rank = self.members - self.left
        mine = scope.partitions_of(self.topics[rank])
        if scope.assignor == "range":
            return [range_share(rank, self.known, self.topics, scope)]
        later = scope.partitions_of(reduce(or_, self.topics[rank + 1 :], 0))
        subsets = [self.free & mine & ~later]
        for bit in (1 << p for p in range(scope.partition_count)):
            if self.free & mine & later & bit:
                subsets += [s | bit for s in subsets]
        return subsets


def range_share(rank: int, known: int, topics: Sequence[int], scope: TriggersScope) -> int:
    """RangeAssignor: the share (bit mask) of the member at this place. `known`: the partitions that
    the leader knows; `topics`: what each member subscribes to.
    """
    mine = [topic for topic in scope.layout if topics[rank] & topic.bit]
    return sum(_interval(topic, rank, known, topics) for topic in mine)


def _interval(topic: Topic, rank: int, known: int, topics: Sequence[int]) -> int:
    """RangeAssignor: the share of a topic of the member at this place."""
    among = [k for k, theirs in enumerate(topics) if theirs & topic.bit]
    count = (known & topic.whole).bit_count()
    return interval(among.index(rank), len(among), count) << topic.first


@frozen(kw_only=True)
class AssignTopics(_ByTopic, Assign):
    """`Assign` with subscriptions."""

    # The partitions that the leader knew of all members' topics, as a bit mask.
    known: int
    # The topics of each member, as bit masks, in the order of the walk.
    topics: tuple[int, ...]


@frozen(kw_only=True)
class RecordTopics(_ByTopic, WriteRecord):
    """`WriteRecord` with subscriptions."""

    known: int  # as in `AssignTopics`
    topics: tuple[int, ...]


def ending(original: Rule) -> Rule:
    """The end of a walk, with that of the survey. What the leader knew is forgotten once its plan
    is written, or given up.
    """

    def end_walk(
        core: Core, walk: Walk[Errand], scope: TriggersScope
    ) -> Iterator[tuple[Core, Walk[Errand]]]:
        errand = walk.errand
        if isinstance(errand, Survey):
            after, then = informed(errand, core, scope)
            yield after, Walk(0, then)
            return
        for after, rest in original.call(core, walk, scope):
            if isinstance(errand, Restart):
                after = evolve(after, planned=0, topics=0)
            elif isinstance(errand, Assign):
                after = evolve(after, planned=0)
            yield after, rest

    return rewritten(original, end_walk)


# -- what the leader is told


def listing(original: Rule) -> Rule:
    """The JoinGroup answer of the leader lists all members with their subscriptions."""

    def change(
        before: Mapping[str, Any], label: str, after: dict[str, Any], scope: TriggersScope
    ) -> dict[str, Any]:
        link, errand = after["link"], before["walk"].errand
        answer = link.answer  # a visit begins without one
        if (
            answer is not None
            and isinstance(answer.request, JoinGroup)
            and after["seats"].leader == answer.id
        ):
            link = evolve(link, answer=evolve(answer, group_topics=errand.topics))
        return {**after, "link": link}

    return extended(original, change)


def answering_again(original: Rule) -> Rule:
    """The same where a JoinGroup of the leader is answered at once, because nothing has changed."""

    def change(
        before: Mapping[str, Any], label: str, after: dict[str, Any], scope: TriggersScope
    ) -> dict[str, Any]:
        link, request = after["link"], before["link"].request
        leads = label == "unchanged" and before["seats"].leader == request.id
        if leads and link.answer is not None:
            told = evolve(link.answer, group_topics=before["core"].topics)
            return {**after, "link": evolve(link, answer=told)}
        return after

    return extended(original, change)


def planning(original: Rule) -> Rule:
    """The leader's SyncGroup brings what it knew of the topics."""

    def change(
        before: Mapping[str, Any], label: str, after: dict[str, Any], scope: TriggersScope
    ) -> dict[str, Any]:
        sees = before["link"].request.sees
        return {**after, "core": evolve(after["core"], planned=sees)} if label == "led" else after

    return extended(original, change)


# -- what known bugs of several features do


def blind_to_subscriptions(usual: Rule) -> Rule:
    """A leader that takes all members for subscribers of all topics."""

    def call(walk: Any, *rest: Any) -> Iterator[Any]:
        errand = walk.errand
        if isinstance(errand, AssignTopics):
            everybody = 0
            for topics in errand.topics:
                everybody |= topics
            blind = evolve(errand, topics=(everybody,) * len(errand.topics))
            for after, *others in usual.call(evolve(walk, errand=blind), *rest):
                yield evolve(after, errand=evolve(after.errand, topics=errand.topics)), *others
        else:
            yield from usual.call(walk, *rest)

    return rewritten(usual, call)
