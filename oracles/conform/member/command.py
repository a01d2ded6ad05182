"""`groupcheck conform VARIANT --side member` at the terminal."""

from __future__ import annotations

from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from groupcheck.model.engine import UserError
from groupcheck.oracles.conform.member.conformance import (
    MemberConformance,
    conform_member,
    difference_shown,
    finding_shown,
)
from groupcheck.oracles.conform.member.tour import Counts
from groupcheck.oracles.kafka.versions import known
from groupcheck.oracles.show.meter import reports
from groupcheck.oracles.show.terminal import answer
from groupcheck.oracles.show.text import facts_table

SHOWN = 3  # differences that the report tells in full
COLOUR = {"agrees": "bold green", "differs": "bold red", "unknown": "bold yellow"}
# Options that say something about a coordinator only.
OTHER_SIDE = (
    "members",
    "faults",
    "diff",
    "parquet",
    "junit",
    "coverage",
    "assignors",
    "live",
    "whole",
    "schedules",
)
KNOWN = ("generations", "mutation", "settings", "max_rows", "max_differences", "findings")


def run(variant: str, *, kafka: str, as_json: bool, **options: Any) -> int:
    """Executes the rows, prints what became of them, and gives the exit code: 0 all agree, 1 some
    differ, 3 not everything was executed.
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
    with reports(progress_line) as progress:
        result = conform_member(variant, kafka=known(kafka), progress=progress, **given)
    answer(result.document, lambda: view(result), as_json)
    return result.exit_code


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
    headline = Text("  ").join(
        Text(text, style)
        for text, style in (
            (result.verdict, COLOUR[result.verdict]),
            (title, "bold"),
            (result.reason, ""),
        )
        if text
    )
    told = [_difference(k, d) for k, d in enumerate(result.differences[:SHOWN], 1)]
    more = len(result.differences) - SHOWN
    return Group(
        headline,
        Padding(facts_table(facts(result)), (0, 0, 0, 2)),
        *told,
        *([Text(f"\n{more:,} more rows differ (--json lists them)")] if more > 0 else []),
        *(_findings(result) if result.asks else []),
    )


def _findings(result: MemberConformance) -> list[Text]:
    asked, found = result.counts.executed, result.findings
    title = f"\nPromises asked of the real member in {asked:,} rows; broken in {len(found)} ways."
    out = [Text(title, "bold")]
    for told in (finding_shown(*one) for one in found):
        out += [
            Text(f"\n{told['promise']} ({told['kind']}): {told['statement']}", "bold red"),
            *(Text(f"   {line}") for line in told["transcript"]),
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
    ways = ["on" if s.autocommit else "off" for s in result.scopes]
    rate = f", {c.executed / result.seconds:,.0f} rows/s" if result.seconds else ""
    excused = [f"{n:,} {name}" for name, n in result.excused.items()]
    return [
        ("scope", f"{', '.join(bounds)}; commits in poll {' and '.join(ways)}"),
        ("rows", f"{c.rows:,} (memory, input), of {c.memories:,} memories"),
        ("executed", f"{c.executed:,}, agreeing {c.agreeing:,}, differing {c.differing:,}"),
        *([("never fired", ", ".join(result.unfired))] if result.unfired else []),
        ("beyond the model", "; ".join(excused) or "no row"),
        ("commands", f"{c.commands:,}, {result.seconds:.1f} s{rate}"),
    ]


def _difference(k: int, d: Any) -> Group:
    shown = difference_shown(d)
    return Group(
        Text(f"\n{k}. {shown['input']}", "bold red"),
        Text(f"   model before: {shown['memory']}", "dim"),
        *(Text(f"   real {what}") for what in shown["differs"]),
        *(Text(f"   {line}") for line in shown["transcript"]),
    )
