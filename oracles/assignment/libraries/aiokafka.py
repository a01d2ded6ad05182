"""aiokafka's assignors, asked as its leader asks them. Its assignors are classes: what a member was
assigned is kept on the class itself.
"""

from __future__ import annotations

import importlib
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
    "range": ("aiokafka.coordinator.assignors.range", "RangePartitionAssignor"),
    "roundrobin": ("aiokafka.coordinator.assignors.roundrobin", "RoundRobinPartitionAssignor"),
    "sticky": ("aiokafka.coordinator.assignors.sticky.sticky_assignor", "StickyPartitionAssignor"),
}
NEW = {
    "member_assignment": None,
    "generation": -1,
}  # the state of the sticky class before anything was assigned
quietly = partial(quiet, "aiokafka")
CODE = '''from {module} import {name} as Assignor
from aiokafka.coordinator.protocol import \
ConsumerProtocolMemberAssignment, ConsumerProtocolMemberMetadata


def consumer(assigned=None, generation=-1, alone=True):
    """What a consumer was assigned, in that generation, is kept on the class; \
alone: as in a process of its own."""
    assignor = type("Assignor", (Assignor,), {{}}) if alone else Assignor
    if assigned is not None:
        assignor.on_assignment(ConsumerProtocolMemberAssignment(0, list(assigned.items()), b""))
        assignor.on_generation_assignment(generation)
    return assignor


def sent(assignor, topics):
    """A member's metadata, as the leader reads it."""
    return ConsumerProtocolMemberMetadata.decode(assignor.metadata(topics).encode())


'''


def library() -> Library:
    """The installed one. Raises `ImportError` where there is none."""
    found = (
        offered(getattr(importlib.import_module(module), class_name), name, name)
        for name, (module, class_name) in MODULES.items()
    )
    return Library("aiokafka", metadata.version("aiokafka"), tuple(found), quietly)


def offered(assignor: type, name: str, like: str | None) -> Offered:
    """One class of aiokafka's, or one that is derived from its AbstractPartitionAssignor."""
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

    def keeps(self, member: Member) -> bool:
        """Was it assigned anything that its assignor remembers?"""
        return member.generation >= 0 and hasattr(self.assignor, "on_generation_assignment")

    def own(self) -> Any:
        """The class as it is in a process of its own."""
        new = {name: value for name, value in NEW.items() if hasattr(self.assignor, name)}
        return type("Assignor", (self.assignor,), new)

    def was_assigned(self, assignor: Any, owned: Partitions, generation: int) -> Any:
        from aiokafka.coordinator.protocol import ConsumerProtocolMemberAssignment

        assignor.on_assignment(
            ConsumerProtocolMemberAssignment(0, list(by_topic(owned).items()), b"")
        )
        assignor.on_generation_assignment(generation)
        return assignor

    def sent(self, assignor: Any, topics: list[str]) -> Any:
        from aiokafka.coordinator.protocol import ConsumerProtocolMemberMetadata

        return ConsumerProtocolMemberMetadata.decode(assignor.metadata(topics).encode())

    def solve(self, group: Group) -> Assigned:
        members = {}
        for m in group.members:
            assignor = (
                self.was_assigned(self.own(), m.owned, m.generation)
                if self.keeps(m)
                else self.own()
            )
            members[m.id] = self.sent(assignor, sorted(m.topics))
        return listed(self.own().assign(Cluster(dict(group.topics)), members))

    def read(self, assignor: Any, topics: list[str]) -> Claim:
        claim = self.assignor.parse_member_metadata(self.sent(assignor, topics))
        return frozenset(map(tuple, claim.partitions)), claim.generation

    def told(self, owned: Partitions, generation: int) -> Claim:
        return self.read(
            self.was_assigned(self.own(), owned, generation), sorted({topic for topic, _ in owned})
        )

    def of_a_newcomer(self, owned: Partitions, generation: int) -> Claim:
        process = (
            self.own()
        )  # stands for the library's class in a process: both consumers are given the same one
        self.was_assigned(process, owned, generation)
        return self.read(process, ["t"])

    def code(self, group: Group) -> str:
        lines = []
        for m in group.members:
            claim = f"{by_topic(m.owned)!r}, {m.generation}" if self.keeps(m) else ""
            lines.append(f"    {m.id!r}: sent(consumer({claim}), {sorted(m.topics)!r}),\n")
        asked = (
            f"members = {{\n{''.join(lines)}}}\nfor member, given in"
            f" Assignor.assign(Cluster({dict(group.topics)!r}), members).items():\n"
        )
        return f"{self.start}{CLUSTER}{asked}    print(member, given.assignment)\n"

    def told_code(self, owned: Partitions, generation: int) -> str:
        member = f"consumer({by_topic(owned)!r}, {generation})"
        return (
            f"{self.start}print(Assignor.parse_member_metadata(sent({member},"
            f" {sorted({topic for topic, _ in owned})!r})))\n"
        )

    def newcomer_code(self, owned: Partitions, generation: int) -> str:
        one = (
            f"consumer({by_topic(owned)!r}, {generation}, alone=False)  # one consumer of this"
            " process"
        )
        other = "other = consumer(alone=False)  # another one, of another group"
        return (
            f"{self.start}{one}\n{other}\nprint(Assignor.parse_member_metadata(sent(other,"
            " ['t'])))\n"
        )
