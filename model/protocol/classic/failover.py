"""Durable records, and the coordinator's move to another broker (protocol.md 1.14, section 8).

A group record in __consumer_offsets is written by the leader's SyncGroup, and when the group
becomes Empty. Nothing else survives. Whether a record in flight would survive is decided when it is
written: either from then on, or only once its append is committed. That covers every moment between
the two, and also the record of a round that was overtaken, which a fail-over loads as Stable
although no member ever heard of it. The record of an Empty group survives from then on, or never:
its append may fail unnoticed, and then the old members are loaded again. Kafka: CoordinatorRuntime,
GroupMetadataManager.replay, onLoaded.
"""

from __future__ import annotations

from collections.abc import Iterator

from attrs import frozen

from groupcheck.model.engine import evolve, rule, urgent
from groupcheck.model.protocol.classic.group import (
    Core,
    Phase,
    Recount,
    Seats,
    Walk,
    supported,
)
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.model.protocol.faults import Budget
from groupcheck.model.protocol.link import Link

# -- Reload: a new coordinator loads the group


@frozen(kw_only=True)
class Reload(Recount):
    """The members of the last group record are loaded. (See `walks` for what a walk is.)"""


@rule(when=lambda budget: budget.allows("fail_over"))
def fail_over(core: Core, budget: Budget) -> Iterator[tuple[Core, Budget]]:
    """Begin: the coordinator moves. Its memory is lost, it loads the last group record, and parked
    requests fail.
    """
    yield loads(unloaded(core)), budget.spend("fail_over")


def unloaded(core: Core) -> Core:
    """The group as its log has it."""
    generation, led, assignor = core.durable
    return Core(
        generation=generation,
        led=led,
        support=(0,) * len(core.support),
        assignor=assignor,
        durable=core.durable,
        keeps=core.keeps,
    )


def loads(core: Core) -> Core:
    """The load of a group that is `unloaded` begins."""
    return evolve(core, errands=(Reload(support=core.support, assignor=core.assignor),))


@urgent(when=lambda me, walk: walk.at == me and isinstance(walk.errand, Reload))
def reload(
    walk: Walk[Reload], seats: Seats, link: Link, scope: Scope
) -> Iterator[tuple[Walk[Reload], Seats, Link]]:
    """The members of the record are loaded, each with a full session timer. Ids that were only
    handed out are forgotten.
    """
    narrow = bool(scope.lists)
    loaded = tuple([(id, evolve(seat, loaded=narrow)) for id, seat in seats.durable])
    errand = walk.errand
    support = supported(errand.support, seats, len(loaded), scope, errand.assignor)
    errand = evolve(errand, change=errand.change + len(loaded), support=support)
    there = evolve(seats, ids=loaded, leader=seats.durable_leader)
    yield walk.passed(errand, scope), there, Link()


def reloaded(errand: Reload, core: Core, scope: Scope) -> Iterator[Core]:
    """End: the group is Stable if it has members, otherwise Empty."""
    core = errand.counted(core)
    yield evolve(core, phase=Phase.STABLE if core.members else Phase.EMPTY)
