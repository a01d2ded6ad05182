"""Explores a spec in plain Python: the same answers as `reference`, from the rows of its rules."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence

from attrs import define

from groupcheck.model.engine.liveness import Graph
from groupcheck.model.engine.plain.search import Search
from groupcheck.model.engine.reference import (
    conclude,
    goal_met,
    violation,
    with_progress,
)
from groupcheck.model.engine.resident import resident_bytes
from groupcheck.model.engine.spec import Spec
from groupcheck.model.engine.symmetry import NO_SYMMETRY, Symmetry
from groupcheck.model.engine.tabled.sizes import bytes_of_pools
from groupcheck.model.engine.verdict import Limits, Progress, Reduction, Verdict

BETWEEN = 0.2  # seconds between two reports of progress, and looks at the limit of memory


@define
class Run:
    """A search in plain Python with its clock, limits and listener."""

    search: Search
    limits: Limits
    progress: Callable[[Progress], None] | None
    # Whether the search is to be left to another one; asked now and then.
    leaves: Callable[[Search], bool]
    # When it began, by `time.perf_counter`.
    began: float
    # Why it ends early; empty: it does not.
    reason: str = ""
    # The first state of the level in hand that is not expanded.
    place: int = 0
    # Is it to be left to another search?
    is_left: bool = False
    # When progress was reported last, by `time.perf_counter`.
    reported: float = 0.0

    @property
    def seconds(self) -> float:
        """Seconds spent on this search."""
        return time.perf_counter() - self.began

    def levels(self) -> None:
        """Level after level, until there is nothing new, something is wrong, a limit is reached, or
        another search takes over.
        """
        s = self.search
        s.begin()
        more = len(s.states)
        while more and not s.findings.wrong and not self.is_stopped:
            self.place, end = s.open_level()
            while self.place < end and not self.is_stopped:
                self.place = s.stretch(self.place, end)
                self._look(end)
            if self.place < end:
                return
            more = s.close_level()
            if more and not s.findings.wrong:
                self.reason = self.reason or self.limits.reached_depth(s.findings.depth)
            self._report(more)

    @property
    def is_stopped(self) -> bool:
        """Does it end here, or go on elsewhere?"""
        return bool(self.reason) or self.is_left

    def _look(self, end: int) -> None:
        """Looks at limits, and at whether another search takes over."""
        s, limits = self.search, self.limits
        level = s.findings.depth + 1
        self.reason = limits.reached(len(s.states), self.seconds, level)
        if time.perf_counter() - self.reported > BETWEEN:
            self._report(end - self.place)
            if limits.memory is not None and resident_bytes() > limits.memory:
                self.reason = f"stopped at the limit of memory, in level {level}"
        self.is_left = not self.reason and self.leaves(s)

    def _report(self, frontier: int) -> None:
        if self.progress:
            s = self.search
            done = len(s.states), s.transitions, s.findings.depth
            self.progress(Progress(*done, frontier, self.seconds, resident_bytes()))
        self.reported = time.perf_counter()


def explore(
    spec: Spec,
    limits: Limits = Limits(),
    progress: Callable[[Progress], None] | None = None,
    *,
    liveness: bool = False,
    symmetry: Symmetry = NO_SYMMETRY,
    goals: Sequence[str] = (),
    leaves: Callable[[Search], bool] = lambda search: False,
) -> Verdict | Run:
    """Explores every state of a spec, as `reference.explore` does. `symmetry`: why this search does
    without. `leaves`: asked now and then whether to leave the search as it is; then it is returned
    for another one to go on with. Raises `RuleError` for a rule at fault.
    """
    run = Run(Search(spec), limits, progress, leaves, time.perf_counter())
    try:
        run.levels()
    except KeyboardInterrupt:
        run.reason = f"interrupted in level {run.search.findings.depth + 1}"
    if run.is_left:
        return run
    verdict = verdict_of(run, symmetry, goals)
    if liveness:
        graph = Graph(run.search.see, verdict.states + verdict.border, verdict.depth)
        verdict = with_progress(run.search.see, verdict, graph.answers())
    return verdict


def verdict_of(run: Run, symmetry: Symmetry, goals: Sequence[str]) -> Verdict:
    """The answer of a search that has ended."""
    s = run.search
    violations = tuple(
        violation(s.see, name, at, s.witness(name, place, kind))
        for name, at, place, kind in s.findings.in_order()
    )
    reached = tuple(
        goal_met(s.see, name, at, s.path_to(place))
        for name in goals
        if (at := s.findings.goals[name]) is not None and (place := s.findings.first[name]) >= 0
    )
    kind, reason = conclude(s.see, bool(violations), run.reason, s.outside)
    return Verdict(
        s.spec.name,
        s.spec.scope,
        kind,
        reason,
        len(s.states) - s.outside,
        s.transitions,
        s.findings.depth,
        run.seconds,
        s.tabled.rows.calls,
        bytes_of(s) / len(s.states),
        s.fired,
        dict(s.findings.goals),
        violations,
        tuple(s.tabled.notes),
        border=s.outside,
        symmetry=Reduction(False, "; ".join(symmetry.reasons)),
        reached=reached,
    )


def bytes_of(search: Search) -> int:
    """Memory of a search, that of Python's values as far as a sample tells."""
    s = search
    held = (s.states, s.parents, s._places, *(s.states[:1] * len(s.states)))
    return bytes_of_pools((*s.tabled.pools, *s.tabled.view_pools)) + sum(map(sys.getsizeof, held))
