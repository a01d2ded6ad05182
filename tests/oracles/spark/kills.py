"""Kills executors in the middle of a distributed search, which must not notice. `make nightly` runs
this file: kills at random levels, and one at every third level of a search.
"""

from __future__ import annotations

import random
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

from standalone import Cluster, standalone

from groupcheck import check
from groupcheck.model.engine.verdict import Progress

FAULTS = {"crash": 1, "session_timeout": 1, "fail_over": 1}
COUNTS = (116_305, 353_740, 30)  # states, transitions, depth
NOT_COUNTS = {"seconds", "bytes_per_state", "distribution", "notes", "symmetry"}
FIRST = 9  # the level after the one that is handed over
RUNS, KILLS = 7, 3
EVERY = 3  # levels


def alone() -> dict[str, Any]:
    """The document of one process."""
    document = check("classic", members=2, faults=FAULTS).document()
    assert (document["states"], document["transitions"], document["depth"]) == COUNTS
    return counted(document)


def counted(document: dict[str, Any]) -> dict[str, Any]:
    """What a search must answer however it is spread."""
    return {name: value for name, value in document.items() if name not in NOT_COUNTS}


class Killer:
    """Kills executors at some levels of a search."""

    def __init__(self, cluster: Cluster, levels: list[int], seed: int) -> None:
        self.cluster, self.levels, self.chance = cluster, sorted(levels), random.Random(seed)
        self.killed: list[int] = []
        self.timers: list[threading.Timer] = []

    def __call__(self, progress: Progress) -> None:
        while self.levels and progress.level >= self.levels[0]:
            self.levels.pop(0)
            self.timers.append(
                threading.Timer(
                    self.chance.uniform(0.0, 0.3), self.kill, [self.chance.randrange(2)]
                )
            )
            self.timers[-1].start()

    def kill(self, number: int) -> None:
        """Kills now: somewhere in the next level's job."""
        self.killed.append(self.cluster.kill_executor(number))


def search_with_kills(
    cluster: Cluster, store: Path, levels: list[int], seed: int
) -> tuple[dict[str, Any], int]:
    """(the document, calls that were repeated) of a search over a cluster of which an executor is
    killed at each of these levels.
    """
    killer = Killer(cluster, levels, seed)
    found = check(
        "classic",
        members=2,
        faults=FAULTS,
        spark=cluster.master,
        store=str(store),
        shards=3,
        hand_over=1000,
        progress=killer,
    )
    for timer in killer.timers:
        timer.join()
    assert len(killer.killed) == len(levels)
    assert found.verdict.distribution is not None
    return counted(found.document()), found.verdict.distribution["retries"]


def main() -> int:
    expected, wrong = alone(), 0
    with tempfile.TemporaryDirectory() as folder, standalone(Path(folder)) as cluster:
        late = range(FIRST, COUNTS[2] - 2)
        plans = [random.Random(run).sample(late, KILLS) for run in range(RUNS)]
        plans.append([*late[::EVERY]])
        for run, levels in enumerate(plans):
            found, retries = search_with_kills(cluster, Path(folder, f"store-{run}"), levels, run)
            wrong += found != expected
            print(
                f"run {run}: executors killed at levels {sorted(levels)}, {retries} calls repeated,"
                f" {'same' if found == expected else 'OTHER'} answer"
            )
    print(f"{sum(map(len, plans))} kills, {wrong} wrong answers")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
