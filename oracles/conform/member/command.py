"""`groupcheck conform VARIANT --side member` at the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from groupcheck.model.engine import UserError
from groupcheck.oracles.conform.headline import headline
from groupcheck.oracles.conform.member.cases import (
    member_suite,
    member_table,
    member_versions_suite,
)
from groupcheck.oracles.conform.member.conformance import (
    MemberConformance,
    conform_member,
    difference_shown,
    finding_shown,
)
from groupcheck.oracles.conform.member.tour import Counts
from groupcheck.oracles.conform.member.versions_differ import (
    MemberVersions,
    member_versions_differ,
)
from groupcheck.oracles.kafka.side_by_side import Diff
from groupcheck.oracles.kafka.versions import known
from groupcheck.oracles.show.meter import reports
from groupcheck.oracles.show.parquet import CONFORMANCE, write_table
from groupcheck.oracles.show.suite import tell, wanted
from groupcheck.oracles.show.terminal import answer
from groupcheck.oracles.show.text import facts_table

SHOWN = 3  # differences that the report tells in full
# Options that say something about a coordinator only.
OTHER_SIDE = (
    "members",
    "faults",
    "seed",
    "coverage",
    "assignors",
    "live",
    "whole",
    "schedules",
)
KNOWN = ("generations", "mutation", "settings", "max_rows", "max_differences", "findings")
COMPARED = ("generations", "mutation", "settings", "max_rows")  # what --diff heeds


def run(
    variant: str,
    *,
    kafka: str,
    as_json: bool,
    diff: Diff | None = None,
    parquet: Path | None = None,
    junit: Path | None = None,
    **options: Any,
) -> int:
    """Executes the rows, prints what became of them, and gives the exit code: 0 all agree, 1 some
    differ, 3 not everything was executed. Raises `UserError` for an option that concerns the rows
    of the coordinator.
    """
    for name in OTHER_SIDE:
        if options.get(name):
            flag = {"faults": "fault", "assignors": "assignor"}.get(name, name)
            raise UserError(
                "concerns the coordinator's rows, not the member's",
                where=f"--{flag}",
                do="leave it out",
            )
    given = {name: options[name] for name in KNOWN if options.get(name) is not None}
    if diff:
        return _compare(variant, diff, as_json, junit, given)
    with reports(progress_line) as progress:
        lists = parquet is not None or wanted(junit)
        result = conform_member(
            variant, kafka=known(kafka), progress=progress, lists=lists, **given
        )
    answer(result.document, lambda: view(result), as_json)
    if parquet:
        write_table(member_table(result), CONFORMANCE, parquet)
    tell(lambda: member_suite(result), junit)
    return result.exit_code


def _compare(
    variant: str,
    versions: Diff,
    as_json: bool,
    junit: Path | None,
    given: Mapping[str, Any],
) -> int:
    for name in given.keys() - COMPARED:
        if given[name]:
            raise UserError(
                "concerns the comparison with the model, not of two versions",
                where=f"--{name.replace('_', '-')}",
                do="leave it out",
            )
    heeded = {name: given[name] for name in COMPARED if name in given}
    with reports(progress_line) as progress:
        changes = member_versions_differ(variant, *versions, progress=progress, **heeded)
    answer(changes.document, lambda: changes_view(changes), as_json)
    tell(lambda: member_versions_suite(changes), junit)
    return changes.exit_code


def progress_line(c: Counts, seconds: float) -> str:
    """One line for a terminal."""
    return (
        f"{c.executed:,} of {c.rows:,} rows executed  level {c.level}  {c.memories:,} memories "
        f" {seconds:.0f} s"
    )


def view(result: MemberConformance) -> RenderableType:
    """Headline, figures, and the first differences with their schedules."""
    bug = f" with {result.mutation}" if result.mutation else ""
    title = f"the member of {result.variant}{bug} and the Java client of Kafka {result.kafka}"
    told = [_difference(k, d) for k, d in enumerate(result.differences[:SHOWN], 1)]
    more = len(result.differences) - SHOWN
    return Group(
        headline(result.verdict, title, result.reason),
        Padding(facts_table(facts(result)), (0, 0, 0, 2)),
        *told,
        *([Text(f"\n{more:,} more rows differ (--json lists them)")] if more > 0 else []),
        *(_findings(result) if result.asks else []),
    )


def changes_view(result: MemberVersions) -> RenderableType:
    """The changes between two versions, each change with its shortest schedule on both."""
    old, new = result.versions
    rows, executed = result.counts
    n = len(result.changes)
    said = f"{n} change{'' if n == 1 else 's'}" if result.changes else "no difference"
    title = f"{said}  the member of {result.variant}, Java clients of Kafka {old} and {new}"
    out = [
        Text(f"{title}  {result.reason}".rstrip(), "bold"),
        *([Text(f"  {result.build.told()}")] if result.build else []),
        Text(
            f"  {executed:,} of {rows:,} rows executed on both in {result.seconds:.1f} s,"
            f" {result.changed:,} differ"
        ),
    ]
    for change in result.changes:
        told = change.shown(result.versions)
        out.append(Text(f"\n{told.after}: {', '.join(told.differs)}", "bold red"))
        for version, lines in told.transcripts.items():
            out += [Text(f"   Kafka {version}", "bold"), *(Text(f"   {line}") for line in lines)]
    return Group(*out)


def _findings(result: MemberConformance) -> list[Text]:
    asked, found = result.counts.executed, result.findings
    title = f"\nPromises asked of the real member in {asked:,} rows; broken in {len(found)} ways."
    out = [Text(title, "bold")]
    for told in (finding_shown(*one) for one in found):
        out += [
            Text(f"\n{told.promise} ({told.kind}): {told.statement}", "bold red"),
            *(Text(f"   {line}") for line in told.transcript),
        ]
    return out


def facts(result: MemberConformance) -> list[tuple[str, str]]:
    """The figures, in words."""
    c, scope = result.counts, result.scopes[0]
    bounds = [
        f"{n} {name}{'' if n == 1 else 's'}"
        for name, n in (
            ("generation", scope.generations),
            ("partition", scope.partition_count),
            ("record", scope.records),
        )
    ]
    ways = dict.fromkeys("on" if s.autocommit else "off" for s in result.scopes)
    kinds = dict.fromkeys(tour.rows.kind for tour in result.tours if tour.rows.kind)
    rate = f", {c.executed / result.seconds:,.0f} rows/s" if result.seconds else ""
    excused = [f"{n:,} {name}" for name, n in result.excused.items()]
    steps = result.group_steps()
    styles = _styles(result)
    return [
        ("scope", f"{', '.join(bounds)}; commits in poll {' and '.join(ways)}"),
        *([("members", "; ".join(kinds))] if kinds else []),
        ("rows", f"{c.rows:,} (memory, input), of {c.memories:,} memories"),
        ("executed", f"{c.executed:,}, agreeing {c.agreeing:,}, differing {c.differing:,}"),
        *([("styles", styles)] if styles else []),
        ("again", f"{c.again:,} from {c.real_memories - c.memories:,} more real memories"),
        ("steps", f"{steps.compared:,} of the group's model, of {steps.states:,} states"),
        *([("never fired", ", ".join(result.unfired))] if result.unfired else []),
        ("beyond the model", "; ".join(excused) or "no row"),
        ("commands", f"{c.commands:,}, {result.seconds:.1f} s{rate}"),
    ]


def _styles(result: MemberConformance) -> str:
    """How many of the rows are those of each style of commits."""
    rows: dict[str, int] = {}
    for scope, tour in zip(result.scopes, result.tours, strict=True):
        if style := scope.commit_style:
            rows[style] = rows.get(style, 0) + tour.counts.rows
    each = [f"{count:,} of commit_style {style}" for style, count in rows.items()]
    return ", ".join(each)


def _difference(k: int, d: Any) -> Group:
    shown = difference_shown(d)
    return Group(
        Text(f"\n{k}. {shown.input}", "bold red"),
        Text(f"   model before: {shown.memory}", "dim"),
        *(Text(f"   real {what}") for what in shown.differs),
        *(Text(f"   {line}") for line in shown.transcript),
    )
