"""`groupcheck conform consumer` at the terminal."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from groupcheck.model.engine import UserError
from groupcheck.model.mutations import Mutation
from groupcheck.model.mutations import mutation as known_bug
from groupcheck.model.protocol.family import CONSUMER
from groupcheck.oracles.consumer.comparing import RowTally, compare
from groupcheck.oracles.consumer.families import families, spec_of
from groupcheck.oracles.consumer.member.families import compare as compare_members
from groupcheck.oracles.kafka.async_member import VERSIONS
from groupcheck.oracles.kafka.comparison import carried_out, refuse
from groupcheck.oracles.kafka.driver import Driver
from groupcheck.oracles.kafka.versions import known

NOT_HERE = (
    "generations", "faults", "settings", "findings", "assignors", "parquet", "coverage", "diff",
    "live", "whole", "schedules",
)  # fmt: skip


def run(
    variant: str,
    *,
    kafka: str,
    as_json: bool,
    side: str | None = None,
    seed: int = 0,
    members: int | None = None,
    mutation: str | None = None,
    max_rows: int | None = None,
    max_differences: int | None = None,
    junit: Path | None = None,
    **others: Any,
) -> int:
    """Executes the rows, prints the answer, and returns the exit code: 0 all agree, 1 some differ,
    3 not every outcome was executed. `members`: only scopes with no more. `side`: coordinator
    (also if it is not given) or member. Raises `UserError` for an
    option that this comparison does not take.
    """
    refuse(others, NOT_HERE, "the comparison of consumer groups does not have this option")
    bug = None if mutation is None else known_bug(mutation)
    if bug is not None and bug.family != CONSUMER:
        raise UserError(f"{bug.id} is no bug of consumer groups", where="--mutation")
    version = known(kafka)
    if side == "member":
        return _member(
            version,
            bug,
            as_json=as_json,
            junit=junit,
            seed=seed,
            max_rows=max_rows,
            max_differences=max_differences,
        )
    asked = [(family, spec_of(family, version, bug)) for family in families(version, members)]
    with Driver(version, long_run=True) as driver:
        ask = partial(
            compare,
            driver,
            asked,
            seed=seed,
            mutation=mutation,
            max_rows=max_rows,
            max_differences=max_differences,
        )
        return carried_out(ask, RowTally.progress_line, as_json=as_json, junit=junit)


def _member(
    version: str, bug: Mutation | None, *, as_json: bool, junit: Path | None, **options: Any
) -> int:
    """The same for Java's member."""
    if version not in VERSIONS:
        raise UserError(
            f"no member of consumer groups of Kafka {version} is executed",
            where="--kafka",
            do="take " + ", ".join(VERSIONS),
        )
    with Driver(version, long_run=True) as driver:
        ask = partial(compare_members, driver, version, bug=bug, **options)
        return carried_out(ask, RowTally.progress_line, as_json=as_json, junit=junit)
