"""kafka-python's assignors, asked as its leader asks them: members' metadata goes through the wire
format first.
"""

from __future__ import annotations

from collections import namedtuple
from importlib import metadata
from typing import Any

from groupcheck.model.assignors import Group, Member, Partitions
from groupcheck.oracles.assignment.libraries.in_process import CLUSTER, Cluster, quiet
from groupcheck.oracles.assignment.offered import (
    Claim,
    Claims,
    Library,
    Offered,
    assigned,
    by_topic,
)
from groupcheck.oracles.assignment.validity import Assigned

MODULES = {
    "range": ("kafka.coordinator.assignors.range", "RangePartitionAssignor"),
    "roundrobin": ("kafka.coordinator.assignors.roundrobin", "RoundRobinPartitionAssignor"),
    "sticky": ("kafka.coordinator.assignors.sticky.sticky_assignor", "StickyPartitionAssignor"),
    "cooperative-sticky": (
        "kafka.coordinator.assignors.cooperative_sticky",
        "CooperativeStickyAssignor",
    ),
}
Joined = namedtuple("Joined", "member_id group_instance_id metadata")
CODE = '''from collections import namedtuple

from {module} import {name} as Assignor
from kafka.protocol.consumer.metadata import \
ConsumerProtocolAssignment, ConsumerProtocolSubscription

Joined = namedtuple("Joined", "member_id group_instance_id metadata")


def sent(topics, owned=None, generation=-1):
    """The metadata of a member that was assigned this in that generation, \
as the leader reads it."""
    assignor = Assignor()
    if owned is not None:
        assignor.on_assignment(ConsumerProtocolAssignment(0, list(owned.items()), b""), generation)
    return ConsumerProtocolSubscription.decode(assignor.metadata(topics).encode())


'''


def library() -> Library:
    """The installed one. Raises `ImportError` where there is none."""
    import importlib

    quiet("kafka")
    version = metadata.version("kafka-python")
    offered = []
    for name, (module, class_name) in MODULES.items():
        try:
            assignor = getattr(importlib.import_module(module), class_name)
        except (ImportError, AttributeError):
            if name == "range":
                raise
            continue  # older versions offer fewer
        offered.append(
            _Assignor(name, assignor, CODE.format(module=module, name=class_name)).offered()
        )
    return Library("kafka-python", version, tuple(offered))


class _Assignor:
    def __init__(self, name: str, assignor: Any, code: str) -> None:
        self.name, self.assignor, self.start = name, assignor, code

    def offered(self) -> Offered:
        claims = (
            Claims(self.told, self.of_a_newcomer, self.told_code, self.newcomer_code)
            if "sticky" in self.name
            else None
        )
        return Offered(self.name, self.name, self.solve, self.code, claims)

    def sent(self, topics: list[str], owned: Partitions | None, generation: int) -> Any:
        from kafka.protocol.consumer.metadata import (
            ConsumerProtocolAssignment,
            ConsumerProtocolSubscription,
        )

        assignor = self.assignor()
        if owned is not None:
            assignor.on_assignment(
                ConsumerProtocolAssignment(0, list(by_topic(owned).items()), b""), generation
            )
        return ConsumerProtocolSubscription.decode(assignor.metadata(topics).encode())

    def solve(self, group: Group) -> Assigned:
        joined = [
            Joined(m.id, m.instance, self.sent(sorted(m.topics), _claim(m), m.generation))
            for m in group.members
        ]
        answer = self.assignor().assign(Cluster(dict(group.topics)), joined)
        return assigned(
            {
                member: [(topic, p) for topic, numbers in given.assignment for p in numbers]
                for member, given in answer.items()
            }
        )

    def told(self, owned: Partitions, generation: int) -> Claim:
        read = self.assignor.parse_member_metadata(
            self.sent(sorted({topic for topic, _ in owned}), owned, generation)
        )
        return frozenset(map(tuple, read.partitions)), read.generation

    def of_a_newcomer(self, owned: Partitions, generation: int) -> Claim:
        self.sent(["t"], owned, generation)
        read = self.assignor.parse_member_metadata(self.sent(["t"], None, -1))
        return frozenset(map(tuple, read.partitions)), read.generation

    def code(self, group: Group) -> str:
        lines = []
        for m in group.members:
            claim = "" if (owned := _claim(m)) is None else f", {by_topic(owned)!r}, {m.generation}"
            lines.append(
                f"    Joined({m.id!r}, {m.instance!r}, sent({sorted(m.topics)!r}{claim})),\n"
            )
        asked = (
            f"members = [\n{''.join(lines)}]\nfor member, given in"
            f" Assignor().assign(Cluster({dict(group.topics)!r}), members).items():\n"
        )
        return f"{self.start}{CLUSTER}{asked}    print(member, given.assignment)\n"

    def told_code(self, owned: Partitions, generation: int) -> str:
        topics = sorted({topic for topic, _ in owned})
        return (
            f"{self.start}print(Assignor.parse_member_metadata(sent({topics!r},"
            f" {by_topic(owned)!r}, {generation})))\n"
        )

    def newcomer_code(self, owned: Partitions, generation: int) -> str:
        first = f"sent(['t'], {by_topic(owned)!r}, {generation})"
        return f"{self.start}{first}\nprint(Assignor.parse_member_metadata(sent(['t'])))\n"


def _claim(member: Member) -> Partitions | None:
    """A member that was never assigned anything claims nothing, not even that."""
    return member.owned if member.generation >= 0 else None
