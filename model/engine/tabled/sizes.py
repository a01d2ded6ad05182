"""How much memory Python's values take, by a sample: to look at all of them would take as long as
to make them.
"""

from __future__ import annotations

import enum
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import attrs

from groupcheck.model.engine.pools import Pool

SAMPLE = 64  # values of a pool, or states, that are weighed
_SHARED = (bool, type(None), type, enum.Enum)  # each of these is there once
_CONTAINERS = (tuple, list, set, frozenset)


def bytes_of_pools(pools: Iterable[Pool]) -> int:
    """Bytes of the values in pools, and of the lists and dicts that hold them."""
    return sum(
        pool.bytes_of_lists + weighed(pool.values) for pool in {id(p): p for p in pools}.values()
    )


def weighed(values: Sequence[Any]) -> int:
    """Bytes of values, as far as a sample of them tells. What several of a sample share counts
    once.
    """
    return _scaled([(v,) for v in _sample(values)], len(values))


def weighed_inside(states: Sequence[tuple[Any, ...]]) -> int:
    """Bytes of the values in states, without the tuples that the states are."""
    return _scaled(_sample(states), len(states))


def _sample(values: Sequence[Any]) -> Sequence[Any]:
    return values[:: max(1, len(values) // SAMPLE)]


def _scaled(sample: Sequence[tuple[Any, ...]], count: int) -> int:
    seen: set[int] = set()
    found = sum(_bytes(v, seen) for values in sample for v in values)
    return round(found * count / max(1, len(sample)))


def _bytes(value: Any, seen: set[int]) -> int:
    """Bytes of a value and of all that it holds, without what was seen."""
    if isinstance(value, _SHARED) or id(value) in seen:
        return 0
    seen.add(id(value))
    return sys.getsizeof(value) + sum(_bytes(inner, seen) for inner in _held(value))


def _held(value: Any) -> Iterable[Any]:
    """The objects that a value holds."""
    if isinstance(value, _CONTAINERS):
        return value
    if isinstance(value, dict):
        return (x for pair in value.items() for x in pair)
    if attrs.has(type(value)):
        return (getattr(value, field.name, None) for field in attrs.fields(type(value)))
    return (vars(value),) if hasattr(value, "__dict__") else ()
