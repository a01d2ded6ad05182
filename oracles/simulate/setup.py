"""The setup of a simulation, and its result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
from attrs import field, fields, frozen

from groupcheck.oracles.simulate.assumptions import Assumptions
from groupcheck.oracles.simulate.background import Happens
from groupcheck.oracles.simulate.lag import Lag
from groupcheck.oracles.simulate.scenarios import Course, changed
from groupcheck.oracles.simulate.simulate_types import Measures


@frozen(kw_only=True)
class Setup:
    """One simulation. Equal setups give equal results."""

    # The name of a variant (`groupcheck list variants`), and of a scenario (`SCENARIOS`).
    variant: str = "classic"
    scenario: str = "scale-out"
    # The members that the group has at most, and the partitions of its one topic.
    members: int = 100
    partitions: int = 100
    # All members are static ones. Of `consumer` alone: static members of the classic protocol are
    # variants of their own.
    static: bool = False
    seed: int = 0
    # Virtual time: the run ends then, or once the group rests (if `until_rest`). None: long enough
    # for the scenario (`simulation.lasting`).
    seconds: float | None = None
    until_rest: bool = True
    assumptions: Assumptions = field(factory=Assumptions)
    # What happens, in place of what the scenario would do at this size and seed.
    course: Course | None = None
    # What happens besides, at random.
    background: tuple[Happens, ...] = ()

    @property
    def stated(self) -> Assumptions:
        """The assumptions with what the scenario says where they say nothing."""
        if self.course is not None:
            return self.assumptions
        return changed(self.scenario, self.members, self.assumptions)

    @property
    def draws(self) -> str:
        """What seeds the draws: groups of different sizes are different samples, whereas variants
        of one size see the same latencies.
        """
        return f"{self.seed}/{self.members}/{self.partitions}"

    def with_(self, **changes: Any) -> Setup:
        """The same setup with some fields, or assumptions, replaced."""
        own = {k: v for k, v in changes.items() if k in attrs.fields_dict(Setup)}
        rest = {k: v for k, v in changes.items() if k not in own}
        own.setdefault("assumptions", attrs.evolve(self.assumptions, **rest))
        return attrs.evolve(self, **own)


@frozen(kw_only=True)
class Result:
    """The cost of a rebalance. Durations are in milliseconds of virtual time, from the begin of the
    scenario where it is a moment.
    """

    setup: Setup
    # The longest pause of any member, the sum of all, how many members paused; and the longest
    # pause of each (0 where it never paused), by index. A pause ends at the latest when the
    # scenario stops the member.
    longest_pause_ms: float
    total_pause_ms: float
    paused_members: int
    pauses_ms: tuple[float, ...]
    # The sum of the pauses of each, by index.
    stood_ms: tuple[float, ...]
    # From the start of a process until it has its share: the longest.
    longest_start_ms: float
    # Until nothing changed any more; None: the group did not come to rest.
    settled_ms: float | None
    # Generations that began.
    rounds: int
    # How often a round gave a member a partition that another one had had before.
    moved_partitions: int
    # How often the session of a process that ran expired.
    false_expiries: int
    # Name of a request -> how many were sent until the end of the run.
    requests: Mapping[str, int]
    # Bytes of all answers to JoinGroup.
    join_answer_bytes: int
    lag: Lag
    # When the run ended.
    ended_ms: float

    @property
    def cut(self) -> bool:
        """Was the run ended before its time?"""
        early = self.ended_ms < 1000 * (self.setup.seconds or 0.0)
        return early and (self.settled_ms is None or not self.setup.until_rest)

    @property
    def measures(self) -> dict[str, float]:
        """The figures that are compared, by name; what never ended is infinite."""
        inf = float("inf")
        return {
            "longest_pause_ms": self.longest_pause_ms,
            "total_pause_ms": self.total_pause_ms,
            "paused_members": float(self.paused_members),
            "longest_start_ms": self.longest_start_ms,
            "settled_ms": inf if self.settled_ms is None else self.settled_ms,
            "rounds": float(self.rounds),
            "moved_partitions": float(self.moved_partitions),
            "false_expiries": float(self.false_expiries),
            "requests": float(sum(self.requests.values())),
            "join_answer_bytes": float(self.join_answer_bytes),
            "stopped_partitions": float(self.lag.stopped_partitions),
            "stopped_total_ms": self.lag.stopped_total_ms,
            "stopped_longest_ms": self.lag.stopped_longest_ms,
            "lag_built_records": self.lag.built_records,
            "lag_peak_records": self.lag.peak_records,
            "lag_peak_behind_ms": self.lag.peak_behind_ms,
            "lag_recovered_ms": inf if self.lag.recovered_ms is None else self.lag.recovered_ms,
        }


MEASURES = tuple(one.name for one in fields(Measures))
"""The names of `Result.measures`; a test compares them."""
