"""How a ratio moves with each assumption: one at a time is made so many times as large, or given
other values where a multiple says nothing (`OTHERS`). What is not asked is named, with the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import attrs
from attrs import frozen

from groupcheck.model.engine import UserError
from groupcheck.model.protocol.consumer.scope import ConsumerScope
from groupcheck.model.variants import registry
from groupcheck.oracles.simulate.assumptions import Assumptions, with_settings
from groupcheck.oracles.simulate.distributions import Distribution
from groupcheck.oracles.simulate.drives import REFRESHES
from groupcheck.oracles.simulate.intervals import Interval, ratio
from groupcheck.oracles.simulate.replications import Progress, replicated
from groupcheck.oracles.simulate.run_cache import RunCache
from groupcheck.oracles.simulate.setup import Result, Setup
from groupcheck.oracles.simulate.simulation import admitted

FACTORS = (0.25, 4.0)
# Those that are 0 or one by default: a multiple says nothing of 0.
OTHERS: Mapping[str, tuple[float, float]] = {
    "changed_members": (4, 16),
    "join_ms_per_member": (0.0002, 0.001),
    "loss": (0.001, 0.01),
    "metadata_bytes": (1_000, 10_000),
    "other_group_members": (100, 1_000),
    "other_requests_per_s": (1_000, 5_000),
    "pause_every_s": (600, 60),
}
# Lag follows from stops, and nothing follows from lag.
OF_LAG = ("backlog_s", "shared_spare")
# Assumptions that only some scenarios ask.
OF_SCENARIOS: Mapping[str, tuple[str, ...]] = {
    "stall_ms": ("sick-host", "slow-message"),
    "trigger_ms": ("sick-host",),
    "restart_ms": ("bounce", "rolling-restart"),
    "restart_gap_ms": ("rolling-restart",),
    "start_spread_ms": ("cold-start",),
    "added_partitions": ("partitions-added",),
}
FEW_MEMBERS = 60  # members of a group that is asked only for what decides
DIFFERENT = 0.02  # a ratio that moves by less has not moved


@frozen
class AssumptionRatios:
    """One assumption, and the ratio with it at some other values."""

    assumption: str
    value: str
    # (factor, the ratio; None: it has none) of values that Kafka and the scenario allow; instead of
    # a factor, a value where `is_value`.
    ratios: tuple[tuple[float, Interval | None], ...]
    is_value: bool = False
    # Those at which some group did not come to rest before its run ended.
    unsettled: tuple[float, ...] = ()

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
    moved: tuple[AssumptionRatios, ...]
    # Assumption -> why it was not asked.
    not_asked: Mapping[str, str]

    @property
    def deciding(self) -> AssumptionRatios | None:
        """The assumption with which the ratio moves most, if it moves at all."""
        if self.base is None:
            return None
        base = self.base.mean
        most = max(self.moved, key=lambda m: m.spread(base), default=None)
        return most if most is not None and most.spread(base) > 1 + DIFFERENT else None


@frozen
class _Asked:
    """One assumption at another value."""

    name: str
    value: str
    at: float
    is_value: bool
    changed: Assumptions


def sensitivity(
    setups: tuple[Setup, Setup],
    measure: str = "longest_pause_ms",
    factors: Sequence[float] = FACTORS,
    replications: int = 1,
    seed: int = 0,
    *,
    multiples_alone: bool = False,
    workers: int = 1,
    report: Callable[[Progress], None] | None = None,
    kept: RunCache | None = None,
) -> Sensitivity:
    """The ratio of the first setup's figure to the second's, and how each assumption moves it.
    `multiples_alone`: those of `OTHERS` are not asked. `workers`, `report` and `kept` as
    `replicated` takes them.
    """
    base = setups[0].assumptions
    reasons = not_asked(setups, multiples_alone)
    varied = [one for one in _asked(setups[0], factors) if one.name not in reasons]
    every = [base, *(one.changed for one in varied)]
    asked = [attrs.evolve(setup, assumptions=a) for a in every for setup in setups]
    found = replicated(asked, replications, seed, workers=workers, report=report, kept=kept)
    values = [[one.measures[measure] for one in mine] for mine in found]
    first, *ratios = [ratio(a, b) for a, b in zip(values[::2], values[1::2])]
    rested = [_rested(a) and _rested(b) for a, b in zip(found[2::2], found[3::2])]
    moved = []
    for name in dict.fromkeys(one.name for one in varied):
        mine = [k for k, one in enumerate(varied) if one.name == name]
        first_one = varied[mine[0]]
        moved.append(
            AssumptionRatios(
                name,
                first_one.value,
                tuple((varied[k].at, ratios[k]) for k in mine),
                first_one.is_value,
                tuple(varied[k].at for k in mine if not rested[k]),
            )
        )
    return Sensitivity(measure, setups[0].members, replications, first, tuple(moved), reasons)


def _rested(results: Sequence[Result]) -> bool:
    return all(one.settled_ms is not None or not one.setup.until_rest for one in results)


def deciding(
    setups: tuple[Setup, Setup],
    seed: int = 0,
    *,
    workers: int = 1,
    report: Callable[[Progress], None] | None = None,
    kept: RunCache | None = None,
) -> Sensitivity:
    """How the ratio moves in one run of a smaller group of the same kind, to name what
    decides it.
    """
    setup = setups[0]
    few = min(setup.members, FEW_MEMBERS)
    partitions = max(1, setup.partitions * few // setup.members)
    small = [attrs.evolve(one, members=few, partitions=partitions) for one in setups]
    return sensitivity(
        (small[0], small[1]),
        seed=seed,
        multiples_alone=True,
        workers=workers,
        report=report,
        kept=kept,
    )


def not_asked(setups: Sequence[Setup], multiples_alone: bool = False) -> dict[str, str]:
    """Assumption -> why its value cannot, or need not, be asked of these setups."""
    a, found = setups[0].assumptions, {}
    scenario = "" if setups[0].course is not None else setups[0].scenario
    for name, scenarios in OF_SCENARIOS.items():
        if scenario not in scenarios:
            found[name] = f"only in {' and '.join(scenarios)}"
    found |= dict.fromkeys(OF_LAG, "pauses do not depend on lag")
    if not a.pause_every_s and scenario != "outage":
        found["pause_ms"] = "no process pauses"
    specs = [registry.load(one.variant) for one in setups]
    consumers = [spec.scope_type is ConsumerScope for spec in specs]
    if not any(consumers):
        own = (f.name for f in attrs.fields(Assumptions) if f.name.startswith("consumer_"))
        found |= dict.fromkeys(own, "only in consumer")
    if "connect" not in {one.variant for one in setups}:
        found["rebalance_delay_ms"] = "only in connect"
    if scenario != "partitions-added" and not any(_refreshes(one) for one in setups):
        found["metadata_max_age_ms"] = "topics do not change"
    if multiples_alone:
        why = "--sensitivity asks"
        found |= {name: why for name in OTHERS if not getattr(a, name) and name not in found}
    return found


def _refreshes(setup: Setup) -> bool:
    return REFRESHES in {rule.name for rule in admitted(setup).rules}


def _asked(setup: Setup, factors: Sequence[float]) -> Iterator[_Asked]:
    """Each assumption at its other values, as far as Kafka and the scenario allow them."""
    a = setup.assumptions
    for field in attrs.fields(Assumptions):
        name, value = field.name, getattr(a, field.name)
        told = str(value) if isinstance(value, Distribution) else f"{value or 0:g}"
        if value:
            for factor in factors:
                if (changed := scaled(a, name, factor)) is not None:
                    yield _Asked(name, told, factor, False, changed)
            continue
        usual = getattr(setup.stated, name) or 0
        for other in OTHERS.get(name, ()):
            if name != "changed_members" or other < setup.members:
                yield _Asked(name, f"{usual:g}", other, True, with_settings({name: other}, a))


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
