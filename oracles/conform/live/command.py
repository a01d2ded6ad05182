"""`groupcheck conform --live` at the terminal."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from groupcheck.model.engine import UserError
from groupcheck.oracles.conform.live.live import SCHEDULES, Live, live
from groupcheck.oracles.conform.shown import settings_shown
from groupcheck.oracles.printable import as_text, printable
from groupcheck.oracles.show.json_schemas import printed
from groupcheck.oracles.show.suite import ERROR, FAILURE, PASSED, Case, Suite, tell
from groupcheck.traces.findings.anomalies import plural

# Options of `conform` that concern rows executed one by one, and their names for the user.
OF_ROWS = {
    "assignors": "--assignor",
    "max_rows": "--max-rows",
    "max_differences": "--max-differences",
    "diff": "--diff",
    "findings": "--findings",
    "coverage": "--coverage",
}


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
    for name, option in OF_ROWS.items():
        if others.get(name):
            raise UserError("cannot be used with --live", where=option, do="leave it out")
    result = live(
        variant,
        kafka=kafka,
        members=members,
        generations=generations,
        mutation=mutation,
        settings=settings,
        schedules=SCHEDULES if schedules is None else schedules,
        seed=seed,
        say=_say,
    )
    sys.stdout.write(
        as_text(result.document())
        if as_json
        else "".join(f"{printable(line)}\n" for line in summary(result))
    )
    tell(lambda: live_suite(result), junit)
    return result.exit_code


def live_suite(result: Live) -> Suite:
    """One case: all schedules."""
    became = {"agrees": PASSED, "differs": FAILURE, "unknown": ERROR}[result.verdict]
    d = result.disagreement
    why = d.what[0] if d else f"unknown: {result.reason}" if result.reason else ""
    text = "\n".join([*d.what, *d.transcript]) if d else ""
    case = Case("schedules over the wire", became, why, text, result.seconds)
    return Suite(f"conform --live, Kafka {result.kafka}", (case,))


def _say(message: str) -> None:
    print(f"groupcheck: {printable(message)}", file=sys.stderr, flush=True)


def summary(result: Live) -> list[str]:
    """The figures, and the disagreement with its transcript."""
    told = result.shown()
    with_bug = f" with {result.mutation}" if result.mutation else ""
    said = [
        f"{result.verdict}  {result.variant}{with_bug} and a broker of Kafka {result.kafka}, over"
        f" the wire  {result.reason}".rstrip()
    ]
    scope = [
        plural(told.scope.members, "member"),
        plural(told.scope.generations, "generation"),
        *settings_shown(printed(told.scope)),
    ]
    said.append(f"  scope      {', '.join(scope)}")
    said.append(
        f"  schedules  {told.schedules:,} of {told.requests:,} requests,"
        f" {told.seconds:.1f} s, seed {result.seed}"
    )
    said.append(
        f"  rows       {told.rows:,} different (memory, request), {len(told.rules)} rules and"
        " outcomes of the coordinator's fired"
    )
    said.append(
        f"  API        {len(told.refused_by_the_api)} kinds of requests that the broker refuses"
        " by itself"
    )
    if result.disagreement:
        said += [
            "",
            *result.disagreement.what,
            *(f"   {line}" for line in result.disagreement.transcript),
        ]
    return said
