"""The model's member compared with Kafka's own, row by row: the question and its answer."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import attrs
from attrs import frozen

from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.oracles.conform import conform_types
from groupcheck.oracles.conform.conform_types import Agreement
from groupcheck.oracles.conform.conformance import SCHEMA
from groupcheck.oracles.conform.member.abstractions import ABSTRACTIONS
from groupcheck.oracles.conform.member.callback_rows import CallbackRows
from groupcheck.oracles.conform.member.callback_steps import CallbackSteps
from groupcheck.oracles.conform.member.changing import Changing
from groupcheck.oracles.conform.member.commit_styles import StyledRows
from groupcheck.oracles.conform.member.every_row import AnyRows, every_row
from groupcheck.oracles.conform.member.group_steps import GroupSteps, Misfit
from groupcheck.oracles.conform.member.keeping_rows import KeepingRows, KeepingSteps
from groupcheck.oracles.conform.member.moves import Seen
from groupcheck.oracles.conform.member.promises import PROMISES, Finding
from groupcheck.oracles.conform.member.rows import Rows
from groupcheck.oracles.conform.member.shown import kind_of, row_shown, transcript
from groupcheck.oracles.conform.member.tour import (
    AnyRow,
    ChangingTour,
    Counts,
    Difference,
    Row,
    StyledTour,
    Tour,
    Touring,
)
from groupcheck.oracles.conform.shown import scope_shown
from groupcheck.oracles.explain.subject import variant_named
from groupcheck.oracles.kafka.driver import Driver
from groupcheck.oracles.kafka.versions import known
from groupcheck.oracles.processes.supervisor import until_interrupted
from groupcheck.oracles.show.json_schemas import ABSENT, document

MAX_DIFFERENCES = 20
AnyTour = Touring[Any, Any, Any]


@frozen
class MemberConformance:
    """The results of the rows."""

    variant: str
    # The scopes whose rows were executed: of each kind of member, with commits in poll and without.
    scopes: tuple[Scope, ...]
    kafka: str
    mutation: str | None
    tours: tuple[AnyTour, ...]
    # Outcomes of the member's rules that fired in no row that agrees.
    unfired: tuple[str, ...]
    seconds: float
    # Were the promises checked?
    asks: bool = False
    # The steps of the group's model that were compared with the rows, scope by scope.
    steps: tuple[GroupSteps, ...] = ()
    # Steps that differ from the rows, each beside the real member.
    misfits: tuple[Difference, ...] = ()

    @property
    def counts(self) -> Counts:
        """The figures of all scopes together."""
        every = [attrs.asdict(tour.counts) for tour in self.tours]
        return Counts(**{name: sum(c[name] for c in every) for name in every[0]})

    @property
    def differences(self) -> list[Difference]:
        return [*(d for tour in self.tours for d in tour.differences), *self.misfits]

    @property
    def listed(self) -> list[tuple[AnyRow, bool | None]]:
        """Every row, if asked for, and whether it agrees; None if it was not executed."""
        return [row for tour in self.tours for row in tour.listed]

    @property
    def excused(self) -> Counter[str]:
        """Abstraction -> rows that meet it."""
        return sum((tour.excused for tour in self.tours), Counter())

    @property
    def verdict(self) -> Agreement:
        """`agrees`, `differs`, or `unknown` where not everything was executed."""
        if self.differences:
            return "differs"
        return "unknown" if self.reason else "agrees"

    @property
    def reason(self) -> str:
        """Why the run stopped early, or why the verdict is unknown; else empty."""
        stopped = next((tour.reason for tour in self.tours if tour.reason), "")
        if stopped or self.differences or not self.unfired:
            return stopped
        return f"no row executes {', '.join(self.unfired)}"

    @property
    def exit_code(self) -> int:
        return {"agrees": 0, "differs": 1, "unknown": 3}[self.verdict]

    def document(self) -> dict[str, Any]:
        """All that `--json` prints. `seconds` apart, the same question gives the same document."""
        c = self.counts
        shown = conform_types.ConformDocument(
            side="member",
            variant=self.variant,
            scope=with_faults(self.scopes[0]),
            toured=[_toured(tour) for tour in self.tours],
            scopes=[
                conform_types.ScopeShare(
                    member=tour.rows.kind,
                    autocommit=scope.autocommit,
                    commit_style=scope.commit_style,
                    records=scope.records,
                    rows=tour.counts.rows,
                    memories=tour.counts.memories,
                )
                for scope, tour in zip(self.scopes, self.tours, strict=True)
            ],
            kafka=self.kafka,
            mutation=self.mutation,
            seed=0,
            verdict=self.verdict,
            reason=self.reason,
            rows=c.rows,
            executed=c.executed,
            agreeing=c.agreeing,
            differing=c.differing,
            unrealizable=c.rows - c.executed,
            unrealizable_reasons={},
            memories=c.memories,
            executed_from=conform_types.RealMemories(
                real_memories=c.real_memories, executions=c.executed + c.again
            ),
            outcomes=conform_types.OutcomeCounts(of_rows_with_several=0, seen=0, unseen=0),
            unseen=[],
            excuses={a.name: self.excused[a.name] for a in ABSTRACTIONS},
            group_steps=self.group_steps(),
            schedules=c.executed + c.again,
            commands=c.commands,
            seconds=round(self.seconds, 3),
            real=variant_named(self.variant).real_member,
            never_executed=list(self.unfired),
            not_executed=dict(variant_named(self.variant).member_apart),
            abstractions={a.name: a.meaning for a in ABSTRACTIONS},
            asked=self._asked() if self.asks else ABSENT,
            findings=[finding_shown(*one) for one in self.findings] if self.asks else ABSENT,
            causes=[
                conform_types.Cause(
                    kind=kind, differs=list(what), rows=rows, first=difference_shown(first)
                )
                for (kind, what), (rows, first) in self.causes.items()
            ],
            differences=[difference_shown(d) for d in self.differences],
        )
        return document(SCHEMA, shown)

    def group_steps(self) -> conform_types.GroupSteps:
        """The steps of the group's model, counted."""
        return conform_types.GroupSteps(
            states=sum(s.states for s in self.steps),
            compared=sum(s.steps for s in self.steps),
            differing=len(self.misfits),
        )

    @property
    def findings(self) -> list[tuple[Finding, Row, Seen]]:
        """The promises that the real member breaks, each with the first schedule that shows it."""
        found: dict[Finding, tuple[Row, Seen]] = {}
        for tour in self.tours:
            found = tour.findings | found
        return [(f, *found[f]) for f in sorted(found, key=lambda f: (f.promise, f.kind))]

    def _asked(self) -> int:
        return sum(tour.counts.executed for tour in self.tours if isinstance(tour, Tour))

    @property
    def causes(self) -> dict[tuple[str, tuple[str, ...]], tuple[int, Difference]]:
        """(what happened, what differs) -> the number of such rows, and the first of them."""
        found: dict[tuple[str, tuple[str, ...]], tuple[int, Difference]] = {}
        for d in self.differences:
            key = (kind_of(d.row), tuple(what.partition(":")[0] for what in d.what))
            rows, first = found.get(key, (0, d))
            found[key] = (rows + 1, first)
        return found


def _toured(tour: AnyTour) -> conform_types.TouredScope:
    c = tour.counts
    return conform_types.TouredScope(
        scope=with_faults(tour.rows.scope),
        rows=c.rows,
        executed=c.executed,
        memories=c.memories,
        real_memories=c.real_memories,
    )


def with_faults(scope: Scope) -> conform_types.Scope:
    """The scope as the document has it."""
    return scope_shown(scope, tuple(fault for fault, _ in scope.faults))


def finding_shown(finding: Finding, row: Row, seen: Seen) -> conform_types.Finding:
    """A promise that the real member breaks, with the shortest schedule that shows it."""
    return conform_types.Finding(
        promise=finding.promise,
        statement=PROMISES[finding.promise],
        kind=finding.kind,
        transcript=transcript(Difference(row, (), seen)),
    )


def difference_shown(d: Difference) -> conform_types.Difference:
    """One row on which they differ, with the shortest schedule that leads to it."""
    happens, memory = row_shown(d.row)
    return conform_types.Difference(
        settings={},
        input=happens,
        memory=memory,
        differs=list(d.what),
        transcript=transcript(d),
    )


def conform_member(
    variant: str,
    *,
    kafka: str,
    generations: int | None = None,
    mutation: str | None = None,
    settings: Mapping[str, str] | None = None,
    max_rows: int | None = None,
    max_differences: int = MAX_DIFFERENCES,
    findings: bool = False,
    lists: bool = False,
    driver: Driver | None = None,
    progress: Callable[[Counts], None] | None = None,
) -> MemberConformance:
    """Executes every row of the variant's member on the Java client of that Kafka version.

    `findings`: the promises of the real member are checked after each row. `lists`: the result
    lists its rows. `settings`: fields of the scope as text, such as `partitions` or `commit_style`.
    Raises `UserError` for a name
    that does not exist, and where there is no JDK.
    """
    found = every_row(variant, generations, mutation, settings or {})
    own = driver or Driver(known(kafka))
    began = time.perf_counter()
    tours: list[AnyTour] = []
    steps: list[GroupSteps] = []
    misfits: list[Difference] = []
    try:
        for rows in found:
            left = None if max_rows is None else max_rows - sum(t.counts.rows for t in tours)
            tour = toured(rows, own, left, max_differences, progress, findings, lists)
            tours.append(tour)
            with until_interrupted(tour.stop):
                tour.run()
            if tour.reason:
                break
            if isinstance(tour, Tour) and not tour.differences:
                steps.append(_steps_of(tour.rows)(tour.rows, tour.memories))
                misfits += beside(tour, steps[-1].run(max_differences))
    finally:
        if driver is None:
            own.close()
    fired = set[str]().union(*(tour.fired for tour in tours))
    named = set[str]().union(*(rows.outcomes_named for rows in found))
    apart = variant_named(variant).member_apart
    return MemberConformance(
        variant,
        tuple(tour.rows.scope for tour in tours),
        kafka,
        mutation,
        tuple(tours),
        tuple(sorted(named - fired - {*apart})),
        time.perf_counter() - began,
        findings,
        tuple(steps),
        tuple(misfits),
    )


def toured(rows: AnyRows, *options: Any) -> AnyTour:
    """The tour of such rows. `options`: the fields of a tour, in their order."""
    if isinstance(rows, Changing):
        return ChangingTour(rows, *options)
    if isinstance(rows, StyledRows):
        return StyledTour(rows, *options)
    return Tour(rows, *options)


def beside(tour: Tour, misfits: Iterable[Misfit]) -> Iterator[Difference]:
    """Each misfit with what the real member does in its memory."""
    for misfit in misfits:
        standing = tour.memories[misfit.memory]
        outcome = next(iter(tour.rows.outcomes(misfit.memory, misfit.given)), None)
        row = Row(misfit.memory, misfit.given, outcome, standing)
        (seen,) = tour.driver.run_all([row.probe])
        yield Difference(row, (f"in the group's model: {misfit.what}",), seen)


def _steps_of(rows: Rows) -> type[GroupSteps]:
    if isinstance(rows, KeepingRows):
        return KeepingSteps
    return CallbackSteps if isinstance(rows, CallbackRows) else GroupSteps
