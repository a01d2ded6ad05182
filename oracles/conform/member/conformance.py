"""The model's member compared with Kafka's own, row by row: the question and its answer."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import nullcontext
from typing import Any

import attrs
from attrs import frozen
from rich.console import Group, RenderableType

from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.oracles.conform import conform_types
from groupcheck.oracles.conform.comparison import RowsComparison, failure, findings_view
from groupcheck.oracles.conform.member.abstractions import ABSTRACTIONS
from groupcheck.oracles.conform.member.callback_rows import CallbackRows
from groupcheck.oracles.conform.member.callback_steps import CallbackSteps
from groupcheck.oracles.conform.member.changing import Changing
from groupcheck.oracles.conform.member.commit_styles import StyledRows
from groupcheck.oracles.conform.member.every_row import AnyRows, every_row
from groupcheck.oracles.conform.member.group_steps import GroupSteps, Misfit
from groupcheck.oracles.conform.member.keeping_rows import FullOffsetRows, FullOffsetSteps
from groupcheck.oracles.conform.member.moves import Observations
from groupcheck.oracles.conform.member.promises import PROMISES, Finding
from groupcheck.oracles.conform.member.rows import Rows
from groupcheck.oracles.conform.member.shown import kind_of, row_shown, transcript
from groupcheck.oracles.conform.member.tour import (
    AnyRow,
    ChangingTour,
    Counts,
    Difference,
    MemberRow,
    StyledTour,
    Tour,
    Touring,
)
from groupcheck.oracles.conform.member.unsubscribing import (
    UnsubscribingRows,
    UnsubscribingSteps,
)
from groupcheck.oracles.conform.row_results import MAX_DIFFERENCES
from groupcheck.oracles.conform.shown import scope_shown
from groupcheck.oracles.explain.subject import variant_named
from groupcheck.oracles.kafka.comparison import block, first_of
from groupcheck.oracles.kafka.driver import Driver
from groupcheck.oracles.kafka.versions import known
from groupcheck.oracles.processes.supervisor import until_interrupted
from groupcheck.oracles.show.json_schemas import ABSENT
from groupcheck.oracles.show.meter import of_part
from groupcheck.oracles.show.suite import ERROR, Case, Suite
from groupcheck.traces.phrases import plural

AnyTour = Touring[Any, Any, Any]


@frozen(kw_only=True)
class MemberConformance(RowsComparison):
    """The results of the rows."""

    side = "member"
    option = " --side member"
    when = ""

    # Of each kind of member, with commits in poll and without.
    tours: tuple[AnyTour, ...]
    # The steps of the group's model that were compared with the rows, scope by scope.
    steps: tuple[GroupSteps, ...] = ()
    # Steps that differ from the rows, each beside the real member.
    misfits: tuple[Difference, ...] = ()

    @property
    def scopes(self) -> tuple[Scope, ...]:
        """The scopes whose rows were executed."""
        return tuple(tour.rows.scope for tour in self.tours)

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
    def differing(self) -> int:
        """Rows on which they differ, and steps that differ from the rows."""
        return len(self.differences)

    @property
    def stopped(self) -> str:
        """Why a tour ended early; else empty."""
        return next((tour.reason for tour in self.tours if tour.reason), "")

    @property
    def missing(self) -> str:
        """The outcomes that no row executes."""
        return f"no row executes {', '.join(self.never_executed)}" if self.never_executed else ""

    def title(self) -> str:
        return f"the member of {self.model} and the Java client of Kafka {self.kafka}"

    def facts(self) -> list[tuple[str, str]]:
        c, scope = self.counts, self.scopes[0]
        bounds = [
            plural(n or 0, name)
            for name, n in (
                ("generation", scope.generations),
                ("partition", scope.partition_count),
                ("record", scope.records),
            )
        ]
        ways = dict.fromkeys("on" if s.autocommit else "off" for s in self.scopes)
        kinds = dict.fromkeys(tour.rows.kind for tour in self.tours if tour.rows.kind)
        excused = [f"{n:,} {name}" for name, n in self.excused.items()]
        steps = self.group_steps()
        styles = _styles(self)
        return [
            ("scope", f"{', '.join(bounds)}; commits in poll {' and '.join(ways)}"),
            *([("members", "; ".join(kinds))] if kinds else []),
            ("rows", f"{c.rows:,} (memory, input), of {c.memories:,} memories"),
            ("executed", f"{c.executed:,}, agreeing {c.agreeing:,}, differing {c.differing:,}"),
            *([("styles", styles)] if styles else []),
            ("again", f"{c.again:,} from {c.real_memories - c.memories:,} more real memories"),
            ("steps", f"{steps.compared:,} of the group's model, of {steps.states:,} states"),
            *([("never fired", ", ".join(self.never_executed))] if self.never_executed else []),
            ("beyond the model", "; ".join(excused) or "no row"),
            ("commands", f"{c.commands:,}, {self.speed(c.executed, 'rows')}"),
        ]

    def details(self) -> Iterator[RenderableType]:
        """The first differences with their schedules, and what was asked for beside that."""
        yield from first_of(self.differences, _difference, "rows differ (--json lists them)")
        if self.asks:
            title = f"Promises asked of the real member in {self.counts.executed:,} rows"
            found = [finding_shown(*one) for one in self.findings]
            yield from findings_view(f"{title}; broken in {len(found)} ways.", found)

    def suite(self) -> Suite:
        """One case for each kind of row, and one for the steps of the group's model."""
        rows = [(kind_of(row), agrees) for row, agrees in self.listed]
        cases = [*self.kind_cases(rows, self._first, self.reason)]
        if self.steps:
            cases.append(self._steps_case())
        if self.verdict == "unknown":
            why = f"unknown: {self.reason}"
            cases.append(Case("every row and outcome is executed", ERROR, why))
        name = f"conform {self.variant}{self.option}, Kafka {self.kafka}"
        return Suite(name, tuple(cases))

    def _first(self, kind: str) -> conform_types.Difference | None:
        alike = (d for d in self.differences if kind_of(d.row) == kind)
        return next(map(difference_shown, alike), None)

    def _steps_case(self) -> Case:
        name = "steps of the group's model"
        if not self.misfits:
            return Case(name)
        why = f"{len(self.misfits):,} steps differ from the rows"
        return failure(name, why, difference_shown(self.misfits[0]))

    def table(self) -> list[dict[str, Any]]:
        return self.table_of(
            {
                "row": number,
                "memory": row_shown(row)[1],
                "generation": row.before.client.generation,
                "input": row_shown(row)[0],
                "outcomes": row.allowed,
                "executed": agrees is not None,
                "agrees": agrees,
            }
            for number, (row, agrees) in enumerate(self.listed)
        )

    def asked_for(self) -> conform_types.Scope:
        return with_faults(self.scopes[0])

    def executed(self) -> dict[str, int]:
        c = self.counts
        return {"rows": c.rows, "executed": c.executed, "schedules": c.executed}

    def beside(self, old: str, new: str) -> str:
        return f"the member of {self.variant}, Java clients of Kafka {old} and {new}"

    def on_both(self, number: int) -> str:
        c = self.counts
        executed = f"{c.executed:,} of {c.rows:,} rows executed on both in {self.seconds:.1f} s"
        return f"{executed}, {number:,} differ"

    def content(self) -> conform_types.ConformDocument:
        c = self.counts
        return conform_types.ConformDocument(
            **self.head(),
            side=self.side,
            scope=self.asked_for(),
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
            real=variant_named(self.variant).real_member,
            never_executed=list(self.never_executed),
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

    def group_steps(self) -> conform_types.GroupSteps:
        """The steps of the group's model, counted."""
        return conform_types.GroupSteps(
            states=sum(s.states for s in self.steps),
            compared=sum(s.steps for s in self.steps),
            differing=len(self.misfits),
        )

    @property
    def findings(self) -> list[tuple[Finding, MemberRow, Observations]]:
        """The promises that the real member breaks, each with the first schedule that shows it."""
        found: dict[Finding, tuple[MemberRow, Observations]] = {}
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


def _styles(result: MemberConformance) -> str:
    """How many of the rows are those of each style of commits."""
    rows: dict[str, int] = {}
    for scope, tour in zip(result.scopes, result.tours, strict=True):
        if style := scope.commit_style:
            rows[style] = rows.get(style, 0) + tour.counts.rows
    each = [f"{count:,} of commit_style {style}" for style, count in rows.items()]
    return ", ".join(each)


def _difference(k: int, d: Difference) -> Group:
    shown = difference_shown(d)
    before = (f"model before: {shown.memory}", "dim")
    differs = (f"real {what}" for what in shown.differs)
    return block(f"{k}. {shown.input}", before, *differs, *shown.transcript)


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


def finding_shown(finding: Finding, row: MemberRow, seen: Observations) -> conform_types.Finding:
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
    progress: Callable[[Counts, int, int], None] | None = None,
    tour: Callable[..., AnyTour] | None = None,
) -> MemberConformance:
    """Executes every row of the variant's member on the Java client of that Kafka version.

    `findings`: the promises of the real member are checked after each row. `lists`: the result
    lists its rows. `settings`: fields of the scope as text, such as `partitions` or `commit_style`.
    `tour`: makes the tour of such rows, which is then not compared with the group's model. Raises
    `UserError` for a name that does not exist, and where there is no JDK.
    """
    found = every_row(variant, generations, mutation, settings or {})
    began = time.perf_counter()
    tours: list[AnyTour] = []
    steps: list[GroupSteps] = []
    misfits: list[Difference] = []
    with nullcontext(driver) if driver else Driver(known(kafka)) as own:
        for k, rows in enumerate(found, 1):
            left = None if max_rows is None else max_rows - sum(t.counts.rows for t in tours)
            heard = progress and of_part(progress, k, len(found))
            one = (tour or toured)(rows, own, left, max_differences, heard, findings, lists)
            tours.append(one)
            with until_interrupted(one.stop):
                one.run()
            if one.reason:
                break
            if tour is None and isinstance(one, Tour) and not one.differences:
                steps.append(_steps_of(one.rows)(one.rows, one.memories))
                misfits += beside(one, steps[-1].run(max_differences))
    fired = set[str]().union(*(one.fired for one in tours))
    named = set[str]().union(*(rows.outcomes_named for rows in found))
    apart = variant_named(variant).member_apart
    return MemberConformance(
        variant=variant,
        kafka=kafka,
        mutation=mutation,
        tours=tuple(tours),
        never_executed=tuple(sorted(named - fired - {*apart})),
        seconds=time.perf_counter() - began,
        asks=findings,
        steps=tuple(steps),
        misfits=tuple(misfits),
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
        row = MemberRow(misfit.memory, misfit.given, outcome, standing)
        (seen,) = tour.driver.run_all([row.probe])
        yield Difference(row, (f"in the group's model: {misfit.what}",), seen)


def _steps_of(rows: Rows) -> type[GroupSteps]:
    if isinstance(rows, FullOffsetRows):
        return FullOffsetSteps
    if isinstance(rows, UnsubscribingRows):
        return UnsubscribingSteps
    return CallbackSteps if isinstance(rows, CallbackRows) else GroupSteps
