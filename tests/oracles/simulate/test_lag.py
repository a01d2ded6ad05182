"""What piles up while partitions are stopped, and when it is gone: sums done by hand."""

from __future__ import annotations

import pytest

from groupcheck.oracles.simulate.assumptions import Assumptions
from groupcheck.oracles.simulate.lag import lag

# 80 records arrive in a second, and 100 are processed at most: 20 are left to catch up.
FOUR_TIMES = Assumptions(records_per_s=80, capacity_per_s=100)


def test_a_stop_costs_its_length_and_four_times_that_to_catch_up() -> None:
    found = lag([(1_000, 0, False), (11_000, 0, True)], 1, 12_000, FOUR_TIMES)
    assert found.built_records == found.peak_records == pytest.approx(800)
    assert found.recovered_ms == pytest.approx(11_000 + 40_000)
    assert found.stopped_longest_ms == found.stopped_total_ms == 10_000


def test_a_second_stop_adds_to_what_is_left_of_the_first() -> None:
    turns = [(0, 0, False), (10_000, 0, True), (20_000, 0, False), (30_000, 0, True)]
    found = lag(turns, 1, 40_000, FOUR_TIMES)
    # 800 piled up, 200 drained, 800 piled up.
    assert found.peak_records == pytest.approx(1_400)
    assert found.recovered_ms == pytest.approx(30_000 + 70_000)
    assert found.stopped_partitions == 1


def test_partitions_recover_side_by_side_if_members_share_nothing() -> None:
    turns = [(0, 0, False), (0, 1, False), (10_000, 0, True), (10_000, 1, True)]
    found = lag(turns, 2, 20_000, FOUR_TIMES)
    assert found.recovered_ms == pytest.approx(50_000)
    assert found.peak_records == pytest.approx(1_600)


def test_members_that_share_a_database_recover_in_turn() -> None:
    shared = Assumptions(records_per_s=80, capacity_per_s=100, shared_spare=0.125)
    turns = [(0, p, False) for p in range(4)] + [(10_000, p, True) for p in range(4)]
    # 4 x 800 records, and 0.125 x 4 x 80 = 40 in a second more than arrive.
    assert lag(turns, 4, 20_000, shared).recovered_ms == pytest.approx(10_000 + 80_000)
    # One of four alone is as fast as its owner is.
    alone = lag([(0, 0, False), (10_000, 0, True)], 4, 20_000, shared)
    assert alone.recovered_ms == pytest.approx(10_000 + 40_000)


def test_what_never_goes_on_never_recovers() -> None:
    found = lag([(5_000, 0, False)], 1, 25_000, FOUR_TIMES)
    assert found.recovered_ms is None
    assert found.stopped_longest_ms == 20_000
    assert found.built_records == pytest.approx(1_600)


def test_without_a_stop_there_is_no_lag() -> None:
    found = lag([], 3, 1_000, FOUR_TIMES)
    assert (found.recovered_ms, found.peak_records, found.stopped_partitions) == (0.0, 0.0, 0)
