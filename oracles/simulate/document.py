"""A comparison as a JSON document (`groupcheck.simulate/1`)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import attrs

from groupcheck.oracles.show import json_schemas
from groupcheck.oracles.simulate import simulate_types
from groupcheck.oracles.simulate.article import OF_THAT_TIME, Beside, Figures, overlaps
from groupcheck.oracles.simulate.assumptions import Assumptions
from groupcheck.oracles.simulate.compare import Comparison, SetupResults
from groupcheck.oracles.simulate.distributions import Distribution
from groupcheck.oracles.simulate.intervals import CONFIDENCE, Interval
from groupcheck.oracles.simulate.kinds import Kind, kinds
from groupcheck.oracles.simulate.sensitivity import Sensitivity

SCHEMA = "groupcheck.simulate/1"


def document(
    comparison: Comparison, moved: Sensitivity | None = None, beside: Beside | None = None
) -> dict[str, Any]:
    """Everything that a simulation says."""
    setup = comparison.rows[0].setup
    shown = simulate_types.SimulateDocument(
        scenario=setup.scenario,
        members=setup.members,
        partitions=setup.partitions,
        seed=comparison.seed,
        replications=comparison.replications,
        confidence=CONFIDENCE,
        verdict=comparison.verdict,
        reason=comparison.reason or None,
        seconds=comparison.seconds,
        until_rest=setup.until_rest,
        assumptions=assumptions(setup.stated),
        kinds=_kinds(setup.assumptions),
        variants=[_variant(row) for row in comparison.rows],
        ratios=_ratios(comparison),
        sensitivity=None if moved is None else _sensitivity(moved),
        article=None if beside is None else _article(beside),
    )
    return json_schemas.document(SCHEMA, shown)


def assumptions(a: Assumptions) -> dict[str, float | str]:
    """All of them by name: numbers, and distributions as they are written. What only a scenario
    decides is left out.
    """
    values = {f.name: getattr(a, f.name) for f in attrs.fields(Assumptions)}
    return {
        k: str(v) if isinstance(v, Distribution) else v for k, v in values.items() if v is not None
    }


def _kinds(a: Assumptions) -> dict[str, Kind]:
    return {k: v for k, v in kinds(a).items() if k in assumptions(a)}


def listed(values: Mapping[str, float | str]) -> str:
    """Assumptions by name in a text: numbers with all their digits."""
    return ", ".join(f"{k}={v if isinstance(v, str) else f'{v:.15g}'}" for k, v in values.items())


def changed(a: Assumptions) -> dict[str, float | str]:
    """Those that are not what they are by default."""
    usual = assumptions(Assumptions())
    return {name: value for name, value in assumptions(a).items() if value != usual.get(name)}


def number(value: float) -> float | None:
    """A number as a document has it; null for what never ended."""
    return finite(value) if math.isfinite(value) else None


def finite(value: float) -> float:
    """The same of a number that is known to be finite: to six digits behind the point."""
    return round(value, 6) + 0.0  # no -0.0


def figure(value: float, digits: int) -> str:
    """So many digits of a number; of a large one all that stand before the point."""
    return f"{value:,.{digits}g}" if value < 1000 else f"{value:,.0f}"


def spread(found: Interval, shown: Callable[[float], str]) -> str:
    """The text behind a mean: half the width of its interval, or the ends of one that is cut;
    nothing if there is none. `shown`: how its numbers are written.
    """
    if found.low is None or found.high is None or found.low == found.high:
        return ""
    if found.is_cut:
        return f" ({shown(found.low)} to {shown(found.high)})"
    return f" ± {shown(found.high - found.mean)}"


def interval(found: Interval) -> simulate_types.Interval:
    """A mean with its interval."""
    low, high = (None if v is None else number(v) for v in (found.low, found.high))
    return simulate_types.Interval(mean=number(found.mean), low=low, high=high)


def _variant(row: SetupResults) -> simulate_types.Variant:
    names = sorted({name for result in row.results for name in result.requests})
    count = len(row.results)
    measures = {name: _estimate(row, name) for name in row.results[0].measures}
    return simulate_types.Variant(
        variant=row.setup.variant,
        measures=simulate_types.Measures(**measures),
        requests={
            name: finite(sum(r.requests.get(name, 0) for r in row.results) / count)
            for name in names
        },
        came_to_rest=sum(result.settled_ms is not None for result in row.results),
    )


def _estimate(row: SetupResults, measure: str) -> simulate_types.Estimate:
    values = [number(value) for value in row.values(measure)]
    return simulate_types.Estimate(interval=interval(row.interval(measure)), values=values)


def _ratios(comparison: Comparison) -> list[simulate_types.Ratio]:
    return [
        simulate_types.Ratio(
            measure=measure,
            variant=comparison.rows[0].setup.variant,
            over=row.setup.variant,
            ratio=_ratio(comparison.ratio(measure, k)),
        )
        for k, row in enumerate(comparison.rows)
        if k
        for measure in comparison.rows[0].results[0].measures
    ]


def _ratio(found: Interval | None) -> simulate_types.Interval | None:
    return None if found is None else interval(found)


def _sensitivity(moved: Sensitivity) -> simulate_types.Sensitivity:
    deciding = moved.deciding
    return simulate_types.Sensitivity(
        measure=moved.measure,
        members=moved.members,
        replications=moved.replications,
        ratio=_ratio(moved.base),
        deciding=None if deciding is None else deciding.assumption,
        assumptions=[
            simulate_types.Assumption(
                assumption=one.assumption,
                value=one.value,
                ratios=[
                    simulate_types.RatioAtMultiple(
                        factor=None if one.is_value else at,
                        value=at if one.is_value else None,
                        ratio=_ratio(ratio),
                        came_to_rest=at not in one.unsettled,
                    )
                    for at, ratio in one.ratios
                ],
            )
            for one in moved.moved
        ],
        not_asked=dict(moved.not_asked),
    )


def _article(beside: Beside) -> simulate_types.Article:
    then = beside.of_that_time
    return simulate_types.Article(
        article=_figures(beside.article),
        ours=_figures(beside.ours),
        of_that_time=None if then is None else _figures(then),
        overlaps={
            name: overlaps(beside.article, one)
            for name, one in (("ours", beside.ours), ("of_that_time", then))
            if one is not None
        },
        inputs=[
            simulate_types.FittedInput(name=i.name, value=i.value, kind=i.kind, source=i.source)
            for i in OF_THAT_TIME
        ],
    )


def _figures(found: Figures) -> simulate_types.GroupFigures:
    return simulate_types.GroupFigures(
        native_ms=interval(found.native),
        asynchronous_ms=interval(found.asynchronous),
        ratio_of_means=number(found.ratio_of_means),
        ratio=_ratio(found.ratio),
    )
