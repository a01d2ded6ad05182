"""Several setups side by side: replications, intervals, ratios."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Literal

import attrs
from attrs import frozen

from groupcheck.model.engine import UserError
from groupcheck.model.engine.errors import shown
from groupcheck.oracles.quantities import MOST_REPLICATIONS, MOST_SEED
from groupcheck.oracles.simulate import intervals
from groupcheck.oracles.simulate.intervals import Interval
from groupcheck.oracles.simulate.progress import stopped_early
from groupcheck.oracles.simulate.replications import Progress, Results, replicated
from groupcheck.oracles.simulate.run_cache import RunCache
from groupcheck.oracles.simulate.setup import Result, Setup
from groupcheck.traces.phrases import plural


@frozen
class SetupResults:
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
    rows: tuple[SetupResults, ...]
    # Replications that were asked for; more than `replications` after Ctrl-C.
    asked: int

    @property
    def unsettled(self) -> tuple[tuple[str, int], ...]:
        """(variant, in how many replications) of groups that did not rest when their run ended."""
        found = [
            (row.setup.variant, sum(r.settled_ms is None for r in row.results)) for row in self.rows
        ]
        return tuple((variant, count) for variant, count in found if count)

    @property
    def seconds(self) -> float:
        """Virtual time after which a run ended at the latest."""
        return max(r.setup.seconds or 0.0 for row in self.rows for r in row.results)

    @property
    def reason(self) -> str:
        """Why the answer is not one; empty if it is. Runs that last as long as was asked, whether
        the group rests or not, are an answer.
        """
        if words := stopped_early(self.replications, self.asked):
            return words
        if cut := [r.ended_ms for row in self.rows for r in row.results if r.cut]:
            return (
                f"interrupted after {max(cut) / 1000:,.0f} s of virtual time, so the figures are"
                " those until then"
            )
        if not self.rows[0].setup.until_rest or not self.unsettled:
            return ""
        groups = " and ".join(
            f"{variant} in {count} of {plural(self.replications, 'run')}"
            for variant, count in self.unsettled
        )
        return (
            f"the group did not come to rest within {self.seconds:,.0f} s of virtual time"
            f" ({groups}), so the figures are those until then; --seconds simulates longer"
        )

    @property
    def verdict(self) -> Literal["answered", "unknown"]:
        """`unknown` where runs were stopped before there was an answer."""
        return "unknown" if self.reason else "answered"

    def ratio(self, measure: str, row: int) -> Interval | None:
        """How many times the first row's figure is another one's; None if some of them is 0 or
        never ended.
        """
        return intervals.ratio(self.rows[0].values(measure), self.rows[row].values(measure))


def compare(
    setups: Sequence[Setup],
    replications: int = 1,
    seed: int = 0,
    deadline: float = math.inf,
    *,
    workers: int = 1,
    least: int | None = None,
    report: Callable[[Progress], None] | None = None,
    kept: RunCache | None = None,
) -> Comparison:
    """Runs every setup with the seeds `seed` to `seed + replications - 1`. `workers`, `least`,
    `report` and `kept` as `replicated` takes them. Raises `UserError`, and `OutOfTime` as
    `simulate` does.
    """
    if not setups:
        raise UserError("there is nothing to compare", do="give setups")
    checked_replications(replications)
    checked_seed(seed)
    found = replicated(
        [attrs.evolve(one, seed=0) for one in setups],
        replications,
        seed,
        deadline=deadline,
        workers=workers,
        least=least,
        report=report,
        kept=kept,
    )
    return compared(setups, found, replications, seed)


def compared(setups: Sequence[Setup], found: Results, asked: int, seed: int) -> Comparison:
    """The comparison of what is done; at least one replication is."""
    rows = tuple(
        SetupResults(attrs.evolve(one, seed=seed), mine) for one, mine in zip(setups, found)
    )
    return Comparison(seed, len(found[0]), rows, asked)


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
