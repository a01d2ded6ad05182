"""The answer of a check and of a replayed key: data, which `check` wraps with ways to show it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import attrs

from groupcheck.model.engine.verdict import HOLDS, UNKNOWN, VIOLATED, Path, Verdict
from groupcheck.oracles.explain.explanation import Explanation, explain, explain_goal, retell
from groupcheck.oracles.explain.subject import Subject

if TYPE_CHECKING:
    from groupcheck.model.engine.fast.walks import Walks


NOT_JUDGED = "not judged (--progress)"  # of promises about progress


@attrs.frozen
class ConformedPart:
    """How much of what a check explored lies inside scopes whose rows were executed on the real
    coordinator.
    """

    # The scopes that were looked at, as arguments of `conform`.
    scopes: tuple[Mapping[str, Any], ...]
    # Different memories of the coordinator, and how many of them lie inside.
    memories: int
    inside: int
    # One of those outside, of the lowest generation; None if there is none.
    example: str | None

    @property
    def outside(self) -> int:
        return self.memories - self.inside


@attrs.frozen(slots=False)
class Answer:
    """A verdict and what it is about. True only if the verdict is `holds`."""

    subject: Subject
    verdict: Verdict
    engine: str = "fast"
    # None if nobody asked.
    conformed: ConformedPart | None = None
    # The random walks that took the place of a search.
    walks: Walks | None = None

    def __bool__(self) -> bool:
        return self.holds

    @property
    def holds(self) -> bool:
        return self.verdict.verdict == HOLDS

    @property
    def violated(self) -> bool:
        return self.verdict.verdict == VIOLATED

    @property
    def unknown(self) -> bool:
        return self.verdict.verdict == UNKNOWN

    @property
    def exit_code(self) -> int:
        """0 holds, 1 violated, 3 unknown (2 is left for bad usage)."""
        return {HOLDS: 0, VIOLATED: 1, UNKNOWN: 3}[self.verdict.verdict]

    @cached_property
    def explanations(self) -> tuple[Explanation, ...]:
        """Every violation explained, the shortest first."""
        return tuple(explain(self.subject, violation) for violation in self.verdict.violations)

    @cached_property
    def goal_explanations(self) -> tuple[Explanation, ...]:
        """The path to every goal that was asked for and is met, explained."""
        return tuple(explain_goal(self.subject, reached) for reached in self.verdict.reached)


@attrs.frozen(slots=False)
class WalkedPath:
    """Where a key leads."""

    subject: Subject
    key: str
    path: Path
    # Every invariant that breaks along the path -> the first step that breaks it.
    broken: Mapping[str, int]
    # Every goal that is met along the path -> the first step after which it is.
    met: Mapping[str, int]

    @property
    def steps(self) -> tuple[tuple[str | int | None, ...], ...]:
        """(rule or rule:label, index) of each step; of a rule with several indexes all of them."""
        return tuple((s.firing.name, s.firing.me, *s.firing.others) for s in self.path.steps)

    @cached_property
    def explanations(self) -> tuple[Explanation, ...]:
        """The path told once for each promise that it breaks and each goal that was asked for and
        that it meets; once as it is if there is neither.
        """
        return retell(self.subject, self.path, self.key)
