"""kafka-python's assignors, asked as its leader asks them: the members' metadata goes through the
wire format first. From 3 on an assignor is an object for each consumer; before, it is a class.
"""

from __future__ import annotations

from collections import namedtuple
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from groupcheck.model.assignors import Group, Member, Partitions
from groupcheck.oracles.assignment.against.libraries.in_process import (
    Cluster,
    asking,
    class_code,
    fresh,
    installed,
    listed,
    offered_by,
    quiet,
    read,
)
from groupcheck.oracles.assignment.against.libraries.on_class import Wire, offered_on_class
from groupcheck.oracles.assignment.against.offered import Claim, Library, OfferedAssignor
from groupcheck.oracles.assignment.validity import Assigned
from groupcheck.oracles.kafka.values import by_topic

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

{assignor}
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
    """The installed version. Raises `ImportError` if there is none."""
    return installed("kafka-python", MODULES, offered, quietly)


def offered(assignor: Any, name: str, like: str | None, near: str | None = None) -> OfferedAssignor:
    """One class of kafka-python's, or one that is derived from its AbstractPartitionAssignor; an
    object of such a class, or a function that makes one. `near`: a module that names it.
    """
    wire = _wire_before_3()
    if wire is not None:
        return offered_on_class(assignor, name, like, wire, near)
    return offered_by(_Assignor(assignor, near), name, like)


def _wire_before_3() -> Wire | None:
    """The messages of the installed version if it is older than 3; None if it is not."""
    try:
        protocol = import_module("kafka.coordinator.protocol")
    except ImportError:
        return None
    version = "_v0" if hasattr(protocol, "ConsumerProtocolMemberMetadata_v0") else ""
    names = (
        f"ConsumerProtocolMemberMetadata{version}",
        f"ConsumerProtocolMemberAssignment{version}",
    )
    if not all(hasattr(protocol, name) for name in names):
        return None
    subscription = "kafka.coordinator.subscription"
    tells_instances = find_spec(subscription) is not None
    seen = (subscription, "Subscription") if tells_instances else ("", "")
    return Wire(protocol.__name__, *names, seen)


class _Assignor:
    def __init__(self, assignor: Any, near: str | None) -> None:
        self.make = fresh(assignor)
        self.assignor = self.make()
        self.start = CODE.format(assignor=class_code(assignor, near))

    def sent(self, topics: list[str], owned: Partitions | None, generation: int) -> Any:
        from kafka.protocol.consumer.metadata import (
            ConsumerProtocolAssignment,
            ConsumerProtocolSubscription,
        )

        assignor = self.make()
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
        return listed(self.make().assign(Cluster(dict(group.topics)), joined))

    def claim_of(self, owned: Partitions, generation: int) -> Claim:
        topics = sorted({topic for topic, _ in owned})
        return read(self.assignor, self.sent(topics, owned, generation))

    def of_a_newcomer(self, owned: Partitions, generation: int) -> Claim:
        self.sent(["t"], owned, generation)
        return read(self.assignor, self.sent(["t"], None, -1))

    def code(self, *groups: Group) -> str:
        return asking(self.start, "Assignor()", ((one, self.members(one)) for one in groups))

    def members(self, group: Group) -> str:
        lines = []
        for m in group.members:
            claim = "" if (owned := _claim(m)) is None else f", {by_topic(owned)!r}, {m.generation}"
            lines.append(
                f"    Joined({m.id!r}, {m.instance!r}, sent({sorted(m.topics)!r}{claim})),\n"
            )
        return f"[\n{''.join(lines)}]"

    def claim_code(self, owned: Partitions, generation: int) -> str:
        topics = sorted({topic for topic, _ in owned})
        sent = f"sent({topics!r}, {by_topic(owned)!r}, {generation})"
        return f"{self.start}print(Assignor().parse_member_metadata({sent}))\n"

    def newcomer_code(self, owned: Partitions, generation: int) -> str:
        first = f"sent(['t'], {by_topic(owned)!r}, {generation})"
        return f"{self.start}{first}\nprint(Assignor().parse_member_metadata(sent(['t'])))\n"


def _claim(member: Member) -> Partitions | None:
    """The claim of the member. None, not an empty claim, if it was never assigned anything."""
    return member.owned if member.generation >= 0 else None
