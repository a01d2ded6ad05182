"""The coordinator's uniform assignor: answers known by hand, what changed in 4.1, and what it
promises.
"""

from __future__ import annotations

from hypothesis import given, settings
from sharing_groups import claiming, groups, told

from groupcheck.model.assignors import Group, Member, uniform
from groupcheck.oracles.assignment import complete, level, moves, valid


def test_new_members_fill_up_one_after_the_other_in_hash_order_and_the_last_have_one_more():
    group = Group({"t": 3, "u": 4}, [Member(name, ("t", "u")) for name in ("B", "A", "C")])
    assert told(uniform(group)) == {"A": "u-0 u-1", "B": "u-2 u-3", "C": "t-0 t-1 t-2"}
    assert told(uniform(group, gives_up_the_extra=False)) == {
        "A": "u-0 u-1 u-2",
        "B": "t-0 u-3",
        "C": "t-1 t-2",
    }


def test_a_member_keeps_its_target_up_to_its_quota():
    members = [Member("A", ("t",), {"t": [0, 1, 2, 3]}), Member("B", ("t",))]
    assert told(uniform(Group({"t": 4}, members))) == {"A": "t-0 t-1", "B": "t-2 t-3"}


def test_since_4_1_a_member_leaves_the_larger_quota_that_it_does_not_fill_to_another():
    group = Group({"t": 3}, [Member("A", ("t",), {"t": [0]}), Member("B", ("t",), {"t": [1, 2]})])
    assert told(uniform(group)) == {"A": "t-0", "B": "t-1 t-2"}
    assert told(uniform(group, gives_up_the_extra=False)) == {"A": "t-0 t-2", "B": "t-1"}


def test_where_subscriptions_differ_the_least_loaded_subscriber_comes_first():
    members = [Member("A", ("t",)), Member("B", ("t", "u")), Member("C", ("u",))]
    assert told(uniform(Group({"t": 2, "u": 4}, members))) == {
        "A": "t-0 t-1",
        "B": "u-0 u-2",
        "C": "u-1 u-3",
    }


def test_where_subscriptions_differ_partitions_go_from_the_most_to_the_least_loaded():
    members = [Member("A", ("t",), {"t": [0, 1, 2, 3]}), Member("B", ("t", "u"))]
    assert told(uniform(Group({"t": 4, "u": 1}, members))) == {"A": "t-0 t-1 t-2", "B": "t-3 u-0"}


def test_what_is_no_longer_subscribed_to_is_given_up():
    members = [Member("A", ("u",), {"t": [0], "u": [0]}), Member("B", ("t", "u"), {"gone": [0]})]
    assert told(uniform(Group({"t": 1, "u": 1}, members))) == {"A": "u-0", "B": "t-0"}
    assert told(uniform(Group({"t": 1}, [Member("A", (), {"t": [0]})]))) == {"A": ""}


@settings(max_examples=40, deadline=None, derandomize=True)
@given(groups(claims=True), groups(claims=True, equal=True))
def test_uniform_is_valid_and_complete_and_even_where_all_subscribe_to_the_same(group, equal):
    for one in (group, equal):
        assert [*valid(one, uniform(one)), *complete(one, uniform(one))] == []
    for shared in (uniform(equal), uniform(equal, gives_up_the_extra=False)):
        assert list(level(equal, shared)) == []


@settings(max_examples=40, deadline=None, derandomize=True)
@given(groups(claims=True, equal=True))
def test_the_target_of_a_group_that_stays_as_it_is_stays_as_it_is(group):
    again = claiming(group, uniform(group), 2)
    assert moves(again, uniform(again)) == {}
