"""Small values that commands and answers share, and their JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

Partitions = frozenset[tuple[str, int]]
"""Partitions of topics: {("t", 0), ("t", 1)}. A command also takes them as {"t": [0, 1]}."""

Given = Mapping[str, Iterable[int]] | Iterable[tuple[str, int]]


def partitions(given: Given) -> Partitions:
    """`Partitions` from {"t": [0, 1]} or pairs."""
    if isinstance(given, Mapping):
        return frozenset((topic, number) for topic, numbers in given.items() for number in numbers)
    return frozenset(given)


def by_topic(given: Partitions) -> dict[str, list[int]]:
    """{"t": [0, 1]}, sorted."""
    found: dict[str, list[int]] = {}
    for topic, number in sorted(given):
        found.setdefault(topic, []).append(number)
    return found


Assignments = tuple[tuple[str, Partitions], ...]


def assignments(given: Mapping[str, Given] | Assignments) -> Assignments:
    """The assignments that a leader hands out, from {"m1": {"t": [0]}}: pairs of member and
    partitions, sorted by member.
    """
    pairs = given.items() if isinstance(given, Mapping) else given
    return tuple(sorted((member, partitions(assigned)) for member, assigned in pairs))


Offsets = tuple[tuple[str, int, int], ...]


def offsets(given: Mapping[str, Mapping[int, int] | Mapping[str, int]] | Offsets) -> Offsets:
    """Topic, partition, offset (or error code), sorted; from {"t": {0: 5}} or {"t": {"0": 5}}."""
    if isinstance(given, Mapping):
        return tuple(
            sorted(
                (topic, int(number), at)
                for topic, ats in given.items()
                for number, at in ats.items()
            )
        )
    return tuple(sorted(given))


def offsets_by_topic(given: Offsets) -> dict[str, dict[str, int]]:
    """{"t": {"0": 5}}."""
    found: dict[str, dict[str, int]] = {}
    for topic, number, at in given:
        found.setdefault(topic, {})[str(number)] = at
    return found


Pairs = tuple[tuple[str, Any], ...]


def pairs(given: Mapping[str, Any] | Pairs) -> Pairs:
    return tuple(sorted(given.items() if isinstance(given, Mapping) else given))


def texts(given: Iterable[str]) -> tuple[str, ...]:
    return tuple(given)
