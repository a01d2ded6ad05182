"""`groupcheck conform` at the terminal: progress, the report, the exit code."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import attrs

from groupcheck.model.engine import UserError
from groupcheck.oracles.conform.conformance import conform, executable, versions_differ
from groupcheck.oracles.conform.covering import covered
from groupcheck.oracles.conform.row_comparison import Conformance
from groupcheck.oracles.conform.row_results import Counts
from groupcheck.oracles.kafka.comparison import carried_out, refuse
from groupcheck.oracles.kafka.side_by_side import Diff
from groupcheck.oracles.kafka.versions import known
from groupcheck.oracles.show.meter import PartsLeft
from groupcheck.oracles.show.suite import wanted

OF_MODEL = "concerns the comparison with the model, not of two versions"


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
    if diff:
        refuse(options, ("findings", "max_differences"), OF_MODEL)
        both = partial(versions_differ, variant, *diff, **options)
        return carried_out(both, meter(), as_json=as_json, junit=junit)
    compare = partial(
        conform,
        variant,
        kafka=known(kafka),
        lists=parquet is not None or wanted(junit),
        situations=not options.get("mutation"),
        **options,
    )
    if coverage:
        executable(variant)
        compare = partial(_covered, known(kafka), compare)
    return carried_out(compare, meter(), as_json=as_json, junit=junit, parquet=parquet)


def _covered(kafka: str, compare: Callable[..., Conformance], progress: Any) -> Conformance:
    """Also what the comparison executes of Kafka's own classes."""
    result, executed = covered(kafka, lambda driver: compare(driver=driver, progress=progress))
    return attrs.evolve(result, coverage=executed)


def meter() -> Callable[[Counts, int, int, float], str]:
    """What puts a report into one line for a terminal."""
    time_left = PartsLeft()

    def words(counts: Counts, scope: int, scopes: int, seconds: float) -> str:
        done = counts.executed
        rate = f"{done / seconds:,.0f} rows/s" if seconds > 0.5 else ""
        parts = [
            f"{done:,} rows executed",
            rate,
            f"level {counts.level}",
            f"{counts.memories:,} memories",
            f"{seconds:.0f} s",
        ]
        left = time_left(scope, scopes, counts.level, done, seconds)
        return "  ".join(filter(None, parts)) + left

    return words
