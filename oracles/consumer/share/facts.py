"""What the model's coordinator of share groups and Kafka's are compared by after a row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from groupcheck.model.protocol.consumer.memory import Previous, Seat
from groupcheck.model.protocol.share.memory import ShareCore
from groupcheck.model.protocol.share.scope import ShareScope
from groupcheck.oracles.consumer.facts import INTERVAL_MS, Known, mask
from groupcheck.oracles.kafka.memory import Memory, ShareMember, ShareMemory


def of_model(core: ShareCore, seats: Iterable[Seat | None]) -> dict[str, Any]:
    """The model's memory as facts."""
    found: dict[str, Any] = {
        "group exists": core.exists,
        "group ahead of its target": core.exists and core.pending,
        "members": core.members,
        "initializing": core.initializing,
        "initialized": core.initialized,
        "persister was asked": core.asked,
        "target may be computed": core.due,
    }
    for number, seat in enumerate(seats):
        found |= {f"{what} {number}": value for what, value in _seat(seat).items()}
    return found


def _seat(seat: Seat | None) -> Mapping[str, Any]:
    if seat is None:
        return {"member": False}
    return {
        "member": True,
        "at the epoch of the target": seat.current,
        "previous epoch": seat.previous.name,
        "assigned": seat.assigned,
        "target": seat.target,
        "topics": seat.subscribed,
        "session timer": seat.session,
    }


def of_kafka(
    memory: Memory, known: Iterable[Known], scope: ShareScope, now_ms: int
) -> dict[str, Any]:
    """Kafka's memory as facts."""
    group = memory if isinstance(memory, ShareMemory) else None
    members = {m.member: m for m in group.members} if group else {}
    targets = dict(group.target) if group else {}
    since = group.assignment_timestamp_ms if group else None
    found: dict[str, Any] = {
        "group exists": group is not None,
        "group ahead of its target": group is not None and group.epoch > group.assignment_epoch,
        "members": len(members),
        "initializing": mask(group.initializing, scope) if group else 0,
        "initialized": mask(group.initialized, scope) if group else 0,
        "persister was asked": mask(group.asked, scope) if group else 0,
        "target may be computed": (
            not scope.interval or not since or now_ms >= since + INTERVAL_MS
        ),
    }
    for number, process in enumerate(known):
        facts: dict[str, Any] = {"member": False}
        if (member := members.get(process.id)) is not None and group is not None:
            facts = _member(member, group, scope)
            facts["target"] = mask(targets.get(process.id, ()), scope)
            facts["session timer"] = f"session-timeout-g-{process.id}" in memory.armed
        found |= {f"{what} {number}": value for what, value in facts.items()}
    return found


def _member(member: ShareMember, group: ShareMemory, scope: ShareScope) -> dict[str, Any]:
    previous = Previous.ZERO if member.previous_epoch == 0 else Previous.OLDER
    return {
        "member": True,
        "at the epoch of the target": member.epoch == group.assignment_epoch,
        "previous epoch": previous.name,
        "assigned": mask(member.assigned, scope),
        "topics": sum(scope.topic(int(topic[1:])) for topic in member.topics),
    }
