"""What a member of a consumer group (KIP-848) has, as far as its heartbeats tell: what it says that
it has, and what it was told to have. Until it says that it has given a partition up, it has it.
"""

from __future__ import annotations

from attrs import define

from groupcheck.traces.exchanges.exchange import EpochExchange

LEAVES, AWAY = -1, -2
"""The epochs with which a member leaves, and with which a static member goes away for a while."""


@define
class EpochShare:
    """One member's."""

    # The partitions that it said it has, and those of its last assignment.
    has: frozenset[str] = frozenset()
    told: frozenset[str] = frozenset()

    @property
    def all(self) -> frozenset[str]:
        """What it may use."""
        return self.has | self.told

    @property
    def revoking(self) -> frozenset[str]:
        """What it has to give up."""
        return self.has - self.told

    def observe(self, e: EpochExchange) -> bool:
        """Takes a heartbeat that was answered without an error; tells whether it changed anything.

        A full heartbeat whose answer repeats no assignment leaves it as it was.
        """
        before = self.told, self.revoking, self.all
        self.has = self.all if e.owned is None else e.owned
        self.told = self.told if e.assigned is None else e.assigned
        return before != (self.told, self.revoking, self.all)
