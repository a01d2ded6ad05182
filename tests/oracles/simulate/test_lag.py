"""What piles up while partitions are stopped, and when it is gone: sums done by hand."""

from __future__ import annotations

import attrs
import pytest

from groupcheck.oracles.simulate.assumptions import Assumptions
from groupcheck.oracles.simulate.lag import course, lag

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


BEHIND = attrs.evolve(FOUR_TIMES, backlog_s=100)


def test_a_group_that_begins_with_a_backlog_falls_behind_by_what_it_stops() -> None:
    """In 10 s that a partition works it gets 2.5 s nearer: 20 of 80 records. Another one never
    stops.
    """
    found = lag([(10_000, 0, False), (30_000, 0, True)], 2, 40_000, BEHIND)
    assert found.peak_behind_ms == pytest.approx(97_500 + 20_000)
    assert found.peak_records == pytest.approx(80 * (117.5 + 92.5))
    assert found.recovered_ms == pytest.approx(30_000 + 4 * 117_500)


def test_lag_as_time_is_that_of_the_oldest_record() -> None:
    assert lag([(0, 0, False), (7_000, 0, True)], 1, 8_000, FOUR_TIMES).peak_behind_ms == 7_000
    assert lag([], 1, 1_000, FOUR_TIMES).peak_behind_ms == 0
    assert lag([], 1, 1_000, BEHIND).peak_behind_ms == 100_000


def test_the_course_of_the_lag_is_told_on_average_and_for_the_worst_partition() -> None:
    turns = [(10_000.0, 0, False), (30_000.0, 0, True)]
    told = course(turns, 2, [0, 10_000, 30_000, 70_000], BEHIND)
    assert told == [
        pytest.approx((100_000, 100_000)),
        pytest.approx((97_500, 97_500)),
        pytest.approx(((92_500 + 117_500) / 2, 117_500)),
        pytest.approx(((82_500 + 107_500) / 2, 107_500)),
    ]
