"""The bounds within which a group of Connect workers is explored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from attrs import frozen

from groupcheck.model.engine import ScopeError
from groupcheck.model.protocol.bounds import TRUTH, between, bound
from groupcheck.model.protocol.classic.scope import Scope

LACKS: Mapping[str, str] = {"late_commit": "a worker commits nothing to the group of the workers"}
MORE: Mapping[str, str] = {
    "unreachable": (
        "A worker does not find the coordinator for longer than heartbeat.interval.ms: it stops its"
        " work, and joins again when it can."
    ),
    "config_update": (
        "The last task is deleted from the topic of configurations, or created again."
    ),
}
ASSIGNORS: Mapping[str, str] = {
    "incremental": (
        "Each worker keeps what it reports, up to its share; what is lost waits for the delay"
        " (IncrementalCooperativeAssignor). Every order of the workers' ids is a choice."
    ),
}


@frozen
class ConnectScope(Scope):
    """The bounds of a run of a group of workers."""

    LACKS: ClassVar[Mapping[str, str]] = LACKS
    MORE: ClassVar[Mapping[str, str]] = MORE
    ASSIGNORS: ClassVar[Mapping[str, str]] = ASSIGNORS
    NO_STYLES: ClassVar[str] = "workers commit nothing"
    # A worker keeps its work while it joins.
    cooperative: ClassVar[bool] = True

    assignor: str = bound("incremental", "How the leader assigns the work.")
    partitions: int | None = bound(
        1, "Tasks of the one connector. Balance needs two or more.", between(1, 8)
    )
    connectors: int = bound(
        0,
        "Connectors that are dealt out beside the tasks. The leader deals both kinds out"
        " independently and in the same way.",
        between(0, 4),
    )
    delay: bool = bound(True, "Whether scheduled.rebalance.max.delay.ms is greater than 0.", TRUTH)

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        if self.phases:
            raise ScopeError(
                "a fail-over is one step here: its phases were not composed with workers",
                where="scope",
                do="leave phases out, or check classic with phases=yes",
            )
        if not self.atomic_complete:
            raise ScopeError(
                "workers take over their work in the step of the answer", where="scope"
            )
        if self.protocols:
            raise ScopeError(
                "workers list versions of Connect's protocol, no assignors",
                where="scope",
                do="check connect_versions with connect_protocol=eager|compatible",
            )

    @property
    def task_count(self) -> int:
        return self.partitions or 0

    @property
    def partition_count(self) -> int:
        """Items of work: the tasks, and behind them the connectors."""
        return self.task_count + self.connectors

    def configured(self, version: int) -> int:
        """The work that exists in a version of the configurations, as a bit mask: all of it, or in
        every second version all but the last task.
        """
        everything = (1 << self.partition_count) - 1
        return everything & ~(1 << self.task_count - 1) if version % 2 else everything

    def looks_at_claims(self, assignor: int | None) -> bool:
        """The leader makes its plan before it sends SyncGroup (see `leader`)."""
        return False
