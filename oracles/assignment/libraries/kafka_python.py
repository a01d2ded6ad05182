"""kafka-python's assignors, asked as its leader asks them: members' metadata goes through the wire
format first.
"""

from __future__ import annotations

from collections import namedtuple
from functools import partial
from importlib import metadata
from typing import Any

from groupcheck.model.assignors import Group, Member, Partitions
from groupcheck.oracles.assignment.libraries.in_process import (
    CLUSTER,
    Cluster,
    listed,
    quiet,
)
from groupcheck.oracles.assignment.offered import Claim, Claims, Library, Offered, by_topic
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
quietly = partial(quiet, "kafka")
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

    version = metadata.version("kafka-python")
    found = []
    for name, (module, class_name) in MODULES.items():
        try:
            assignor = getattr(importlib.import_module(module), class_name)
        except (ImportError, AttributeError):
            if name == "range":
                raise
            continue  # older versions offer fewer
        found.append(offered(assignor, name, name))
    return Library("kafka-python", version, tuple(found), quietly)


def offered(assignor: type, name: str, like: str | None) -> Offered:
    """One class of kafka-python's, or one that is derived from its AbstractPartitionAssignor."""
    asked = _Assignor(assignor)
    claims = (
        Claims(asked.told, asked.of_a_newcomer, asked.told_code, asked.newcomer_code)
        if hasattr(assignor, "parse_member_metadata")
        else None
    )
    return Offered(name, like, asked.solve, asked.code, claims)


class _Assignor:
    def __init__(self, assignor: Any) -> None:
        self.assignor = assignor
        self.start = CODE.format(module=assignor.__module__, name=assignor.__qualname__)

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
        return listed(self.assignor().assign(Cluster(dict(group.topics)), joined))

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
