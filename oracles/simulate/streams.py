"""Random numbers: each member and each kind of draw has a generator of its own, made from the seed
and its name.

So variants that are compared see the same latencies as long as they do the same, and no variant's
draws depend on which other ones run.
"""

from __future__ import annotations

from random import Random


class Streams:
    """The generators of one run."""

    def __init__(self, seed: str) -> None:
        self.seed = seed
        self._made: dict[str, dict[int, Random]] = {}

    def __call__(self, kind: str, index: int = 0) -> Random:
        try:  # nearly always it is there
            return self._made[kind][index]
        except KeyError:
            made = self._made.setdefault(kind, {})
            rng = made[index] = Random(f"{self.seed}/{kind}/{index}")
            return rng
