"""How work is dealt out and how surplus is found, for connectors and tasks alike."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from groupcheck.model.assignors.connect.values import Name, Work, work

Items = list[Any]
"""What a worker has of one kind: connectors or tasks."""

Loads = dict[Name, tuple[Items, Items]]
"""What each worker has: connectors, tasks. The keys are in the order of the leader's map."""

CONNECTORS, TASKS = KINDS = (0, 1)


def loads(workers: Iterable[tuple[Name, Work]]) -> Loads:
    """A copy that can be changed."""
    return {name: (list(has.connectors), list(has.tasks)) for name, has in workers}


def remove(given: Loads, taken: Mapping[Name, Work]) -> None:
    """Takes the items of each worker in `taken` from its load."""
    for name, away in taken.items():
        for kind in KINDS:
            gone = set(away.kinds[kind])
            given[name][kind][:] = [item for item in given[name][kind] if item not in gone]


def deal(given: Loads, items: Iterable[Any], kind: int) -> None:
    """Deals items out to the least loaded workers, one each; workers of equal load by their names
    (assignConnectors, assignTasks).
    """
    order = sorted(given, key=lambda name: (len(given[name][kind]), name))
    rest = iter(items)
    left = next(rest, None)
    while left is not None:
        least = len(given[order[0]][kind])
        for name in [name for name in order if len(given[name][kind]) <= least]:
            if left is None:
                break
            given[name][kind].append(left)
            left = next(rest, None)


def deal_in_turn(given: Loads, lost: Work, candidates: Sequence[Name]) -> None:
    """Gives each kind of lost work to the candidates in turn, whatever they have."""
    for kind in KINDS:
        for turn, item in enumerate(lost.kinds[kind]):
            given[candidates[turn % len(candidates)]][kind].append(item)


def surplus(total: int, given: Loads, kind: int) -> dict[Name, Items]:
    """The items of one kind that each worker has beyond its share, if `total` items are to be
    spread evenly. The first workers that are above the minimum may keep one item more, until none
    is left over (loadBalancingRevocations).
    """
    least, extra = divmod(total, len(given))
    sizes = [len(load[kind]) for load in given.values()]
    if sizes.count(least + 1) == extra and sizes.count(least) == len(sizes) - extra:
        return {}
    away: dict[Name, Items] = {}
    for name, load in given.items():
        has = load[kind]
        if len(has) <= least:
            continue
        keep = least
        if extra:
            extra -= 1
            keep += 1
        if len(has) > keep:
            away[name] = has[: len(has) - keep]
    return away


def surplus_of_both(configured: Work, given: Loads) -> dict[Name, Work]:
    """The work to revoke from each worker so that none has more than its share of what is
    configured (performLoadBalancingRevocations).
    """
    if not configured or not any(any(load) for load in given.values()):
        return {}
    away = [surplus(len(configured.kinds[kind]), given, kind) for kind in KINDS]
    return {
        name: work(away[CONNECTORS].get(name, ()), away[TASKS].get(name, ()))
        for name in given
        if name in away[CONNECTORS] or name in away[TASKS]
    }


def backoff(attempts: int, max_delay: int) -> int:
    """How long the leader waits before it revokes again, in ms: 40 ** attempts, at most `max_delay`
    (ExponentialBackoff with a first interval of 1 ms, a multiplier of 40 and no jitter).
    """
    if max_delay <= 1:
        return max_delay
    longest = math.log(max_delay) / math.log(40)
    return min(int(math.pow(40, min(attempts, longest))), max_delay)
