"""Connect's incremental cooperative assignor as one that assigns partitions: a topic stands for a
connector and its partitions for the connector's tasks, and members are workers.

Kafka deals out connectors and tasks by the same rules, each kind for itself. Here there are tasks
alone. Every worker can run every task, so all members subscribe to the same topics.
"""

from __future__ import annotations

from collections.abc import Iterable

from groupcheck.model.assignors.connect.perform import perform_assignment
from groupcheck.model.assignors.connect.values import (
    DEFAULT_MAX_DELAY_MS,
    Config,
    Memory,
    Round,
    Work,
    Worker,
    work,
)
from groupcheck.model.assignors.group import (
    NO_GENERATION,
    Assignment,
    Group,
    Member,
    NoAssignment,
    every_partition,
    subscribed_sizes,
)


def believed(members: Iterable[Member]) -> Memory:
    """The memory of a leader that made the last round: it gave what the members claim."""
    there = [member for member in members if member.generation != NO_GENERATION]
    return Memory(
        previous_assignment=work(tasks=(p for member in there for p in member.owned)),
        previous_members=frozenset(member.id for member in there),
        previous_generation_id=max((m.generation for m in there), default=NO_GENERATION),
    )


def connect_tasks(group: Group) -> Assignment:
    """The round of a leader that made the last one. Raises `NoAssignment`."""
    given, _ = led(believed(group.members), group, now_ms=1)
    return given


def led(
    memory: Memory, group: Group, now_ms: int, max_delay_ms: int = DEFAULT_MAX_DELAY_MS
) -> tuple[Assignment, Memory]:
    """What each worker runs once it has read its answer, and the leader's memory; `Memory.delay`:
    in how many ms all join again. Raises `NoAssignment` if subscriptions differ.
    """
    if len({member.topics for member in group.members}) > 1:
        raise NoAssignment(
            "none",
            "a worker of Connect runs tasks of any connector, so all subscribe to the same",
        )
    last = max((member.generation for member in group.members), default=NO_GENERATION)
    workers = tuple(Worker(m.id, work=Work(tasks=tuple(sorted(m.owned)))) for m in group.members)
    made = perform_assignment(
        memory,
        Round(
            leader=workers[0].id,
            workers=workers,
            config=Config(work=work(tasks=every_partition(subscribed_sizes(group)))),
            last_completed_generation_id=last,
            generation_id=max(0, last) + 1,
            now=now_ms,
            max_delay=max_delay_ms,
        ),
    )
    given = {}
    for member in group.members:
        answer = made.answer(member.id)
        given[member.id] = (member.owned - {*answer.revoked.tasks}) | {*answer.assigned.tasks}
    return given, made.memory
