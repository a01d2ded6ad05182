"""`groupcheck conform VARIANT --whole` at the terminal."""

from __future__ import annotations

from functools import partial
from typing import Any

from groupcheck.model.engine import UserError
from groupcheck.oracles.conform.whole.conformance import conform_whole
from groupcheck.oracles.conform.whole.schedule import StepCounts
from groupcheck.oracles.kafka.comparison import carried_out, refuse
from groupcheck.oracles.kafka.versions import known
from groupcheck.oracles.show.meter import time_left

KNOWN = ("members", "schedules", "seed", "mutation", "max_differences")
OTHERS = (
    "generations", "faults", "settings", "max_rows", "diff", "live", "findings", "coverage",
    "parquet", "junit", "assignors",
)  # fmt: skip


def run(variant: str, *, kafka: str, as_json: bool, **options: Any) -> int:
    """Runs the schedules, prints what became of them, and gives the exit code: 0 all agree, 1 some
    differ, 3 not everything was seen. Raises `UserError` for an option that --whole does not take,
    and for 0 members.
    """
    refuse(options, OTHERS, "concerns the coordinator's rows, not a whole group")
    given = {name: options[name] for name in KNOWN if options.get(name) is not None}
    if given.get("members") == 0:
        raise UserError("a group has at least one member", where="--members")
    compare = partial(conform_whole, variant, kafka=known(kafka), **given)
    return carried_out(compare, progress_line, as_json=as_json)


def progress_line(seen: StepCounts, schedules: int, seconds: float) -> str:
    """One line for a terminal. `schedules`: how many there will be."""
    told = f"{seen.steps:,} steps of {seen.schedules:,} schedules  {seconds:.0f} s"
    return told + time_left(seen.schedules, schedules, seconds)
