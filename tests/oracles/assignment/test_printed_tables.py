"""Tables of an article on assignors, as they were printed: two topics, Order with 7 partitions and Stock with 5; three consumers, then C3 leaves."""

from __future__ import annotations

import pytest

from groupcheck.model.assignors import Group, Member, partitions, range_, round_robin, sticky
from groupcheck.oracles.assignment import complete, level, valid

TOPICS = {"Order": 7, "Stock": 5}
BEFORE = Group(TOPICS, [Member(name, TOPICS) for name in ("C1", "C2", "C3")])
AFTER = Group(TOPICS, BEFORE.members[:2])
RANGE = {
    "C1": {"Order": [0, 1, 2], "Stock": [0, 1]},
    "C2": {"Order": [3, 4], "Stock": [2, 3]},
    "C3": {"Order": [5, 6], "Stock": [4]},
}
RANGE_AFTER = {"C1": {"Order": [0, 1, 2, 3], "Stock": [4, 5, 6]}, "C2": {"Order": [0, 1, 2], "Stock": [3, 4]}}
ROUND_ROBIN = {
    "C1": {"Order": [0, 3, 6], "Stock": [0, 3]},
    "C2": {"Order": [1, 4], "Stock": [1, 4]},
    "C3": {"Order": [2, 5], "Stock": [2]},
}
ROUND_ROBIN_AFTER = {"C1": {"Order": [0, 2, 4, 6], "Stock": [0, 2, 4]}, "C2": {"Order": [1, 3, 5], "Stock": [1, 3]}}
STICKY_AFTER = {"C1": {"Order": [0, 2, 3, 6], "Stock": [1, 4, 5]}, "C2": {"Order": [0, 2, 3], "Stock": [1, 4]}}
NOBODY = "is given to nobody, though C1, C2 could have it"


def shared(table):
    return {member: partitions(owned) for member, owned in table.items()}


def wrong(group, table):
    return [v.words for promise in (valid, complete) for v in promise(group, shared(table))]


def test_the_table_of_range_is_right_as_long_as_nobody_leaves():
    assert wrong(BEFORE, RANGE) == [] and shared(RANGE) == range_(BEFORE)


def test_the_table_of_range_after_the_leave_has_partitions_that_do_not_exist_some_twice_and_some_not_at_all():
    assert wrong(AFTER, RANGE_AFTER) == [
        "C1 gets Stock-5, which does not exist (Stock has 5 partitions)",
        "C1 gets Stock-6, which does not exist (Stock has 5 partitions)",
        *(f"{p} is given to both C1 and C2" for p in ("Order-0", "Order-1", "Order-2", "Stock-4")),
        *(f"{p} {NOBODY}" for p in ("Order-4", "Order-5", "Order-6", "Stock-0", "Stock-1", "Stock-2")),
    ]


def test_the_table_of_sticky_after_the_leave_is_wrong_in_the_same_ways():
    assert wrong(AFTER, STICKY_AFTER) == [
        "C1 gets Stock-5, which does not exist (Stock has 5 partitions)",
        *(f"{p} is given to both C1 and C2" for p in ("Order-0", "Order-2", "Order-3", "Stock-1", "Stock-4")),
        *(f"{p} {NOBODY}" for p in ("Order-1", "Order-4", "Order-5", "Stock-0", "Stock-2", "Stock-3")),
    ]


@pytest.mark.parametrize(
    ("group", "table", "told"),
    [
        (BEFORE, ROUND_ROBIN, "C1 has 5 partitions and C3 has 3"),
        (AFTER, ROUND_ROBIN_AFTER, "C1 has 7 partitions and C2 has 5"),
    ],
)
def test_a_pointer_that_starts_again_with_each_topic_shows_in_the_balance_alone(group, table, told):
    assert wrong(group, table) == [] and [v.words for v in level(group, shared(table))] == [told]
    assert shared(table) != round_robin(group) and list(level(group, round_robin(group))) == []


def test_right_tables_take_the_place_of_the_wrong_ones():
    for assignor, group in ((range_, AFTER), (round_robin, BEFORE), (round_robin, AFTER), (sticky, BEFORE), (sticky, AFTER)):
        assert wrong(group, assignor(group)) == []
