"""The two groups that a large video company measured, beside ours.

Its article tells of each group its members and partitions, and of eight runs the longest pause of
any member, natively and with its asynchronous coordinator. It tells neither settings nor loads nor
the release. So ours are simulated twice: with the assumptions as they are, none of which was chosen
to meet a figure, and on a coordinator of that time (`OF_THAT_TIME`), where three inputs are fitted,
one to one figure each; the fourth figure is what comes out then.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Literal

import attrs
from attrs import frozen

from groupcheck.oracles.simulate import intervals
from groupcheck.oracles.simulate.assumptions import with_settings
from groupcheck.oracles.simulate.compare import Comparison
from groupcheck.oracles.simulate.intervals import Interval
from groupcheck.oracles.simulate.kinds import Kind
from groupcheck.oracles.simulate.setup import Setup

SCENARIO = "scale-out"
VARIANTS = ("classic", "async_server")
MEASURE = "longest_pause_ms"
Figure = Literal["native", "asynchronous", "ratio"]
# Members, and partitions -> the longest pause in each of its runs (ms).
NATIVE: Mapping[int, Sequence[float]] = {
    1600: (3021, 2989, 2996, 4433, 2428, 2892, 3076, 3126),
    3000: (6040, 5340, 9040, 6790, 9650, 6230, 7920, 5680),
}
ASYNCHRONOUS: Mapping[int, Sequence[float]] = {
    1600: (17, 26, 51, 14, 20, 24, 17, 36),
    3000: (102, 14, 34, 22, 48, 7.8, 23, 67),
}


@frozen
class Input:
    """An input of the simulation on a coordinator of that time that is not the default."""

    name: str
    value: str
    kind: Kind
    source: str


OF_THAT_TIME = (
    Input(
        "join_ms_per_member",
        "0.0006",
        "fitted",
        "native pauses of 3,000 members. Measured on Kafka 1.1.1: 0.00018 on a quiet machine,"
        " 0.00054 on one with five times as much to do as it has cores",
    ),
    Input("processing_ms", "lognormal:50,0.5", "fitted", "native pauses of 1,600 members"),
    Input("revoke_ms", "lognormal:15,0.5", "fitted", "asynchronous pauses of 1,600 members"),
)
assert sum(one.kind == "fitted" for one in OF_THAT_TIME) < len(NATIVE) + len(ASYNCHRONOUS)


@frozen
class Figures:
    """The two means of a group and their ratio, with 95 % intervals."""

    native: Interval
    asynchronous: Interval
    # Of the two means.
    ratio_of_means: float
    # Of the geometric means.
    ratio: Interval | None


@frozen
class Beside:
    """The article's figures of a group, and ours."""

    members: int
    article: Figures
    ours: Figures
    # On a coordinator of that time; None: it was not simulated.
    of_that_time: Figures | None


def tells(setups: Sequence[Setup]) -> bool:
    """Does the article tell the figures of these groups?"""
    return (
        tuple(one.variant for one in setups) == VARIANTS
        and setups[0].scenario == SCENARIO
        and setups[0].course is None
        and setups[0].members == setups[0].partitions
        and setups[0].members in NATIVE
    )


def of_that_time(setups: Sequence[Setup]) -> list[Setup]:
    """The same groups on a coordinator of that time."""
    given = {one.name: one.value for one in OF_THAT_TIME}
    return [attrs.evolve(one, assumptions=with_settings(given, one.assumptions)) for one in setups]


def beside(found: Comparison, then: Comparison | None) -> Beside:
    """The article's figures beside those that were found."""
    members = found.rows[0].setup.members
    native, asynchronous = NATIVE[members], ASYNCHRONOUS[members]
    article = Figures(
        intervals.mean(native, least=0),
        intervals.mean(asynchronous, least=0),
        math.fsum(native) / math.fsum(asynchronous),
        intervals.unpaired_ratio(native, asynchronous),
    )
    return Beside(members, article, _figures(found), None if then is None else _figures(then))


def overlaps(article: Figures, ours: Figures) -> list[Figure]:
    """The figures whose intervals meet; one without an interval meets nothing."""
    pairs: tuple[tuple[Figure, Interval | None, Interval | None], ...] = (
        ("native", article.native, ours.native),
        ("asynchronous", article.asynchronous, ours.asynchronous),
        ("ratio", article.ratio, ours.ratio),
    )
    return [name for name, one, other in pairs if _meet(one, other)]


def _meet(one: Interval | None, other: Interval | None) -> bool:
    if one is None or other is None:
        return False
    ends = (one.low, one.high, other.low, other.high)
    if None in ends:
        return False
    low, high, low_too, high_too = (float(end or 0) for end in ends)
    return low <= high_too and low_too <= high


def _figures(found: Comparison) -> Figures:
    native, asynchronous = (row.interval(MEASURE) for row in found.rows)
    ratio = native.mean / asynchronous.mean if asynchronous.mean else math.nan
    return Figures(native, asynchronous, ratio, found.ratio(MEASURE, 1))
