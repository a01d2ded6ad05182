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

from groupcheck.model.engine import ScopeError, Spec
from groupcheck.model.engine.rule import Rule
from groupcheck.model.protocol.bounds import between, bound
from groupcheck.model.protocol.classic import client_faults, timers
from groupcheck.model.protocol.classic.assignment import answer_syncs
from groupcheck.model.protocol.classic.features.static import (
    STATIC_SPENT_BY,
    StaticScope,
    remove_instance,
)
from groupcheck.model.protocol.classic.features.static import WORDS as STATIC_WORDS
from groupcheck.model.protocol.classic.group import Core, Seats
from groupcheck.model.protocol.classic.rounds import dismiss, dismiss_absent
from groupcheck.model.protocol.faults import SPENT_BY, Budget
from groupcheck.model.protocol.transform import inserted, own, rebuilt, rewritten

MIXED_SPENT_BY = {
    **STATIC_SPENT_BY,
    **{fault: (*STATIC_SPENT_BY[fault], *SPENT_BY[fault]) for fault in ("close", "poll_timeout")},
    "rebalance_timeout": ("rebalance_timeout:missing", "rebalance_timeout:postponed"),
}
WORDS = attrs.evolve(
    STATIC_WORDS,
    does={
        **STATIC_WORDS.does,
        "rebalance_timeout:postponed": (
            "stops waiting for dynamic members, because nobody has joined; the round goes on for"
            " static ones, or ends with nobody"
        ),
    },
    hears={**STATIC_WORDS.hears, dismiss_absent.name: ""},
)


@frozen
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
