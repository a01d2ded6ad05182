"""The plans that the coordinator may make, by what the members own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, permutations, product

from groupcheck.model.protocol.async_server.scope import AsyncScope

Shares = tuple[int, ...]  # of each member, as bit masks
# The shares, each with what the member owned that gets it. Who of several members that own the same
# gets which share is left open.
Chosen = tuple[tuple[int, int], ...]


def plans(owned: Sequence[int], scope: AsyncScope) -> Iterator[Chosen]:
    """Every plan that the assignor may make, each once. `owned`: what each member owns, as bit
    masks; where two say that they own a partition, the first one counts.
    """
    make = sticky if scope.assignor == "sticky" else any_
    found = make(owned, scope.partition_count)
    yield from sorted({tuple(sorted(zip(owned, shares, strict=True))) for shares in found})


def any_(owned: Sequence[int], partitions: int) -> set[Shares]:
    """Each partition goes to any member."""
    given = product(range(len(owned)), repeat=partitions)
    return {shares_of(owners, len(owned)) for owners in given}


def sticky(owned: Sequence[int], partitions: int) -> set[Shares]:
    """Shares of equal size, or bigger by one for some members. Each member keeps what it owns, up
    to its size, and as few partitions as possible move.
    """
    least, bigger = divmod(partitions, len(owned))
    mine = kept(owned, partitions)
    full = [k for k, parts in enumerate(mine) if bigger and len(parts) > least]
    found = set()
    for big in combinations(full, min(bigger, len(full))):
        others = [k for k in range(len(owned)) if k not in full]
        for more in combinations(others, bigger - len(big)):
            sizes = [least + (k in big or k in more) for k in range(len(owned))]
            ways = [list(combinations(p, min(len(p), n))) for p, n in zip(mine, sizes)]
            for stays in product(*ways):
                found |= set(_dealt(stays, sizes, partitions))
    return found


def kept(owned: Sequence[int], partitions: int) -> list[list[int]]:
    """The partitions that each member owns; one that two members name belongs to the first."""
    owners = [
        next((k for k, mask in enumerate(owned) if mask >> p & 1), -1) for p in range(partitions)
    ]
    return [[p for p in range(partitions) if owners[p] == k] for k in range(len(owned))]


def _dealt(
    stays: Sequence[Sequence[int]], sizes: Sequence[int], partitions: int
) -> Iterator[Shares]:
    """The ways to deal what nobody keeps until each member has its size."""
    there = {p: k for k, parts in enumerate(stays) for p in parts}
    left = [p for p in range(partitions) if p not in there]
    needs = [k for k, (parts, n) in enumerate(zip(stays, sizes)) for _ in range(n - len(parts))]
    for given in set(permutations(needs)):
        owners = {**there, **dict(zip(left, given, strict=True))}
        yield shares_of([owners[p] for p in range(partitions)], len(stays))


def shares_of(owners: Sequence[int], members: int) -> Shares:
    """The shares of all members, by the owner of each partition."""
    shares = [0] * members
    for p, k in enumerate(owners):
        shares[k] |= 1 << p
    return tuple(shares)
