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

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

from attrs import frozen

from groupcheck.model.assignors import Group, Member, cooperative_sticky, sticky
from groupcheck.model.engine import but
from groupcheck.model.protocol.async_server import rounds as by_coordinator
from groupcheck.model.protocol.classic.assignment import Claims, claim_of
from groupcheck.model.protocol.classic.group import Errand

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
        shares = dealt(cooperative_sticky, list(chain.from_iterable(claims)), scope.partition_count)
        return Plan(but(errand.plan, chosen=()), _by_process(claims, shares), False)
    if isinstance(errand, by_coordinator.Collect):
        owned = [[by_coordinator.counted(seat, scope) for _, seat in mine] for mine in seats]
        reports = [(1 if mask else -1, mask) for mine in owned for mask in mine]
        shares = dealt(sticky, reports, scope.partition_count)
        deal = by_coordinator.Deal(generation=core.generation + 1, chosen=(), logs=False)
        return Plan(deal, _by_process(owned, shares), True)
    return None


def _by_process(claims: Sequence[Sequence[Any]], shares: Sequence[int]) -> tuple[Chosen, ...]:
    rest = iter(shares)
    return tuple(tuple((claim, next(rest)) for claim in mine) for mine in claims)


def dealt(assignor: Assignor, claims: Sequence[tuple[int, int]], partitions: int) -> list[int]:
    """The shares, as bit masks, that an assignor gives to members with these claims: (generation,
    partitions as a bit mask).
    """
    names = [f"member-{rank:06d}" for rank in range(len(claims))]
    members = [
        Member(name, [TOPIC], {TOPIC: numbers(owned)}, generation)
        for name, (generation, owned) in zip(names, claims)
    ]
    given = assignor(Group({TOPIC: partitions}, members))
    return [sum(1 << number for _, number in given[name]) for name in names]


def numbers(mask: int) -> list[int]:
    """The partitions of a bit mask."""
    found = []
    while mask:
        low = mask & -mask
        found.append(low.bit_length() - 1)
        mask ^= low
    return found
