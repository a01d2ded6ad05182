"""`make bench-spark`: one search in one process and over Spark's executors, side by side: CPU and
wall time for each million states.

bench_spark.py [--huge] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from attrs import asdict, frozen
from measured import Failed
from report import machine

MASTER = "local[2]"


@frozen
class Scope:
    """A scope of the classic variant, with its pinned counts."""

    arguments: tuple[str, ...]
    states: int
    transitions: int


SCOPES = (
    Scope(
        (
            "--members",
            "2",
            "--fault",
            "crash=1",
            "--fault",
            "session_timeout=1",
            "--fault",
            "fail_over=1",
        ),
        116_305,
        353_740,
    ),
    Scope(
        (
            "--members",
            "3",
            "--partitions",
            "3",
            "--generations",
            "3",
            "--fault",
            "crash=1",
            "--fault",
            "session_timeout=1",
        ),
        900_495,
        3_166_560,
    ),
    Scope(("--members", "3", "--any-faults", "2"), 8_412_787, 41_617_329),
)


@frozen
class Cost:
    """What one run took. `small`: the median of the seconds of levels below 5,000 states, where it
    was spread.
    """

    states: int
    cpu: float
    wall: float
    searched: float
    small: float | None
    said: dict[str, Any]


def cost(scope: Scope, more: Sequence[str]) -> Cost:
    """Runs a check to its end; counts are compared with the pinned ones."""
    program = Path(sys.executable).parent / "groupcheck"
    before, began = used(), time.perf_counter()
    with tempfile.TemporaryFile("w+") as out:
        code = subprocess.run(
            [program, "check", "classic", *scope.arguments, *more, "--json"],
            stdout=out,
            check=False,
        ).returncode
        wall = time.perf_counter() - began
        out.seek(0)
        document = json.load(out)
    if (
        code
        or scope.states not in (0, document["states"])
        or scope.transitions not in (0, document["transitions"])
    ):
        raise Failed(
            f"{scope}: exit code {code}, {document['states']:,} states, {document['transitions']:,}"
            " transitions"
        )
    levels = document.get("distribution", {}).get("levels", [])
    small = [level["seconds"] for level in levels[1:] if level["states"] < 5000]
    return Cost(
        document["states"],
        used() - before,
        wall,
        document["seconds"],
        median(small) if small else None,
        document,
    )


def used() -> float:
    """CPU seconds of the whole machine so far, idle time apart: Python workers are nobody's
    children that could be asked. So it is to be idle.
    """
    told = Path("/proc/stat").read_text().splitlines()[0].split()[1:]
    ticks = [int(n) for n in told[:8]]
    return (sum(ticks) - ticks[3] - ticks[4]) / os.sysconf("SC_CLK_TCK")


def line(scope: Scope, alone: Cost, spread: Cost) -> str:
    """One row of the table."""
    million = spread.states / 1e6
    small = f"{spread.small:.2f}" if spread.small is not None else "-"
    return (
        f"{spread.states:>12,} {alone.wall:>9.1f} {spread.wall:>9.1f}"
        f" {alone.searched / million:>10.2f} {spread.searched / million:>10.2f}"
        f" {alone.cpu / million:>11.2f} {spread.cpu / million:>11.2f}"
        f" {spread.cpu / alone.cpu:>7.2f} {small:>8}   {' '.join(scope.arguments)}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--huge",
        metavar="ARGUMENTS",
        help="one more scope, over Spark alone, e.g. '--members 3 --any-faults 3'",
    )
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args()
    here = machine()
    print(
        f"{here['cpu']}, {here['cores']} cores, load {here['load']}. One process and --spark"
        f" {MASTER}, in turn.\n"
    )
    print(
        f"{'':12} {'wall s':>19} {'search s/M states':>21} {'CPU s/M states':>23} {'CPU':>7}"
        f" {'s/small':>8}"
    )
    print(
        f"{'states':>12} {'alone':>9} {'spread':>9} {'alone':>10} {'spread':>10} {'alone':>11}"
        f" {'spread':>11} {'ratio':>7} {'level':>8}"
    )
    rows = []
    for scope in SCOPES:
        alone, spread = cost(scope, []), cost(scope, ["--spark", MASTER, "--hand-over", "5000"])
        print(line(scope, alone, spread), flush=True)
        rows.append({"scope": scope.arguments, "alone": asdict(alone), "spread": asdict(spread)})
    if options.huge:
        scope = Scope(tuple(options.huge.split()), 0, 0)
        found = cost(scope, ["--spark", MASTER])
        searched, cpu = (1e6 * x / found.states for x in (found.searched, found.cpu))
        print(
            f"{found.states:>12,} {'':>9} {found.wall:>9.1f} {'':>10} {searched:>10.2f} {'':>11}"
            f" {cpu:>11.2f} {'':>7} {'':>8}   {options.huge}"
        )
        rows.append({"scope": scope.arguments, "spread": asdict(found)})
    if options.json:
        options.json.write_text(
            json.dumps({"schema": "groupcheck.bench-spark/1", "machine": here, "rows": rows})
        )


if __name__ == "__main__":
    main()
