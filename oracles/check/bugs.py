"""Finds every known bug again: puts the mutation in, explores its smallest scope, and expects the
invariant that it names to break.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from attrs import frozen
from rich.console import Group
from rich.text import Text

from groupcheck.model.engine import Limits, Verdict
from groupcheck.model.mutations import Mutation
from groupcheck.model.mutations.tickets import versions_of
from groupcheck.oracles.check.bugs_types import Bug, ProgressPromise, RealReleases
from groupcheck.oracles.check.run import CheckResult, run
from groupcheck.oracles.check.score import Score
from groupcheck.oracles.explain.explanation import Explanation
from groupcheck.oracles.explain.subject import Subject, every_mutation, mutation_named, subject
from groupcheck.oracles.museum.exhibits import BY_ID
from groupcheck.oracles.printable import printable
from groupcheck.oracles.processes.parallel import results
from groupcheck.oracles.processes.supervisor import INTERRUPTED, until_interrupted
from groupcheck.oracles.show import parquet
from groupcheck.oracles.show.json_schemas import ABSENT, printed
from groupcheck.oracles.show.meter import time_left
from groupcheck.oracles.show.text import explanation_view

ENGINE = "fast"


@frozen
class BugResult:
    """A mutation and the check of it."""

    mutation: Mutation
    result: CheckResult
    # The check of the promise about progress that the mutation names; None if it names none.
    later: CheckResult | None = None

    @property
    def explanation(self) -> Explanation | None:
        """The story of the invariant that the mutation names; None if that invariant held."""
        name = self.mutation.invariant
        return next((e for e in self.result.explanations if e.invariant == name), None)

    @property
    def later_fell(self) -> bool:
        """Whether the promise about progress that the mutation names is broken."""
        later = () if self.later is None else self.later.verdict.violations
        return any(v.invariant == self.mutation.progress for v in later)

    @property
    def fell(self) -> bool:
        """Whether everything that the mutation names is broken."""
        return self.explanation is not None and (self.later is None or self.later_fell)

    @property
    def versions(self) -> str:
        """The known facts about the versions that have the bug; empty if nothing is."""
        return versions_of(self.mutation.ticket)

    @property
    def seconds(self) -> float:
        """How long the search for the broken invariant took."""
        return round(self.result.verdict.seconds, 2)

    def shown(self, killed_by: list[str] = ABSENT) -> Bug:
        """One object that `bugs --json` prints. `killed_by`: with a score, the promises that find
        the bug.
        """
        m, v, told = self.mutation, self.result.verdict, self.explanation
        real, later = BY_ID.get(m.id), self.later
        return Bug(
            id=m.id,
            ticket=m.ticket,
            variant=m.family.base,
            rule=m.rule,
            invariant=m.invariant,
            title=m.title,
            scope=self.result.subject.scope(),
            found=self.fell,
            verdict=v.verdict,
            broken=[violation.invariant for violation in v.violations],
            states=v.states,
            depth=told.depth if told else None,
            key=told.key if told else None,
            prose=told.prose if told else None,
            versions=self.versions,
            seconds=self.seconds,
            progress=None
            if later is None
            else ProgressPromise(
                promise=m.progress, found=self.later_fell, states=later.verdict.states
            ),
            real=RealReleases(old=real.old, fixed=real.fixed) if real else None,
            killed_by=killed_by,
        )


def chosen(ids: Sequence[str] = ()) -> tuple[Mutation, ...]:
    """The mutations of these ids, all if there are none. Raises `UserError` for an unknown id."""
    return tuple(mutation_named(name) for name in ids) if ids else every_mutation()


def find_all(
    ids: Sequence[str] = (),
    progress: Callable[[int, int, str], None] | None = None,
    workers: int = 1,
) -> list[BugResult]:
    """Checks these mutations, or all of them, each within its own scope, in up to `workers`
    processes; Ctrl-C ends it, and those that were checked by then are given. `progress` hears how
    many are done, how many there are, and which is the first that is not. Raises `UserError` for an
    unknown id.
    """
    every = chosen(ids)
    found: dict[int, BugResult] = {}
    stopped: list[str] = []

    def report() -> None:
        following = next((m.id for k, m in enumerate(every) if k not in found), "")
        if progress and following:
            progress(len(found), len(every), following)

    with until_interrupted(stopped.append):
        report()
        for index, verdicts in results(_verdicts, [m.id for m in every], workers):
            if any(v.reason.startswith(INTERRUPTED) for v in verdicts):
                break
            found[index] = _found(every[index], verdicts)
            report()
    return [one for _, one in sorted(found.items())]


def progress_line(done: int, whole: int, name: str, seconds: float) -> str:
    """One line for a terminal."""
    left = time_left(done, whole, seconds)
    return f"{done} of {whole} bugs  {seconds:.0f} s{left}  {printable(name)}"


def _subjects(m: Mutation) -> list[Subject]:
    """The searches for a bug: for the broken invariant, and for a broken promise about progress."""
    ways = (False, True) if m.progress else (False,)
    return [subject(m.family.base, mutation=m.id, progress=progress) for progress in ways]


def _verdicts(name: str) -> list[Verdict]:
    """The verdicts of these searches: rules do not travel between processes."""
    verdicts: list[Verdict] = []
    for about in _subjects(mutation_named(name)):
        verdicts.append(run(about, Limits(), engine=ENGINE).verdict)
        if verdicts[-1].reason.startswith(INTERRUPTED):
            break
    return verdicts


def _found(m: Mutation, verdicts: Sequence[Verdict]) -> BugResult:
    pairs = zip(_subjects(m), verdicts, strict=True)
    return BugResult(m, *(CheckResult(about, verdict, ENGINE) for about, verdict in pairs))


def documents(found: Sequence[BugResult], told: Score | None) -> list[dict[str, Any]]:
    """All that `bugs --json` prints; with a score also which promises find each bug."""
    killers = {one.mutation.id: list(one.promises) for one in told.killed} if told else {}
    return [printed(one.shown(killers[one.mutation.id] if told else ABSENT)) for one in found]


def write_parquet(found: Sequence[BugResult], path: Path) -> None:
    """Writes the bug table (docs/tables.md)."""
    rows = [printed(one.shown()) for one in found]
    for row in rows:
        row["scope"] = json.dumps(row["scope"], sort_keys=True)
        row["progress"] = row["progress"] and row["progress"]["promise"]
        del row["real"]
    parquet.write_table(rows, columns(), path)


def columns() -> dict[str, str]:
    """Column -> Arrow type of the bug table."""
    found = parquet.columns_of(Bug, wide=["states"]) | {"scope": "string", "progress": "string"}
    return {name: kind for name, kind in found.items() if name not in ("real", "killed_by")}


def view(found: Sequence[BugResult], told_whole: bool) -> Group:
    """Each bug with what it broke, and with its steps too if `told_whole`."""
    parts: list[Any] = []
    for one in found:
        m, v, told = one.mutation, one.result.verdict, one.explanation
        state = ("found", "bold green") if told else ("NOT FOUND", "bold red")
        name = (printable(m.id), "bold")
        parts.append(
            Text.assemble(state, "  ", name, f"  {printable(m.ticket)}  {printable(m.title)}")
        )
        if one.versions:
            parts.append(Text(f"    {printable(one.versions)}", "dim"))
        if told is None:
            held = f"{m.invariant} is not broken: {v.verdict}, {v.reason}"
            parts.append(Text(f"    {printable(held)}"))
        elif told_whole:
            parts.append(explanation_view(told))
        else:
            where = f"{m.invariant} breaks at depth {told.depth}, {v.states:,} states"
            where += f", {one.seconds} s"
            parts += [Text(f"    {printable(where)}"), Text(f"    {printable(told.sentence)}")]
        if one.later is not None:
            said = "breaks in the end" if one.later_fell else "DOES NOT BREAK"
            states = f"{one.later.verdict.states:,} states"
            parts.append(Text(f"    {printable(m.progress)} {said}, {states}"))
        parts.append(Text(""))
    fell = sum(one.fell for one in found)
    parts.append(Text(f"{fell} of {len(found)} bugs found"))
    return Group(*parts)
