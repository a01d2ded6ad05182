"""Distributions of durations: what a text means, and what somebody finds under way."""

from __future__ import annotations

import math
from random import Random
from statistics import fmean

import pytest

from groupcheck.model.engine import UserError
from groupcheck.oracles.simulate.distributions import Distribution, distribution

TEXTS = ("constant:7", "uniform:2,10", "exponential:5", "lognormal:5,0.5", "pareto:3,4")


@pytest.mark.parametrize("text", TEXTS)
def test_draws_have_the_mean_that_the_distribution_says(text: str) -> None:
    one, rng = distribution(text), Random(text)
    assert fmean(one.draw(rng) for _ in range(40_000)) == pytest.approx(one.mean, rel=0.03)
    assert str(one) == text


@pytest.mark.parametrize("text", TEXTS)
def test_what_is_under_way_is_drawn_in_proportion_to_its_length(text: str) -> None:
    one, rng = distribution(text), Random(text)
    drawn = [one.draw(rng) for _ in range(60_000)]
    # The mean length of what is met is E[X^2] / E[X].
    expected = fmean(x * x for x in drawn) / fmean(drawn)
    assert fmean(one.met(rng) for _ in range(60_000)) == pytest.approx(expected, rel=0.05)


@pytest.mark.parametrize("text", TEXTS)
def test_a_longer_distribution_is_longer_by_its_factor(text: str) -> None:
    one = distribution(text)
    assert one.times(3).mean == pytest.approx(3 * one.mean)


def test_a_number_is_a_constant() -> None:
    assert distribution("12") == distribution(12) == Distribution("constant", (12.0,))


@pytest.mark.parametrize(
    "text",
    ["gauss:1,2", "lognormal:5", "uniform:9,2", "exponential:-1", "pareto:1,1", "uniform:a,b", ""],
)
def test_a_text_that_is_no_distribution_is_an_error_of_the_user(text: str) -> None:
    with pytest.raises(UserError):
        distribution(text)


@pytest.mark.parametrize(
    "text",
    [
        "lognormal:1,1000",
        "lognormal:1,900",
        "pareto:1,1.0000001",
        "uniform:0,1e308",
        "exponential:1e200",
        "constant:1e101",
    ],
)
def test_a_distribution_whose_draws_are_no_numbers_is_refused(text: str) -> None:
    with pytest.raises(UserError, match="durations of more than"):
        distribution(text)


class Extreme(Random):
    """Draws the rarest share that there is."""

    def random(self) -> float:
        return 1 - 2.0**-53

    def gauss(self, mu: float = 0.0, sigma: float = 1.0) -> float:
        return mu + sigma * math.sqrt(2 * 53 * math.log(2))


@pytest.mark.parametrize("text", [*TEXTS, "lognormal:1,11", "pareto:1,1.17", "uniform:0,0"])
def test_the_longest_draw_is_what_the_distribution_says(text: str) -> None:
    one = distribution(text)
    longest = max(one.draw(Extreme()), one.met(Extreme()))
    assert longest == pytest.approx(math.exp(one.longest_log), rel=1e-9)
