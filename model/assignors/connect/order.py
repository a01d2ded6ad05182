"""The orders in which Kafka Connect passes connectors and tasks on, where order decides what is
revoked.
"""

from __future__ import annotations

from collections.abc import Sequence

from groupcheck.model.assignors.connect.values import Connector, Name, Task, Work
from groupcheck.model.assignors.hash_order import by_text, copied, number_hash, text_hash


def hash_of(connector: Connector) -> int:
    """`String.hashCode` of its name. A number stands for itself: for a name whose hash code is
    this number.
    """
    return text_hash(connector) if isinstance(connector, str) else number_hash(connector)


def listed(work: Work) -> Work:
    """The same as its reader has it, after it was written into an answer or a report.

    The bytes list tasks under their connectors. Connectors that are themselves part of it come
    first, in the order of a `HashSet`, the others where their first task stands
    (ConnectProtocol.Assignment.asMap, ExtendedAssignment.extractTasks).
    """
    connectors = tuple(copied(work.connectors, hash_of))
    grouped: dict[Connector, list[Task]] = {connector: [] for connector in connectors}
    for task in work.tasks:
        grouped.setdefault(task[0], []).append(task)
    return Work(connectors, tuple(task for tasks in grouped.values() for task in tasks))


def running(kept: Work, revoked: Work, assigned: Work) -> Work:
    """The work that a worker has after an answer, in the worker's order: first the new work, and
    then the work that it keeps (WorkerCoordinator.onJoinComplete).

    An item that is assigned and that it already has is there twice in the worker's own list; a
    report writes a connector once, but the task twice (a leader reads both as one).
    """
    stop, new = set(revoked.connectors) | set(revoked.tasks), set(assigned.tasks)
    names = set(assigned.connectors)
    return Work(
        assigned.connectors + tuple(c for c in kept.connectors if c not in stop | names),
        assigned.tasks + tuple(t for t in kept.tasks if t not in stop | new),
    )


def as_set(names: Sequence[Name]) -> tuple[Name, ...]:
    """Workers in the order of a `HashSet`, if they have real ids. Others stay as they are, which is
    the same for up to twelve workers in the order of a `HashMap`.
    """
    return by_text(names) if all(isinstance(name, str) for name in names) else tuple(names)
