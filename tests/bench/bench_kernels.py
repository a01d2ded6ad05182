"""`make bench-kernels`: the speed of object code that a wheel brings, beside what is compiled for
this processor, as a ratio of CPU seconds; and how long each takes to compile.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

from rich.console import Console
from rich.table import Table

SEARCH = """
import time
from groupcheck.model.engine.fast import explore
from groupcheck.oracles.explain.subject import subject
spec = subject("classic", members=2, partitions=2, generations=1, any_faults=2).spec
began = time.process_time()
explore.explore(spec)
first, best = time.process_time() - began, 1e9
for _ in range(3):
    began = time.process_time()
    found = explore.explore(spec)
    best = min(best, time.process_time() - began)
print(found.transitions, first - best, best)
"""
BASELINE = {"NUMBA_CPU_NAME": "x86-64-v2", "NUMBA_CPU_FEATURES": ""}


def measured(processor: dict[str, str]) -> tuple[int, float, float]:
    """Transitions, and CPU seconds: to compile, and to search."""
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, **processor, "GROUPCHECK_CACHE_DIR": cache}
        command = [sys.executable, "-c", SEARCH]
        told = subprocess.run(command, env=environment, capture_output=True, check=True).stdout
    transitions, compiling, search = told.split()
    return int(transitions), float(compiling), float(search)


def main() -> None:
    table = Table("compiled for", "compiling, CPU s", "search, CPU s", "ratio")
    ours = measured({})
    for name, found in (("this processor", ours), ("x86-64-v2", measured(BASELINE))):
        _, compiling, search = found
        table.add_row(name, f"{compiling:.1f}", f"{search:.2f}", f"{search / ours[2]:.2f}")
    Console().print(table, f"{ours[0]:,} transitions")


if __name__ == "__main__":
    main()
