"""The fast engine: the same answers as `reference`, from tabulated rules and a native loop over packed states."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable

from attrs import define

from groupcheck.model.engine.backward import path_of
from groupcheck.model.engine.kernels.compiled import PACKING, is_ready
from groupcheck.model.engine.reference import conclude
from groupcheck.model.engine.search import STRETCH, Search
from groupcheck.model.engine.spec import Spec
from groupcheck.model.engine.verdict import Limits, Progress, Verdict, Violation

__all__ = ["explore"]
BETWEEN = 0.2  # seconds between two reports of progress inside a level


@define
class _Run:
    """A search under way with its clock, limits and listener."""

    search: Search
    limits: Limits
    progress: Callable[[Progress], None] | None
    began: float
    depth: int = 0
    reason: str = ""
    reported: float = 0.0

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.began

    def report(self, frontier: int, compiling: bool = False) -> None:
        if self.progress:
            s = self.search
            self.progress(Progress(s.log.states, s.transitions, self.depth, frontier, self.seconds, s.bytes, compiling))
            self.reported = time.perf_counter()

    def limit(self) -> str:
        """Which limit is reached, if one is."""
        at = f"in level {self.depth + 1}"
        if self.limits.states is not None and self.search.log.states > self.limits.states:
            return f"stopped at the limit of {self.limits.states:,} states {at}"
        if self.limits.seconds is not None and self.seconds > self.limits.seconds:
            return f"stopped at the limit of {self.limits.seconds:g} seconds {at}"
        if self.limits.memory is not None and self.search.bytes > self.limits.memory:
            return f"stopped at the limit of {self.limits.memory:,} bytes of memory {at}"
        return ""

    def levels(self) -> None:
        """Level after level, until there is nothing new, something is wrong, or a limit is reached."""
        s = self.search
        first, end = 0, s.log.states
        while first < end and not s.findings.wrong and not self.reason:
            self.depth += 1
            s.findings.depth = self.depth
            s.log.levels.append(end)
            while first < end and not self.reason:
                first = s.stretch(first, min(end, first + STRETCH))
                self.reason = self.limit()
                if time.perf_counter() - self.reported > BETWEEN:
                    self.report(end - first)
            s.look_at_whole_states(end)
            first, end = end, s.log.states
            self.report(end - first)


def explore(spec: Spec, limits: Limits = Limits(), progress: Callable[[Progress], None] | None = None) -> Verdict:
    """Explores every state of a spec; first violations stop it at the end of their level, so that paths are shortest."""
    began = time.perf_counter()
    collecting = gc.isenabled()
    gc.disable()
    try:
        run = _Run(Search(spec), limits, progress, began)
        if not (is_ready(PACKING) and is_ready(run.search.packed.unit)):
            run.report(0, compiling=True)
        run.search.begin()
        run.levels()
        return _verdict(run)
    finally:
        if collecting:
            gc.enable()


def _verdict(run: _Run) -> Verdict:
    s = run.search
    spec = s.spec
    statements = {p.name: p.statement for p in spec.invariants}
    violations = []
    for name, (at, place, kind) in sorted(s.findings.wrong.items(), key=lambda item: (item[1][0], item[0])):
        path = path_of(s, name, place, kind)
        statement = statements.get(name, "Every state has a successor other than itself, or is a declared end.")
        violations.append(Violation(name, statement, at, path, s.see.key(path)))
    fired, goals = s.fired, s.findings.goals
    verdict, reason = conclude(spec, fired, goals, bool(violations), run.reason)
    states = s.log.states
    return Verdict(
        spec.name, spec.scope, verdict, reason, states, s.transitions, run.depth, run.seconds, s.rows.calls, s.peak / states,
        fired, goals, tuple(violations), tuple(s.notes),
    )  # fmt: skip
