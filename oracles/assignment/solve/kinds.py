"""Which partitions are alike for all constraints, so that a program may count them together."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable

from groupcheck.model.assignors import Group, Partition
from groupcheck.oracles.assignment.constraints import Constraint
from groupcheck.oracles.assignment.loads import Capacity, LevelWeights, scale
from groupcheck.oracles.assignment.placement import (
    Apart,
    Nearby,
    Never,
    Stays,
    Together,
    replica_racks,
)


def named_alone(constraints: Iterable[Constraint]) -> set[Partition]:
    """Partitions that a constraint names beside others, or whose place has a price: each is a kind
    of its own.
    """
    named: set[Partition] = set()
    for one in constraints:
        if isinstance(one, Together | Apart) or (
            isinstance(one, Stays | Never) and one.soft is not None
        ):
            named.update(one.partitions)
    return named


def alike(constraints: Iterable[Constraint], group: Group) -> list[Callable[[Partition], Hashable]]:
    """Functions of a partition: two partitions for which they differ are of different kinds."""
    found: list[Callable[[Partition], Hashable]] = []
    for one in constraints:
        if isinstance(one, Nearby) and one.soft is not None:
            found.append(replica_racks(group).get)
        elif isinstance(one, Capacity | LevelWeights):
            found.append(scale(one.weights).partitions.get)
    return found
