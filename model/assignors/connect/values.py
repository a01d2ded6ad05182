"""The values that Kafka Connect's assignors take, return and remember."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from enum import IntEnum
from typing import Any, Protocol

from attrs import frozen


class Sortable(Hashable, Protocol):
    """The name of a worker or a connector: text, or a small number in a model."""

    def __lt__(self, other: Any, /) -> bool: ...


Name = Any
"""The member id of a worker: any `Sortable`. Ties between workers are broken by its order."""

Connector = Any
"""A connector's name: any `Sortable`."""

Task = tuple[Connector, int]
"""`ConnectorTaskId`: a connector and the number of one of its tasks."""

NO_GENERATION = -1
"""`Generation.NO_GENERATION`: no round was ever completed."""

DEFAULT_MAX_DELAY_MS = 300_000
"""scheduled.rebalance.max.delay.ms."""


class ConnectProtocol(IntEnum):
    """The protocol of a group, by its version in the bytes (ConnectProtocolCompatibility). The
    coordinator chooses among those that all workers list; a worker lists its own and all lower
    ones, the highest first.
    """

    EAGER = 0
    COMPATIBLE = 1
    SESSIONED = 2


class AssignmentError(IntEnum):
    """The error in an answer (ConnectProtocol.Assignment)."""

    NO_ERROR = 0
    CONFIG_MISMATCH = 1


@frozen(cache_hash=True)
class Work:
    """Connectors and tasks, no item twice.

    Order counts in what a worker runs: what it lists first is revoked first. In `Memory`, in
    `Config` and in what is revoked it does not count, and the items are sorted.
    """

    connectors: tuple[Connector, ...] = ()
    tasks: tuple[Task, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.connectors or self.tasks)

    @property
    def kinds(self) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """Connectors, tasks: Kafka deals the two kinds out independently."""
        return self.connectors, self.tasks


NOTHING = Work()


def work(connectors: Iterable[Connector] = (), tasks: Iterable[Task] = ()) -> Work:
    """`Work` in which order does not count."""
    return Work(tuple(sorted(set(connectors))), tuple(sorted(set(tasks))))


def union(works: Iterable[Work]) -> Work:
    """All items of these, sorted."""
    all_ = list(works)
    return work(
        (connector for one in all_ for connector in one.connectors),
        (task for one in all_ for task in one.tasks),
    )


def minus(base: Work, *others: Work) -> Work:
    """The items of the first that none of the others has, sorted
    (IncrementalCooperativeAssignor.diff, which uses a TreeSet).
    """
    connectors, tasks = set(base.connectors), set(base.tasks)
    for other in others:
        connectors.difference_update(other.connectors)
        tasks.difference_update(other.tasks)
    return work(connectors, tasks)


@frozen(cache_hash=True)
class Config:
    """The configurations that a worker has read from the topic of configurations
    (ClusterConfigState).
    """

    # The offset up to which it has read.
    offset: int = 0
    # The connectors that exist, and their tasks.
    work: Work = NOTHING


@frozen(cache_hash=True)
class Worker:
    """A worker as it reports itself in JoinGroup (ExtendedWorkerState)."""

    id: Name
    # How far it has read the topic of configurations.
    offset: int = 0
    # What it runs, in the order in which it has it.
    work: Work = NOTHING


@frozen(cache_hash=True)
class Memory:
    """The values that a leader keeps from round to round, by the names of
    IncrementalCooperativeAssignor's fields. A process that starts, or that was never leader, has
    `Memory()`. A process that stops being leader keeps its memory, and uses it if it is elected
    again.

    Before 3.4 the field `canRevoke` stood in the place of `revokedInPrevious`; it is
    `not revoked_in_previous` here.
    """

    # What it believes to be assigned after the last round, lost work included.
    previous_assignment: Work = NOTHING
    # What the last round revoked.
    previous_revocation: Work = NOTHING
    previous_members: frozenset[Name] = frozenset()
    # The generation in which it last assigned.
    previous_generation_id: int = NO_GENERATION
    # When a delayed round is due, in ms; 0: none is.
    scheduled_rebalance: int = 0
    # What the last answers said, in ms.
    delay: int = 0
    # Workers that came with nothing while a delay ran, in the order in which they came.
    candidate_workers: tuple[Name, ...] = ()
    revoked_in_previous: bool = False
    num_successive_revoking_rebalances: int = 0


@frozen(cache_hash=True)
class Answer:
    """The answer to one worker (ExtendedAssignment)."""

    leader: Name
    # The offset of the configurations on which the assignment is based.
    offset: int
    error: AssignmentError = AssignmentError.NO_ERROR
    # To start, in the order in which the worker reads it. Under EAGER all that it is to run.
    assigned: Work = NOTHING
    # To stop; sorted.
    revoked: Work = NOTHING
    # In how many ms to join again; 0: not by itself.
    delay: int = 0


@frozen(cache_hash=True)
class Round:
    """One assignment: what the leader is given, apart from its own memory."""

    leader: Name
    # In the order in which the leader's map gives them: a `HashMap` of member ids, whose order is
    # that of the hash codes of random ids. So no input of a real group determines it, and it
    # decides which workers keep the extra item if loads are not equal, and which candidate
    # worker is served first.
    workers: tuple[Worker, ...]
    # What the leader itself has read of the configurations when it joined, and what it can read
    # at once if it is behind (`configSnapshot`, `configFreshSnapshot`).
    config: Config = Config()
    fresh: Config | None = None
    # The generation that the leader completed last, and the present one.
    last_completed_generation_id: int = NO_GENERATION
    generation_id: int = 1
    # In ms. Must be positive if a delay can run, as a clock's time is.
    now: int = 1
    # scheduled.rebalance.max.delay.ms
    max_delay: int = DEFAULT_MAX_DELAY_MS
    protocol: ConnectProtocol = ConnectProtocol.SESSIONED


@frozen(cache_hash=True)
class Assigned:
    """The result of one assignment."""

    # In the order of `Round.workers`.
    answers: tuple[tuple[Name, Answer], ...]
    memory: Memory
    # The configurations that the leader has from now on.
    config: Config
    # Who runs what from now on, as the leader believes and as it tells those who ask for the
    # owner of a connector (WorkerCoordinator.LeaderState); sorted, without workers that have
    # nothing. None: this round says nothing
    # (CONFIG_MISMATCH), the leader has no such state.
    owners: tuple[tuple[Name, Work], ...] | None = None

    def answer(self, worker: Name) -> Answer:
        """The answer to this worker."""
        return next(answer for name, answer in self.answers if name == worker)
