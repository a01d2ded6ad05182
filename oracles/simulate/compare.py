"""Several setups side by side: replications, intervals, ratios."""

from __future__ import annotations

import math
from collections.abc import Sequence

import attrs
from attrs import frozen

from groupcheck.model.engine import UserError
from groupcheck.model.engine.errors import shown
from groupcheck.oracles.quantities import MOST_REPLICATIONS, MOST_SEED
from groupcheck.oracles.simulate import intervals
from groupcheck.oracles.simulate.intervals import Interval
from groupcheck.oracles.simulate.setup import Result, Setup
from groupcheck.oracles.simulate.simulation import simulate


@frozen
class Row:
    """One setup and its replications, of which number k has the seed `seed + k`."""

    setup: Setup
    results: tuple[Result, ...]

    def values(self, measure: str) -> list[float]:
        """A figure of `Result.measures` in each replication."""
        return [result.measures[measure] for result in self.results]

    def interval(self, measure: str) -> Interval:
        """The mean over replications; no measure can be less than 0."""
        return intervals.mean(self.values(measure), least=0)


@frozen
class Comparison:
    """Rows over the same seeds. The first one is what the others are compared with."""

    seed: int
    replications: int
    rows: tuple[Row, ...]

    def ratio(self, measure: str, row: int) -> Interval | None:
        """How many times the first row's figure is another one's; None if some of them is 0 or
        never ended.
        """
        return intervals.ratio(self.rows[0].values(measure), self.rows[row].values(measure))


def compare(
    setups: Sequence[Setup], replications: int = 1, seed: int = 0, deadline: float = math.inf
) -> Comparison:
    """Runs every setup with the seeds `seed` to `seed + replications - 1`. Raises `UserError`, and
    `OutOfTime` as `simulate` does.
    """
    if not setups:
        raise UserError("there is nothing to compare", do="give setups")
    checked_replications(replications)
    checked_seed(seed)
    rows = []
    for setup in setups:
        seeded = (attrs.evolve(setup, seed=seed + k) for k in range(replications))
        rows.append(
            Row(
                attrs.evolve(setup, seed=seed),
                tuple(simulate(one, deadline=deadline) for one in seeded),
            )
        )
    return Comparison(seed, replications, tuple(rows))


def checked_replications(count: int) -> None:
    """Raises `UserError` for a number of runs that says nothing, or that memory does not hold."""
    if not 1 <= count <= MOST_REPLICATIONS:
        raise UserError(
            f"{shown(count)[:60]} is not a number from 1 to {MOST_REPLICATIONS:,}",
            where="replications",
        )


def checked_seed(seed: int) -> None:
    """Raises `UserError` for a seed that does not fit into the 64 bits of a table."""
    if abs(seed) > MOST_SEED:
        raise UserError(f"{shown(seed)[:60]} is not a number from -10^18 to 10^18", where="seed")
