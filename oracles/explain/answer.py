"""What a check and a replayed key give: data, which `check` wraps with ways to show it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import attrs

from groupcheck.model.engine.verdict import HOLDS, UNKNOWN, VIOLATED, Path, Verdict
from groupcheck.oracles.explain.explanation import Explanation, explain, retell
from groupcheck.oracles.explain.subject import Subject


@attrs.frozen(slots=False)
class Answer:
    """A verdict and what it is about. True only if the verdict is `holds`."""

    subject: Subject
    verdict: Verdict
    engine: str = "fast"

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


@attrs.frozen(slots=False)
class Walked:
    """Where a key leads."""

    subject: Subject
    key: str
    path: Path
    # Every invariant that breaks along the path -> the first step that breaks it.
    broken: Mapping[str, int]

    @property
    def steps(self) -> tuple[tuple[str, int | None], ...]:
        """(rule or rule:label, index) of each step."""
        return tuple((s.firing.name, s.firing.me) for s in self.path.steps)

    @cached_property
    def explanations(self) -> tuple[Explanation, ...]:
        """The path told once for each promise that it breaks; once as it is if it breaks none."""
        return retell(self.subject, self.path, self.key)
