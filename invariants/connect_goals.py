"""Situations that the cover scopes of Connect workers must meet. They name views of `connect`."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import Annotated

from groupcheck.model.engine import goal
from groupcheck.model.protocol.classic.group import Core, Seats
from groupcheck.model.protocol.connect.memory import Memory, Schedule
from groupcheck.model.protocol.connect.versions import EAGER, ConnectVersionsScope
from groupcheck.model.protocol.family import CONNECT, CONNECT_BACKOFF, CONNECT_VERSIONS


@goal(source="DistributedHerder.readConfigToEnd; FINDINGS 42", of=CONNECT_BACKOFF)
def runs_while_it_backs_off(
    a: Annotated[int, "settled_work[i]"], b: Annotated[int, "backing_work[j]"]
) -> bool:
    """A worker that has left, because it cannot read the topic of configurations, still runs what
    another worker has got.
    """
    return bool(a & b)


@goal(source="KIP-415", of=CONNECT)
def presumed_dead_runs(
    a: Annotated[int, "settled_work[i]"], b: Annotated[int, "outsider_work[j]"]
) -> bool:
    """A worker that the group has removed still runs what another worker has got since. This is
    expected of a worker that was only paused; when it joins again, both stop the work.
    """
    return bool(a & b)


@goal(source="KIP-415; scheduled.rebalance.max.delay.ms", of=CONNECT)
def delay_runs(memory: Memory) -> bool:
    """The leader waits for the worker that has left."""
    return memory.schedule == Schedule.RUNNING


@goal(source="IncrementalCooperativeAssignor.candidateWorkersForReassignment", of=CONNECT)
def candidate_waits(seats: Seats) -> bool:
    """A worker that came with nothing while a delay runs is a candidate for the lost work."""
    return any(seat.told is not None and seat.told.candidate for _, seat in seats)


@goal(source="KAFKA-9841", of=CONNECT)
def both_report(a: Annotated[Seats, "seats[i]"], b: Annotated[Seats, "seats[j]"]) -> bool:
    """Two workers report the same work, because one of them comes back with what was given to the
    other one.
    """
    return bool(_reports(a) & _reports(b))


def _reports(seats: Seats) -> int:
    return reduce(or_, (seat.owned for _, seat in seats if seat.member and seat.join), 0)


@goal(
    source="WorkerCoordinator.onJoinComplete; DistributedHerder.startWork; FINDINGS 41",
    of=CONNECT_VERSIONS,
)
def runs_what_another_has(
    a: Annotated[int, "settled_work[i]"], b: Annotated[int, "left_over_work[j]"]
) -> bool:
    """Two workers that have got their shares of one generation run the same work: the share of one
    of them, which the other one has lost and was not told to stop. An eager worker has joined, so
    the group has fallen back to eager rebalancing.
    """
    return bool(a & b)


@goal(source="KIP-415; ClassicGroup.selectProtocol", of=CONNECT_VERSIONS)
def upgraded(core: Core, seats: Seats, scope: ConnectVersionsScope) -> bool:
    """The group has voted for incremental rebalancing, although all workers were eager at first,
    and a worker has its share.
    """
    if core.assignor is None or scope.assignors_listed[core.assignor] == EAGER[0]:
        return False
    if any(names != EAGER for names in scope.lists):
        return False
    return any(seat.told is not None and not seat.told.eager for _, seat in seats)
