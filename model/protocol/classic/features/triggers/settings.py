"""Settings that change: group.max.size of the broker, the list of assignors of a member."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import attrs

from groupcheck.model.engine import evolve, rule
from groupcheck.model.engine.rule import Rule
from groupcheck.model.protocol.classic.client import Client
from groupcheck.model.protocol.classic.failover import Reload
from groupcheck.model.protocol.classic.features.triggers.scope import TriggersScope
from groupcheck.model.protocol.classic.group import Core, Errand, Seats, Walk
from groupcheck.model.protocol.classic.rounds import prepare
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.model.protocol.faults import Budget
from groupcheck.model.protocol.link import Link
from groupcheck.model.protocol.transform import extended, rewritten

# -- group.max.size


def lowering(fail_over: Rule) -> Rule:
    """The rule of a fail-over to a broker with another setting."""

    @rule(when=lambda budget: budget.allows("lower_max_size"))
    def lower_max_size(
        core: Core, budget: Budget, scope: TriggersScope
    ) -> Iterator[tuple[Core, Budget]]:
        """The coordinator moves to a broker whose group.max.size is smaller by one, and loads the
        last group record there. (The setting is read when a broker starts.)
        """
        size = max_size(core, scope)
        if size is None or size == 1 or not budget.allows("fail_over"):
            return
        for after, spent in fail_over.call(core, budget):
            if spent.allows("lower_max_size"):
                yield evolve(after, max_size=size - 1), spent.spend("lower_max_size")

    return lower_max_size


def max_size(core: Core, scope: Scope) -> int | None:
    """The group.max.size of the present broker."""
    return scope.max_size if core.max_size is None else core.max_size


def keeping_size(fail_over: Rule) -> Rule:
    """All other brokers have the same setting."""

    def change(
        before: Mapping[str, Any], label: str, after: dict[str, Any], scope: TriggersScope
    ) -> dict[str, Any]:
        return {**after, "core": evolve(after["core"], max_size=before["core"].max_size)}

    return extended(fail_over, change)


def accepting(join_group: Rule) -> Rule:
    """JoinGroup is accepted within the present limit."""

    def call(core: Core, seats: Seats, link: Link, scope: TriggersScope) -> Iterator[Any]:
        if core.max_size is not None:
            scope = attrs.evolve(scope, max_size=core.max_size)
        yield from join_group.call(core, seats, link, scope)

    return rewritten(join_group, call)


def loading(end_walk: Rule) -> Rule:
    """A group that is loaded with too many members starts a round at once, which ends with as many
    as the limit allows (GroupMetadataManager.onLoaded).
    """

    def call(
        core: Core, walk: Walk[Errand], scope: TriggersScope
    ) -> Iterator[tuple[Core, Walk[Errand]]]:
        for after, rest in end_walk.call(core, walk, scope):
            size = max_size(after, scope)
            over = size is not None and after.members > size
            if isinstance(walk.errand, Reload) and over:
                after = prepare(after)
            yield after, rest

    return rewritten(end_walk, call)


# -- partition.assignment.strategy


def changing_assignors(*down: Client) -> Rule:
    """The rule of a process that starts with another list; `down`: what its client is before."""

    @rule(when=lambda budget: budget.allows("change_assignors"))
    def change_assignors(
        me: int, client: Client, seats: Seats, budget: Budget, scope: TriggersScope
    ) -> Iterator[tuple[Client, Seats, Budget]]:
        """A process that is down is configured with another list of assignors. Left out is one that
        the group still remembers under an earlier id.
        """
        forgotten = not seats.ids and not seats.durable
        if client in down and forgotten and scope.lists_after:
            listed = scope.lists_after[me]
            if listed != seats.listed:
                yield client, evolve(seats, listed=listed), budget.spend("change_assignors")

    return change_assignors
