"""The plan of a round, made by an assignor of `model.assignors` at once for all members.

A search has to see every plan that an assignor may make; there are too many of them for a group of
thousands. A simulation needs one. So the walk that looks at what members own is left out, and the
walk that gives out the shares is shown, before each visit, that part of the one plan which concerns
the process that it visits. An eager leader's `range` needs none of this: each member's share
follows from its place.

Assignors: CooperativeStickyAssignor where members keep what they own, StickyAssignor where the
coordinator plans.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from attrs import frozen

from groupcheck.model.assignors import Group, Member, cooperative_sticky, sticky
from groupcheck.model.engine import evolve
from groupcheck.model.protocol.async_server import rounds as by_coordinator
from groupcheck.model.protocol.classic.assignment import Claims, claim_of
from groupcheck.model.protocol.classic.features.triggers.scope import TriggersScope
from groupcheck.model.protocol.classic.group import Errand
from groupcheck.model.protocol.masks import numbers

TOPIC = "t"
Chosen = tuple[tuple[Any, int], ...]  # (what a member claims, its share), as in the model's errands
Assignor = Callable[[Group], dict[str, frozenset[tuple[str, int]]]]


@frozen
class Plan:
    """A plan: the errand of the walk that gives it out, and what it has for each process."""

    errand: Errand
    chosen: tuple[Chosen, ...]
    # The coordinator makes it, not a member.
    by_coordinator: bool


def planned(errand: Errand, core: Any, seats: Sequence[Any], scope: Any) -> Plan | None:
    """The plan, if the errand is that of a walk which looks at what the members own."""
    if isinstance(errand, Claims):
        claims = [[claim_of(seat) for _, seat in mine if seat.member] for mine in seats]
        known = core.planned if isinstance(scope, TriggersScope) else errand.plan.free
        told = [(*claim[:2], scope.partitions_of(claim[2])) for mine in claims for claim in mine]
        shares = dealt(cooperative_sticky, told, scope.partition_names, known)
        return Plan(evolve(errand.plan, chosen=()), _by_process(claims, shares), False)
    if isinstance(errand, by_coordinator.Collect):
        owned = [[by_coordinator.counted(seat, scope) for _, seat in mine] for mine in seats]
        names = [(TOPIC, p) for p in range(scope.partition_count)]
        whole = (1 << len(names)) - 1
        reports = [(1 if mask else -1, mask, whole) for mine in owned for mask in mine]
        shares = dealt(sticky, reports, names, whole)
        deal = by_coordinator.Deal(generation=core.generation + 1, chosen=(), logs=False)
        return Plan(deal, _by_process(owned, shares), True)
    return None


def _by_process(claims: Sequence[Sequence[Any]], shares: Sequence[int]) -> tuple[Chosen, ...]:
    rest = iter(shares)
    return tuple(tuple((claim, next(rest)) for claim in mine) for mine in claims)


def dealt(
    assignor: Assignor,
    claims: Sequence[tuple[int, int, int]],
    partitions: Sequence[tuple[str, int]],
    known: int,
) -> list[int]:
    """The shares, as bit masks, that an assignor gives to members with these claims: (generation,
    partitions that it owns, and those of the topics to which it subscribes, as bit masks). `known`:
    the partitions that the leader knows, as a bit mask.
    """
    names = [f"member-{rank:06d}" for rank in range(len(claims))]
    topics = {
        mask: {partitions[p][0] for p in numbers(mask)} for mask in {mask for *_, mask in claims}
    }
    members = [
        Member(name, topics[mask], [partitions[p] for p in numbers(owned)], generation)
        for name, (generation, owned, mask) in zip(names, claims)
    ]
    sizes = Counter(partitions[p][0] for p in numbers(known))
    given = assignor(Group(sizes, members))
    places = {name: 1 << place for place, name in enumerate(partitions)}
    return [sum(places[p] for p in given[name]) for name in names]
