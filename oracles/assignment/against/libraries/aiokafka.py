"""aiokafka's assignors, asked as its leader asks them. An assignor is a class and never becomes an
object: what a member was assigned is kept on the class itself.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from attrs import evolve

from groupcheck.model.assignors import Group, Member, Partitions
from groupcheck.oracles.assignment.against.libraries.in_process import (
    Cluster,
    asking,
    class_code,
    installed,
    listed,
    offered_by,
    quiet,
    read,
)
from groupcheck.oracles.assignment.against.offered import Claim, Library, Offered
from groupcheck.oracles.assignment.validity import Assigned
from groupcheck.oracles.kafka.values import by_topic

MODULES = {
    "range": ("aiokafka.coordinator.assignors.range", "RangePartitionAssignor"),
    "roundrobin": ("aiokafka.coordinator.assignors.roundrobin", "RoundRobinPartitionAssignor"),
    "sticky": ("aiokafka.coordinator.assignors.sticky.sticky_assignor", "StickyPartitionAssignor"),
}
# The state of the sticky class before anything was assigned.
NEW = {"member_assignment": None, "generation": -1}
quietly = partial(quiet, "aiokafka")
CODE = '''{assignor}
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
    """The installed version. Raises `ImportError` if there is none."""
    return installed("aiokafka", MODULES, offered, quietly)


def offered(assignor: type, name: str, like: str | None) -> Offered:
    """One class of aiokafka's, or one that is derived from its AbstractPartitionAssignor. The
    library does not tell it the members' `group.instance.id`.
    """
    return evolve(offered_by(_Assignor(assignor), name, like), reads_instances=False)


class _Assignor:
    def __init__(self, assignor: Any) -> None:
        self.assignor = assignor
        self.start = CODE.format(assignor=class_code(assignor))

    def keeps(self, member: Member) -> bool:
        """Its assignor remembers that it was assigned something."""
        return member.generation >= 0 and hasattr(self.assignor, "on_generation_assignment")

    def own(self) -> Any:
        """The class as it is in a process of its own."""
        new = {name: value for name, value in NEW.items() if hasattr(self.assignor, name)}
        return type("Assignor", (self.assignor,), new)

    def was_assigned(self, assignor: Any, owned: Partitions, generation: int) -> Any:
        from aiokafka.coordinator.protocol import ConsumerProtocolMemberAssignment

        given = list(by_topic(owned).items())
        assignor.on_assignment(ConsumerProtocolMemberAssignment(0, given, b""))
        assignor.on_generation_assignment(generation)
        return assignor

    def sent(self, assignor: Any, topics: list[str]) -> Any:
        from aiokafka.coordinator.protocol import ConsumerProtocolMemberMetadata

        return ConsumerProtocolMemberMetadata.decode(assignor.metadata(topics).encode())

    def solve(self, group: Group) -> Assigned:
        members = {}
        for m in group.members:
            assignor = self.own()
            if self.keeps(m):
                self.was_assigned(assignor, m.owned, m.generation)
            members[m.id] = self.sent(assignor, sorted(m.topics))
        return listed(self.own().assign(Cluster(dict(group.topics)), members))

    def claim_of(self, owned: Partitions, generation: int) -> Claim:
        assignor = self.was_assigned(self.own(), owned, generation)
        return read(self.assignor, self.sent(assignor, sorted({topic for topic, _ in owned})))

    def of_a_newcomer(self, owned: Partitions, generation: int) -> Claim:
        # The library's class in a process: both consumers are given the same one.
        process = self.was_assigned(self.own(), owned, generation)
        return read(self.assignor, self.sent(process, ["t"]))

    def code(self, *groups: Group) -> str:
        return asking(self.start, "Assignor", ((one, self.members(one)) for one in groups))

    def members(self, group: Group) -> str:
        lines = []
        for m in group.members:
            claim = f"{by_topic(m.owned)!r}, {m.generation}" if self.keeps(m) else ""
            lines.append(f"    {m.id!r}: sent(consumer({claim}), {sorted(m.topics)!r}),\n")
        return f"{{\n{''.join(lines)}}}"

    def claim_code(self, owned: Partitions, generation: int) -> str:
        member = f"consumer({by_topic(owned)!r}, {generation})"
        sent = f"sent({member}, {sorted({topic for topic, _ in owned})!r})"
        return f"{self.start}print(Assignor.parse_member_metadata({sent}))\n"

    def newcomer_code(self, owned: Partitions, generation: int) -> str:
        one = f"consumer({by_topic(owned)!r}, {generation}, alone=False)"
        other = "other = consumer(alone=False)  # another one, of another group"
        return (
            f"{self.start}{one}  # one consumer of this process\n{other}\n"
            "print(Assignor.parse_member_metadata(sent(other, ['t'])))\n"
        )
