"""Kafka Connect's `IncrementalCooperativeAssignor` (KIP-415), as it is since 3.4."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from attrs import evolve, frozen

from groupcheck.model.assignors.connect.dealing import (
    CONNECTORS,
    KINDS,
    TASKS,
    Loads,
    backoff,
    deal,
    deal_in_turn,
    loads,
    remove,
    surplus_of_both,
)
from groupcheck.model.assignors.connect.order import as_set, listed
from groupcheck.model.assignors.connect.releases import CURRENT, Release
from groupcheck.model.assignors.connect.values import (
    NOTHING,
    Connector,
    Memory,
    Name,
    Round,
    Task,
    Work,
    minus,
    union,
    work,
)


@frozen
class Sets:
    """The sets that a leader derives from its memory, its configurations and the reports."""

    # What some worker runs.
    active: Work
    # What it believes to be assigned and what no longer exists.
    deleted: Work
    # What it believes to be assigned and what nobody runs.
    lost: Work
    # What exists and what it does not know of.
    created: Work


@frozen
class ClusterAssignment:
    """The changes for each worker, before they are put into answers."""

    assigned: Mapping[Name, Work]
    # None: what nobody has (before 3.4).
    revoked: Mapping[Name | None, Work]
    # What each worker has afterwards, sorted; workers that have nothing are left out.
    owners: Mapping[Name, Work]


def recalled(memory: Memory, active: Work, round_: Round, release: Release) -> Memory:
    """The part of its memory that the leader still believes as a round begins.

    If its last assignment is not the one of the generation that it completed last, it may never
    have arrived: it is forgotten. If somebody still runs what the last round revoked, the round did
    not take effect, and what is reported stands in its place.
    """
    stale = memory.previous_generation_id != round_.last_completed_generation_id
    if release.forgets_what_was_not_synced and stale:
        memory = evolve(memory, previous_assignment=NOTHING)
    still = set(active.connectors) | set(active.tasks)
    revoked = memory.previous_revocation
    if not still.isdisjoint((*revoked.connectors, *revoked.tasks)):
        memory = evolve(memory, previous_assignment=active)
        if not release.backs_off:
            memory = evolve(memory, revoked_in_previous=False)
    return evolve(memory, previous_revocation=NOTHING)


def derived(memory: Memory, configured: Work, active: Work) -> Sets:
    """The sets on which the round works."""
    previous = memory.previous_assignment
    deleted = minus(previous, configured)
    return Sets(
        active=active,
        deleted=deleted,
        lost=minus(previous, active, deleted),
        created=minus(configured, previous, active),
    )


def reported(round_: Round) -> list[tuple[Name, Work]]:
    """The work that each worker runs, in the order in which the leader reads it. An item that is
    there twice is listed once.
    """
    read = ((worker.id, listed(worker.work)) for worker in round_.workers)
    return [
        (name, Work(*(tuple(dict.fromkeys(items)) for items in has.kinds))) for name, has in read
    ]


def duplicated(workers: Iterable[tuple[Name, Work]]) -> Work:
    """The work that several workers run at once."""
    connectors, tasks = Counter[Connector](), Counter[Task]()
    for _, has in workers:
        connectors.update(has.connectors)
        tasks.update(has.tasks)
    return work(
        (connector for connector, number in connectors.items() if number > 1),
        (task for task, number in tasks.items() if number > 1),
    )


def shared(which: Work, workers: Iterable[tuple[Name, Work]]) -> dict[Name, Work]:
    """Those of these items that each worker has, sorted; workers that have none are left out."""
    of_each = {
        name: work(
            set(has.connectors).intersection(which.connectors),
            set(has.tasks).intersection(which.tasks),
        )
        for name, has in workers
    }
    return {name: has for name, has in of_each.items() if has}


def incremental(
    memory: Memory, round_: Round, release: Release = CURRENT
) -> tuple[ClusterAssignment, Memory]:
    """One round of a leader that has the newest configurations (performTaskAssignment)."""
    workers = reported(round_)
    active = union(has for _, has in workers)
    memory = recalled(memory, active, round_, release)
    sets = derived(memory, round_.config.work, active)
    away = [shared(sets.deleted, workers), shared(duplicated(workers), workers)]
    next_ = loads(workers)
    for taken in away:
        remove(next_, taken)
    memory, ready = handle_lost(memory, sets.lost, next_, round_, release)
    memory, balancing = balanced(memory, next_, round_)
    remove(next_, balancing)
    for kind in KINDS:
        deal(next_, sets.created.kinds[kind] + ready.kinds[kind], kind)
    revoked = {
        name: union(taken[name] for taken in (*away, balancing) if name in taken)
        for name, _ in workers
        if any(name in taken for taken in (*away, balancing))
    }
    return concluded(memory, round_, sets, workers, next_, revoked, release)


def concluded(
    memory: Memory,
    round_: Round,
    sets: Sets,
    workers: Iterable[tuple[Name, Work]],
    next_: Loads,
    revoked: Mapping[Name | None, Work],
    release: Release,
) -> tuple[ClusterAssignment, Memory]:
    """The assignment to the workers, and the leader's memory of it (computePreviousAssignment):
    lost work counts as assigned until it is given away.
    """
    all_revoked = union(revoked.values())
    given = union(Work(tuple(load[CONNECTORS]), tuple(load[TASKS])) for load in next_.values())
    memory = evolve(
        memory,
        previous_assignment=union((minus(given, all_revoked), sets.lost)),
        previous_revocation=all_revoked,
        previous_generation_id=round_.generation_id,
        previous_members=frozenset(next_),
    )
    assigned: dict[Name, Work] = {}
    for name, has in workers:
        known = [set(has.kinds[kind]).difference(sets.deleted.kinds[kind]) for kind in KINDS]
        assigned[name] = Work(
            *(
                tuple(item for item in next_[name][kind] if item not in known[kind])
                for kind in KINDS
            )
        )
    return ClusterAssignment(assigned, revoked, owners(next_, revoked, release)), memory


def owners(next_: Loads, revoked: Mapping[Name | None, Work], release: Release) -> dict[Name, Work]:
    """Who has what afterwards, one owner for each item: the last one in the leader's map
    (WorkerCoordinator.invertAssignment).
    """
    of: tuple[dict[Any, Name], dict[Any, Name]] = ({}, {})
    for name, load in next_.items():
        for kind in KINDS:
            gone = revoked.get(name, NOTHING).kinds[kind] if release.tells_of_revocations else ()
            of[kind].update((item, name) for item in load[kind] if item not in gone)
    names = {*of[CONNECTORS].values(), *of[TASKS].values()}
    return {
        name: work(*([item for item, owner in one.items() if owner == name] for one in of))
        for name in names
    }


def handle_lost(
    memory: Memory, lost: Work, next_: Loads, round_: Round, release: Release
) -> tuple[Memory, Work]:
    """The leader handles lost work (handleLostAssignments). Returns its memory, and the lost work
    that is dealt out as new.

    Its owner may only have been restarted, so it is kept for `max_delay` ms. It is dealt out at
    once if nobody has left. After the delay those get it who came with nothing while it ran; if
    there are none, it is dealt out as new.
    """
    now, max_delay = round_.now, round_.max_delay
    if not lost and not (release.backs_off and memory.revoked_in_previous):
        return (_reset(memory) if release.ends_the_delay_of_returned_work else memory), NOTHING
    stayed = memory.previous_members <= next_.keys()
    if release.knows_who_was_there and memory.scheduled_rebalance <= 0 and stayed:
        return memory, lost
    if release.reassigns_without_delay and max_delay == 0:
        return memory, lost
    if 0 < memory.scheduled_rebalance <= now:
        candidates = [name for name in memory.candidate_workers if name in next_]
        if candidates:
            deal_in_turn(next_, lost, candidates if release.spreads_lost_work else candidates[:1])
        memory = _reset(memory)
        if release.backs_off:
            memory = evolve(memory, revoked_in_previous=False)
        return memory, NOTHING if candidates else lost
    empty = as_set([name for name, load in next_.items() if not any(load)])
    running = now < memory.scheduled_rebalance
    delay = min(memory.scheduled_rebalance - now, max_delay) if running else max_delay
    memory = evolve(
        memory,
        candidate_workers=tuple(dict.fromkeys((*memory.candidate_workers, *empty))),
        delay=delay,
        scheduled_rebalance=now + delay,
    )
    return memory, NOTHING


def _reset(memory: Memory) -> Memory:
    """No delay runs any more (resetDelay)."""
    return evolve(memory, candidate_workers=(), scheduled_rebalance=0, delay=0)


def balanced(memory: Memory, next_: Loads, round_: Round) -> tuple[Memory, dict[Name, Work]]:
    """The work that this round revokes for balance.

    Nothing while a delay runs. If the last round revoked, too, it waits first: each time forty
    times as long (KAFKA-12495).
    """
    if memory.delay:
        return evolve(memory, revoked_in_previous=False), {}
    away = surplus_of_both(round_.config.work, next_)
    if not away:
        if memory.revoked_in_previous:
            memory = evolve(memory, revoked_in_previous=False, num_successive_revoking_rebalances=0)
        return memory, {}
    if not memory.revoked_in_previous:
        return evolve(memory, revoked_in_previous=True), away
    attempts = memory.num_successive_revoking_rebalances + 1
    delay = backoff(attempts, round_.max_delay)
    memory = evolve(memory, num_successive_revoking_rebalances=attempts, delay=delay)
    if delay:
        return evolve(memory, scheduled_rebalance=round_.now + delay), {}
    return memory, away
