"""The bounds of a run, and how Kafka's weak points of migration are read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from attrs import frozen

from groupcheck.model.protocol.bounds import bound, one_of
from groupcheck.model.protocol.consumer.scope import AS_KAFKA, FAULTS, MENDED, ConsumerScope

# group.consumer.migration.policy: what may become what.
POLICIES: Mapping[str, tuple[bool, bool]] = {
    "bidirectional": (True, True),
    "upgrade": (True, False),
    "downgrade": (False, True),
    "disabled": (False, False),
}
OF_TIMERS = ("session_timeout", "rebalance_timeout", "fail_over")
MORE: Mapping[str, str] = {
    "join_timeout": "The coordinator waits no longer for a classic member to join again.",
    "sync_timeout": "The coordinator waits no longer for the SyncGroup of a classic member.",
}
MIGRATION_FAULTS: Mapping[str, str] = {**{name: FAULTS[name] for name in OF_TIMERS}, **MORE}


def _finding(told: str) -> Any:
    """A field for a point at which Kafka is weak. `told`: what Kafka does."""
    return bound(MENDED, f"`as_kafka`: {told} `mended`: it does not.", one_of((MENDED, AS_KAFKA)))


@frozen
class MigrationScope(ConsumerScope):
    """The bounds of a run, and the readings."""

    LACKS: ClassVar[Mapping[str, str]] = {
        name: "members are every client that there could be, and appends succeed"
        for name in FAULTS
        if name not in OF_TIMERS
    }
    MORE: ClassVar[Mapping[str, str]] = MORE
    APART: ClassVar[tuple[str, ...]] = ()

    requests: str = bound(
        "anybody", "Who sends requests: any client that there could be.", one_of(("anybody",))
    )
    policy: str = bound(
        "bidirectional",
        "group.consumer.migration.policy: which kind of group may become the other one.",
        one_of((*POLICIES,)),
    )
    k15: str = _finding(
        "(4.3.0 and newer) a classic member in a group that is ahead of its target is not told to"
        " join again, so classic members alone never get another target."
    )
    k21: str = _finding(
        "after a fail-over a classic member has the session timeout of consumer groups, not its"
        " own."
    )

    @property
    def upgrades(self) -> bool:
        """May a classic group become a consumer group?"""
        return POLICIES[self.policy][0]

    @property
    def downgrades(self) -> bool:
        """May a consumer group become a classic group?"""
        return POLICIES[self.policy][1]
