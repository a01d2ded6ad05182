"""Kafka Connect's assignors as pure functions: the incremental cooperative one (KIP-415), with the
versions that it had, and the eager one.
"""

from groupcheck.model.assignors.connect.order import listed, running
from groupcheck.model.assignors.connect.perform import leader_config, perform_assignment
from groupcheck.model.assignors.connect.releases import CURRENT, SINCE, Release, of_version
from groupcheck.model.assignors.connect.values import (
    NOTHING,
    Answer,
    Assigned,
    AssignmentError,
    Config,
    ConnectProtocol,
    Memory,
    Round,
    Task,
    Work,
    Worker,
    work,
)

__all__ = [
    "CURRENT",
    "NOTHING",
    "SINCE",
    "Answer",
    "Assigned",
    "AssignmentError",
    "Config",
    "ConnectProtocol",
    "Memory",
    "Release",
    "Round",
    "Task",
    "Work",
    "Worker",
    "leader_config",
    "listed",
    "of_version",
    "perform_assignment",
    "running",
    "work",
]
