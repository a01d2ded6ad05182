"""The members of a new generation choose one of the protocols that all of them list."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from groupcheck.model.assignors.hash_order import bucket, buckets_for, text_hash

Protocols = Sequence[tuple[str, bytes]]


def shared(lists: Sequence[Protocols]) -> list[str]:
    """The protocols that every member lists, in the order of the first one's list."""
    every = [{name for name, _ in protocols} for protocols in lists]
    return [name for name, _ in lists[0] if all(name in names for names in every)] if lists else []


def protocol_of(lists: Sequence[Protocols]) -> str:
    """Each member votes for the first protocol of its list that all members list; the one with the
    most votes wins, of several the first in the order of a HashMap of their names
    (ClassicGroup.selectProtocol). Empty if they list none in common.
    """
    candidates = set(shared(lists))
    votes = Counter[str]()
    for protocols in lists:
        votes.update([name for name, _ in protocols if name in candidates][:1])
    if not votes:
        return ""
    buckets, most = buckets_for(len(votes)), max(votes.values())
    tied = [name for name, n in votes.items() if n == most]
    return min(tied, key=lambda name: bucket(text_hash(name), buckets))
