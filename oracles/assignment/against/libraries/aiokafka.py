"""aiokafka's assignors, asked as its leader asks them. An assignor is a class and never becomes an
object: what a member was assigned is kept on the class itself. The leader is not told the members'
`group.instance.id`.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from groupcheck.oracles.assignment.against.libraries.in_process import installed, quiet
from groupcheck.oracles.assignment.against.libraries.on_class import Wire, offered_on_class
from groupcheck.oracles.assignment.against.offered import Library, OfferedAssignor

MODULES = {
    "range": ("aiokafka.coordinator.assignors.range", "RangePartitionAssignor"),
    "roundrobin": ("aiokafka.coordinator.assignors.roundrobin", "RoundRobinPartitionAssignor"),
    "sticky": ("aiokafka.coordinator.assignors.sticky.sticky_assignor", "StickyPartitionAssignor"),
}
WIRE = Wire(
    "aiokafka.coordinator.protocol",
    "ConsumerProtocolMemberMetadata",
    "ConsumerProtocolMemberAssignment",
)
quietly = partial(quiet, "aiokafka")


def library() -> Library:
    """The installed version. Raises `ImportError` if there is none."""
    return installed("aiokafka", MODULES, offered, quietly)


def offered(assignor: Any, name: str, like: str | None, near: str | None = None) -> OfferedAssignor:
    """One class of aiokafka's, or one that is derived from its AbstractPartitionAssignor; an object
    of such a class, or a function that makes one. `near`: a module that names it.
    """
    return offered_on_class(assignor, name, like, WIRE, near)
