"""`groupcheck conform VARIANT --whole` at the terminal."""

from __future__ import annotations

from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from groupcheck.model.engine import UserError
from groupcheck.oracles.conform.conform_types import Difference
from groupcheck.oracles.conform.headline import headline
from groupcheck.oracles.conform.whole.conformance import (
    PARTITIONS,
    WholeConformance,
    conform_whole,
    difference_shown,
)
from groupcheck.oracles.conform.whole.schedule import Seen
from groupcheck.oracles.kafka.versions import known
from groupcheck.oracles.show.meter import reports, time_left
from groupcheck.oracles.show.terminal import answer
from groupcheck.oracles.show.text import facts_table
from groupcheck.traces.findings.anomalies import plural

SHOWN = 3  # differences that the report tells in full
KNOWN = ("members", "schedules", "seed", "mutation", "max_differences")
OTHERS = {
    "generations": "generations",
    "faults": "fault",
    "settings": "set",
    "max_rows": "max-rows",
    "diff": "diff",
    "live": "live",
    "findings": "findings",
    "coverage": "coverage",
    "parquet": "parquet",
    "junit": "junit",
    "assignors": "assignor",
}


def run(variant: str, *, kafka: str, as_json: bool, **options: Any) -> int:
    """Runs the schedules, prints what became of them, and gives the exit code: 0 all agree, 1 some
    differ, 3 not everything was seen. Raises `UserError` for an option that --whole does not take,
    and for 0 members.
    """
    for name, flag in OTHERS.items():
        if options.get(name):
            raise UserError(
                "concerns the coordinator's rows, not a whole group",
                where=f"--{flag}",
                do="leave it out",
            )
    given = {name: options[name] for name in KNOWN if options.get(name) is not None}
    if given.get("members") == 0:
        raise UserError("a group has at least one member", where="--members")
    with reports(progress_line) as progress:
        result = conform_whole(variant, kafka=known(kafka), progress=progress, **given)
    answer(result.document, lambda: view(result), as_json)
    return result.exit_code


def progress_line(seen: Seen, schedules: int, seconds: float) -> str:
    """One line for a terminal. `schedules`: how many there will be."""
    told = f"{seen.steps:,} steps of {seen.schedules:,} schedules  {seconds:.0f} s"
    return told + time_left(seen.schedules, schedules, seconds)


def view(result: WholeConformance) -> RenderableType:
    """Headline, figures, and the first differences with their schedules."""
    bug = f" with {result.mutation}" if result.mutation else ""
    title = f"{result.variant}{bug} and a whole group of Kafka {result.kafka}"
    told = [
        _difference(k, difference_shown(d)) for k, d in enumerate(result.differences[:SHOWN], 1)
    ]
    left = len(result.differences) - SHOWN
    more = [Text(f"\n{left:,} more causes (--json lists all)")] if left > 0 else []
    return Group(
        headline(result.verdict, title, result.reason),
        Padding(facts_table(facts(result)), (0, 0, 0, 2)),
        *told,
        *more,
    )


def facts(result: WholeConformance) -> list[tuple[str, str]]:
    """The figures, in words."""
    seen = result.seen
    rate = f", {seen.steps / result.seconds:,.0f} steps/s" if result.seconds else ""
    return [
        ("group", f"{plural(result.members, 'member')}, {PARTITIONS} partitions; all faults"),
        ("steps", f"{seen.steps:,} agreeing, {seen.differing:,} differing"),
        ("schedules", f"{seen.schedules:,}, {result.seconds:.1f} s{rate}, seed {result.seed}"),
        ("outcomes", f"{len(seen.rules):,} of the model's seen"),
        *([("never seen", ", ".join(result.unfired))] if result.unfired else []),
    ]


def _difference(k: int, told: Difference) -> Group:
    head = f"\n{k}. {told.input}" + (f" breaks {told.promise!r}" if told.promise else "")
    return Group(
        Text(head, "bold red"),
        *(Text(f"   real: {what}") for what in told.differs),
        *(Text(f"   {line}") for line in told.transcript),
    )
