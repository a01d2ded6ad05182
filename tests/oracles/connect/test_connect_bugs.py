"""Known bugs of Connect's assignor on Kafka's own old code, and gone in the newest one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from real_cluster import RealCluster

from groupcheck.model.assignors.connect import NOTHING, Work, work
from groupcheck.oracles.connect.driver import Leaders

MAX_DELAY = 300_000


def tasks(number: int) -> Work:
    return work("a", [("a", task) for task in range(number)])


@pytest.fixture(scope="module")
def oldest() -> Iterator[Leaders]:
    with Leaders("2.3.0") as leaders:
        yield leaders


@pytest.fixture(scope="module")
def before_12495() -> Iterator[Leaders]:
    with Leaders("3.3.2") as leaders:
        yield leaders


def second_joins_during_the_revocation_for_the_first(leaders: Leaders) -> RealCluster:
    cluster = RealCluster(leaders, tasks(8))
    cluster.settle()
    cluster.runs["w1"] = NOTHING
    cluster.round()
    cluster.runs["w2"] = NOTHING
    cluster.settle()
    return cluster


def test_12495_a_worker_that_joins_right_after_a_revocation_left_the_load_uneven(
    before_12495: Leaders, newest: Leaders
):
    assert second_joins_during_the_revocation_for_the_first(before_12495).tasks() == [4, 2, 2]
    assert second_joins_during_the_revocation_for_the_first(newest).tasks() == [3, 3, 2]


def leaves_while_delays_are_off(leaders: Leaders) -> list[int]:
    cluster = RealCluster(leaders, tasks(4), max_delay=0)
    cluster.runs["w1"] = NOTHING
    cluster.settle()
    del cluster.runs["w1"]
    cluster.round()
    return cluster.tasks()


def test_15693_without_a_delay_lost_tasks_stayed_idle_until_another_round(
    before_12495: Leaders, newest: Leaders
):
    assert leaves_while_delays_are_off(before_12495) == [2]
    assert leaves_while_delays_are_off(newest) == [4]


def comes_back_in_time(leaders: Leaders) -> RealCluster:
    cluster = RealCluster(leaders, tasks(4))
    cluster.runs["w1"] = NOTHING
    cluster.settle()
    had = cluster.runs.pop("w1")
    cluster.round()
    assert cluster.delay == MAX_DELAY
    cluster.now += 1_000
    cluster.runs["w2"] = had
    cluster.round()
    return cluster


def test_9184_the_delay_went_on_after_the_work_had_come_back(oldest: Leaders, newest: Leaders):
    assert comes_back_in_time(oldest).delay == MAX_DELAY
    assert comes_back_in_time(newest).delay == 0


def zombie_returns(leaders: Leaders) -> list[int]:
    cluster = RealCluster(leaders, tasks(2))
    cluster.runs["w1"] = NOTHING
    cluster.settle()
    zombie = cluster.runs.pop("w1")
    cluster.round()
    cluster.settle()
    cluster.runs["w2"] = zombie
    cluster.settle()
    return cluster.tasks()


def test_9841_what_a_zombie_brought_back_ran_twice(oldest: Leaders, newest: Leaders):
    assert zombie_returns(oldest) == [2, 1]
    assert zombie_returns(newest) == [1, 1]


def answer_is_lost(leaders: Leaders) -> RealCluster:
    cluster = RealCluster(leaders, tasks(2))
    cluster.settle()
    cluster.configured = tasks(4)
    cluster.runs["w1"] = NOTHING
    cluster.round(missed_by=("w1",))
    cluster.round()
    return cluster


def test_9848_work_whose_assignment_was_lost_waited_although_nobody_had_left(
    oldest: Leaders, newest: Leaders
):
    assert answer_is_lost(oldest).delay == MAX_DELAY
    assert answer_is_lost(newest).delay == 0


def two_come_during_the_delay(leaders: Leaders) -> list[int]:
    cluster = RealCluster(leaders, tasks(8))
    cluster.runs["w1"] = NOTHING
    cluster.settle()
    del cluster.runs["w1"]
    cluster.runs |= {"w2": NOTHING, "w3": NOTHING}
    cluster.round()
    cluster.now += cluster.delay
    cluster.round()
    return cluster.tasks()


def test_10413_one_of_two_new_workers_got_all_lost_work(oldest: Leaders, newest: Leaders):
    assert two_come_during_the_delay(oldest) == [4, 4, 0]
    assert two_come_during_the_delay(newest)[1:] == [2, 2]


def test_a_delay_runs_although_nothing_is_lost(newest: Leaders):
    """The newest one, too: a worker for which others gave up work leaves before it gets it."""
    cluster = RealCluster(newest, tasks(2))
    cluster.settle()
    cluster.runs["w1"] = NOTHING
    cluster.round()
    del cluster.runs["w1"]
    cluster.round()
    assert cluster.tasks() == [2] and cluster.delay == MAX_DELAY


def test_a_back_off_ends_with_the_second_round_in_it(newest: Leaders):
    """The newest one, too: it is not waited for until the delay is over."""
    cluster = RealCluster(newest, tasks(8))
    cluster.settle()
    for name in ("w1", "w2"):
        cluster.runs[name] = NOTHING
        cluster.round()
    assert cluster.delay == 40
    facts = cluster.round()
    assert cluster.delay == 40 and not facts["w0: revoked"]
    facts = cluster.round()
    assert cluster.delay == 0 and facts["w0: revoked"]


def test_a_new_leader_does_not_revoke_what_was_deleted(newest: Leaders):
    """The newest one, too: it goes on running until yet another round."""
    cluster = RealCluster(newest, NOTHING)
    cluster.runs["w0"] = tasks(1)
    facts = cluster.round()
    assert not facts["w0: revoked"] and dict(facts["owners"])["w0"] == tasks(1)
    assert cluster.round()["w0: revoked"] == tasks(1)
