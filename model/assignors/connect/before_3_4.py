"""Kafka Connect's `IncrementalCooperativeAssignor` as it was before 3.4 (KAFKA-12495)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import evolve

from groupcheck.model.assignors.connect.dealing import KINDS, Items, Loads, deal, loads
from groupcheck.model.assignors.connect.incremental import (
    ClusterAssignment,
    concluded,
    derived,
    duplicated,
    handle_lost,
    recalled,
    reported,
    shared,
)
from groupcheck.model.assignors.connect.releases import Release
from groupcheck.model.assignors.connect.values import Memory, Name, Round, Work, union, work


def incremental_before_3_4(
    memory: Memory, round_: Round, release: Release
) -> tuple[ClusterAssignment, Memory]:
    """One round of such a leader. It differs in these points from the one of 3.4:

    - a worker that runs something twice keeps what was deleted (the one map of revocations was put
      over the other);
    - of what was deleted and runs twice, one worker is told;
    - work that is revoked still counts as the worker's load when new work is dealt out;
    - it balances only if a worker came with nothing, on the number of items that run, and not in a
      round after one that did (the field canRevoke).
    """
    workers = reported(round_)
    active = union(has for _, has in workers)
    memory = recalled(memory, active, round_, release)
    sets = derived(memory, round_.config.work, active)
    revoked: dict[Name | None, Work] = _of_last_owners(sets.deleted, workers)
    if release.revokes_duplicates:
        revoked.update(shared(duplicated(workers), workers))
    next_ = loads((name, _without(has, sets.deleted)) for name, has in workers)
    current = loads((name, _without(has, sets.deleted)) for name, has in workers)
    memory, ready = handle_lost(memory, sets.lost, next_, round_, release)
    if memory.delay == 0 and not memory.revoked_in_previous:
        counted = active if release.counts_duplicates_once else _all(workers)
        balancing = _surplus(counted, current, release)
        for name, away in balancing.items():
            revoked[name] = union((revoked.get(name, Work()), away))
        memory = evolve(memory, revoked_in_previous=bool(balancing))
    else:
        memory = evolve(memory, revoked_in_previous=memory.delay != 0)
    for kind in KINDS:
        deal(next_, sets.created.kinds[kind] + ready.kinds[kind], kind)
    return concluded(memory, round_, sets, workers, next_, revoked, release)


def _without(has: Work, gone: Work) -> Work:
    """The same without these items, in the same order."""
    return Work(
        tuple(one for one in has.connectors if one not in gone.connectors),
        tuple(one for one in has.tasks if one not in gone.tasks),
    )


def _of_last_owners(deleted: Work, workers: list[tuple[Name, Work]]) -> dict[Name | None, Work]:
    """Deleted items by the worker that is to stop them: the last one that has the item. What
    nobody runs is under None; the leader remembers it as revoked (computeDeleted).
    """
    owners: tuple[dict[Any, Name], dict[Any, Name]] = ({}, {})
    for name, has in workers:
        for kind in KINDS:
            owners[kind].update(dict.fromkeys(has.kinds[kind], name))
    of_each: dict[Name | None, tuple[Items, Items]] = {}
    for kind in KINDS:
        for item in deleted.kinds[kind]:
            of_each.setdefault(owners[kind].get(item), ([], []))[kind].append(item)
    return {name: work(*items) for name, items in of_each.items()}


def _all(workers: list[tuple[Name, Work]]) -> Work:
    """All work that runs, each item as often as it runs."""
    connectors = (one for _, has in workers for one in has.connectors)
    return Work(tuple(connectors), tuple(one for _, has in workers for one in has.tasks))


def _surplus(active: Work, current: Loads, release: Release) -> Mapping[Name, Work]:
    """The work that is revoked for balance (performTaskRevocation)."""
    existing = {name: load for name, load in current.items() if any(load)}
    if not existing or len(existing) == len(current):
        return {}
    away: dict[Name, tuple[Items, Items]] = {}
    for kind in KINDS:
        floor, rest = divmod(len(active.kinds[kind]), len(current))
        ceiling, left = floor + bool(rest), floor
        for name, load in existing.items():
            above = len(load[kind]) - floor
            if release.revokes_down_to_the_ceiling:
                left = len(load[kind]) - ceiling
            number = max(0, min(above, left))
            if number:
                away.setdefault(name, ([], []))[kind].extend(load[kind][:number])
            left -= number
    return {name: work(*items) for name, items in away.items()}
