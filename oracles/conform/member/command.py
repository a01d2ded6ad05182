"""`groupcheck conform VARIANT --side member` at the terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from groupcheck.oracles.conform.command import OF_MODEL
from groupcheck.oracles.conform.member.conformance import conform_member
from groupcheck.oracles.conform.member.tour import Counts
from groupcheck.oracles.conform.member.versions_differ import member_versions_differ
from groupcheck.oracles.kafka.comparison import carried_out, refuse
from groupcheck.oracles.kafka.side_by_side import Diff
from groupcheck.oracles.kafka.versions import known
from groupcheck.oracles.show.meter import PartsLeft
from groupcheck.oracles.show.suite import wanted

# Options that say something about a coordinator only.
OTHER_SIDE = (
    "members", "faults", "seed", "coverage", "assignors", "live", "whole", "schedules"
)  # fmt: skip
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
    refuse(options, OTHER_SIDE, "concerns the coordinator's rows, not the member's")
    given = {name: options[name] for name in KNOWN if options.get(name) is not None}
    if diff:
        refuse(given, [name for name in KNOWN if name not in COMPARED], OF_MODEL)
        heeded = {name: given[name] for name in COMPARED if name in given}
        both = partial(member_versions_differ, variant, *diff, **heeded)
        return carried_out(both, meter(), as_json=as_json, junit=junit)
    lists = parquet is not None or wanted(junit)
    compare = partial(conform_member, variant, kafka=known(kafka), lists=lists, **given)
    return carried_out(compare, meter(), as_json=as_json, junit=junit, parquet=parquet)


def meter() -> Callable[[Counts, int, int, float], str]:
    """What puts a report into one line for a terminal."""
    time_left, before = PartsLeft(), Counter[int]()  # rows of each part

    def words(c: Counts, part: int, parts: int, seconds: float) -> str:
        before[part] = c.executed
        left = time_left(part, parts, c.level, before.total(), seconds)
        return (
            f"{c.executed:,} of {c.rows:,} rows executed  level {c.level}  {c.memories:,} memories "
            f" {seconds:.0f} s{left}"
        )

    return words
