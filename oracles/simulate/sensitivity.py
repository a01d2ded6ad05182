"""How a ratio moves with each assumption: one at a time is made so many times as large."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import attrs
from attrs import frozen

from groupcheck.model.engine import UserError
from groupcheck.oracles.simulate.assumptions import Assumptions
from groupcheck.oracles.simulate.distributions import Distribution
from groupcheck.oracles.simulate.intervals import Interval, ratio
from groupcheck.oracles.simulate.kept import Kept
from groupcheck.oracles.simulate.replications import Progress, replicated
from groupcheck.oracles.simulate.setup import Setup

FACTORS = (0.25, 4.0)
# Counts and rates whose other values would be another scenario.
APART = ("changed_members", "other_requests_per_s", "metadata_bytes")
FEW_MEMBERS = 60  # members of a group that is asked only for what decides
DIFFERENT = 0.02  # a ratio that moves by less has not moved


@frozen
class Moved:
    """One assumption, and the ratio with it at some multiples of its value."""

    assumption: str
    value: str
    # (factor, the ratio; None: it has none) of values that Kafka and the scenario allow.
    ratios: tuple[tuple[float, Interval | None], ...]

    def spread(self, base: float) -> float:
        """By which factor the ratio moves at most, up or down; 1.0: it stays."""
        means = [r.mean / base for _, r in self.ratios if r is not None]
        return max((max(m, 1 / m) for m in means), default=1.0)


@frozen
class Sensitivity:
    """The ratio of a measure of two setups, and how it moves."""

    measure: str
    # The members of the groups that were asked, and the runs behind each ratio.
    members: int
    replications: int
    base: Interval | None
    moved: tuple[Moved, ...]

    @property
    def deciding(self) -> Moved | None:
        """The assumption with which the ratio moves most, if it moves at all."""
        if self.base is None:
            return None
        base = self.base.mean
        most = max(self.moved, key=lambda m: m.spread(base), default=None)
        return most if most is not None and most.spread(base) > 1 + DIFFERENT else None


def sensitivity(
    setups: tuple[Setup, Setup],
    measure: str = "longest_pause_ms",
    factors: Sequence[float] = FACTORS,
    replications: int = 1,
    seed: int = 0,
    *,
    workers: int = 1,
    report: Callable[[Progress], None] | None = None,
    kept: Kept | None = None,
) -> Sensitivity:
    """The ratio of the first setup's figure to the second's, and how each assumption moves it.
    `workers`, `report` and `kept` as `replicated` takes them.
    """
    base = setups[0].assumptions
    varied = [
        (name, value, factor, changed)
        for name, value in _varied(base)
        for factor in factors
        if (changed := scaled(base, name, factor)) is not None
    ]
    every = [base, *(changed for *_, changed in varied)]
    asked = [attrs.evolve(setup, assumptions=a) for a in every for setup in setups]
    found = replicated(asked, replications, seed, workers=workers, report=report, kept=kept)
    values = [[one.measures[measure] for one in mine] for mine in found]
    first, *ratios = [ratio(a, b) for a, b in zip(values[::2], values[1::2])]
    by_name: dict[tuple[str, str], list[tuple[float, Interval | None]]] = {
        known: [] for known in _varied(base)
    }
    for (name, value, factor, _), one in zip(varied, ratios):
        by_name[name, value].append((factor, one))
    moved = tuple(Moved(*known, tuple(mine)) for known, mine in by_name.items())
    return Sensitivity(measure, setups[0].members, replications, first, moved)


def deciding(
    setups: tuple[Setup, Setup],
    seed: int = 0,
    *,
    workers: int = 1,
    report: Callable[[Progress], None] | None = None,
    kept: Kept | None = None,
) -> Sensitivity:
    """How the ratio moves in one run of a smaller group of the same kind, to name what
    decides it.
    """
    setup = setups[0]
    few = min(setup.members, FEW_MEMBERS)
    partitions = max(1, setup.partitions * few // setup.members)
    small = [attrs.evolve(one, members=few, partitions=partitions) for one in setups]
    return sensitivity((small[0], small[1]), seed=seed, workers=workers, report=report, kept=kept)


def _varied(a: Assumptions) -> Iterator[tuple[str, str]]:
    for field in attrs.fields(Assumptions):
        value = getattr(a, field.name)
        if field.name not in APART and value:
            yield field.name, str(value) if isinstance(value, Distribution) else f"{value:g}"


def scaled(a: Assumptions, name: str, factor: float) -> Assumptions | None:
    """The assumptions with one of them so many times as large; None if they contradict each other
    then.
    """
    value = getattr(a, name)
    new: Any = value.times(factor) if isinstance(value, Distribution) else value * factor
    try:
        return attrs.evolve(a, **{name: new})
    except UserError:
        return None
