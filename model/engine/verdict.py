"""The answer of an exploration: holds, violated or unknown, with the numbers and the paths that
show it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from attrs import field, frozen

from groupcheck.model.engine.errors import UserError, shown

HOLDS: Literal["holds"] = "holds"
VIOLATED: Literal["violated"] = "violated"
UNKNOWN: Literal["unknown"] = "unknown"
DEADLOCK = "deadlock"
NOT_ASKED = "not asked for"  # why a search did without symmetry
EXPLORED = "every state of the scope was explored"  # how the reason of a whole search begins

Kind = Literal["holds", "violated", "unknown"]


@frozen
class Firing:
    """One outcome of one rule."""

    # `rule` or `rule:label`.
    name: str
    # The index, of a rule with several the first one; None for a rule without one.
    me: int | None
    # The number of the outcome among those of the same call, from 0.
    choice: int
    # The other indexes of a rule with several.
    others: tuple[int, ...] = ()


@frozen
class Step:
    """One transition."""

    # The outcome of an ordinary rule.
    firing: Firing
    # The urgent outcomes that followed inside it, in their order.
    urgent: tuple[Firing, ...]
    # The state after it.
    state: tuple[Any, ...] = field(repr=shown)


@frozen
class Path:
    """A path from an initial state."""

    # The names of the values of a state, in their order: (slot, index or None).
    places: tuple[tuple[str, int | None], ...]
    # The initial state at rest.
    initial: tuple[Any, ...] = field(repr=shown)
    # The urgent outcomes that brought it to rest.
    settled: tuple[Firing, ...]
    steps: tuple[Step, ...]
    # Of a lasso the number of the state at which its loop begins: the last step returns to it.
    # Equal to the number of steps: the loop is empty, the run stays in the last state for ever.
    # None: the path ends.
    loop_from: int | None = None

    @property
    def states(self) -> tuple[tuple[Any, ...], ...]:
        return (self.initial, *(s.state for s in self.steps))


@frozen
class Violation:
    """A broken promise, with a path that shows it: a shortest one, or a lasso."""

    # Its name, or `deadlock`.
    invariant: str
    # What it promises.
    statement: str
    # Steps from an initial state.
    depth: int
    path: Path
    # A text from which `Semantics.follow` makes the path again.
    key: str


@frozen
class Reached:
    """A goal that is met, with a shortest path to a state that meets it."""

    # Its name.
    goal: str
    # What it says.
    statement: str
    # Steps from an initial state.
    depth: int
    path: Path
    # A text from which `Semantics.follow` makes the path again.
    key: str


@frozen
class Limits:
    """Where an exploration gives up with `unknown`; None: no limit."""

    states: int | None = None
    seconds: float | None = None
    # Bytes of resident memory of the whole process.
    memory: int | None = None
    # Whose limit of memory it is, in words; empty: the user gave it.
    memory_of: str = ""
    # Steps from an initial state. States after so many steps are checked, but not expanded.
    depth: int | None = None

    def reached(self, states: int, seconds: float, level: int) -> str:
        """Which limit but that of memory is reached, in words; empty if none is."""
        if self.states is not None and states > self.states:
            return f"stopped at the limit of {self.states:,} states in level {level}"
        if self.seconds is not None and seconds > self.seconds:
            return f"stopped at the limit of {self.seconds:g} seconds in level {level}"
        return ""

    def reached_depth(self, depth: int) -> str:
        """The same of depth, after so many levels were expanded and new states are left."""
        if self.depth is not None and depth >= self.depth:
            return f"stopped at the limit of depth {self.depth}: longer paths were not explored"
        return ""


@frozen
class Progress:
    """How far a run has come."""

    states: int
    transitions: int
    level: int
    # States of the current level that are not expanded yet.
    frontier: int
    seconds: float
    # Bytes of the process that are resident.
    memory: int
    # Are kernels being compiled now?
    compiling: bool = False
    # Are these random walks? Then `level` is the number of the one in hand, and `frontier` how many
    # are left.
    walks: bool = False
    # Bytes of the log of states, where it lies on disk.
    disk: int = 0


@frozen
class Reduction:
    """Whether a search stored one state for each orbit of a symmetry."""

    used: bool
    # Why not, or which arrays it leaves out and why; empty: nothing is left out.
    reason: str = ""
    # Groups of arrays whose elements were permuted together.
    arrays: tuple[tuple[str, ...], ...] = ()
    # States that were stored, each for all states of its orbit.
    representatives: int = 0


@frozen
class Verdict:
    """The answer of an exploration, and its numbers."""

    # The name of the spec, and its scope.
    spec: str
    scope: Any = field(repr=shown)
    verdict: Kind
    # Why the search ended.
    reason: str
    states: int
    transitions: int
    # Levels; the initial states are level 1.
    depth: int
    seconds: float
    # Calls of rules with different arguments.
    rule_calls: int
    # Memory of the search for each state; that of Python's values is estimated from a sample.
    bytes_per_state: float
    # Every `rule` or `rule:label`, and how often it fired.
    rules: Mapping[str, int] = field(factory=dict)
    # Every goal, and after how many steps it was first met; None: never.
    goals: Mapping[str, int | None] = field(factory=dict)
    # Every progress promise that was looked at, and whether it holds.
    progress: Mapping[str, Kind] = field(factory=dict, kw_only=True)
    violations: tuple[Violation, ...] = ()
    # Those goals that are met among the ones whose paths were asked for, in that order.
    reached: tuple[Reached, ...] = field(default=(), kw_only=True)
    # What the user should know about the search.
    notes: tuple[str, ...] = ()
    # How the work of a distributed search was spread, as plain JSON.
    distribution: Mapping[str, Any] | None = None
    # States beyond a constraint: checked, but not expanded, and not among `states`.
    border: int = 0
    # How symmetry was used.
    symmetry: Reduction = Reduction(False, NOT_ASKED)
    # Why its checkpoints are not complete.
    unsaved: UserError | None = field(default=None, kw_only=True)

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
