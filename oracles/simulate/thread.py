"""The coordinator's one thread, which serves all groups of the broker's partition in the order in
which requests arrive.
"""

from __future__ import annotations

from typing import Generic, TypeVar

from attrs import define

from groupcheck.oracles.simulate.parts import SimulatedGroup

G = TypeVar("G", bound=SimulatedGroup)


@define(eq=False)
class Line:
    """What waits for one thread, of one group or of several."""

    # When the thread is done with all that has arrived.
    idle_at: float = 0.0


class Thread(Generic[G]):
    """When the thread is done with what it has to do."""

    def __init__(self, group: G) -> None:
        self.group = group
        self.line = Line()
        self._longer = 0.0  # by how much it is busy with the step at hand
        self._others_until = 0.0

    def work(self, now: float, service_ms: float) -> float:
        """The thread works on something that arrives now. Returns when it is done."""
        if self.group.assumptions.other_requests_per_s:
            self._serve_others(now)
        line = self.line
        line.idle_at = max(line.idle_at, now) + service_ms
        return line.idle_at

    def busy_until(self, done: float) -> None:
        """The thread is busy with the step at hand until then."""
        self.line.idle_at = max(self.line.idle_at, done)

    def plans(self) -> None:
        """The coordinator itself makes a plan in the step at hand."""
        group = self.group
        self._longer += group.assumptions.assign_ms_per_partition * group.observer.partitions

    def _serve_others(self, now: float) -> None:
        """The requests of other groups that have arrived meanwhile (a Poisson process)."""
        a, rng = self.group.assumptions, self.group.streams("others")
        gap_ms = 1000 / a.other_requests_per_s
        while self._others_until <= now:
            arrives = max(self.line.idle_at, self._others_until)
            self.line.idle_at = arrives + a.service_ms.draw(rng)
            self._others_until += rng.expovariate(1 / gap_ms)

    def rested(self) -> None:
        """Nothing has come for long, and it is 0 o'clock."""
        self.line.idle_at = self._others_until = 0.0
