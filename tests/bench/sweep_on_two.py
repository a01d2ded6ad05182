"""How much faster two executors check a hundred small cells than one process does, one after
another. Linux alone; docs/sweep.md has the figures.

Wall time says so on an idle machine only. CPU time says it on any: what both cores together spend
over Spark (executors, JVM, daemon) is at best spent by two at once, so `2 * CPU alone / CPU over
Spark` is the most that two idle cores can give.

usage: python tests/bench/sweep_on_two.py [--rounds N]
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from itertools import combinations
from pathlib import Path

from groupcheck.model.protocol.faults import CLASSIC_FAULTS
from groupcheck.oracles.sweep.cells import Cell
from groupcheck.oracles.sweep.growing import grown
from groupcheck.oracles.sweep.on_spark import check_on, sweep_session
from groupcheck.oracles.sweep.running import Outcome, check_here

CELLS = 100
MASTER = "local[2]"


class Found(dict[int, tuple[str, int]]):
    """Number of a cell -> its verdict and states."""

    def keep(self, cell: Cell, outcome: Outcome, page: str) -> None:
        self[cell.number] = outcome.verdict, outcome.states


def cells() -> list[Cell]:
    """Two members in two generations, with every fault, and then with every two, until there are
    enough.
    """
    some = [*((name,) for name in CLASSIC_FAULTS), *combinations(CLASSIC_FAULTS, 2)][:CELLS]
    grid = {
        "variant": "classic",
        "members": 2,
        "generations": 2,
        "faults": [dict.fromkeys(names, 1) for names in some],
    }
    return list(grown({"grid": [grid]}, "bench").cells)


def cpu_seconds() -> float:
    """Of this process, of everything below it that lives, and of their children that have ended."""
    parent, ticks = {}, {}
    for entry in Path("/proc").iterdir():
        try:
            fields = (entry / "stat").read_text().rpartition(") ")[2].split()
        except OSError:
            continue
        parent[entry.name], ticks[entry.name] = fields[1], sum(map(int, fields[11:15]))
    total = 0
    for pid, spent in ticks.items():
        above: str | None = pid
        while above and above != str(os.getpid()):
            above = parent.get(above)
        total += spent if above else 0
    return total / os.sysconf("SC_CLK_TCK")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    rounds = parser.parse_args().rounds
    asked = cells()
    walls, bounds = [], []
    began = time.perf_counter()
    with sweep_session(MASTER) as spark:
        print(f"{time.perf_counter() - began:.1f} s until the session is there", flush=True)
        for number in range(rounds + 1):
            alone, spread = Found(), Found()
            began, cpu = time.perf_counter(), time.process_time()
            check_here(asked, 1, alone.keep)
            single, single_cpu = time.perf_counter() - began, time.process_time() - cpu
            began, cpu = time.perf_counter(), cpu_seconds()
            check_on(spark, MASTER, asked, 1, spread.keep)
            double, double_cpu = time.perf_counter() - began, cpu_seconds() - cpu
            assert len(alone) == CELLS and alone == spread, "the cells differ"
            print(
                f"one process {single:.1f} s ({single_cpu:.1f} s of CPU), {MASTER} {double:.1f} s"
                f" ({double_cpu:.1f} s of CPU): {single / double:.2f} times as fast, at best"
                f" {2 * single_cpu / double_cpu:.2f}; load {os.getloadavg()[0]:.1f}"
                + (" (first round: workers and JVM are cold)" if not number else ""),
                flush=True,
            )
            walls.append(single / double)
            bounds.append(2 * single_cpu / double_cpu)
    print(
        f"medians of {rounds} warm rounds: {statistics.median(walls[1:]):.2f} times as fast, at"
        f" best {statistics.median(bounds[1:]):.2f}"
    )


if __name__ == "__main__":
    main()
