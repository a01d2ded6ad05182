"""`groupcheck conform connect` at the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

from groupcheck.model.assignors.connect import of_version
from groupcheck.model.engine import UserError
from groupcheck.oracles.connect.comparing import RoundTally, compare
from groupcheck.oracles.connect.driver import VERSIONS, Leaders
from groupcheck.oracles.connect.inputs import families
from groupcheck.oracles.kafka.comparison import carried_out, refuse
from groupcheck.oracles.kafka.versions import known

NOT_HERE = (
    "members", "generations", "faults", "settings", "mutation", "max_rows", "max_differences",
    "findings", "assignors", "parquet", "coverage", "live", "whole", "schedules",
)  # fmt: skip
CONNECT = "connect"  # stands where a variant would


def run(
    variant: str,
    *,
    kafka: str,
    as_json: bool,
    seed: int = 0,
    diff: tuple[str, str] | None = None,
    junit: Path | None = None,
    sizes: Mapping[str, int] | None = None,
    **others: Any,
) -> int:
    """Compares, prints the answer, and returns the exit code: 0 all agree, 1 some differ. `sizes`
    are those of `families`. Raises `UserError` for another variant than Connect, or for an option
    that this comparison does not take.
    """
    if variant != CONNECT:
        raise UserError(
            f"the members of {variant} have no leader whose rounds are compared here",
            where="--side",
            do=f"see `conform {CONNECT}`; `conform assignors` compares the assignors of consumers",
        )
    refuse(others, NOT_HERE, "the comparison of Connect's leader does not have this option")
    older, newest = diff or ("", kafka)
    for version in filter(None, (older, newest)):
        known(version, VERSIONS, "--diff" if diff else "--kafka")
    with ExitStack() as open_drivers:
        new = open_drivers.enter_context(Leaders(newest, long_run=True))
        old = open_drivers.enter_context(Leaders(older, long_run=True)) if older else None
        asked = families(of_version(newest), seed, **(sizes or {}))
        ask = partial(compare, new, asked, older=old, seed=seed)
        return carried_out(ask, RoundTally.progress_line, as_json=as_json, junit=junit)
