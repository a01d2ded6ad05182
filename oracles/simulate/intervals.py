"""Intervals of confidence: Student's t over independent replications.

The ratio of two variants is that of paired runs: both see the same seed. Its mean is the geometric
one, with the t interval of the logarithms.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from attrs import frozen

CONFIDENCE = 0.95


@frozen
class Interval:
    """A mean with its interval; `low` and `high` are None with fewer than two finite values. It is
    symmetric unless it ends at the least value that is possible (`is_cut`).
    """

    mean: float
    low: float | None
    high: float | None
    # How many values there were, and how many of them are infinite (never ended).
    count: int
    infinite: int = 0
    is_cut: bool = False


def mean(values: Sequence[float], least: float = -math.inf) -> Interval:
    """The mean of values, and the t interval of that mean. `least`: what no mean can lie below, as
    0 for counts and durations; a t interval knows nothing of it, and is cut there.
    """
    finite = [v for v in values if math.isfinite(v)]
    infinite = len(values) - len(finite)
    if infinite or len(finite) < 2:
        middle = math.inf if infinite else sum(finite) / len(finite) if finite else math.nan
        return Interval(middle, None, None, len(values), infinite)
    middle, half = _half_width(finite)
    low, is_cut = max(middle - half, least), middle - half < least
    return Interval(middle, low, middle + half, len(values), is_cut=is_cut)


def ratio(above: Sequence[float], below: Sequence[float]) -> Interval | None:
    """The geometric mean of the paired ratios, and the t interval of their logarithms; None if some
    value is 0 or infinite.
    """
    pairs = list(zip(above, below, strict=True))
    if not pairs or not all(0 < v < math.inf for pair in pairs for v in pair):
        return None
    logs = [math.log(a) - math.log(b) for a, b in pairs]
    if len(logs) < 2:
        return Interval(_exp(logs[0]), None, None, 1)
    middle, half = _half_width(logs)
    return Interval(_exp(middle), _exp(middle - half), _exp(middle + half), len(logs))


def unpaired_ratio(above: Sequence[float], below: Sequence[float]) -> Interval | None:
    """The ratio of two geometric means of runs that have nothing in common, with Welch's t interval
    of the logarithms; None if some value is 0 or infinite, or alone.
    """
    if min(len(above), len(below)) < 2 or not all(0 < v < math.inf for v in (*above, *below)):
        return None
    middles, shares = [], []
    for values in (above, below):
        logs = [math.log(v) for v in values]
        middle = math.fsum(logs) / len(logs)
        variance = math.fsum((v - middle) ** 2 for v in logs) / (len(logs) - 1)
        middles.append(middle)
        shares.append(variance / len(logs))
    whole = math.fsum(shares)
    parts = (s * s / (len(v) - 1) for s, v in zip(shares, (above, below)))
    freedom = int(whole * whole / math.fsum(parts)) if whole else 1  # rounded down: no narrower
    half = t_quantile((1 + CONFIDENCE) / 2, max(freedom, 1)) * math.sqrt(whole)
    middle = middles[0] - middles[1]
    count = min(len(above), len(below))
    return Interval(_exp(middle), _exp(middle - half), _exp(middle + half), count)


def _exp(value: float) -> float:
    try:
        return math.exp(value)
    except OverflowError:  # two pairs alone can give a width of thousands
        return math.inf


def _half_width(values: Sequence[float]) -> tuple[float, float]:
    """The mean of values, and half the width of its interval."""
    n = len(values)
    middle = math.fsum(values) / n
    variance = math.fsum((v - middle) ** 2 for v in values) / (n - 1)
    return middle, t_quantile((1 + CONFIDENCE) / 2, n - 1) * math.sqrt(variance / n)


def t_quantile(probability: float, freedom: int) -> float:
    """The quantile of Student's t with so many degrees of freedom, by bisection; `probability` is
    at least a half.
    """
    low, high = 0.0, 1e6
    for _ in range(200):
        middle = (low + high) / 2
        if t_cdf(middle, freedom) < probability:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def t_cdf(t: float, freedom: int) -> float:
    """Student's t distribution for a whole number of degrees of freedom and t >= 0 (Abramowitz and
    Stegun, 26.7.3 and 26.7.4).
    """
    angle = math.atan(t / math.sqrt(freedom))
    cos, sin = math.cos(angle), math.sin(angle)
    odd = freedom % 2
    term = total = cos if odd else 1.0
    for k in range(2 + odd, freedom, 2):
        term *= cos * cos * (k - 1) / k
        total += term
    if odd:
        inner = angle + (sin * total if freedom > 1 else 0.0)
        return 0.5 + inner / math.pi
    return 0.5 + sin * total / 2
