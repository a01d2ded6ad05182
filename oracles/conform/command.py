"""`groupcheck conform` at the terminal: progress, the report, the exit code."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from groupcheck.model.engine import UserError
from groupcheck.oracles.conform.cases import conform_suite, versions_suite
from groupcheck.oracles.conform.conformance import (
    Conformance,
    Toured,
    VersionDiff,
    conform,
    executable,
    progress_line,
    table_rows,
    versions_differ,
)
from groupcheck.oracles.conform.covering import coverage_view, covered
from groupcheck.oracles.conform.headline import headline
from groupcheck.oracles.conform.row_results import Cause, Counts
from groupcheck.oracles.conform.shown import (
    cause_shown,
    finding_shown,
    input_shown,
    scope_shown,
    settings_shown,
    situations_shown,
    unseen_shown,
)
from groupcheck.oracles.kafka.driver import Driver
from groupcheck.oracles.kafka.side_by_side import Diff
from groupcheck.oracles.kafka.versions import known
from groupcheck.oracles.show.json_schemas import ABSENT, printed
from groupcheck.oracles.show.meter import reports
from groupcheck.oracles.show.parquet import CONFORMANCE, write_table
from groupcheck.oracles.show.suite import tell, wanted
from groupcheck.oracles.show.terminal import answer
from groupcheck.oracles.show.text import facts_table
from groupcheck.traces.findings.anomalies import plural

SHOWN = 3  # causes that the report tells in full
UNSEEN = 5  # outcomes never seen that the report tells
VALUES = 6  # values of a change between versions that the report tells


def run(
    variant: str,
    *,
    kafka: str,
    as_json: bool,
    diff: Diff | None = None,
    parquet: Path | None = None,
    junit: Path | None = None,
    coverage: bool = False,
    **options: Any,
) -> int:
    """Executes the rows, prints what became of them, and gives the exit code: 0 all agree, 1 some
    differ, 3 not all were executed. Raises `UserError` for an option that this comparison does not
    take.
    """
    assignors = options.pop("assignors", ())
    if coverage and diff:
        raise UserError(
            "only the comparison of one coordinator with the model has a coverage",
            where="--coverage",
            do="leave out --diff and --jars, and name a variant",
        )
    if assignors:
        raise UserError(
            f"{variant} is compared with the coordinator",
            where="--assignor",
            do="see `conform assignors`",
        )
    for name in ("findings", "max_differences") if diff else ():
        if options.get(name):
            raise UserError(
                "concerns the comparison with the model, not of two versions",
                where=f"--{name.replace('_', '-')}",
                do="leave it out",
            )
    if diff:
        with reports(progress_line) as progress:
            compared = versions_differ(variant, *diff, progress=progress, **options)
        answer(compared.document, lambda: diff_view(compared), as_json)
        tell(lambda: versions_suite(compared), junit)
        return compared.exit_code

    def on(driver: Driver | None = None) -> Conformance:
        lists = parquet is not None or wanted(junit)
        with reports(progress_line) as progress:
            return conform(
                variant,
                kafka=known(kafka),
                driver=driver,
                progress=progress,
                lists=lists,
                situations=not options.get("mutation"),
                **options,
            )

    executed = None
    if coverage:
        executable(variant)
        result, executed = covered(known(kafka), on)
    else:
        result = on()
    answer(
        lambda: result.document(executed.shown() if executed else ABSENT),
        lambda: Group(view(result), *([coverage_view(executed)] if executed else [])),
        as_json,
    )
    if parquet:
        write_table(table_rows(result), CONFORMANCE, parquet)
    tell(lambda: conform_suite(result), junit)
    return result.exit_code


def diff_view(result: VersionDiff) -> RenderableType:
    """The changes between two versions, each change with its shortest schedule as both carried it
    out.
    """
    old, new = result.versions
    c = result.tour.counts
    broken = sum(bool(one.differs) for one in result.tour.situations or ())
    counts = ((len(result.changes), "change"), (broken, "differing situation"))
    said = ", ".join(plural(n, what) for n, what in counts if n) or "no difference"
    title = f"{said}  {result.tour.variant}, Kafka {old} and {new}  {result.tour.ledger.reason}"
    out = [
        Text(title.rstrip(), "bold"),
        *([Text(f"  {result.build.told()}")] if result.build else []),
        Text(
            f"  {c.executed:,} rows executed in {c.schedules:,} schedules on both,"
            f" {result.changed:,} of them end differently"
        ),
    ]
    if result.tour.situations is not None:
        ((_, situations),) = _counted(result.tour)
        out.append(Text(f"  situations: {situations}"))
    for change in result.changes:
        told = change.shown(result.versions)
        out.append(Text(f"\nafter {told.after}: {', '.join(told.differs)}", "bold red"))
        out += [
            Text(f"   {one.what}: {one.old} in {old}, {one.new} in {new}")
            for one in told.values[:VALUES]
        ]
        for version, transcript in told.transcripts.items():
            out += [
                Text(f"   Kafka {version}", "bold"),
                *(Text(f"   {line}") for line in transcript),
            ]
    return Group(*out, *_situations(result.tour))


def view(result: Conformance) -> RenderableType:
    """Headline, figures, the causes of differences with their shortest transcripts, and what was
    never seen.
    """
    with_bug = f" with {result.mutation}" if result.mutation else ""
    title = f"{result.variant}{with_bug} and the coordinator of Kafka {result.kafka}"
    causes = result.ledger.causes
    told = [_cause(k, cause) for k, cause in enumerate(causes[:SHOWN], 1)]
    more = f"\n{len(causes) - SHOWN:,} more causes (--json lists all)"
    return Group(
        headline(result.verdict, title, result.why),
        Padding(facts_table(facts(result)), (0, 0, 0, 2)),
        *told,
        *([Text(more)] if len(causes) > SHOWN else []),
        *_unseen(result),
        *_situations(result),
        *_findings(result),
    )


def facts(result: Conformance) -> list[tuple[str, str]]:
    """The figures, in words."""
    c, found = result.counts, result.ledger
    rate = f", {c.executions / result.seconds:,.0f} rows/s" if result.seconds else ""
    unfired = result.never_executed if result.verdict == "agrees" else ()
    main, *beside = map(_bounds, result.toured)
    return [
        ("scope", main),
        *(("and", bounds) for bounds in beside),
        ("rows", f"{c.rows:,} (memory, input), of {c.memories:,} memories"),
        ("executed", f"{c.executed:,}, agreeing {c.agreeing:,}, differing {found.differing:,}"),
        *_counted(result),
        (
            "executed from",
            f"{c.real_memories:,} real memories behind them, {c.executions:,} times",
        ),
        *(("not executed", f"{n:,}: {why}") for why, n in found.unrealizable.items()),
        *([("never fired", ", ".join(unfired))] if unfired else []),
        *([("excused", told)] if (told := _excused(c)) else []),
        ("choices", f"{c.seen:,} of the {c.choices:,} outcomes seen, of rows that allow several"),
        (
            "schedules",
            (
                f"{c.schedules:,} of {c.commands:,} commands, {result.seconds:.1f} s{rate}, seed"
                f" {result.seed}"
            ),
        ),
    ]


def _excused(c: Counts) -> str:
    return ", ".join(f"{name} {n:,}" for name, n in sorted(c.excuses.items()))


def _counted(result: Conformance) -> list[tuple[str, str]]:
    if result.situations is None:
        return []
    told = situations_shown(result.situations)
    return [("situations", f"{told.executed} executed, {told.agreeing} agreeing")]


def _situations(result: Conformance) -> Iterator[Text]:
    for told in situations_shown(result.situations or ()).differences[:SHOWN]:
        yield Text(f"\nSituation: {told.situation} ({told.source})", "bold red")
        yield from (Text(f"   real: {what}") for what in told.differs)
        yield from (Text(f"   {line}") for line in told.transcript)


def _bounds(toured: Toured) -> str:
    scope = toured.scope
    bounds = [plural(scope.members, "member"), plural(scope.generations or 0, "generation")]
    extra = settings_shown(printed(scope_shown(scope, ())))
    faults = ", ".join(toured.faults) or "no fault"
    return f"{', '.join([*bounds, *extra])}; any number of: {faults}"


def _cause(k: int, cause: Cause) -> Group:
    told = cause_shown(cause).first
    rows = f"{cause.rows:,} rows differ" if cause.rows > 1 else "1 row differs"
    settings = [f"   scope: {', '.join(settings_shown(told.settings))}"]
    return Group(
        Text(f"\n{k}. {cause.kind}: {rows} in {', '.join(cause.what)}", "bold red"),
        Text(f"   {told.input}"),
        *(Text(line, "dim") for line in settings if told.settings),
        Text(f"   model before: {told.memory}", "dim"),
        *(Text(f"   real: {what}") for what in told.differs),
        *(Text(f"   {line}") for line in told.transcript),
    )


def _unseen(result: Conformance) -> list[Text]:
    unseen = result.ledger.unseen
    if not unseen:
        return []
    out = [Text(f"\nNever seen: {len(unseen):,} outcomes that the model allows", "bold yellow")]
    for one in unseen[:UNSEEN]:
        told = unseen_shown(one)
        out += [
            Text(f"   {input_shown(one.row.given)}: {' '.join(told.rules)}"),
            Text(f"      model before: {told.memory}", "dim"),
            Text(f"      model after: {told.after}", "dim"),
        ]
    left = len(unseen) - UNSEEN
    return [*out, *([Text(f"   and {left:,} more (--json lists them)")] if left > 0 else [])]


def _findings(result: Conformance) -> list[Text]:
    if result.asked is None:
        return []
    out = [
        Text(
            f"\nPromises asked of the real memory {result.asked:,} times; broken in"
            f" {len(result.findings)} ways.",
            "bold",
        )
    ]
    for told in map(finding_shown, result.findings):
        out += [
            Text(f"\n{told.promise} ({told.kind}): {told.statement}", "bold red"),
            *(Text(f"   {line}") for line in told.transcript),
        ]
    return out
