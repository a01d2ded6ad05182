"""`groupcheck conform --live` at the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from groupcheck.model.engine import UserError
from groupcheck.oracles.judge.live.live import SCHEDULES, live
from groupcheck.oracles.kafka.comparison import carried_out, refuse
from groupcheck.oracles.show.terminal import say

# Options of `conform` that concern rows executed one by one.
OF_ROWS = ("assignors", "max_rows", "max_differences", "diff", "findings", "coverage")


def run(
    variant: str,
    *,
    kafka: str,
    as_json: bool,
    faults: Mapping[str, int] | None,
    settings: Mapping[str, str],
    members: int | None,
    generations: int | None,
    mutation: str | None,
    seed: int,
    schedules: int | None,
    junit: Path | None = None,
    **others: Any,
) -> int:
    """Runs the schedules, prints the result, and returns the exit code: 0 if all agree, 1 if one
    differs, 3 if the run ended early. Raises `UserError` for an option that --live does not take.
    """
    if faults:
        raise UserError(
            "faults cannot be caused over the wire",
            where="--fault",
            do="leave it out, or leave out --live",
        )
    refuse(others, OF_ROWS, "cannot be used with --live")
    compare = partial(
        live,
        variant,
        kafka=kafka,
        members=members,
        generations=generations,
        mutation=mutation,
        settings=settings,
        schedules=SCHEDULES if schedules is None else schedules,
        seed=seed,
        say=say,
    )
    return carried_out(compare, None, as_json=as_json, junit=junit)
