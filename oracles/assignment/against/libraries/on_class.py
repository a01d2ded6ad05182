"""Assignors that keep what was assigned on their class and are asked with a mapping of members:
aiokafka's, and kafka-python's before 3. An object of such a class keeps it for itself.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from attrs import evolve, frozen

from groupcheck.model.assignors import Group, Member, Partitions
from groupcheck.oracles.assignment.against.libraries.in_process import (
    Cluster,
    asking,
    class_code,
    fresh,
    listed,
    offered_by,
    read,
)
from groupcheck.oracles.assignment.against.offered import Claim, OfferedAssignor
from groupcheck.oracles.assignment.validity import Assigned
from groupcheck.oracles.kafka.values import by_topic

# The state of the sticky class before anything was assigned.
NEW = {"member_assignment": None, "generation": -1}
CODE = '''{assignor}
{imports}

def consumer(assigned=None, generation=-1, alone=True):
    """What a consumer was assigned, in that generation, is kept on the class; \
alone: as in a process of its own."""
    assignor = {own} if alone else {shared}
    if assigned is not None:
        assignor.on_assignment({assignment}(0, list(assigned.items()), b""))
        assignor.on_generation_assignment(generation)
    return assignor


def sent(assignor, topics, instance=None):
    """A member's metadata, as the leader reads it."""
    told = assignor.metadata(topics)
    return {sent}


'''


@frozen
class Wire:
    """Where a library has the messages that its members send and get."""

    module: str
    metadata: str
    assignment: str
    # The module and the class that show the leader a member's metadata with its instance; empty if
    # the leader does not see that.
    subscription: tuple[str, str] = ("", "")

    @property
    def imports(self) -> str:
        """Lines of code."""
        module, name = self.subscription
        more = f"from {module} import {name}\n" if name else ""
        return f"from {self.module} import \\\n{self.assignment}, {self.metadata}\n{more}"

    def given(self, owned: Partitions) -> Any:
        """The message that gives a member these partitions."""
        message = getattr(import_module(self.module), self.assignment)
        return message(0, list(by_topic(owned).items()), b"")

    def read(self, sent: bytes, instance: str | None) -> Any:
        """What the leader sees of a member that sent this."""
        told = getattr(import_module(self.module), self.metadata).decode(sent)
        module, name = self.subscription
        return getattr(import_module(module), name)(told, instance) if name else told

    @property
    def read_code(self) -> str:
        told = f"{self.metadata}.decode(told.encode())"
        return f"{self.subscription[1]}({told}, instance)" if self.subscription[1] else told


def offered_on_class(
    assignor: Any, name: str, like: str | None, wire: Wire, near: str | None = None
) -> OfferedAssignor:
    """A class, an object of one, or a function that makes one. `near`: a module that names it."""
    offered = offered_by(_Assignor(assignor, wire, near), name, like)
    return evolve(offered, reads_instances=bool(wire.subscription[1]))


class _Assignor:
    def __init__(self, assignor: Any, wire: Wire, near: str | None) -> None:
        self.wire, self._made = wire, assignor
        self.is_class = isinstance(assignor, type)
        self.assignor = assignor if self.is_class else fresh(assignor)()
        self.start = CODE.format(
            assignor=class_code(assignor, near),
            imports=wire.imports,
            own='type("Assignor", (Assignor,), {})' if self.is_class else "Assignor()",
            shared="Assignor" if self.is_class else "Assignor()",
            assignment=wire.assignment,
            sent=wire.read_code,
        )

    def keeps(self, member: Member) -> bool:
        """Its assignor remembers that it was assigned something."""
        return member.generation >= 0 and hasattr(self.assignor, "on_generation_assignment")

    def own(self) -> Any:
        """The assignor as it is in a process of its own."""
        if not self.is_class:
            return fresh(self._made)()
        new = {name: value for name, value in NEW.items() if hasattr(self.assignor, name)}
        return type("Assignor", (self.assignor,), new)

    def was_assigned(self, assignor: Any, owned: Partitions, generation: int) -> Any:
        assignor.on_assignment(self.wire.given(owned))
        assignor.on_generation_assignment(generation)
        return assignor

    def sent(self, assignor: Any, topics: list[str], instance: str | None = None) -> Any:
        told = assignor.metadata(topics)  # kept: kafka-python 2 encodes by a weak reference
        return self.wire.read(told.encode(), instance)

    def solve(self, group: Group) -> Assigned:
        members = {}
        for m in group.members:
            assignor = self.own()
            if self.keeps(m):
                self.was_assigned(assignor, m.owned, m.generation)
            members[m.id] = self.sent(assignor, sorted(m.topics), m.instance)
        return listed(self.own().assign(Cluster(dict(group.topics)), members))

    def claim_of(self, owned: Partitions, generation: int) -> Claim:
        assignor = self.was_assigned(self.own(), owned, generation)
        return read(self.assignor, self.sent(assignor, sorted({topic for topic, _ in owned})))

    def of_a_newcomer(self, owned: Partitions, generation: int) -> Claim:
        # The library's class in a process: both consumers are given the same one.
        process = self.was_assigned(self.own(), owned, generation)
        return read(self.assignor, self.sent(process if self.is_class else self.own(), ["t"]))

    def code(self, *groups: Group) -> str:
        assignor = "Assignor" if self.is_class else "Assignor()"
        return asking(self.start, assignor, ((one, self.members(one)) for one in groups))

    def members(self, group: Group) -> str:
        lines = []
        for m in group.members:
            claim = f"{by_topic(m.owned)!r}, {m.generation}" if self.keeps(m) else ""
            told = self.wire.subscription[1] and m.instance is not None
            instance = f", {m.instance!r}" if told else ""
            topics = sorted(m.topics)
            lines.append(f"    {m.id!r}: sent(consumer({claim}), {topics!r}{instance}),\n")
        return f"{{\n{''.join(lines)}}}"

    def claim_code(self, owned: Partitions, generation: int) -> str:
        member = f"consumer({by_topic(owned)!r}, {generation})"
        sent = f"sent({member}, {sorted({topic for topic, _ in owned})!r})"
        return f"{self.start}print(consumer().parse_member_metadata({sent}))\n"

    def newcomer_code(self, owned: Partitions, generation: int) -> str:
        one = f"consumer({by_topic(owned)!r}, {generation}, alone=False)"
        other = "other = consumer(alone=False)  # another one, of another group"
        return (
            f"{self.start}{one}  # one consumer of this process\n{other}\n"
            "print(other.parse_member_metadata(sent(other, ['t'])))\n"
        )
