"""The types of the document that `curve --json` prints."""

from __future__ import annotations

from typing import Annotated, Literal

from attrs import field, frozen

from groupcheck.oracles.show.json_schemas import BESIDE, Count, Positive, Share
from groupcheck.oracles.simulate.simulate_types import Interval


@frozen(kw_only=True)
class Point:
    """One point."""

    curve: Annotated[str, "The question."]
    series: Annotated[str, "The line that the point belongs to: a variant or a scenario."]
    x: Annotated[float, "The value on the axis."]
    measure: Annotated[
        str,
        "The name of the figure, as in `groupcheck.simulate/1`, or"
        " `false_expiries_per_member_hour`.",
    ]
    interval: Interval = field(metadata=BESIDE)
    variant: Annotated[str, "The variant that was simulated."]
    scenario: Annotated[str, "The scenario that was simulated."]
    members: Annotated[Positive, "Members of the group at most."]
    partitions: Annotated[Positive, "Partitions of its topic."]
    seed: Annotated[Count, "The first seed."]
    replications: Annotated[Positive, "Runs of the point."]


@frozen(kw_only=True)
class CurveDocument:
    """What `groupcheck curve --json` prints: figures of simulations over one setting."""

    curve: Annotated[str, "The question, as it was asked."]
    title: Annotated[str, "What the curve shows, in words."]
    axis: Annotated[str, "What `x` is, with its unit."]
    verdict: Annotated[
        Literal["answered", "unknown"], "`unknown` where the command was interrupted."
    ]
    reason: Annotated[str | None, "Why it is unknown; null if it is not."]
    seed: Annotated[Count, "The first seed."]
    replications: Annotated[Positive, "Runs of each point."]
    confidence: Annotated[Share, "Of the intervals."]
    assumptions: Annotated[
        dict[str, float | str],
        "Those of the first point, by name: numbers, and distributions as they are written.",
    ]
    points: Annotated[list[Point], "One for each point and measure."]
