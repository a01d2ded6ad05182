"""Distributions of durations, as a user writes them: `lognormal:50,1`, in the unit of the field.

Draws come from a `random.Random` of the caller's, so equal seeds give equal numbers.
"""

from __future__ import annotations

import math
from random import Random

from attrs import frozen

from groupcheck.model.engine import UserError
from groupcheck.oracles.quantities import time_of

# Kind -> the names of its parameters.
KINDS = {
    "constant": ("value",),
    "uniform": ("least", "most"),
    "exponential": ("mean",),
    "lognormal": ("median", "sigma"),
    "pareto": ("least", "alpha"),
}
# In the unit of the field; longer ones, added and squared, may be no numbers any more.
LARGEST = 1e100
TIMES = {"uniform": 2}  # how many of the parameters are durations, the first ones; 1 elsewhere
RAREST = 2.0**-53  # the smallest share that `Random.random` tells from 0
SMALLER = "give smaller numbers"
WIDE = {"lognormal": "give a smaller SIGMA, as 1", "pareto": "give a larger ALPHA, as 2"}


@frozen
class Distribution:
    """A distribution of durations. `kind`: one of `KINDS`, which names the `parameters`."""

    kind: str
    parameters: tuple[float, ...]

    def __str__(self) -> str:
        return f"{self.kind}:" + ",".join(f"{p:.15g}" for p in self.parameters)

    @property
    def mean(self) -> float:
        a, b = (*self.parameters, 0.0)[:2]
        if self.kind == "uniform":
            return (a + b) / 2
        if self.kind == "lognormal":
            return a * math.exp(b * b / 2)
        return a * b / (b - 1) if self.kind == "pareto" else a

    def draw(self, rng: Random) -> float:
        """One duration."""
        kind, a, b = self.kind, self.parameters[0], self.parameters[-1]
        if kind == "lognormal":
            return a * math.exp(b * rng.gauss(0, 1))
        if kind == "exponential":
            return rng.expovariate(1 / a) if a else 0.0
        if kind == "constant":
            return a
        if kind == "uniform":
            return a + (b - a) * rng.random()
        return float(a * (1 - rng.random()) ** (-1 / b))

    def met(self, rng: Random) -> float:
        """The whole length of the duration that somebody who comes at a random moment finds under
        way. Long ones are found more often: the density is that of `draw` times the length.
        """
        a, b = (*self.parameters, 0.0)[:2]
        if self.kind == "uniform":
            return math.sqrt(a * a + (b * b - a * a) * rng.random())
        if self.kind == "exponential":
            return self.draw(rng) + self.draw(rng)
        if self.kind == "lognormal":
            return a * math.exp(b * b) * math.exp(b * rng.gauss(0, 1))
        if self.kind == "pareto":
            return float(a * (1 - rng.random()) ** (-1 / (b - 1)))
        return a

    @property
    def longest_log(self) -> float:
        """The natural logarithm of the longest duration that `draw` and `met` can give."""
        a, b = (*self.parameters, 0.0)[:2]
        if not (b if self.kind == "uniform" else a):
            return -math.inf
        rarest = -math.log(RAREST)
        if self.kind == "uniform":
            return math.log(b)
        if self.kind == "exponential":
            return math.log(2 * rarest) + math.log(a)
        if self.kind == "lognormal":  # `gauss` goes as far as the square root of 2 `rarest`
            return math.log(a) + b * b + b * math.sqrt(2 * rarest)
        return math.log(a) + rarest / (b - 1) if self.kind == "pareto" else math.log(a)

    def times(self, factor: float) -> Distribution:
        """The distribution of durations that are so many times as long."""
        scaled = TIMES.get(self.kind, 1)
        changed = tuple(p * factor if k < scaled else p for k, p in enumerate(self.parameters))
        return Distribution(self.kind, changed)


def distribution(text: str | float | Distribution) -> Distribution:
    """The distribution that a text such as `lognormal:50,1` or `uniform:5m,600s` means, in ms; a
    number is a constant. Raises `UserError`.
    """
    if isinstance(text, Distribution):
        return text
    kind, _, given = str(text).partition(":") if ":" in str(text) else ("constant", "", str(text))
    names = KINDS.get(kind)
    if names is None:
        raise UserError(
            f"unknown distribution {kind!r}", where=str(text), do="one of " + ", ".join(KINDS)
        )
    try:
        timed = TIMES.get(kind, 1)
        numbers = tuple(
            (time_of(part, "ms") if k < timed else float(part)) + 0.0  # no -0.0
            for k, part in enumerate(given.split(","))
        )
    except ValueError:
        numbers = ()
    usage = f"{kind}:" + ",".join(name.upper() for name in names)
    if len(numbers) != len(names) or not all(math.isfinite(n) and n >= 0 for n in numbers):
        raise UserError("is not a distribution of durations", where=repr(text), do=f"write {usage}")
    if kind == "uniform" and numbers[0] > numbers[1]:
        raise UserError("ends before it begins", where=repr(text), do=f"write {usage}")
    if kind == "pareto" and (numbers[1] <= 1 or not numbers[0]):
        raise UserError("has no mean", where=repr(text), do="give LEAST above 0 and ALPHA above 1")
    found = Distribution(kind, numbers)
    if found.longest_log > math.log(LARGEST):
        raise UserError(
            f"gives durations of more than {LARGEST:g}",
            where=repr(text),
            do=WIDE.get(kind, SMALLER),
        )
    return found
