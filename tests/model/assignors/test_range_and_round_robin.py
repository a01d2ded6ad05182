"""Range (of client and coordinator) and round robin: answers known by hand, and what they promise
for every group.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from sharing_groups import groups, told, without

from groupcheck.model.assignors import Group, Member, range_, round_robin, server_range
from groupcheck.oracles.assignment import balanced_in_topics, complete, level, valid

SHOP = Group(
    {"Order": 7, "Stock": 5}, [Member(name, ("Order", "Stock")) for name in ("C1", "C2", "C3")]
)
RANGES = (range_, server_range)


@pytest.mark.parametrize("assignor", RANGES)
def test_range_cuts_every_topic_into_ranges_of_which_the_first_are_longer(assignor):
    assert told(assignor(SHOP)) == {
        "C1": "Order-0 Order-1 Order-2 Stock-0 Stock-1",
        "C2": "Order-3 Order-4 Stock-2 Stock-3",
        "C3": "Order-5 Order-6 Stock-4",
    }
    assert told(assignor(without(SHOP, "C3"))) == {
        "C1": "Order-0 Order-1 Order-2 Order-3 Stock-0 Stock-1 Stock-2",
        "C2": "Order-4 Order-5 Order-6 Stock-3 Stock-4",
    }


def test_the_pointer_of_round_robin_goes_on_from_topic_to_topic():
    assert told(round_robin(SHOP)) == {
        "C1": "Order-0 Order-3 Order-6 Stock-2",
        "C2": "Order-1 Order-4 Stock-0 Stock-3",
        "C3": "Order-2 Order-5 Stock-1 Stock-4",
    }


def test_round_robin_passes_over_who_does_not_subscribe_and_may_be_uneven():
    members = [Member("A", ("t",)), Member("B", ("t", "u")), Member("C", ("t", "u", "v"))]
    assert told(round_robin(Group({"t": 1, "u": 2, "v": 3}, members))) == {
        "A": "t-0",
        "B": "u-0",
        "C": "u-1 v-0 v-1 v-2",
    }


@pytest.mark.parametrize("assignor", (*RANGES, round_robin))
def test_static_members_come_first_by_instance_id(assignor):
    members = [
        Member("A", ("t",)),
        Member("B", ("t",), instance="z"),
        Member("C", ("t",), instance="y"),
    ]
    assert told(assignor(Group({"t": 3}, members))) == {"A": "t-2", "B": "t-1", "C": "t-0"}


def test_range_gives_partitions_to_members_in_their_racks_where_it_can():
    members = [
        Member("A", ("t",), rack="r2"),
        Member("B", ("t",), rack="r1"),
        Member("C", ("t",), rack="r3"),
    ]
    nearby = Group({"t": 3}, members, {"t": [["r1"], ["r2"], ["r1"]]})
    assert told(range_(nearby)) == {"A": "t-1", "B": "t-0", "C": "t-2"}
    everywhere = Group({"t": 3}, members, {"t": [["r1", "r2"]] * 3})
    assert told(range_(everywhere)) == {"A": "t-0", "B": "t-1", "C": "t-2"}


def test_range_keeps_topics_of_one_size_together_even_where_one_of_them_is_far():
    members = [Member("A", ("t", "u"), rack="r1"), Member("B", ("t", "u"), rack="r2")]
    crossed = Group({"t": 2, "u": 2}, members, {"t": [["r2"], ["r1"]], "u": [["r1"], ["r2"]]})
    assert told(range_(crossed)) == {"A": "t-0 u-0", "B": "t-1 u-1"}
    aligned = Group({"t": 2, "u": 2}, members, {"t": [["r2"], ["r1"]], "u": [["r2"], ["r1"]]})
    assert told(range_(aligned)) == {"A": "t-1 u-1", "B": "t-0 u-0"}


@settings(max_examples=40, deadline=None, derandomize=True)
@given(groups(racks=True))
def test_range_is_valid_complete_and_even_in_every_topic(group):
    for assignor in RANGES:
        shared = assignor(group)
        assert [
            *valid(group, shared),
            *complete(group, shared),
            *balanced_in_topics(group, shared),
        ] == []


@settings(max_examples=40, deadline=None, derandomize=True)
@given(groups(), groups(equal=True))
def test_round_robin_is_valid_and_complete_and_even_where_all_subscribe_to_the_same(group, equal):
    for one in (group, equal):
        assert [*valid(one, round_robin(one)), *complete(one, round_robin(one))] == []
    assert list(level(equal, round_robin(equal))) == []


@settings(max_examples=40, deadline=None, derandomize=True)
@given(groups(racks=True))
def test_the_order_of_the_members_means_nothing_to_them(group):
    backwards = Group(group.topics, group.members[::-1], group.racks)
    for assignor in (*RANGES, round_robin):
        assert assignor(group) == assignor(backwards)


@pytest.mark.parametrize("assignor", (*RANGES, round_robin))
def test_topics_that_do_not_exist_and_members_without_any_get_nothing(assignor):
    group = Group(
        {"t": 1, "other": 2}, [Member("A", ("t", "gone")), Member("B", ()), Member("C", ("gone",))]
    )
    assert told(assignor(group)) == {"A": "t-0", "B": "", "C": ""}
