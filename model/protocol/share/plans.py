"""What an assignor may make of a share group: several members may have one partition."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from groupcheck.model.protocol.consumer.plans import Key, Plan
from groupcheck.model.protocol.masks import numbers
from groupcheck.model.protocol.share.scope import ShareScope


def plans(seen: tuple[Key, ...], there: int, scope: ShareScope) -> list[Plan]:
    """Every plan that the assignor may make of the partitions `there`, which are initialized."""
    every = {tuple(sorted(zip(seen, shares))) for shares in _legal(seen, there)}
    if scope.assignor == "simple":
        every = {plan for plan in every if _even(plan, there, scope)}
    return sorted(every)


def _legal(seen: tuple[Key, ...], there: int) -> Iterator[list[int]]:
    """Each partition to at least one of its subscribers, if it has any."""
    wanted = [
        (1 << p, those)
        for p in numbers(there)
        if (those := [k for k, (subscribed, *_) in enumerate(seen) if subscribed >> p & 1])
    ]
    for owners in product(*(range(1, 1 << len(those)) for _, those in wanted)):
        shares = [0] * len(seen)
        for (bit, those), chosen in zip(wanted, owners):
            for k in numbers(chosen):
                shares[those[k]] |= bit
        yield shares


def _even(plan: Plan, there: int, scope: ShareScope) -> bool:
    """May SimpleAssignor make it? By itself for each topic, or for all where all members subscribe
    to the same topics: a partition goes to as many members as are needed for each to have one, and
    no member has more than its share, rounded up.
    """
    if len({subscribed for (subscribed, *_), _ in plan}) == 1:
        return _shared(plan, there & plan[0][0][0])
    return all(
        _shared([row for row in plan if row[0][0] & topic], there & topic)
        for topic in map(scope.topic, range(scope.topics))
    )


def _shared(rows: Plan | list[tuple[Key, int]], there: int) -> bool:
    members, size = len(rows), there.bit_count()
    if not members or not size:
        return True
    sharing = -(-members // size)
    most = -(-sharing * size // members)
    sizes = [(share & there).bit_count() for _, share in rows]
    owners = [sum(share >> p & 1 for _, share in rows) for p in numbers(there)]
    return max(sizes) <= most and max(owners) <= sharing
