"""A feature of the classic group: dynamic members beside static ones. It comes after
`static_membership`.

The first `static_members` processes have an instance id, the others have none. A process of either
kind does what it would do in a group of its kind alone, and so does the coordinator, which looks at
each member by itself. The kinds meet in one place: a round in which nobody has joined when it
should end removes the dynamic members and waits on for the static ones.

Kafka: GroupMetadataManager (completeClassicGroupJoin), AbstractCoordinator.isDynamicMember.

Rules of processes that depend on the kind take `me` and the scope (`by_kind`), so that the tables
of groups of one kind stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import attrs
from attrs import frozen

from groupcheck.model.engine import ScopeError, Spec, evolve
from groupcheck.model.engine.rule import Rule
from groupcheck.model.protocol import faults
from groupcheck.model.protocol.bounds import between, bound
from groupcheck.model.protocol.classic import client_faults, coordinator, rounds, timers
from groupcheck.model.protocol.classic.assignment import answer_syncs
from groupcheck.model.protocol.classic.coordinator import Outcome
from groupcheck.model.protocol.classic.feature import Feature
from groupcheck.model.protocol.classic.features import static as of_static
from groupcheck.model.protocol.classic.features import takeover
from groupcheck.model.protocol.classic.features.static import StaticScope, remove_instance
from groupcheck.model.protocol.classic.group import Core, Seats, Walk
from groupcheck.model.protocol.classic.plain_group import ROWS_IN_PHASES
from groupcheck.model.protocol.classic.rounds import Complete, Dismiss, dismiss, dismiss_absent
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.model.protocol.classic.step_words import Words
from groupcheck.model.protocol.family import Family
from groupcheck.model.protocol.faults import Budget
from groupcheck.model.protocol.link import Link, handled
from groupcheck.model.protocol.messages import NO_ID, JoinGroup
from groupcheck.model.protocol.mutation import SEEDED, Mutation, seeded
from groupcheck.model.protocol.transform import inserted, own, rebuilt, rewritten

FAMILY = Family("static and dynamic members", base="mixed_membership")

SPENT_BY = {
    **{
        fault: (*of_static.SPENT_BY[fault], *faults.SPENT_BY[fault])
        for fault in ("close", "poll_timeout")
    },
    "rebalance_timeout": ("rebalance_timeout:missing", "rebalance_timeout:postponed"),
}
WORDS = Words(
    does={
        "rebalance_timeout:postponed": (
            "stops waiting for dynamic members, because nobody has joined; the round goes on for"
            " static ones, or ends with nobody"
        ),
    },
    hears={dismiss_absent.name: ""},
)


@frozen(slots=False)
class MixedScope(StaticScope):
    """The scope of a group of static and dynamic members."""

    static_members: int = bound(
        1, "How many members are static: the first ones. The others are dynamic.", between(0, 16)
    )

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        if self.static_members > self.members:
            raise ScopeError(
                f"static_members is {self.static_members}, and there are {self.members} members",
                where="scope",
                do="take at most as many as members",
            )

    @property
    def static_count(self) -> int:
        return self.static_members


def mixed(spec: Spec) -> Spec:
    """The feature: only the first members are static."""
    scope = spec.scope
    changed = [by_kind(own(spec, usual), usual) for usual in OF_PROCESSES]
    changed += [by_kind(own(spec, remove_instance), None), dismissing(own(spec, TIMER))]
    spec = inserted(rebuilt(spec, changed), answer_syncs, dismiss_absent)
    kinds = tuple(Seats(static=k < scope.static_count) for k in range(scope.members))
    return attrs.evolve(spec, initial=[{**given, "seats": kinds} for given in spec.initial])


@cache
def by_kind(static: Rule, dynamic: Rule | None) -> Rule:
    """The rule of a process, which is `static` for a static one and `dynamic` for the others; None:
    it is not theirs.
    """

    def call(me: int, *values: Any) -> Iterator[Any]:
        rule = static if me < values[-1].static_count else dynamic
        if rule is not None:
            yield from rule.call(*(values if rule.takes_scope else values[:-1]))

    call.__doc__ = (dynamic or static).doc
    labels = static.labels if dynamic is None else (*static.labels, *dynamic.labels)
    return rewritten(
        static, call, labels=tuple(dict.fromkeys(labels)), takes=("me",), takes_scope=True
    )


@cache
def dismissing(usual: Rule) -> Rule:
    """The rebalance timer of a round that nobody has joined: dynamic members are removed."""

    def rebalance_timeout(
        core: Core, budget: Budget, scope: MixedScope
    ) -> Iterator[tuple[Any, ...]]:
        if core.parked or not core.members:
            yield from usual.call(core, budget, scope)
        elif core.generation < scope.last_generation and budget.allows("rebalance_timeout"):
            yield "postponed", dismiss(core), budget.spend("rebalance_timeout")

    return rewritten(usual, rebalance_timeout)


OF_PROCESSES = (client_faults.close, client_faults.poll_timeout, client_faults.delay_request)
TIMER = timers.rebalance_timeout


# -- How it can be wrong

join_group = takeover.joining(coordinator.join_group)


@seeded(rounds.answer_joins)
def _nobody_is_removed(
    walk: Walk[Complete], seats: Seats, link: Link, scope: Scope
) -> Iterator[tuple[Walk[Complete], Seats, Link]]:
    for after, known, told in rounds.answer_joins.call(
        walk, evolve(seats, static=True), link, scope
    ):
        yield after, evolve(known, static=seats.static), told


@seeded(rounds.dismiss_absent)
def _nobody_is_dismissed(
    walk: Walk[Dismiss], seats: Seats, scope: Scope
) -> Iterator[tuple[Walk[Dismiss], Seats]]:
    yield walk.passed(walk.errand, scope), seats


@seeded(join_group)
def _all_are_asked_twice(core: Core, seats: Seats, link: Link, scope: Scope) -> Iterator[Outcome]:
    if seats.static and handled(link, JoinGroup).id == NO_ID and not seats.ids:
        yield from coordinator.join_group.call(core, seats, link, scope)
    else:
        yield from join_group.call(core, seats, link, scope)


BUGS = (
    Mutation(
        id="absent_dynamic_member_kept",
        ticket=SEEDED,
        title="A round that knows static members keeps every member that has not joined.",
        family=FAMILY,
        invariant="absent_dynamic_members_go",
        doc=(
            "Only static members outlive a round that they have missed; Kafka filters them out of"
            " the members to be removed (completeClassicGroupJoin). Seeded: the round keeps all."
        ),
        scope={"members": 2, "generations": 2, "faults": {"rebalance_timeout": 1}},
        seeds=(_nobody_is_removed,),
    ),
    Mutation(
        id="round_of_nobody_keeps_all",
        ticket=SEEDED,
        title="A round in which nobody has joined keeps its dynamic members as well.",
        family=FAMILY,
        invariant="absent_dynamic_members_go",
        doc=(
            "Kafka removes dynamic members before it finds that no static one has joined and goes"
            " on waiting. Seeded: it removes nobody."
        ),
        scope={
            "members": 2,
            "generations": 2,
            "faults": {"append_failure": 1, "rebalance_timeout": 1},
        },
        seeds=(_nobody_is_dismissed,),
    ),
    Mutation(
        id="static_member_asked_twice",
        ticket=SEEDED,
        title="A static member is told to come again with an id, as a dynamic one is.",
        family=FAMILY,
        invariant="static_joins_at_once",
        doc=(
            "KIP-394 asks members for a second JoinGroup because it cannot recognise them; KIP-345"
            " can. Seeded: the answer 79 comes before the instance id is looked at."
        ),
        scope={"members": 2, "generations": 1},
        seeds=(_all_are_asked_twice,),
    ),
)

# -- The feature

FEATURE = Feature(
    name="mixed",
    title="static and dynamic members",
    doc=(
        "Some processes have a group.instance.id and the others have none: static members are kept"
        " and fenced, dynamic ones are removed, leave and ask for an id first (KIP-345, KIP-394)."
    ),
    change=mixed,
    over=("static",),
    scope_type=MixedScope,
    families=(FAMILY,),
    followed=("live", "whole"),
    words=WORDS,
    coordinator=(dismiss_absent,),
    spent_by=SPENT_BY,
    no_progress="no promise about progress was written for it",
    shows=(
        {"members": 1, "generations": 2, "any_faults": 2},
        {"members": 2, "generations": 2, "any_faults": 1},
        {"members": 2, "generations": 1, "faults": {"poll_timeout": 1, "lose_request": 1}},
    ),
    unreached={
        "leave_group:fenced": (
            "A static member sends no LeaveGroup, and a dynamic one is not fenced."
        ),
    },
    executed=(
        {"members": 1, "generations": 1, "faults": {"append_failure": 1}},
        {"members": 1, "generations": 1, "settings": {"static_members": "0"}},
        {
            "members": 2,
            "generations": 1,
            "faults": {"append_failure": 1},
            "settings": {"max_size": "1"},
        },
    ),
    conformed=(of_static.ASKED, ROWS_IN_PHASES),
    # What a static member lacks, a dynamic one has.
    bookkeeping=dict.fromkeys(
        (
            "join_group:id_required",
            "leave_group:pending",
            "rebalance_timeout:nobody",
            "session_timeout:pending",
        ),
        "",
    ),
    member_apart={"leave_answer": ""},
    member_generations=1,
    # A static member, and a dynamic one.
    member_scopes=(
        {"members": 1, "partitions": 2, "static_members": 1},
        {"members": 1, "partitions": 2, "static_members": 0},
    ),
    bugs=BUGS,
)
