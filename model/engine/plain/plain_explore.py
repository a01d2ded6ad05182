"""Explores a spec in plain Python: the same answers as `reference`, from the rows of its rules."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import Any

from attrs import define

from groupcheck.model.engine.errors import AsymmetryError, RuleError
from groupcheck.model.engine.lasso import Answers
from groupcheck.model.engine.options import Options
from groupcheck.model.engine.plain.plain_graph import PlainGraph
from groupcheck.model.engine.plain.plain_search import PlainSearch
from groupcheck.model.engine.reference import (
    conclude,
    goal_met,
    reduction,
    violation,
    with_progress,
)
from groupcheck.model.engine.resident import (
    Spare,
    keep_off_edge,
    no_room,
    ran_out,
    reached,
    resident_bytes,
)
from groupcheck.model.engine.spec import Spec
from groupcheck.model.engine.symmetry import (
    NO_SYMMETRY,
    ON_PROGRESS,
    Symmetry,
    must_be_usable,
    on_orbits,
    symmetry_to_use,
)
from groupcheck.model.engine.verdict import Limits, Progress, Verdict

STORES_EVERY_STATE = "plain Python searched, and it stores every state"
BETWEEN = 0.2  # seconds between two reports of progress, and looks at the limit of memory


@define
class PlainRun:
    """A search in plain Python with its clock, limits and listener."""

    search: PlainSearch
    limits: Limits
    progress: Callable[[Progress], None] | None
    # Whether the search is to be left to another one: asked now and then, with whether it stands
    # between two levels. Not asked where something is wrong: then the level is the last one.
    leaves: Callable[[PlainSearch, bool], bool]
    # Hears of the initial states, and of each level that is complete.
    complete: Callable[[PlainSearch], None]
    # When it began, by `time.perf_counter`.
    began: float
    # Why it ends early; empty: it does not.
    reason: str = ""
    # The first state of the level in hand that is not expanded.
    place: int = 0
    # Is it to be left to another search; and does it stand between two levels?
    is_left: bool = False
    is_between_levels: bool = False
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
        self.complete(s)
        more = len(s.states)
        seconds = math.inf if self.limits.seconds is None else self.limits.seconds
        while more and not s.findings.wrong and not self.reason:
            self.is_between_levels = self.is_left = self.leaves(s, True)
            if self.is_left:
                return
            self.place, end = s.open_level()
            while self.place < end and not self.is_stopped:
                self.place = s.stretch(self.place, end, self.began + seconds)
                self._look(end)
            if self.place < end:
                return
            more = s.close_level()
            self.complete(s)
            if more and not s.findings.wrong:
                self.reason = self.reason or self.limits.reached_depth(s.findings.depth)
            self._report(more)

    @property
    def is_stopped(self) -> bool:
        """Does it end here, or go on elsewhere?"""
        return bool(self.reason) or self.is_left

    def _look(self, end: int) -> None:
        """Looks at limits, and at whether another search takes over. Raises `MemoryError` before
        address space ends.
        """
        keep_off_edge()
        s, limits = self.search, self.limits
        level = s.findings.depth + 1
        self.reason = limits.reached(len(s.states), self.seconds, level)
        if time.perf_counter() - self.reported > BETWEEN:
            self._report(end - self.place)
            if limits.memory is not None and resident_bytes() > limits.memory:
                self.reason = reached(limits, level)
        is_open = self.place < end and not self.reason and not s.findings.wrong
        self.is_left = is_open and self.leaves(s, False)

    def _report(self, frontier: int) -> None:
        if self.progress:
            s = self.search
            done = len(s.states), s.transitions, s.findings.depth
            self.progress(Progress(*done, frontier, self.seconds, resident_bytes()))
        self.reported = time.perf_counter()


def never(search: PlainSearch, is_between: bool) -> bool:
    """Another search never takes over."""
    return False


def storing_every_state(found: Symmetry) -> Symmetry:
    """Why a search that could use this symmetry does without, and what is against more of it."""
    return Symmetry((), (STORES_EVERY_STATE, *found.reasons))


def unheard(search: PlainSearch) -> None:
    """Nobody hears of a level."""


def explore_until(
    spec: Spec,
    limits: Limits = Limits(),
    progress: Callable[[Progress], None] | None = None,
    options: Options | None = None,
    *,
    symmetry: Symmetry = NO_SYMMETRY,
    leaves: Callable[[PlainSearch, bool], bool] = never,
    complete: Callable[[PlainSearch], None] = unheard,
) -> Verdict | PlainRun:
    """Explores every state of a spec, as `reference.explore` does, until it is left; a search that
    is left is returned. Of the options, `liveness`, `goals`, `look` and `began` count here.
    `symmetry`: one whose indexes are stored, or why this search does without. `leaves`, `complete`:
    as in `PlainRun`. Raises `RuleError` for a rule at fault, and `AsymmetryError` where
    permutations make a difference.
    """
    options = options or Options()
    run = PlainRun(PlainSearch(spec, symmetry), limits, progress, leaves, complete, options.began)
    spare = Spare()
    try:
        run.levels()
    except KeyboardInterrupt:
        run.reason = f"interrupted in level {run.search.findings.depth + 1}"
    except (MemoryError, RuleError) as error:
        spare.give_back()  # at first: any other call may take memory
        if not ran_out(error):
            raise
        run.reason = no_room(f"in level {run.search.findings.depth + 1}")
    if run.is_left and not run.reason:
        return run
    verdict = verdict_of(run, symmetry, options.goals)
    if options.liveness:
        try:
            answers = PlainGraph(run.search, run.place).answers()
        except KeyboardInterrupt:
            answers = Answers.unknown(spec, "interrupted")
        verdict = with_progress(run.search.see, verdict, answers)
    if options.look is not None:
        options.look(run.search)
    return verdict


def explore(
    spec: Spec,
    limits: Limits = Limits(),
    progress: Callable[[Progress], None] | None = None,
    *,
    symmetry: bool | None = None,
    **options: Any,
) -> Verdict:
    """Explores every state of a spec; `options`: fields of `Options`. See `searched`."""
    return searched(spec, limits, progress, Options(symmetry=symmetry, **options))


def searched(
    spec: Spec,
    limits: Limits,
    progress: Callable[[Progress], None] | None,
    options: Options,
) -> Verdict:
    """Explores every state, to the end. A symmetry is used only where values hold indexes. Raises
    `RuleError` for a rule at fault.
    """
    of_runs = options.liveness and on_orbits(spec)
    found = symmetry_to_use(spec, options.symmetry, of_runs)
    if found.groups and options.liveness and (found.is_stored or not of_runs):
        found = ON_PROGRESS
    elif found.groups and (options.look is not None or not found.is_stored):
        found = storing_every_state(found)
    must_be_usable(spec, found, options.required)
    try:
        return explore_all(spec, limits, progress, options, found)
    except AsymmetryError as error:
        found = Symmetry((), (str(error),))
    must_be_usable(spec, found, options.required)
    return explore_all(spec, limits, progress, options, found)


def explore_all(
    spec: Spec,
    limits: Limits,
    progress: Callable[[Progress], None] | None,
    options: Options,
    symmetry: Symmetry,
) -> Verdict:
    """The same with one symmetry; raises `AsymmetryError`, too."""
    found = explore_until(spec, limits, progress, options, symmetry=symmetry)
    assert isinstance(found, Verdict), "a search was left that nobody takes over"
    return found


def verdict_of(run: PlainRun, symmetry: Symmetry, goals: Sequence[str]) -> Verdict:
    """The answer of a search that has ended."""
    s = run.search
    violations = tuple(
        violation(s.see, name, at, s.witness(name, place, kind))
        for name, at, place, kind in s.findings.in_order()
    )
    reached = tuple(
        goal_met(s.see, name, at, s.path_to_goal(name))
        for name in goals
        if (at := s.findings.goals[name]) is not None
    )
    border = s.outside
    kind, reason = conclude(s.see, bool(violations), run.reason, border)
    return Verdict(
        s.spec.name,
        s.spec.scope,
        kind,
        reason,
        s.counted - border,
        s.transitions,
        s.findings.depth,
        run.seconds,
        s.tabled.rows.calls,
        s.bytes / s.counted,
        s.fired,
        dict(s.findings.goals),
        violations,
        tuple(s.tabled.notes),
        border=border,
        symmetry=reduction(symmetry, len(s.states)),
        reached=reached,
    )
