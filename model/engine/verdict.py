"""What an exploration answers: holds, violated or unknown, with the numbers and the paths that show
it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from attrs import field, frozen

from groupcheck.model.engine.errors import shown

HOLDS: Literal["holds"] = "holds"
VIOLATED: Literal["violated"] = "violated"
UNKNOWN: Literal["unknown"] = "unknown"
DEADLOCK = "deadlock"
EXPLORED = "every state of the scope was explored"  # how the reason of a whole search begins

Kind = Literal["holds", "violated", "unknown"]


@frozen
class Firing:
    """One outcome of one rule: `name` is `rule` or `rule:label`, `me` the index (None for a rule
    without one), `choice` its number among the outcomes.
    """

    name: str
    me: int | None
    choice: int


@frozen
class Step:
    """One transition: an ordinary rule's outcome, the urgent outcomes that followed inside it, and
    the state after it.
    """

    firing: Firing
    urgent: tuple[Firing, ...]
    state: tuple[Any, ...] = field(repr=shown)


@frozen
class Path:
    """A path from an initial state. `places` names the values of a state: (slot, index or None) in
    order.

    `settled` are urgent firings that brought the initial state to rest, `initial` is that state at
    rest.
    """

    places: tuple[tuple[str, int | None], ...]
    initial: tuple[Any, ...] = field(repr=shown)
    settled: tuple[Firing, ...]
    steps: tuple[Step, ...]

    @property
    def states(self) -> tuple[tuple[Any, ...], ...]:
        return (self.initial, *(s.state for s in self.steps))


@frozen
class Violation:
    """An invariant (or `deadlock`) that falls: where, along which shortest path, and a `key` that
    replays it.
    """

    invariant: str
    statement: str
    depth: int
    path: Path
    key: str


@frozen
class Limits:
    """Where an exploration gives up with `unknown`; None: no limit.

    `memory`: bytes of resident memory of the whole process. `memory_of`: whose limit it is, in
    words, where the user gave none.
    """

    states: int | None = None
    seconds: float | None = None
    memory: int | None = None
    memory_of: str = ""

    def reached(self, states: int, seconds: float, level: int) -> str:
        """Which limit but that of memory is reached, in words; empty if none is."""
        if self.states is not None and states > self.states:
            return f"stopped at the limit of {self.states:,} states in level {level}"
        if self.seconds is not None and seconds > self.seconds:
            return f"stopped at the limit of {self.seconds:g} seconds in level {level}"
        return ""


@frozen
class Progress:
    """A glance at a run under way; `frontier` states of the current level are still to be expanded,
    `memory` bytes of the process are resident.
    """

    states: int
    transitions: int
    level: int
    frontier: int
    seconds: float
    memory: int
    compiling: bool = False


@frozen
class Verdict:
    """The answer and its numbers (meaning and units: see the command line's contract in
    ARCHITECTURE.md).

    `depth` counts levels (the initial states are level 1); a goal's and a violation's depth counts
    steps from an initial state; `rules` maps every `rule` or `rule:label` to how often it fired,
    `goals` every goal to the depth at which it was first met, or None.
    `distribution`: of a distributed search, how the work was spread, as plain JSON.
    """

    spec: str
    scope: Any = field(repr=shown)
    verdict: Kind
    reason: str
    states: int
    transitions: int
    depth: int
    seconds: float
    rule_calls: int
    bytes_per_state: float
    rules: Mapping[str, int] = field(factory=dict)
    goals: Mapping[str, int | None] = field(factory=dict)
    violations: tuple[Violation, ...] = ()
    notes: tuple[str, ...] = ()
    distribution: Mapping[str, Any] | None = None

    @property
    def complete(self) -> bool:
        """Was every state of the scope explored? (A violation ends a search early.)"""
        return self.reason.startswith(EXPLORED)

    @property
    def never_fired(self) -> tuple[str, ...]:
        """The outcomes that this search never saw."""
        return tuple(name for name, count in self.rules.items() if not count)

    @property
    def goals_not_met(self) -> tuple[str, ...]:
        """The goals that this search never met."""
        return tuple(name for name, depth in self.goals.items() if depth is None)
