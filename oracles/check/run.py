"""Explores a variant within a scope, or a spec of the user, and keeps what explains the verdict."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from numbers import Real
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any

import attrs

from groupcheck.model.engine import (
    Limits,
    Predicate,
    Refinement,
    Spec,
    UserError,
    compiler,
)
from groupcheck.model.engine.step import Semantics
from groupcheck.model.engine.verdict import Progress, Verdict, Violation
from groupcheck.oracles.check.engines import ENGINES, in_plain_python
from groupcheck.oracles.check.spreadable import (
    GRAPH,
    ONE_OF_THEM,
    Spreading,
    must_be_for_executors,
    must_be_local,
)
from groupcheck.oracles.check.stored import must_be_storable
from groupcheck.oracles.check.walks import must_be_at_least, walked, walks_named, walks_of
from groupcheck.oracles.explain.answer import NOT_JUDGED, Answer, WalkedPath
from groupcheck.oracles.explain.subject import Promise, Subject, subject
from groupcheck.oracles.explain.unknown import one_of
from groupcheck.oracles.explain.zeros import judged
from groupcheck.oracles.processes.supervisor import was_interrupted

if TYPE_CHECKING:
    from groupcheck.model.engine.fast.walks import Walks
    from groupcheck.oracles.check.conformed import Looker
    from groupcheck.oracles.show.report import Report

__all__ = ["ENGINES", "CheckResult", "FollowResult", "check", "follow", "run", "walk"]


@attrs.frozen(slots=False, repr=False)
class CheckResult(Answer):
    """A verdict and its subject. Prints as text, displays itself in a notebook, and is true only if
    the verdict is `holds`.
    """

    def __repr__(self) -> str:
        v = self.verdict
        broken = "".join(f", {x.invariant} breaks at depth {x.depth}" for x in v.violations[:1])
        told = f"{v.verdict}, {v.states:,} states{broken}"
        if self.subject.not_judged:
            told += f", progress: {NOT_JUDGED}"
        return f"<CheckResult {self.subject.title}: {told}>"

    def explain(self) -> str:
        """The counterexamples as text, each a paragraph and a table of steps; empty if there are
        none.
        """
        from groupcheck.oracles.show.text import explanations_text

        return explanations_text(self.explanations)

    def report(self) -> Report:
        """Headline, numbers and explanations, ready to display."""
        from groupcheck.oracles.show.report import report

        return report(self)

    def document(self) -> dict[str, Any]:
        """The verdict as plain JSON, schema groupcheck.verdict/2."""
        from groupcheck.oracles.show.document import verdict_document

        return verdict_document(self)

    def html(self) -> str:
        """A complete page with the verdict and a swim-lane diagram of each counterexample, and of
        the path to each goal that was asked for.
        """
        from groupcheck.oracles.show.html import page

        return page(self.report())

    def svg(self) -> str:
        """The swim-lane of the first counterexample. Raises `UserError` if there is none."""
        from groupcheck.oracles.show.html import image

        self._first("SVG")
        return image(self.explanations[0])

    def itf(self) -> dict[str, Any]:
        """The first counterexample in the Informal Trace Format. Raises `UserError` if there is
        none.
        """
        from groupcheck.oracles.show.itf import trace

        return trace(self.subject, self._first("ITF"))

    def pytest(self, file: str | FilePath | None = None) -> str:
        """The text of a test file that reproduces the counterexamples, to be written to `file`
        (None: any in the current folder). Raises `UserError` if there is none.
        """
        from groupcheck.oracles.show.pytest_export import test_file

        self._first("pytest")
        return test_file(self, None if file is None else FilePath(file))

    def save(self, path: str | FilePath) -> None:
        """Writes the page of `html` to a file."""
        from groupcheck.oracles.show.files import write

        write(FilePath(path), self.html())

    def __str__(self) -> str:
        from groupcheck.oracles.show.text import report_text

        return report_text(self.report())

    def _repr_html_(self) -> str:
        from groupcheck.oracles.show.html import fragment

        return fragment(self.report())

    def _first(self, what: str) -> Violation:
        if not self.verdict.violations:
            held = f"{self.subject.title} is {self.verdict.verdict}"
            raise UserError(f"there is no counterexample to write as {what}: {held}")
        return self.verdict.violations[0]


@attrs.frozen(slots=False, repr=False)
class FollowResult(WalkedPath):
    """The path behind a key. Prints as text and displays itself in a notebook."""

    def __repr__(self) -> str:
        broken = ", ".join(self.broken) or "nothing"
        steps = len(self.path.steps)
        return f"<FollowResult {self.subject.title}: {steps} steps, breaks {broken}>"

    def report(self) -> Report:
        """Headline and explanations, ready to display."""
        from groupcheck.oracles.show.report import Report, scope_words, walk_command

        scope = scope_words(self.subject)
        last = len(self.path.steps)
        first = ", ".join(name for name, step in self.met.items() if step == last)
        ends = f"for the first time at the end: {first}" if first else ""
        return Report(
            "",
            self.subject.title,
            f"key {self.key}",
            tuple(fact for fact in (("scope", scope), ("goals met", ends)) if fact[1]),
            self.explanations,
            walks=tuple(walk_command(self.subject, one.key) for one in self.explanations),
        )

    def document(self) -> dict[str, Any]:
        """The path as plain JSON, schema groupcheck.path/1."""
        from groupcheck.oracles.show.document import path_document

        return path_document(self)

    def __str__(self) -> str:
        from groupcheck.oracles.show.text import report_text

        return report_text(self.report())

    def _repr_html_(self) -> str:
        from groupcheck.oracles.show.html import fragment

        return fragment(self.report())


def check(
    what: str | Spec,
    *,
    engine: str = "fast",
    workers: int = 1,
    max_states: int | None = None,
    max_seconds: float | None = None,
    max_memory: int | None = None,
    max_depth: int | None = None,
    walks: bool = False,
    random_walks: int | None = None,
    walk_length: int | None = None,
    seed: int | None = None,
    checkpoint: str | FilePath | None = None,
    resume: str | FilePath | None = None,
    spark: str | None = None,
    store: str | None = None,
    shards: int | None = None,
    hand_over: int | None = None,
    conformed: bool = False,
    symmetry: bool | None = None,
    progress: bool | Callable[[Progress], None] | None = None,
    mutation: str | None = None,
    invariants: Sequence[str | Promise] = (),
    goals: Sequence[str | Predicate] = (),
    constraints: Sequence[str | Predicate] = (),
    deadlock: bool = True,
    refines: Sequence[Refinement] | Refinement = (),
    faults: Mapping[str, int] | None = None,
    **scope: Any,
) -> CheckResult:
    """Explores a variant (`check("classic", members=3, faults={"crash": 1})`) or your own spec, and
    returns the verdict.

    `what`: the name of a variant, a `Spec`, or FILE.py:NAME (a `Spec`, a function that makes one,
    or a `Variant`). `scope`: fields of the variant's scope, or arguments of that function.
    `invariants`: those to check, names or your own (default: all). `goals`: names or your own; each
    is shown by a shortest path. A name may be FILE.py:NAME. `constraints`: your own; states beyond
    one are checked, but not expanded. `deadlock`: is one a violation? `refines`: smaller specs that
    this one must refine. `max_depth`: the most steps of a path. `walks`: go random walks of at most
    `walk_length` steps (100) in place of a search, until nothing new has come for long;
    `random_walks`: go so many. The same `seed` (0) gives the same walks. `progress=True`: judge
    promises about progress, of a variant these alone (a callable hears how far it has come).
    `faults` (name -> budget) and `goals`: if one never happens, the verdict is `unknown`.
    `max_memory`: bytes of resident memory that this process may use (with `spark`: with those that
    it starts). `checkpoint` and `resume`: directories. `spark`: the Spark master on whose executors
    the search runs. `store`: a folder for the log of all states; with `spark` a URI for them, and
    so is `resume`. `shards`: the number of parts. `hand_over`: the width of a level from which the
    search is spread. `conformed`: say which memories lie in scopes whose rows `conform` has
    executed. `symmetry`: store one state for all that differ only in the order of equal elements?
    None: with the fast engine, where an array has three elements or more.

    Raises `UserError` (`groupcheck.UserError`) for anything that does not exist or does not fit.
    """
    about = subject(
        what, mutation=mutation, invariants=invariants, goals=goals, constraints=constraints,
        deadlock=deadlock, progress=_judges(progress), refines=refines, faults=faults, **scope,
    )  # fmt: skip
    return run(
        about,
        Limits(max_states, max_seconds, max_memory, depth=max_depth),
        progress if callable(progress) else None,
        engine=engine,
        workers=workers,
        checkpoint=checkpoint, resume=resume,
        spread=Spreading(spark, store, shards, hand_over),
        conformed=conformed, symmetry=symmetry,
        walks=walks_of(walks, random_walks, walk_length, seed, workers),
    )  # fmt: skip


def _judges(progress: Any) -> Any:
    """The choice of promises that `progress` makes: a listener and None say nothing."""
    return False if progress is None or callable(progress) else progress


def run(
    about: Subject,
    limits: Limits,
    progress: Callable[[Progress], None] | None = None,
    *,
    engine: str = "fast",
    workers: int = 1,
    checkpoint: str | FilePath | None = None,
    resume: str | FilePath | None = None,
    spread: Spreading = Spreading(),
    conformed: bool = False,
    symmetry: bool | None = None,
    walks: Walks | None = None,
) -> CheckResult:
    """Explores a subject with one of the engines, in this process or on a cluster, or goes
    random walks. Raises `UserError` for options that do not fit each other.
    """
    if engine not in ENGINES:
        raise one_of("engine", engine, ENGINES)
    _must_be_positive(limits, workers, spread)
    if spread.master is not None:
        is_default = engine == "fast" and not checkpoint and workers == 1
        must_be_for_executors(about, walks, conformed, is_default)
    if about.progress:
        _must_be_one_search(walks, conformed)
    if walks is not None:
        others = (checkpoint, resume, conformed, symmetry, spread != Spreading())
        searching = engine != "fast" or any(others)
        verdict = walked(about.spec, walks, limits, progress, searching)
        verdict = _untold(about, verdict, "random walks keep no schedules of goals")
        return CheckResult(about, _judged(about, verdict), "walks", walks=walks)
    looker = _looker(about, engine) if conformed else None
    if spread.master is not None:
        verdict = _spread(about, limits, progress, spread, resume, symmetry)
        return CheckResult(about, _judged(about, verdict))
    must_be_local(spread, checkpoint, resume)
    if spread.store is not None:
        must_be_storable(spread.store, about, engine, checkpoint, resume, conformed)
    if engine != "fast":
        is_more = bool(checkpoint or resume or workers != 1)
        verdict = in_plain_python(about, limits, progress, engine, symmetry, is_more)
    else:
        from groupcheck.model.engine import staged

        verdict = staged.explore(
            about.spec,
            limits,
            progress,
            workers=workers,
            checkpoint=checkpoint if spread.store is None else spread.store,
            resume=resume,
            stored=spread.store is not None,
            look=looker,
            symmetry=symmetry,
            required=bool(symmetry),
            liveness=about.progress,
            goals=about.goals,
        )
    return CheckResult(about, _judged(about, verdict), engine, looker.found if looker else None)


def _judged(about: Subject, verdict: Verdict) -> Verdict:
    if verdict.reason.startswith("interrupted ") and not was_interrupted():
        raise UserError("a rule or promise raised KeyboardInterrupt", where=about.title)
    return judged(about, verdict)


def _untold(about: Subject, verdict: Verdict, why: str) -> Verdict:
    """The verdict with a note on the goals that were asked for and are met, but come without a
    schedule.
    """
    met = [goal for goal in about.goals if verdict.goals[goal] is not None]
    if not met:
        return verdict
    note = f"no schedule for {', '.join(met)}: {why}"
    return attrs.evolve(verdict, notes=(*verdict.notes, note))


def _looker(about: Subject, engine: str) -> Looker:
    """The object that collects the coordinator's memories of a search."""
    if engine != "fast":
        raise UserError("needs the fast engine", where="--conformed", do="leave out --engine")
    from groupcheck.oracles.check.conformed import Looker

    return Looker(about)


def _must_be_one_search(walks: Walks | None, conformed: bool) -> None:
    """Raises `UserError` for what cannot judge promises about progress: that takes the whole graph
    of the states.
    """
    for name, given in ((walks_named(walks), walks is not None), ("--conformed", conformed)):
        if given:
            raise UserError(f"cannot be combined with {GRAPH}", where=name, do=ONE_OF_THEM)


def _must_be_positive(limits: Limits, workers: int, spread: Spreading) -> None:
    """Raises `UserError` for a limit or a number that is not a number, or is too small."""
    for name, value, least in (
        ("workers", workers, 1),
        ("max states", limits.states, 1),
        ("max memory", limits.memory, 1),
        ("max depth", limits.depth, 1),
        ("shards", spread.shards, 1),
        ("hand over", spread.hand_over, 0),
    ):
        must_be_at_least(name, value, least)
    seconds: object = limits.seconds
    real = isinstance(seconds, Real) and not isinstance(seconds, bool)
    if seconds is not None and not (real and seconds > 0):  # type: ignore[operator]
        raise UserError(f"max seconds is {seconds!r}, not more than 0")


def _spread(
    about: Subject,
    limits: Limits,
    progress: Callable[[Progress], None] | None,
    spread: Spreading,
    resume: str | FilePath | None,
    symmetry: bool | None,
) -> Verdict:
    compiler.must_be_installed("--spark")
    from groupcheck.oracles.spark.check import explore

    assert spread.master is not None
    return explore(
        about.spec,
        spread.master,
        limits,
        progress,
        store=spread.store,
        resume=None if resume is None else str(resume),
        shards=spread.shards,
        hand_over=spread.hand_over,
        symmetry=symmetry,
        goals=about.goals,
    )


def follow(
    what: str | Spec,
    key: str,
    *,
    mutation: str | None = None,
    invariants: Sequence[str | Promise] = (),
    goals: Sequence[str | Predicate] = (),
    progress: bool = False,
    faults: Mapping[str, int] | None = None,
    **scope: Any,
) -> FollowResult:
    """Replays the key of a counterexample or of the path to a goal; the other arguments are those
    of `check`. Raises `UserError` if the key does not fit the variant, scope and mutation.
    """
    about = subject(
        what,
        mutation=mutation,
        invariants=invariants,
        goals=goals,
        progress=progress,
        faults=faults,
        **scope,
    )
    return walk(about, key)


def walk(about: Subject, key: str) -> FollowResult:
    """Replays a key in a subject. Raises `UserError` if the key is not a text or does not fit the
    subject.
    """
    from groupcheck.oracles.explain.explanation import broken_along, met_along

    if not isinstance(key, str):
        raise UserError(f"{key!r} is not a key", do="a key looks like gc1-0.3.12")
    path = Semantics(about.spec).follow(key)
    return FollowResult(
        about, key, path, broken_along(about.spec, path), met_along(about.spec, path)
    )
