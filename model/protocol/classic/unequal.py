"""The plans of Kafka's CooperativeStickyAssignor for members that subscribe to different topics
(AbstractStickyAssignor.GeneralAssignmentBuilder).

They depend on the order of the members' ids as texts, and on that of their hash codes. Nobody
chooses these ids, so every pair of orders counts.
"""

from __future__ import annotations

from functools import cache
from itertools import count, permutations, product

from groupcheck.model.assignors import Group, Member, Partition, cooperative_sticky
from groupcheck.model.assignors.hash_order import bucket, buckets_for, by_text, text_hash

# With more members there are too many orders of their ids.
MOST_MEMBERS = 3


@cache
def ids(members: int) -> tuple[tuple[str, ...], ...]:
    """Ids for so many members, once in each pair of orders."""
    ranks = list(permutations(range(members)))
    return tuple(
        tuple(_id(text, place, members) for text, place in zip(texts, places, strict=True))
        for texts, places in product(ranks, ranks)
    )


@cache
def _id(text: int, place: int, members: int) -> str:
    """An id with this rank among the texts and in this bucket of a HashMap."""
    names = (f"{text:02}-{k}" for k in count())
    return next(n for n in names if bucket(text_hash(n), buckets_for(members)) == place)


@cache
def shares(
    partitions: tuple[Partition, ...],
    owned: tuple[frozenset[Partition], ...],
    topics: tuple[frozenset[str], ...],
) -> set[tuple[frozenset[Partition], ...]]:
    """The shares of all members that own these partitions and subscribe to these topics, in each
    plan. `partitions`: those that the leader knows. No partition has two owners.
    """
    sizes: dict[str, int] = {}
    for topic, number in partitions:
        sizes[topic] = max(sizes.get(topic, 0), number + 1)
    found = set()
    for names in ids(len(owned)):
        known = dict(zip(names, zip(topics, owned, strict=True), strict=True))
        members = [Member(name, *known[name], generation=1) for name in by_text(names)]
        given = cooperative_sticky(Group(sizes, members))
        found.add(tuple(given[name] for name in names))
    return found
