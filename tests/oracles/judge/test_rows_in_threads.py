"""Schedules are played side by side, and all look into the same rows."""

from __future__ import annotations

import random
import sys
from concurrent.futures import ThreadPoolExecutor

from groupcheck.oracles.conform.conformance import rows_at
from groupcheck.oracles.conform.rows import Rows

WALKS, STEPS = 6, 60


def walk(rows: Rows, seed: int) -> list[int]:
    """How many outcomes there were at each step of a random walk."""
    rng, memory, counts = random.Random(seed), rows.start(), []
    for _ in range(STEPS):
        outcomes = rows.outcomes(memory, rng.choice(list(rows.inputs(memory))))
        counts.append(len(outcomes))
        memory = rng.choice(outcomes).after if outcomes else memory
    return counts


def test_walks_of_several_threads_are_those_of_one() -> None:
    def rows() -> Rows:
        return rows_at("mixed_membership", 3, 80, (), None, {})[1]

    shared, alone = rows(), rows()
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)  # so that threads meet in the middle of everything
    try:
        with ThreadPoolExecutor(WALKS) as pool:
            found = list(pool.map(lambda seed: walk(shared, seed), range(WALKS)))
    finally:
        sys.setswitchinterval(before)
    assert found == [walk(alone, seed) for seed in range(WALKS)]
    assert all(len(counts) == STEPS for counts in found)
