"""The model's coordinator as it is served: static and dynamic members, fail-overs in phases, one
step after the other, perhaps with a known bug.

The group's memory is that of the model. Its generation is written as `HERE` after every step, and
how far it had gone on is said beside it, so that a group may have any number of generations. Where
the coordinator is free to choose, the first outcome is taken, so runs are the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

import attrs
from attrs import Factory, define, frozen

from groupcheck.model.engine import RuleError, Spec, SpecError, evolve
from groupcheck.model.engine.step import State
from groupcheck.model.mutations import Mutation, all_mutations
from groupcheck.model.protocol.classic import rules
from groupcheck.model.protocol.classic.composition import selected
from groupcheck.model.protocol.classic.features.failover_phases import failover_phases
from groupcheck.model.protocol.classic.features.mixed import MixedScope
from groupcheck.model.protocol.classic.features.zombie_coordinator import FORMER
from groupcheck.model.protocol.classic.group import Core, Seats
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.model.protocol.driven import Driven, Reaction
from groupcheck.model.protocol.link import Link
from groupcheck.model.protocol.messages import Answer, JoinGroup, Request, SyncGroup
from groupcheck.model.protocol.transform import Transformation
from groupcheck.model.variants import load

SEATS = 16
"""Ids of one group at a time, ids that were only handed out included: a scope has no more. The last
one stands for those that the group does not know.
"""
STRANGER = SEATS - 1
HERE = 500
"""The number of the running generation in every memory; the scope ends far behind it."""
LAST = 1_000
_LONGEST_AGO = 400
OFTEN = 100  # how often each fault may happen in one step
VARIANT = load("mixed_membership")
Features = tuple[str, ...]
STATIC_AND_DYNAMIC: Features = ("mixed",)
PLAIN: Features = ()


@frozen
class Memory:
    """The coordinator's memory of a group."""

    core: Core
    # One for each index.
    seats: tuple[Seats, ...]


@frozen
class Step:
    """An outcome of a request, of a timer, or of something that happens by itself."""

    # The rules that fired, in order.
    rules: tuple[str, ...]
    # The answer to the request at hand; None if it is parked.
    own: Answer | None
    # The answers to requests that waited, by index.
    answers: tuple[tuple[int, Answer], ...]
    after: Memory
    # How many generations have begun; negative: an older one was loaded.
    on: int


@define(eq=False)
class Model:
    """The rules. `mutation`: a known bug that is put in; `max_size`: group.max.size."""

    mutation: Mutation | None = None
    max_size: int | None = None
    _driven: dict[bool, Driven] = Factory(dict)

    @property
    def scope(self) -> Scope:
        """What bounds a group."""
        scope: Scope = self._of(True).see.spec.scope
        return scope

    @property
    def knows_instances(self) -> bool:
        """Are there static members? A few bugs are those of a group without any."""
        return self.scope.static

    def start(self) -> Memory:
        """The group that nobody has joined."""
        driven = self._of(True)
        named = driven.see.named(driven.start())
        return Memory(evolve(named["core"], generation=HERE), named["seats"])

    def ask(self, memory: Memory, index: int, request: Request, two_step: bool) -> Step | None:
        """The effect of a request of the process with that index. `two_step`: a dynamic member
        without an id is told to come again with one. None: a known bug has led to where the rules
        fail.
        """
        driven = self._of(two_step)
        step = self._step(driven, memory, driven.ask(self._state(memory), index, request))
        assert step is not None or self.mutation, f"the model has no answer to {request}"
        return step

    def fire(self, memory: Memory, rule: str, index: int = 0, label: str = "") -> Step | None:
        """A timer fires, or something happens by itself: the model's rule, perhaps with the one
        outcome that is meant. None: it is not possible (any more).
        """
        driven = self._of(True)
        found: Iterable[Reaction] = driven.fire(self._state(memory), rule, index)
        if label:
            found = (r for r in found if r.rules[0] == f"{rule}:{label}")
        return self._step(driven, memory, found)

    def _step(self, driven: Driven, memory: Memory, found: Iterable[Reaction]) -> Step | None:
        try:
            reaction = next(iter(found), None)
        except RuleError:
            if self.mutation is None:
                raise
            return None
        if reaction is None:
            return None
        named = driven.see.named(reaction.state)
        core: Core = named["core"]
        on = core.generation - HERE
        generation, *record = core.durable
        durable = (max(generation - on, HERE - _LONGEST_AGO) if generation else 0, *record)
        after = Memory(evolve(core, generation=HERE, durable=durable), named["seats"])
        return Step(reaction.rules, reaction.own, reaction.told, after, on)

    def _state(self, memory: Memory) -> State:
        links = tuple(_link(memory.core, seats) for seats in memory.seats)
        return self._of(True).state(core=memory.core, seats=memory.seats, link=links)

    def _of(self, two_step: bool) -> Driven:
        found = self._driven.get(two_step)
        if found is None:
            features = with_bug(self.mutation)
            assert features is not None, "the bug is not served"
            scope = scope_of(
                features,
                SEATS,
                generations=LAST,
                faults=dict.fromkeys(VARIANT.coordinator_faults, OFTEN),
                max_size=self.max_size,
                two_step=two_step,
            )
            spec = spec_of(scope, features, self.mutation)
            found = self._driven[two_step] = Driven(spec, VARIANT.coordinator)
        return found


def scope_of(features: Features, members: int, **fields: Any) -> Scope:
    """The scope of a group with these features. The shares of all members differ."""
    given: dict[str, Any] = {"partitions": members, "assignor": "range", "phases": True, **fields}
    if features:
        return MixedScope(members, static_members=0, **given)
    return Scope(members, **given)


def spec_of(scope: Scope, features: Features, mutation: Mutation | None) -> Spec:
    """The group at a scope. A bug is put in where its healthy rules stand: before the features, or
    once some of them have changed the rules.
    """
    spec, wanted = rules.spec(scope), mutation
    for change in (_unchanged, *_changes(features)):
        spec = change(spec)
        if wanted is not None and (broken := _broken(spec, wanted)) is not None:
            spec, wanted = broken, None
    assert wanted is None, f"{wanted.id} is not served"
    return attrs.evolve(spec, name=VARIANT.name)


def _changes(features: Features) -> list[Transformation]:
    """What makes the group of the plain one, in this order."""
    return [*(feature.change for feature in selected(features)), failover_phases]


def _unchanged(spec: Spec) -> Spec:
    return spec


def _broken(spec: Spec, mutation: Mutation) -> Spec | None:
    try:
        return mutation.apply(spec)
    except SpecError:
        return None


def with_bug(mutation: Mutation | None) -> Features | None:
    """The features of the group that is served: no more than the plain group where the rules of a
    bug have another form with features. None: the bug cannot be served.
    """
    if mutation is None:
        return STATIC_AND_DYNAMIC
    ours = {*mutation.rules} <= VARIANT.coordinator and mutation.family in VARIANT.every_family
    # No former coordinator is served that does not know that it is one.
    if not ours or any(rule.startswith(FORMER) for rule in mutation.rules):
        return None
    every = (STATIC_AND_DYNAMIC, PLAIN)
    fit = (f for f in every if any(_broken(spec, mutation) is not None for spec in _stages(f)))
    return next(fit, None)


@cache
def _stages(features: Features) -> tuple[Spec, ...]:
    """The healthy group as the features make it, one after the other."""
    stages = [rules.spec(scope_of(features, 2))]
    for change in _changes(features):
        stages.append(change(stages[-1]))
    return tuple(stages)


@cache
def every_served() -> tuple[Mutation, ...]:
    """The known bugs with which it can be served."""
    return tuple(mutation for mutation in all_mutations() if with_bug(mutation) is not None)


def _link(core: Core, seats: Seats) -> Link:
    """The connection over which somebody waits."""
    for id, seat in seats:
        if seat.join:
            return Link(parked=JoinGroup(id, seat.claimed))
        if seat.sync:
            return Link(parked=SyncGroup(id, core.generation))
    return Link()


def parked(memory: Memory, index: int) -> bool:
    """Does somebody wait at this index?"""
    return any(seat.join or seat.sync for _, seat in memory.seats[index])


def known(memory: Memory, index: int) -> set[int]:
    """The ids of an index: those that it has, may have again, or has in the group's record."""
    mine: Any = memory.seats[index]
    takes = {seat.takes[0] for _, seat in mine if seat.takes is not None}
    return {id for id, _ in mine} | {id for id, _ in mine.durable} | takes
