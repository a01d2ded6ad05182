"""The time in which the machine had no time for a run counts for nothing."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import pytest

from groupcheck.oracles.judge.client.machine_time import MachineTime
from groupcheck.oracles.judge.client.record import Ended, Told
from groupcheck.oracles.judge.client.watching import Watch


def stalls(given: Iterable[tuple[float, float]]) -> MachineTime:
    time = MachineTime()
    for at, late in given:
        time.stalled(at, late)
    return time


def test_a_stall_does_not_count_nor_as_much_time_after_it() -> None:
    time = stalls([(5.0, 1.0), (20.0, 0.5)])
    moments = {3.0: 3.0, 4.0: 4.0, 5.0: 4.001, 6.0: 4.002, 7.0: 5.002, 19.5: 17.502, 21.0: 18.003}
    assert {at: time(at) for at in moments} == pytest.approx(moments)
    assert [time.real(counted) for counted in moments.values()] == pytest.approx([*moments])


def test_stalls_that_overlap_are_one_and_no_moment_goes_back() -> None:
    time = stalls([(5.0, 1.0), (6.0, 0.9), (6.1, 0.05), (6.95, 0.1)])
    moments = [time(4.0 + k / 50) for k in range(200)]
    assert moments == sorted({*moments})
    assert [time(7.05), time(8.05)] == pytest.approx([4.003, 5.003], abs=1e-3)
    assert all(b - a <= 1 / 50 + 1e-9 for a, b in pairwise(moments))


def test_a_run_is_told_in_that_time() -> None:
    watch = Watch(3000, 5000)
    for at in (1.0, 2.0):
        watch.add(Told(at, 1))
    watch.add(Ended(9.0, 0))
    watch.clock.stalled(6.0, 2.0)
    record = watch.record(topics={}, session_ms=3000, rebalance_ms=5000)
    assert [event.at for event in record.events] == pytest.approx([1.0, 2.0, 5.004])
