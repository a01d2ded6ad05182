"""What the model's coordinator of streams groups and Kafka's are compared by after a row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from groupcheck.model.protocol.consumer.memory import Previous, Seat, State, Timer
from groupcheck.model.protocol.consumer.messages import Answer
from groupcheck.model.protocol.masks import numbers
from groupcheck.model.protocol.streams.memory import Configured, StreamsCore, StreamsSeat, Topics
from groupcheck.model.protocol.streams.messages import Status, StreamsAnswer
from groupcheck.model.protocol.streams.scope import StreamsScope
from groupcheck.model.protocol.streams.tasks import MOST, active, standby
from groupcheck.oracles.consumer.facts import INTERVAL_MS, Known
from groupcheck.oracles.kafka import answers
from groupcheck.oracles.kafka.memory import Homes, Memory, StreamsMember, StreamsMemory
from groupcheck.oracles.kafka.values import Partitions

STATES = {
    "STABLE": State.STABLE,
    "UNREVOKED_TASKS": State.UNREVOKED,
    "UNRELEASED_TASKS": State.UNRELEASED,
}
ROLES = ("active", "standby")


def mask(tasks: Partitions, scope: StreamsScope) -> int | frozenset[tuple[str, int]]:
    """Kafka's tasks as the model's bits; tasks that the model does not know as they are."""
    if any(role not in ROLES or number >= scope.tasks for role, number in tasks):
        return tasks
    return sum(1 << number + MOST * ROLES.index(role) for role, number in tasks)


def by_role(tasks: int) -> dict[str, list[int]]:
    """The model's bits as tasks by role."""
    found = zip(ROLES, (numbers(active(tasks)), numbers(standby(tasks))))
    return {role: those for role, those in found if those}


def process_of(number: int) -> str:
    """The id of a process."""
    return f"p{number}"


def of_model(
    core: StreamsCore, seats: Iterable[Seat | None], scope: StreamsScope
) -> dict[str, Any]:
    """The model's memory as facts."""
    found: dict[str, Any] = {
        "group exists": core.exists,
        "group ahead of its target": core.exists and core.pending,
        "members": core.members,
        "epoch of the topology": core.topology,
        "topology is valid": core.exists and core.known == Topics.READY,
        "application is to stop": core.shutdown,
        "initial delay": core.delayed,
        "target may be computed": core.due,
        "active tasks of processes": core.actives,
        "standbys of processes": core.noted or core.standbys,
    }
    if scope.delay or scope.recalls:
        found["topology is configured"] = core.configured != Configured.NO
    for number, seat in enumerate(seats):
        found |= {f"{what} {number}": value for what, value in _seat(seat).items()}
    return found


def _seat(seat: Seat | None) -> Mapping[str, Any]:
    if seat is None:
        return {"member": False}
    assert isinstance(seat, StreamsSeat)
    return {
        "member": True,
        # A member that has revoked goes on from the next epoch, which may be the target's.
        "at the epoch of the target": seat.current if seat.state != State.UNREVOKED else None,
        "state": seat.state.name,
        "previous epoch": seat.previous.name,
        "assigned": seat.assigned,
        "to revoke": seat.revoking,
        "target": seat.target,
        "process": process_of(seat.process),
        "behind": seat.behind,
        "session timer": seat.session,
        "rebalance timer": seat.rebalance != Timer.OFF,
    }


def of_kafka(
    memory: Memory, known: Iterable[Known], scope: StreamsScope, now_ms: int
) -> dict[str, Any]:
    """Kafka's memory as facts."""
    group = memory if isinstance(memory, StreamsMemory) else None
    members = {m.member: m for m in group.members} if group else {}
    targets = dict(group.target) if group else {}
    since = group.assignment_timestamp_ms if group else None
    found: dict[str, Any] = {
        "group exists": group is not None,
        "group ahead of its target": group is not None and group.epoch > group.assignment_epoch,
        "members": len(members),
        "epoch of the topology": group.topology_epoch if group else None,
        "topology is valid": (
            group is not None and group.validated_topology_epoch == group.topology_epoch
        ),
        "application is to stop": group is not None and group.shutdown,
        "initial delay": "initial-rebalance-timeout-g" in memory.armed,
        "target may be computed": (
            not scope.interval or not since or now_ms >= since + INTERVAL_MS
        ),
        "active tasks of processes": _by_process(group.active_processes if group else (), scope),
        "standbys of processes": _by_process(group.standby_processes if group else (), scope),
    }
    if scope.delay or scope.recalls:
        found["topology is configured"] = group is not None and group.configured
    for number, process in enumerate(known):
        facts: dict[str, Any] = {"member": False}
        if (member := members.get(process.id)) is not None and group is not None:
            facts = _member(member, group, scope)
            facts["target"] = mask(targets.get(process.id, frozenset()), scope)
            facts["session timer"] = f"session-timeout-g-{process.id}" in memory.armed
            facts["rebalance timer"] = f"rebalance-timeout-g-{process.id}" in memory.armed
        found |= {f"{what} {number}": value for what, value in facts.items()}
    return found


def _member(member: StreamsMember, group: StreamsMemory, scope: StreamsScope) -> dict[str, Any]:
    state = STATES[member.state]
    # Before Kafka 4.3, a group without a target is at epoch 0, and gives its members epoch 1.
    at_target = member.epoch == max(group.assignment_epoch, 1)
    previous = Previous.SAME if member.previous_epoch == member.epoch else Previous.OLDER
    return {
        "member": True,
        "at the epoch of the target": at_target if state != State.UNREVOKED else None,
        "state": state.name,
        "previous epoch": previous.name if member.previous_epoch else Previous.ZERO.name,
        "assigned": mask(member.assigned, scope),
        "to revoke": mask(member.pending_revocation, scope),
        "process": member.process,
        "behind": member.topology_epoch < (group.topology_epoch or 0),
    }


def _by_process(homes: Homes, scope: StreamsScope) -> tuple[int, ...]:
    """Which tasks each process has."""
    return tuple(
        sum(1 << number for number, at in homes if process_of(process) in at)
        for process in range(scope.homes)
    )


def answer_of_model(answer: Answer | None, leaves: int) -> dict[str, Any]:
    """The model's answer as facts. `leaves`: the epoch of a heartbeat that leaves, else 0."""
    if answer is None:
        return {}
    if answer.code:
        return {"error": answer.code}
    assert isinstance(answer, StreamsAnswer)
    return {
        "error": 0,
        "epoch": leaves or "own",
        "assignment": answer.assigned,
        "statuses": _codes(answer.status),
        "creates": answer.status & Status.MISSING_INTERNAL_TOPICS != 0,
    }


def _codes(status: Status) -> tuple[int, ...]:
    return tuple(code for code in range(8) if status >> code & 1)


def answer_of_kafka(
    answer: answers.StreamsAnswer | None, leaves: int, own: int, scope: StreamsScope
) -> dict[str, Any]:
    """Kafka's answer as facts. `own`: the epoch that the member has after it."""
    if answer is None:
        return {}
    if answer.error:
        return {"error": answer.error}
    epoch = "own" if not leaves and answer.epoch == own else answer.epoch
    given = answer.assigned
    return {
        "error": 0,
        "epoch": epoch,
        "assignment": mask(given, scope) if isinstance(given, frozenset) else given,
        "statuses": answer.statuses,
        "creates": bool(answer.creates),
    }
