"""Student's t and the ratio of paired runs, against known values."""

from __future__ import annotations

import math

import pytest

from groupcheck.oracles.simulate import intervals

# Tables of Student's t: 97.5 % for 1, 2, 5, 7, 30 and 120 degrees of freedom.
TABLE = {1: 12.706, 2: 4.303, 5: 2.571, 7: 2.365, 30: 2.042, 120: 1.980}


@pytest.mark.parametrize("freedom", TABLE)
def test_quantiles_are_those_of_the_printed_table(freedom: int) -> None:
    assert intervals.t_quantile(0.975, freedom) == pytest.approx(TABLE[freedom], abs=6e-4)


def test_the_sources_eight_runs_have_the_mean_that_it_prints() -> None:
    native = [3021, 2989, 2996, 4433, 2428, 2892, 3076, 3126]
    found = intervals.mean(native)
    assert found.mean == pytest.approx(3120.125)
    assert (found.low, found.high) == pytest.approx((2641.0, 3599.25), abs=0.01)


def test_a_ratio_that_is_the_same_in_every_pair_has_no_width() -> None:
    found = intervals.ratio([10, 20, 40], [1, 2, 4])
    assert found is not None
    assert (found.mean, found.low, found.high) == pytest.approx((10, 10, 10))


def test_a_pause_of_nothing_has_no_ratio_and_what_never_ends_no_mean() -> None:
    assert intervals.ratio([1, 2], [1, 0]) is None
    assert intervals.ratio([1, math.inf], [1, 1]) is None
    assert intervals.mean([1, math.inf]).mean == math.inf
    assert intervals.mean([5]).low is None
