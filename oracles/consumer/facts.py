"""What the model's coordinator and Kafka's are compared by after a row: the answer, and the memory
in the model's terms. Kafka's epochs are numbers; they become relative here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from attrs import evolve, frozen

from groupcheck.model.protocol.consumer.memory import Core, Previous, Seat, State, Timer
from groupcheck.model.protocol.consumer.messages import Answer
from groupcheck.model.protocol.consumer.plans import Topics, name, place
from groupcheck.model.protocol.consumer.scope import ConsumerScope
from groupcheck.model.protocol.consumer.votes import NAMES, Votes, preferred
from groupcheck.oracles.kafka.answers import ConsumerAnswer
from groupcheck.oracles.kafka.memory import (
    ConsumerMember,
    ConsumerMemory,
    Memory,
    ShareMember,
    ShareMemory,
    StreamsMember,
    StreamsMemory,
)

Facts = Mapping[str, Any]
STATES = {
    "STABLE": State.STABLE,
    "UNREVOKED_PARTITIONS": State.UNREVOKED,
    "UNRELEASED_PARTITIONS": State.UNRELEASED,
}
PARKED = -2
INTERVAL_MS = 1_000


@frozen
class Known:
    """A process as the real coordinator knows it."""

    # The member id that it has, or had last, and how many ids it has had.
    id: str
    ids: int = 1
    # Its epoch, the last one above 0, and the one before.
    epoch: int = 0
    previous: int = 0
    # The sender and the epoch of a commit that is held up.
    held: tuple[str, int] = ("", 0)
    # The numbers of its requests that are parked.
    parked: tuple[int, ...] = ()


def followed(known: Iterable[Known], memory: Memory) -> list[Known]:
    """The processes, each with its epochs in this memory."""
    group = memory if isinstance(memory, ConsumerMemory | ShareMemory | StreamsMemory) else None
    members: dict[str, ConsumerMember | ShareMember | StreamsMember]
    members = {m.member: m for m in group.members} if group else {}
    return [
        evolve(process, epoch=m.epoch, previous=m.previous_epoch)
        if (m := members.get(process.id)) is not None and m.epoch > 0
        else process
        for process in known
    ]


def unlike(one: Facts, other: Facts) -> dict[str, tuple[object, object]]:
    """Fact -> its values, where they differ."""
    pairs = {name: (one.get(name), other.get(name)) for name in {**one, **other}}
    return {name: (mine, theirs) for name, (mine, theirs) in pairs.items() if mine != theirs}


def mask(partitions: Iterable[tuple[str, int]], scope: Topics) -> int:
    """Partitions by name as the model's bits."""
    bits = {place(p, scope): 1 << p for p in range(scope.topics * scope.partitions)}
    return sum(bits[partition] for partition in partitions)


def by_name(bits: int, scope: ConsumerScope) -> dict[str, list[int]]:
    """The model's bits as partitions by topic."""
    found: dict[str, list[int]] = {}
    for p in range(bits.bit_length()):
        if bits >> p & 1:
            topic, number = place(p, scope)
            found.setdefault(topic, []).append(number)
    return found


def topics_of(bits: int, scope: Topics) -> tuple[str, ...]:
    """The topics whose partitions these are."""
    return tuple(name(t) for t in range(scope.topics) if bits & scope.topic(t))


def tracks(scope: ConsumerScope) -> bool:
    """Is it compared what members were given at which epoch? Kafka before 4.3 does not keep it."""
    return scope.keeps_epochs and scope.release.keeps_given


def of_model(core: Core, seats: Iterable[Seat | None], scope: ConsumerScope) -> dict[str, Any]:
    """The model's memory as facts."""
    found: dict[str, Any] = {
        "group exists": core.exists,
        "group ahead of its target": core.exists and core.pending,
        "partitions held": core.held,
        "members": core.members,
        "pattern resolved": core.matching > 0,
        "assignor": preferred(core.votes),
        "target may be computed": core.due,
        "epochs of partitions": True,
    }
    for number, seat in enumerate(seats):
        found |= {f"{what} {number}": value for what, value in _seat(seat, scope).items()}
    return found


def _seat(seat: Seat | None, scope: ConsumerScope) -> dict[str, Any]:
    if seat is None:
        return {"member": False}
    # Where an acknowledgement adds one to the epoch, it may or may not be that of the target.
    counts = seat.state != State.UNREVOKED or scope.release.keeps_epoch
    return {
        "member": True,
        "at the epoch of the target": seat.current if counts else None,
        "state": seat.state.name,
        "previous epoch": Previous(seat.previous or Previous.ZERO).name,
        "assigned": seat.assigned,
        "to revoke": seat.revoking,
        "target": seat.target,
        "topics": seat.subscribed,
        "pattern": bool(seat.regex if scope.regexes else seat.pattern),
        "assignor": seat.assignor,
        "given at its epoch": seat.fresh if tracks(scope) else None,
        "away": seat.parked,
        "session timer": seat.session,
        "rebalance timer": seat.rebalance != Timer.OFF,
    }


def of_kafka(
    memory: Memory, known: list[Known], scope: ConsumerScope, now_ms: int
) -> dict[str, Any]:
    """Kafka's memory as facts. `known`: the processes as they are now."""
    group = memory if isinstance(memory, ConsumerMemory) else None
    members = {m.member: m for m in group.members} if group else {}
    targets = dict(group.target) if group else {}
    held = {
        (topic, number): epoch
        for topic, epochs in (group.partition_epochs if group else ())
        for number, epoch in enumerate(epochs)
        if epoch != -1
    }
    owners = {
        partition: m.epoch
        for m in members.values()
        for partition in (*(m.assigned or ()), *(m.pending_revocation or ()))
    }
    found: dict[str, Any] = {
        "group exists": group is not None,
        "group ahead of its target": group is not None and group.epoch > group.assignment_epoch,
        "partitions held": mask(held, scope),
        "members": len(members),
        "pattern resolved": bool(group and group.regexes),
        "assignor": preferred(_votes(members.values())),
        "target may be computed": not scope.interval or _due(group, now_ms),
        "epochs of partitions": held == owners,
    }
    for number, process in enumerate(known):
        facts: dict[str, Any] = {"member": False}
        if (member := members.get(process.id)) is not None and group is not None:
            facts = _member(member, process, group, scope)
            facts["target"] = mask(targets.get(process.id, ()), scope)
            facts["session timer"] = f"session-timeout-g-{process.id}" in memory.armed
            facts["rebalance timer"] = f"rebalance-timeout-g-{process.id}" in memory.armed
        found |= {f"{what} {number}": value for what, value in facts.items()}
    return found


def _member(
    member: ConsumerMember, process: Known, group: ConsumerMemory, scope: ConsumerScope
) -> dict[str, Any]:
    state = STATES[member.state]
    away = member.epoch == PARKED
    epoch = process.epoch if away else member.epoch
    previous = Previous.SAME if member.previous_epoch == epoch else Previous.OLDER
    previous = Previous.AWAY if member.previous_epoch == PARKED else previous
    counts = state != State.UNREVOKED or scope.release.keeps_epoch
    return {
        "member": True,
        "at the epoch of the target": member.epoch == group.assignment_epoch if counts else None,
        "state": state.name,
        "previous epoch": previous.name if member.previous_epoch else Previous.ZERO.name,
        "assigned": mask(member.assigned or (), scope),
        "to revoke": mask(member.pending_revocation or (), scope),
        "topics": sum(scope.topic(int(topic[1:])) for topic in member.topics),
        "pattern": bool(member.regex),
        "assignor": member.assignor or "",
        "given at its epoch": _fresh(member, scope) if tracks(scope) else None,
        "away": away,
    }


def _due(group: ConsumerMemory | None, now_ms: int) -> bool:
    """Is the assignment interval over? A group at time 0 has had no target."""
    since = group.assignment_timestamp_ms if group is not None else None
    return not since or now_ms >= since + INTERVAL_MS


def _fresh(member: ConsumerMember, scope: ConsumerScope) -> int:
    """What it was given at the epoch that it has. What a member that is away has counts as given at
    epoch 0.
    """
    away = member.epoch == PARKED
    return mask(
        (
            (topic, number)
            for topic, number, epoch in member.assignment_epochs
            if (epoch != 0 if away else epoch == member.epoch)
        ),
        scope,
    )


def _votes(members: Iterable[ConsumerMember]) -> Votes:
    named = [member.assignor for member in members]
    return tuple(map(named.count, NAMES))


def answer_of_model(answer: Answer | None, leaves: int) -> dict[str, Any]:
    """The model's answer as facts. `leaves`: the epoch of a heartbeat that leaves, else 0."""
    if answer is None:
        return {}
    if answer.code:
        return {"error": answer.code}
    return {"error": 0, "epoch": leaves or "own", "assignment": answer.assigned}


def answer_of_kafka(
    answer: ConsumerAnswer | None, leaves: int, own: int, scope: Topics
) -> dict[str, Any]:
    """Kafka's answer as facts. `own`: the epoch that the member has after it."""
    if answer is None:
        return {}
    if answer.error:
        return {"error": answer.error}
    epoch = "own" if not leaves and answer.epoch == own else answer.epoch
    given = answer.assigned
    assigned = mask(given, scope) if isinstance(given, frozenset) else given
    return {"error": 0, "epoch": epoch, "assignment": assigned}
