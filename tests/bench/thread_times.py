"""What threads of a search do and wait for: python -m tests.bench.thread_times [NAME ...].

Each variant is explored by one thread and by all cores. The seconds that threads spent are those of
`model/engine/fast/threads.py`; what is left of the wall time is before and between the levels that
they share: plain Python, narrow levels, paths. `docs/explanation/threads.md` quotes it.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from unittest.mock import patch

from groupcheck.model.engine.fast.search import Search
from groupcheck.model.engine.resident import cores
from groupcheck.model.engine.staged import explore
from groupcheck.oracles.explain.subject import subject

SCOPE = {"members": 3, "any_faults": 2}
NAMES = ("classic", "cooperative", "static_membership")


def timed(name: str, symmetry: bool, workers: int) -> tuple[float, dict[str, float]]:
    """Seconds of a search: in all, and those of its threads together by what they did."""
    kept: list[Search] = []
    divide = Search.divide

    def dividing(search: Search, workers: int) -> None:
        kept.append(search)
        divide(search, workers)

    with patch.object(Search, "divide", dividing):
        began = time.perf_counter()
        explore(subject(name, **SCOPE).spec, workers=workers, symmetry=symmetry)
        wall = time.perf_counter() - began
    return wall, dict(kept[-1].threads.spent)


def main(names: Sequence[str]) -> None:
    workers = cores()
    for name in names or NAMES:
        for symmetry in (True, False):
            alone, _ = timed(name, symmetry, 1)
            wall, spent = timed(name, symmetry, workers)
            how = "with symmetry" if symmetry else "every state stored"
            print(f"{name}, {how}: {alone:.1f} s, {wall:.1f} s with {workers}: {alone / wall:.2f}")
            outside = wall - sum(spent.values()) / workers
            for what, seconds in sorted(spent.items(), key=lambda x: -x[1]):
                print(f"    {seconds / workers:6.2f} s of each thread {what}")
            print(f"    {outside:6.2f} s before and between the levels that threads share")


if __name__ == "__main__":
    main(sys.argv[1:])
