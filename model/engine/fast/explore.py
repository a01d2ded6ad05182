"""The fast engine: the same answers as `reference`, from tabulated rules and a native loop over
packed states.
"""

from __future__ import annotations

import contextlib
import functools
import math
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from types import FrameType
from typing import Any

from attrs import define, evolve, field

from groupcheck.model.engine.errors import AsymmetryError, CheckpointError, RuleError
from groupcheck.model.engine.fast import checkpoint as checkpoints
from groupcheck.model.engine.fast.compiling import compiling
from groupcheck.model.engine.fast.disk_log import NoDiskError
from groupcheck.model.engine.fast.graph import bytes_of
from groupcheck.model.engine.fast.handed_over import taken_over
from groupcheck.model.engine.fast.identity import Identity, identity
from groupcheck.model.engine.fast.kernels.compiled import PACKING, is_ready
from groupcheck.model.engine.fast.lassos import answers
from groupcheck.model.engine.fast.log import MOST_STATES, Log
from groupcheck.model.engine.fast.loop import STRETCH
from groupcheck.model.engine.fast.memory import (
    Watch,
    peak_bytes,
    without_collection,
)
from groupcheck.model.engine.fast.outlook import outlook
from groupcheck.model.engine.fast.search import Search
from groupcheck.model.engine.fast.segments import Folder, cannot_write
from groupcheck.model.engine.fast.symmetry_choice import symmetry_here
from groupcheck.model.engine.lasso import Answers
from groupcheck.model.engine.options import Options
from groupcheck.model.engine.paths import path_of
from groupcheck.model.engine.plain import plain_explore
from groupcheck.model.engine.plain.plain_explore import PlainRun
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
from groupcheck.model.engine.symmetry import Symmetry, must_be_usable
from groupcheck.model.engine.verdict import UNKNOWN, Limits, Progress, Reached, Verdict, Violation

__all__ = ["explore"]
BETWEEN = 0.2  # seconds between two reports of progress inside a level
# The next checkpoint is written after this many times the seconds that the last one took.
PATIENCE = 20


class StoppedError(Exception):
    """A limit or an interrupt, met while rows are filled: nothing of the batch has been written
    yet.
    """


@define
class Run:
    """A search under way with its clock, limits, listener and checkpoint."""

    search: Search
    limits: Limits
    progress: Callable[[Progress], None] | None
    saver: checkpoints.Saver | None
    # When it began, by `time.perf_counter`.
    began: float
    # Where the search stood at the end of the last complete level.
    boundary: checkpoints.Numbers
    watch: Watch
    # Why it ends early; empty: it does not.
    reason: str = ""
    # When progress was reported last, by `time.perf_counter`.
    reported: float = 0.0
    # Has the user pressed Ctrl-C?
    interrupted: bool = False
    # When the last checkpoint was complete, by `time.perf_counter`, and how many seconds it took.
    saved: float = 0.0
    saving: float = 0.0
    # Why checkpoints are no longer written.
    unsaved: CheckpointError | None = None
    # Goals whose paths are told.
    goals: Sequence[str] = ()
    # States of the level that are not expanded yet.
    left: int = 0
    # What is known of progress promises.
    answers: Answers | None = None
    # The first state that a search which was taken over in the middle of a level had not expanded.
    begun: int | None = None
    # Seconds that this process had spent on compiling before.
    compiled: float = field(factory=lambda: compiling.seconds)

    @property
    def seconds(self) -> float:
        """Seconds spent on this search, without compiling kernels."""
        return time.perf_counter() - self.began - (compiling.seconds - self.compiled)

    def report(self, frontier: int, is_compiling: bool = False) -> None:
        if self.progress:
            s = self.search
            done = s.states, s.transitions, s.findings.depth
            taken = resident_bytes(), is_compiling
            disk = 0 if s.log.disk is None else s.log.disk.bytes
            self.progress(Progress(*done, frontier, self.seconds, *taken, disk=disk))
            self.reported = time.perf_counter()

    def begin(self, resumed: bool = False) -> None:
        """Makes the index and looks at the initial states. Raises `UserError` where the user gave
        less memory than that takes.
        """
        s, limits = self.search, self.limits
        s.log.is_thrifty = limits.memory is not None
        s.begin(resumed)
        self.watch.begin(limits.memory, is_asked=not limits.memory_of)

    def limit(self, filling: bool = False) -> str:
        """The limit that was reached, or "". The limit of states is not checked while rows are
        filled, so that new states are still examined. Raises `MemoryError` before address space
        ends.
        """
        keep_off_edge()
        s, limits = self.search, self.limits
        level = s.findings.depth + 1
        if self.interrupted:
            return f"interrupted in level {level}"
        reason = limits.reached(0 if filling else s.states, self.seconds, level)
        if not reason and limits.memory is not None and self.watch.needed() > limits.memory:
            reason = reached(limits, level)
        if not reason and s.log.is_full:
            most = f"{s.states:,} states, the most that the index can hold"
            reason = f"stopped at {most}, in level {level}"
        return reason

    def pulse(self) -> None:
        """While rows are filled: progress. Raises `StoppedError` when a limit is reached."""
        self.reason = self.limit(filling=True)
        self.search.log.let_go()
        left = self.left - self.search.threads.expanded
        if self.reason:
            self.left = left
            raise StoppedError
        if time.perf_counter() - self.reported > BETWEEN:
            self.report(left)

    def levels(self, widest: float = math.inf) -> None:
        """Level after level, until there is nothing new, something is wrong, or a limit is reached;
        or until one has `widest` states or more. Raises `SpecError` if no initial state is inside.
        """
        s = self.search
        s.pulse = self.pulse
        if self.begun is None:
            first, end = s.open_level(s.log.levels[-1], s.states)
            if first == end and not s.findings.depth:
                raise s.see.nothing_within()
        else:
            first, end = self._expanded(*s.open_rest(self.begun, s.log.levels[-1]))
        while first < end and end - first < widest and not s.findings.wrong and not self.reason:
            s.findings.depth += 1
            s.log.levels.append(s.states)
            first, end = self._expanded(first, end)

    def _expanded(self, first: int, end: int) -> tuple[int, int]:
        """Expands a level, and looks at where that leads. Returns the states to expand next."""
        s = self.search
        try:
            with contextlib.suppress(StoppedError):
                self._level(first, end)
        except NoDiskError as error:
            states, level = self.search.states, self.search.findings.depth
            self.reason = f"{error.strerror}: the log of {states:,} states, in level {level}"
        if s.see.refined and not self.reason:
            s.refinements.look_at(s.opened(first, end))
        opened = s.open_level(s.log.levels[-1], s.states)
        if not self.reason:
            first, end = opened
            self.left = end - first
            self._at_boundary()
        self.report(self.left)
        if first < end and not s.findings.wrong and not self.reason:
            self.reason, self.left = self.limits.reached_depth(s.findings.depth), 0
        return first, end

    def _level(self, first: int, end: int) -> None:
        """Expands a level; where levels are narrow, some after it, too."""
        s = self.search
        while first < end and not self.reason:
            self.left = end - first
            stretch = STRETCH if s.threads.workers == 1 else end - first
            if self.limits.states is not None:
                stretch = max(256, min(stretch, self.limits.states - s.states))
            first = s.stretch(first, min(end, first + stretch))
            end = s.end_of_level(end)
            self.left = end - first
            s.log.let_go()
            self.reason = self.limit()
            if time.perf_counter() - self.reported > BETWEEN:
                self.report(self.left)
        s.look_at_whole_states(s.log.levels[-1])

    def _at_boundary(self) -> None:
        if self.saver:
            self.boundary = checkpoints.numbers_of(self.search)
            if time.perf_counter() - self.saved > PATIENCE * self.saving:
                self.save()

    def save(self) -> None:
        """Saves the last complete level. Not after a violation: a resumed search would find the
        offending rows filled and never check them. A save that fails is the last one: the folder
        keeps what was complete, and the search goes on.
        """
        if self.saver and not self.search.findings.wrong:
            began = time.perf_counter()
            try:
                self.saver.save(self.boundary)
            except CheckpointError as error:
                self.saver, self.unsaved = None, error
            self.saved = time.perf_counter()
            self.saving = self.saved - began

    def ran_out(self) -> None:
        """Memory has run out: the search ends here. The last complete level is saved if there is
        memory for that; an earlier checkpoint stays in any case.
        """
        s = self.search
        s.give_up()
        self.reason = no_room(f"for more than {s.states:,} states in level {s.findings.depth + 1}")
        try:
            self.save()
        except MemoryError:
            self.reason += ", nor for a newer checkpoint"

    def judge_progress(self) -> None:
        """Looks at the promises about runs, on the graph of what was found."""
        s = self.search
        more = bytes_of(s.log.states, s.transitions * s.log.states // s.counted)
        why = self.halt(more)
        if not why:
            try:
                is_complete = not (self.reason or s.findings.wrong or s.outside)
                s.pulse = lambda: None
                self.answers = answers(s, self.halt, is_complete)
            except MemoryError:
                why = no_room("for the graph of the states")
        if why:
            self.answers = Answers.unknown(s.spec, why)

    def halt(self, more: int = 0) -> str:
        """Why `more` bytes may not be allocated; empty if they may."""
        limits = self.limits
        if self.interrupted:
            return "interrupted"
        if limits.seconds is not None and self.seconds > limits.seconds:
            return f"stopped at the limit of {limits.seconds:g} seconds"
        if limits.memory is not None and resident_bytes() + more > limits.memory:
            return f"stopped: its graph of {more:,} bytes goes beyond the limit of memory"
        return ""


@contextlib.contextmanager
def interrupts(run: Run) -> Iterator[None]:
    """The first Ctrl-C ends the search at the next safe point, a second one at once."""

    def note(number: int, frame: FrameType | None) -> None:
        if run.interrupted and not run.search.threads.are_busy:
            raise KeyboardInterrupt
        run.interrupted = True

    default = signal.default_int_handler
    is_ours = (
        threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGINT) is default
    )
    if is_ours:
        signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        if is_ours:
            signal.signal(signal.SIGINT, default)


def explore(
    spec: Spec,
    limits: Limits = Limits(),
    progress: Callable[[Progress], None] | None = None,
    *,
    begun: PlainRun | None = None,
    **options: Any,
) -> Verdict:
    """Explores every state of a spec; `options`: fields of `Options`. See `searched`."""
    return searched(spec, limits, progress, Options(**options), begun)


def searched(
    spec: Spec,
    limits: Limits,
    progress: Callable[[Progress], None] | None,
    options: Options,
    begun: PlainRun | None = None,
) -> Verdict:
    """Explores every state of a spec; first violations stop it at the end of their level, so that
    paths are shortest.

    `limits`, or Ctrl-C, end it with `unknown`. `progress` hears of it a few times a second.
    `begun`: a search in plain Python that is taken over; with a symmetry or a checkpoint, between
    two levels. Where the search finds that permutations do make a difference, it begins again
    without symmetry.
    Raises `RuleError` for a rule at fault, `CheckpointError` for a checkpoint that is torn or of
    another model, scope or version. A checkpoint that cannot be written does not end the search:
    `Verdict.unsaved` says why.
    """
    o = options
    found = symmetry_here(spec, o.symmetry, o.look is not None, o.liveness, o.resume)
    must_be_usable(spec, found, o.required)
    ours = None if o.checkpoint is None and o.resume is None else identity(spec, found)
    explored = functools.partial(_explored, spec, limits, progress, compiling.seconds)
    with checkpoints.kept_in(o.checkpoint, o.resume, o.stored) as folder:
        try:
            return explored(o, folder, ours, found, begun)
        except AsymmetryError as error:
            found = Symmetry((), (str(error),))
        except NoDiskError as error:  # before there was anything to go on from
            assert folder is not None
            raise cannot_write(folder.path, error) from error
        must_be_usable(spec, found, o.required)
        if folder:
            folder.start_again()
        return explored(evolve(o, resume=None), folder, ours and identity(spec), found, None)


def _explored(
    spec: Spec,
    limits: Limits,
    progress: Callable[[Progress], None] | None,
    compiled: float,
    options: Options,
    folder: Folder | None,
    ours: Identity | None,
    symmetry: Symmetry,
    begun: PlainRun | None,
) -> Verdict:
    """`compiled`: seconds that this process had spent on compiling before."""
    resume, liveness, look = options.resume, options.liveness, options.look
    peak, spare = peak_bytes(), Spare()
    # The numbers of plain Python, in case that this search does not come to begin.
    before = None if begun is None else plain_explore.verdict_of(begun, symmetry, ())
    with without_collection(), spare, contextlib.ExitStack() as end:
        if begun is not None:
            search = taken_over(begun.search, symmetry)
        elif resume is None or ours is None:
            log = checkpoints.new_log(folder) if options.stored and folder else Log
            search = Search(spec, symmetry, new_log=log)
        else:
            search = checkpoints.load(spec, ours, resume, folder, symmetry, options.stored)
        end.callback(search.free)
        saver = checkpoints.Saver(search, folder, ours) if folder and ours else None
        search.divide(options.workers)
        numbers = checkpoints.numbers_of(search)
        run = Run(search, limits, progress, saver, options.began, numbers, Watch(search, peak))
        run.goals, run.compiled = options.goals, compiled
        if not (is_ready(PACKING) and is_ready(search.packed.unit)):
            run.report(0, is_compiling=True)
        has_parts = spec.constraints or spec.refinements or liveness or symmetry.groups
        is_plain = not has_parts and limits.depth is None
        search.may_leave = is_plain and saver is None and resume is None and look is None
        if limits.depth is None and not (search.tables.constant or spec.refinements):
            search.may_go_down_below = MOST_STATES if limits.states is None else limits.states
        run.begun = None if begun is None or begun.is_between_levels else begun.place
        run.begin(resumed=resume is not None or begun is not None)
        run.boundary = checkpoints.numbers_of(search)  # with the goals that initial states meet
        with interrupts(run):
            try:
                run.levels()
                if run.reason:
                    run.save()
                if liveness:
                    run.judge_progress()
            except KeyboardInterrupt:
                run.reason = f"interrupted in level {search.findings.depth + 1}"
            except (MemoryError, RuleError) as error:
                spare.give_back()  # at first: any other call may take memory
                if not ran_out(error):
                    raise
                run.ran_out()
        verdict = verdict_of(run)
        if liveness:
            known = run.answers or Answers.unknown(spec, "the search was stopped")
            verdict = with_progress(search.see, verdict, known)
        if look is not None:
            look(search)
        return verdict
    reason = no_room("for the search")
    if before is not None:
        return evolve(before, verdict=UNKNOWN, reason=reason)
    return nothing_found(spec, reason, time.perf_counter() - options.began)


def nothing_found(spec: Spec, reason: str, seconds: float) -> Verdict:
    """The answer where memory ran out before the first state was expanded."""
    goals: dict[str, int | None] = {g.name: None for g in spec.goals}
    fired = {name: 0 for rule in spec.rules for name in rule.names}
    return Verdict(
        spec.name, spec.scope, UNKNOWN, reason, 0, 0, 0, seconds, 0, 0.0, fired, goals, (), ()
    )


def verdict_of(run: Run) -> Verdict:
    """The answer of a search in one process."""
    s = run.search
    violations = []
    for name, at, place, kind in s.findings.in_order():
        try:
            path = path_of(s.see, name, s.path_to(place, s.witness(name, place, kind)), kind)
        except MemoryError:
            run.reason += f"; {name} is violated in level {at}, but no memory was left for the path"
        else:
            violations.append(violation(s.see, name, at, path))
    paths, more = goal_paths(run)
    reason = f"{run.reason}; {outlook(run.search, run.left)}" if run.reason else ""
    states = s.counted
    per_state = (max(s.peak, s.bytes) + s.bytes_of_values) / states
    notes = [*s.notes(run.seconds), *more]
    found = answer(s, reason, violations, states - s.outside, run.seconds, per_state, notes)
    return evolve(found, reached=tuple(paths), unsaved=run.unsaved)


def goal_paths(run: Run) -> tuple[list[Reached], list[str]]:
    """The paths to the goals that were asked for and are met, and notes on those that are met but
    for whose path no memory was left.
    """
    s = run.search
    paths, notes = [], []
    for name in run.goals:
        at = s.findings.goals[name]
        if at is None:
            continue
        try:
            paths.append(goal_met(s.see, name, at, s.path_to_goal(name)))
        except MemoryError:
            notes.append(f"{name} is met at {at}, but no memory was left for its schedule")
    return paths, notes


def answer(
    search: Search,
    reason: str,
    violations: Sequence[Violation],
    states: int,
    seconds: float,
    per_state: float,
    notes: Sequence[str],
) -> Verdict:
    """The verdict on what a search found. `reason`: why it ended early, if it did."""
    spec, fired, goals = search.spec, search.fired, search.findings.goals
    verdict, reason = conclude(search.see, bool(violations), reason, search.outside)
    return Verdict(
        spec.name,
        spec.scope,
        verdict,
        reason,
        states,
        search.transitions,
        search.findings.depth,
        seconds,
        search.rows.calls,
        per_state,
        fired,
        goals,
        tuple(violations),
        tuple(notes),
        border=search.outside,
        symmetry=reduction(search.symmetry, search.log.states),
    )
