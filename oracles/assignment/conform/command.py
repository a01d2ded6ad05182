"""`groupcheck conform assignors` at the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

from groupcheck.model.engine import UserError
from groupcheck.oracles.assignment.conform.comparing import (
    RANDOM,
    AssignorTally,
    all_inputs,
    compare,
)
from groupcheck.oracles.assignment.conform.inputs import MEMBERS
from groupcheck.oracles.explain.unknown import one_of
from groupcheck.oracles.kafka.assignors import ASSIGNORS
from groupcheck.oracles.kafka.comparison import carried_out, refuse
from groupcheck.oracles.kafka.driver import Driver
from groupcheck.oracles.kafka.side_by_side import Diff, side_by_side

NOT_HERE = ("generations", "faults", "settings", "mutation", "max_rows", "max_differences")


def run(
    *,
    kafka: str,
    as_json: bool,
    assignors: Sequence[str] = (),
    members: int | None = None,
    seed: int = 0,
    diff: Diff | None = None,
    findings: bool = False,
    random: int = RANDOM,
    junit: Path | None = None,
    **others: Any,
) -> int:
    """Compares, prints the answer, and returns the exit code: 0 all agree, 1 some differ."""
    _fit(others, assignors, members)
    most = MEMBERS if members is None else members
    with ExitStack() as open_drivers:
        old: Driver | None = None
        if diff:
            old, new = open_drivers.enter_context(side_by_side(diff, long_run=True))
        else:
            new = open_drivers.enter_context(Driver(kafka, long_run=True))
        ask = partial(
            compare,
            new,
            assignors or ASSIGNORS,
            inputs=lambda assignor: all_inputs(assignor, most, random, seed),
            older=old,
            seed=seed,
            findings=findings,
        )
        return carried_out(ask, AssignorTally.progress_line, as_json=as_json, junit=junit)


def _fit(others: dict[str, Any], assignors: Sequence[str], members: int | None) -> None:
    """Raises `UserError` for an option that the comparison of assignors does not have."""
    refuse(others, ("coverage",), "a comparison of assignors has no coverage")
    refuse(others, NOT_HERE, "the comparison of assignors does not have this option")
    for name in assignors:
        if name not in ASSIGNORS:
            raise one_of("assignor of Kafka's", name, ASSIGNORS)
    if members is not None and not 1 <= members <= MEMBERS:
        raise UserError(
            f"all inputs of {members} members are too many",
            where="--members",
            do=f"take 1 to {MEMBERS}",
        )
