"""The plans of a cooperative leader: which shares it may give, by what the members claim (KIP-429,
KIP-792).

Of several claims to one partition, that of the highest generation counts. Two claims of that
generation cancel each other: nobody gets the partition in this round
(AbstractStickyAssignor.allSubscriptionsEqual). A partition that a member owns stays with it, or is
withheld in this round, so that its owner can revoke it before another member gets it
(CooperativeStickyAssignor.adjustAssignment).

An eager assignor (`range`) looks at no claims, also in a cooperative group.

Where members subscribe to different topics, a partition goes to a subscriber of its topic. If its
owner is none (any more), it is withheld, too.

One case is left out: two claims of a generation beside a third, later one. Which of them count then
depends on the order of a HashMap. Members that follow the protocol do not make such claims.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, permutations, product

from groupcheck.model.protocol.classic import unequal
from groupcheck.model.protocol.classic.scope import Scope

# What one member claims: the generation, and the partitions as a bit mask; and the topics to which
# it subscribes, as a bit mask (see `triggers`).
Claim = tuple[int, int, int]
Shares = tuple[int, ...]  # of each member, as bit masks
Chosen = tuple[tuple[Claim, int], ...]  # the shares, each with the claim of the member that gets it
FREE = -1  # the owner of a partition that nobody claims
CONTESTED = -2  # the owner of one that two members claim in the same generation


def interval(rank: int, members: int, partitions: int) -> int:
    """The share of the member at this place under `range`, as a bit mask."""
    size, extra = divmod(partitions, members)
    start = rank * size + min(rank, extra)
    return ((1 << (size + (rank < extra))) - 1) << start


def owners(claims: Sequence[Claim], partitions: int) -> list[int]:
    """Whose each partition is: the index of a claim, `FREE` or `CONTESTED`."""
    found = []
    for p in range(partitions):
        made = [
            (generation, k) for k, (generation, owned, _) in enumerate(claims) if owned >> p & 1
        ]
        last = max((generation for generation, _ in made), default=0)
        heirs = [k for generation, k in made if generation == last]
        found.append(heirs[0] if len(heirs) == 1 else CONTESTED if heirs else FREE)
    return found


def plans(
    claims: Sequence[Claim], known: int, scope: Scope, heard: Sequence[Claim] | None = None
) -> Iterator[Chosen]:
    """Every plan that the leader may make, each once: the claims with the share for each. Who of
    several members with the same claim gets which share is left open. `known`: the partitions that
    the leader knows, as a bit mask; `heard`: what it makes of the claims, if that is something
    else.
    """
    may_get = [known & scope.partitions_of(topics) for _, _, topics in claims]
    given = [p for p in range(scope.partition_count) if any(mask >> p & 1 for mask in may_get)]
    held = owners(claims if heard is None else heard, scope.partition_count)
    alike = len({topics for _, _, topics in claims}) == 1
    if scope.assignor == "sticky" and alike:
        dealt = sticky([held[p] for p in given], len(claims))
        found = {tuple([_spread(share, given) for share in shares]) for shares in dealt}
    elif scope.assignor == "sticky" and len(claims) <= unequal.MOST_MEMBERS:
        found = _sticky_unequal(held, [topics for _, _, topics in claims], given, scope)
    else:
        takers = [[k for k, mask in enumerate(may_get) if mask >> p & 1] for p in given]
        found = any_([held[p] for p in given], takers, given, len(claims))
    yield from sorted({tuple(sorted(zip(claims, shares, strict=True))) for shares in found})


def any_(
    held: Sequence[int], takers: Sequence[Sequence[int]], given: Sequence[int], members: int
) -> set[Shares]:
    """All that a cooperative assignor may do: what is free goes to somebody; what is owned stays,
    or is withheld for another member. Of each partition of `given`: who owns it (`held`), and which
    members subscribe to its topic (`takers`).
    """
    choices = []
    for owner, among in zip(held, takers, strict=True):
        others = [k for k in among if k != owner]
        stays = [owner] if owner in among else []
        choices.append(others if owner == FREE else [*stays, CONTESTED] if others else stays)
    return {_shares(members, zip(given, to)) for to in product(*choices)}


def _sticky_unequal(
    held: Sequence[int], topics: Sequence[int], given: Sequence[int], scope: Scope
) -> set[Shares]:
    """The plans that Kafka's assignor may make where members subscribe to different `topics` (bit
    masks).
    """
    names = scope.partition_names
    known = [names[p] for p in given]
    free = sum(1 << p for p in given if held[p] != CONTESTED)
    members = range(len(topics))
    dealt = unequal.shares(
        tuple(known),
        tuple([frozenset(names[p] for p in given if held[p] == k) for k in members]),
        tuple([frozenset(t for t, _ in _among(names, scope.partitions_of(m))) for m in topics]),
    )
    return {
        tuple([sum(1 << p for p in given if names[p] in share) & free for share in shares])
        for shares in dealt
    }


def _among(names: Sequence[tuple[str, int]], mask: int) -> list[tuple[str, int]]:
    return [name for p, name in enumerate(names) if mask >> p & 1]


def _spread(share: int, given: Sequence[int]) -> int:
    """A share of the places in `given`, as one of the partitions there."""
    return sum(1 << p for place, p in enumerate(given) if share >> place & 1)


def sticky(held: Sequence[int], members: int) -> set[Shares]:
    """The plans that Kafka's assignor may make: shares of equal size, or bigger by one for some
    members. Each member keeps what it claims, up to its size. Kafka decides by the order of ids and
    partitions which of several it is; here all are possible.
    """
    least, bigger = divmod(len(held), members)
    kept = [[p for p, owner in enumerate(held) if owner == k] for k in range(members)]
    full = [k for k in range(members) if bigger and len(kept[k]) > least]
    found = set()
    for big in combinations(full, min(bigger, len(full))):
        sizes = [least + (k in big) for k in range(members)]
        rest = [k for k in range(members) if k not in big]
        keeps = [list(combinations(mine, min(len(mine), n))) for mine, n in zip(kept, sizes)]
        for more in combinations(rest, bigger - len(big)):
            wanted = [n + (k in more) for k, n in enumerate(sizes)]
            for stays in product(*keeps):
                found |= set(_dealt(held, stays, wanted))
    return found


def _dealt(
    held: Sequence[int], stays: Sequence[Sequence[int]], wanted: Sequence[int]
) -> Iterator[Shares]:
    """The ways to deal what is left until each member has what it is `wanted` to have. What another
    member owned is withheld.
    """
    there = {p for mine in stays for p in mine}
    left = [p for p in range(len(held)) if p not in there]
    needs = [k for k, (mine, n) in enumerate(zip(stays, wanted)) for _ in range(n - len(mine))]
    for given in set(permutations(needs)):
        new = [(p, k) for p, k in zip(left, given, strict=True) if held[p] == FREE]
        kept = [(p, k) for k, mine in enumerate(stays) for p in mine]
        yield _shares(len(stays), [*new, *kept])


def _shares(members: int, given: Iterable[tuple[int, int]]) -> Shares:
    """The shares of all members, by partition and index of the member (less than 0: nobody)."""
    shares = [0] * members
    for p, k in given:
        if k >= 0:
            shares[k] |= 1 << p
    return tuple(shares)
