"""Kafka's assignors as pure functions: those of the client (KIP-54, KIP-429, KIP-881), those of
KIP-848's coordinator, and that of Connect's leader (KIP-415).
"""

from groupcheck.model.assignors.client_range import range_
from groupcheck.model.assignors.connect.partitions import connect_tasks
from groupcheck.model.assignors.group import (
    Assignment,
    Group,
    Member,
    NoAssignment,
    Partition,
    Partitions,
    partitions,
)
from groupcheck.model.assignors.round_robin import round_robin
from groupcheck.model.assignors.server_range import server_range
from groupcheck.model.assignors.sticky import cooperative_sticky, sticky
from groupcheck.model.assignors.uniform import uniform

__all__ = [
    "Assignment",
    "Group",
    "Member",
    "NoAssignment",
    "Partition",
    "Partitions",
    "connect_tasks",
    "cooperative_sticky",
    "partitions",
    "range_",
    "round_robin",
    "server_range",
    "sticky",
    "uniform",
]
