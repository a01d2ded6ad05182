"""The contract finds every wrong assignor of `wrong_assignors`, and nothing wrong in Kafka's own.

`make nightly` asks the same with three seeds and the default number of examples of each promise.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from judged_by_contract import breaches
from wrong_assignors import WRONG, ranges

from groupcheck.oracles.assignment.against.crowds import DRAWS, at_random
from groupcheck.oracles.assignment.against.finding import coverage
from groupcheck.oracles.assignment.promises import ASSIGNORS

FEW = 40  # examples of Kafka's own


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_assignor_is_found(name):
    like, assignor = WRONG[name]
    assert next(breaches(assignor, like), None) is not None


def test_there_are_wrong_assignors_of_every_kind():
    assert len(WRONG) >= 40 and {like for like, _ in WRONG.values()} == set(ASSIGNORS)


@pytest.mark.parametrize("like", ASSIGNORS)
def test_kafkas_own_assignors_break_nothing(like):
    assert list(breaches(ASSIGNORS[like], like, examples=FEW, seed=1)) == []


def test_an_assignor_of_ones_own_that_is_right_breaks_nothing():
    assert list(breaches(ranges, "server-range", examples=FEW)) == []


def test_the_mistake_is_told_by_the_promise_that_it_breaks():
    promises = {
        "range: begins_each_topic_with_another_member": "co-partitioned",
        "range: ignores_instance_ids": "static members keep",
        "roundrobin: gives_all_to_one_where_subscriptions_differ": "fair shares",
        "sticky: ignores_claims_where_subscriptions_differ": "sticks",
        "uniform: gives_all_of_a_topic_to_one_where_subscriptions_differ": "as even",
        "server-range: ranges_in_the_order_of_the_map": "in any order",
    }
    for name, promise in promises.items():
        like, assignor = WRONG[name]
        assert promise in {broken for broken, _ in breaches(assignor, like, examples=FEW)}, name


def test_what_is_drawn_is_large_and_odd():
    drawn = [group for kind in DRAWS for group in at_random(kind, 60, 3)]
    counted = coverage(drawn)
    assert counted["groups"] == 300 and counted["5 or more members"] >= 180
    assert counted["a topic of 11 or more partitions"] >= 180
    for name in (
        "racks of replicas",
        "static and dynamic members mix",
        "a member subscribes to nothing",
        "a topic does not exist",
        "a topic has no partitions",
        "a claim is of an older generation",
        "a claimed partition does not exist",
        "subscriptions differ",
    ):
        assert counted[name] >= 30, name
    assert any(len(member.id) > 40 for group in drawn for member in group.members)


def test_the_same_seed_draws_the_same_groups_and_another_one_others():
    for kind in DRAWS:
        few, more = list(at_random(kind, 5, 1)), list(at_random(kind, 9, 1))
        assert few == more[:5] and few != list(at_random(kind, 5, 2))
