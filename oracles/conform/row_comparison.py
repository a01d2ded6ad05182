"""The result of comparing the model's coordinator with Kafka's, row by row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from attrs import frozen
from rich.console import Group, RenderableType
from rich.text import Text

from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.oracles.conform import conform_types
from groupcheck.oracles.conform.abstractions import ABSTRACTIONS
from groupcheck.oracles.conform.comparison import RowsComparison, findings_view
from groupcheck.oracles.conform.covering import Coverage, coverage_view
from groupcheck.oracles.conform.promises import Finding
from groupcheck.oracles.conform.row_results import (
    Cause,
    Counts,
    Difference,
    ListedRow,
    MissingOutcome,
    RowResults,
    kind_of,
)
from groupcheck.oracles.conform.shown import (
    cause_shown,
    difference_shown,
    finding_shown,
    input_shown,
    scope_shown,
    settings_shown,
    situations_shown,
    unseen_shown,
)
from groupcheck.oracles.conform.transcript import model_seen
from groupcheck.oracles.explain.subject import variant_named
from groupcheck.oracles.kafka.comparison import block, first_of
from groupcheck.oracles.show.json_schemas import ABSENT, printed
from groupcheck.oracles.show.suite import ERROR, PASSED, Case, Suite
from groupcheck.traces.phrases import plural

UNSEEN_LISTED, UNSEEN_SHOWN = 100, 5  # outcomes never seen, of a document and of a report


@frozen
class ScopeTour:
    """One scope of a run, and its share of the counts."""

    scope: Scope
    faults: tuple[str, ...]
    share: conform_types.TouredScope


@frozen(kw_only=True)
class Conformance(RowsComparison):
    """The result of a run."""

    side = "coordinator"
    option = ""
    when = "after "

    # The scope that was asked for, and the small scopes for outcomes that cannot occur in it.
    toured: tuple[ScopeTour, ...]
    ledger: RowResults
    # What was executed of Kafka's classes, if that was counted.
    coverage: Coverage | None = None

    @property
    def scope(self) -> Scope:
        """The scope that was asked for."""
        return self.toured[0].scope

    @property
    def counts(self) -> Counts:
        return self.ledger.counts

    @property
    def differing(self) -> int:
        """The number of rows on which they differ."""
        return self.ledger.differing

    @property
    def differences(self) -> tuple[Difference, ...]:
        """The first of the rows that differ."""
        return tuple(self.ledger.differences)

    @property
    def unrealizable(self) -> Mapping[str, int]:
        """Reason -> how many rows were not executed for it."""
        return self.ledger.unrealizable

    @property
    def asked(self) -> int | None:
        """How often the promises were asked of the real memory; None if they were not."""
        return self.ledger.asked if self.asks else None

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The promises that the real coordinator breaks."""
        return tuple(f for _, f in sorted(self.ledger.findings.items())) if self.asks else ()

    @property
    def listed(self) -> tuple[tuple[ListedRow, bool, bool | None], ...]:
        """Each row: was it executed, does it agree (None if it was not executed)?"""
        return tuple((row, *self.ledger.became(row.number)) for row in self.ledger.listed)

    @property
    def stopped(self) -> str:
        return self.ledger.reason

    @property
    def missing(self) -> str:
        """Rows that were not executed, or outcomes that the model allows and nobody saw."""
        c, unseen = self.counts, len(self.ledger.unseen)
        if c.executed < c.rows:
            return "some rows are not realizable"
        outcomes = "outcomes that the model allows were" if unseen > 1 else "outcome was"
        return f"{unseen:,} {outcomes} never seen" if unseen else ""

    def asked_for(self) -> conform_types.Scope:
        return self.toured[0].share.scope

    def executed(self) -> dict[str, int]:
        c = self.counts
        return {"rows": c.rows, "executed": c.executed, "schedules": c.schedules}

    def beside(self, old: str, new: str) -> str:
        return f"{self.variant}, Kafka {old} and {new}"

    def on_both(self, number: int) -> str:
        return (
            f"{self.counts.executed:,} rows executed in {self.counts.schedules:,} schedules on"
            f" both, {number:,} of them end differently"
        )

    def content(self) -> conform_types.ConformDocument:
        c, found = self.counts, self.ledger
        unseen, situations = found.unseen, self.situations
        return conform_types.ConformDocument(
            **self.head(),
            side=self.side,
            scope=self.asked_for(),
            toured=[toured.share for toured in self.toured],
            rows=c.rows,
            executed=c.executed,
            agreeing=c.agreeing,
            differing=found.differing,
            unrealizable=c.rows - c.executed,
            unrealizable_reasons=dict(found.unrealizable),
            memories=c.memories,
            executed_from=conform_types.RealMemories(
                real_memories=c.real_memories, executions=c.executions
            ),
            outcomes=conform_types.OutcomeCounts(
                of_rows_with_several=c.choices, seen=c.seen, unseen=len(unseen)
            ),
            unseen=[unseen_shown(one) for one in unseen[:UNSEEN_LISTED]],
            excuses=dict(sorted(c.excuses.items())),
            schedules=c.schedules,
            commands=c.commands,
            real=variant_named(self.variant).real,
            never_executed=list(self.never_executed),
            abstractions=dict(ABSTRACTIONS),
            asked=ABSENT if self.asked is None else self.asked,
            findings=[finding_shown(f) for f in self.findings] if self.asks else ABSENT,
            causes=[cause_shown(cause) for cause in found.causes],
            differences=[difference_shown(d) for d in found.differences],
            situations=ABSENT if situations is None else situations_shown(situations),
            coverage=ABSENT if self.coverage is None else self.coverage.shown(),
        )

    def title(self) -> str:
        return f"{self.model} and the coordinator of Kafka {self.kafka}"

    def facts(self) -> list[tuple[str, str]]:
        c, found = self.counts, self.ledger
        unfired = self.never_executed if self.verdict == "agrees" else ()
        excused = [f"{name} {n:,}" for name, n in sorted(c.excuses.items())]
        speed = self.speed(c.executions, "rows")
        main, *beside = map(_bounds, self.toured)
        return [
            ("scope", main),
            *(("and", bounds) for bounds in beside),
            ("rows", f"{c.rows:,} (memory, input), of {c.memories:,} memories"),
            ("executed", f"{c.executed:,}, agreeing {c.agreeing:,}, differing {found.differing:,}"),
            *self.counted(),
            (
                "executed from",
                f"{c.real_memories:,} real memories behind them, {c.executions:,} times",
            ),
            *(("not executed", f"{n:,}: {why}") for why, n in found.unrealizable.items()),
            *([("never fired", ", ".join(unfired))] if unfired else []),
            *([("excused", ", ".join(excused))] if excused else []),
            (
                "choices",
                f"{c.seen:,} of the {c.choices:,} outcomes seen, of rows that allow several",
            ),
            ("schedules", f"{c.schedules:,} of {c.commands:,} commands, {speed}, seed {self.seed}"),
        ]

    def details(self) -> Iterator[RenderableType]:
        """The causes of differences with their shortest transcripts, what was never seen, and what
        was asked for beside that.
        """
        yield from first_of(self.ledger.causes, _cause, "causes (--json lists all)")
        yield from _unseen(self.ledger.unseen)
        yield from self.situations_view()
        if self.asks:
            title = f"Promises asked of the real memory {self.asked:,} times"
            found = self.findings
            yield from findings_view(
                f"{title}; broken in {len(found)} ways.", map(finding_shown, found)
            )
        if self.coverage:
            yield coverage_view(self.coverage)

    def suite(self) -> Suite:
        """One case for each kind of row, and one for the situations."""
        rows = [(kind_of(row.given), agrees) for row, _, agrees in self.listed]
        left_out = "; ".join(self.unrealizable) or self.reason
        cases = list(self.kind_cases(rows, self._first, left_out))
        if self.verdict == "unknown" and all(case.became == PASSED for case in cases):
            why = f"unknown: {self.reason}"
            cases.append(Case("every row and outcome is seen", ERROR, why))
        cases += self.situations_case()
        return Suite(f"conform {self.variant}, Kafka {self.kafka}", tuple(cases))

    def _first(self, kind: str) -> conform_types.Difference | None:
        alike = (d for d in self.differences if kind_of(d.row.given) == kind)
        return next(map(difference_shown, alike), None)

    def table(self) -> list[dict[str, Any]]:
        return self.table_of(
            {
                "row": row.number,
                "memory": model_seen(row.before.core, row.before.seats),
                "generation": row.before.core.generation,
                "input": input_shown(row.given),
                "outcomes": row.outcomes,
                "executed": executed,
                "agrees": agrees,
            }
            for row, executed, agrees in self.listed
        )


def _bounds(toured: ScopeTour) -> str:
    scope = toured.scope
    bounds = [plural(scope.members, "member"), plural(scope.generations or 0, "generation")]
    extra = settings_shown(printed(scope_shown(scope, ())))
    faults = ", ".join(toured.faults) or "no fault"
    return f"{', '.join([*bounds, *extra])}; any number of: {faults}"


def _cause(k: int, cause: Cause) -> Group:
    told = cause_shown(cause).first
    rows = f"{cause.rows:,} rows differ" if cause.rows > 1 else "1 row differs"
    settings = f"scope: {', '.join(settings_shown(told.settings))}"
    return block(
        f"{k}. {cause.kind}: {rows} in {', '.join(cause.what)}",
        told.input,
        *([(settings, "dim")] if told.settings else []),
        (f"model before: {told.memory}", "dim"),
        *(f"real: {what}" for what in told.differs),
        *told.transcript,
    )


def _unseen(unseen: tuple[MissingOutcome, ...]) -> Iterator[Text]:
    if not unseen:
        return
    yield Text(f"\nNever seen: {len(unseen):,} outcomes that the model allows", "bold yellow")
    for one in unseen[:UNSEEN_SHOWN]:
        told = unseen_shown(one)
        yield Text(f"   {input_shown(one.row.given)}: {' '.join(told.rules)}")
        yield Text(f"      model before: {told.memory}", "dim")
        yield Text(f"      model after: {told.after}", "dim")
    if len(unseen) > UNSEEN_SHOWN:
        yield Text(f"   and {len(unseen) - UNSEEN_SHOWN:,} more (--json lists them)")
