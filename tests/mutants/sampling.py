"""Samples: the same for the same seed, and spread over groups."""

from __future__ import annotations

import random
from collections.abc import Callable, Hashable, Sequence
from typing import TypeVar

T = TypeVar("T")


def spread(found: Sequence[T], seed: int, *groups: Callable[[T], Hashable]) -> list[T]:
    """All of `found`, so that every beginning has about as many from each of the first groups, and
    within each of them about as many from each of the next. A larger sample holds the smaller ones,
    and a run that was stopped has tried a sample.
    """
    return _spread([*found], random.Random(seed), groups)


def _spread(
    found: list[T], rng: random.Random, groups: Sequence[Callable[[T], Hashable]]
) -> list[T]:
    if not groups:
        rng.shuffle(found)
        return found[::-1]
    group, *inner = groups
    parts: dict[Hashable, list[T]] = {}
    for one in found:
        parts.setdefault(group(one), []).append(one)
    orders = [_spread(part, rng, inner) for part in parts.values()]
    longest = max(map(len, orders), default=0)
    return [order[k] for k in range(longest) for order in orders if k < len(order)]
