"""Sticky and cooperative sticky: the examples of KIP-54, claims of several generations, and what
they promise.
"""

from __future__ import annotations

import pytest
from attrs import evolve
from hypothesis import given, settings
from sharing_groups import claiming, groups, told, without

from groupcheck.model.assignors import Group, Member, NoAssignment, cooperative_sticky, sticky
from groupcheck.oracles.assignment import (
    complete,
    handed_over,
    level,
    locally_balanced,
    moves,
    valid,
)

BOTH = (sticky, cooperative_sticky)


def test_the_first_example_of_kip_54_when_one_of_three_leaves_the_others_keep_what_they_have():
    topics = {"t0": 2, "t1": 2, "t2": 2, "t3": 2}
    group = Group(topics, [Member(name, topics) for name in ("C0", "C1", "C2")])
    first = sticky(group)
    assert told(first) == {"C0": "t0-0 t1-1 t3-0", "C1": "t0-1 t2-0 t3-1", "C2": "t1-0 t2-1"}
    assert told(sticky(without(claiming(group, first, 1), "C1"))) == {
        "C0": "t0-0 t0-1 t1-1 t3-0",
        "C2": "t1-0 t2-0 t2-1 t3-1",
    }


def test_the_second_example_of_kip_54_subscriptions_differ():
    members = [Member("C0", ("t0",)), Member("C1", ("t0", "t1")), Member("C2", ("t0", "t1", "t2"))]
    group = Group({"t0": 1, "t1": 2, "t2": 3}, members)
    first = sticky(group)
    assert told(first) == {"C0": "t0-0", "C1": "t1-0 t1-1", "C2": "t2-0 t2-1 t2-2"}
    assert told(sticky(without(claiming(group, first, 1), "C0"))) == {
        "C1": "t0-0 t1-0 t1-1",
        "C2": "t2-0 t2-1 t2-2",
    }


@pytest.mark.parametrize("assignor", BOTH)
def test_of_two_claims_the_one_of_the_higher_generation_counts(assignor):
    claims = [Member("A", ("t",), {"t": [0]}, 4), Member("B", ("t",), {"t": [0]}, 5)]
    for members in (claims, claims[::-1]):
        assert told(assignor(Group({"t": 2}, members))) == {"A": "t-1", "B": "t-0"}


def test_what_two_claim_of_one_generation_is_nobodys_and_waits_a_round_under_cooperation():
    group = Group(
        {"t": 2}, [Member("A", ("t",), {"t": [0]}, 5), Member("B", ("t",), {"t": [0]}, 5)]
    )
    assert told(sticky(group)) == {"A": "t-0", "B": "t-1"}
    assert told(cooperative_sticky(group)) == {"A": "", "B": "t-1"}


def test_a_generation_that_the_subscription_does_not_tell_makes_the_later_claim_win():
    old = Member("A", ("t",), {"t": [0]}, 4, told=-1)
    new = Member("B", ("t",), {"t": [0]}, 5, told=-1)
    assert told(sticky(Group({"t": 1}, [old, new])))["B"] == "t-0"
    assert told(sticky(Group({"t": 1}, [new, old])))["A"] == "t-0"


def test_a_partition_on_its_way_to_another_is_given_in_the_round_after():
    group = Group({"t": 2}, [Member("A", ("t",), {"t": [0, 1]}, 1), Member("B", ("t",))])
    first = cooperative_sticky(group)
    assert told(first) == {"A": "t-0", "B": ""}
    assert told(cooperative_sticky(claiming(group, first, 2))) == {"A": "t-0", "B": "t-1"}


def test_the_same_where_subscriptions_differ():
    members = [Member("A", ("t", "u"), {"t": [0, 1], "u": [0]}, 1), Member("B", ("t",))]
    group = Group({"t": 2, "u": 1}, members)
    first = cooperative_sticky(group)
    assert told(first) == {"A": "t-1 u-0", "B": ""}
    assert told(cooperative_sticky(claiming(group, first, 2))) == {"A": "t-1 u-0", "B": "t-0"}


@pytest.mark.parametrize("assignor", BOTH)
def test_as_in_kafka_a_first_member_without_subscription_gets_its_share_of_the_others_topics(
    assignor,
):
    none, some = Member("A", ()), Member("B", ("t",))
    assert told(assignor(Group({"t": 2}, [none, some]))) == {"A": "t-0", "B": "t-1"}
    assert told(assignor(Group({"t": 2}, [some, none]))) == {"A": "", "B": "t-0 t-1"}


@pytest.mark.parametrize("assignor", BOTH)
def test_as_in_kafka_a_claim_of_a_partition_that_does_not_exist_throws_or_is_granted(assignor):
    for size, claimed, got in ((1, 1, None), (2, 2, "t-0 t-1 t-2")):
        group = Group({"t": size}, [Member("A", ("t",), {"t": [claimed]}, 1)])
        if got is None:
            with pytest.raises(NoAssignment, match="IllegalStateException"):
                assignor(group)
        else:
            assert told(assignor(group)) == {"A": got}


@pytest.mark.parametrize("assignor", BOTH)
def test_as_in_kafka_an_older_claim_brings_a_partition_to_a_member_that_no_longer_subscribes(
    assignor,
):
    members = [
        Member("A", ("t", "u"), {"t": [0], "u": [0]}, 3),
        Member("B", ("t", "u"), {"u": [1]}, 3),
        Member("C", ("u",), {"t": [1]}, 2),
    ]
    assert "t-1" in told(assignor(Group({"t": 2, "u": 2}, members)))["C"]


def test_racks_are_matched_before_ownership_and_within_the_quotas():
    members = [
        Member("A", ("t",), {"t": [0]}, 1, rack="r1"),
        Member("B", ("t",), {"t": [1]}, 1, rack="r2"),
    ]
    group = Group({"t": 2}, members, {"t": [["r2"], ["r1"]]})
    assert told(sticky(group)) == {"A": "t-1", "B": "t-0"}
    assert told(cooperative_sticky(group)) == {"A": "", "B": ""}


def test_nobody_gets_nothing_and_nobody_asks():
    assert sticky(Group({"t": 2}, [])) == cooperative_sticky(Group({"t": 2}, [])) == {}
    assert told(sticky(Group({}, [Member("A", ("t",))]))) == {"A": ""}


@settings(max_examples=40, deadline=None, derandomize=True)
@given(groups(claims=True))
def test_sticky_is_valid_and_complete_and_no_single_move_would_level_it(group):
    shared = sticky(group)
    assert [*valid(group, shared), *complete(group, shared), *locally_balanced(group, shared)] == []


@settings(max_examples=40, deadline=None, derandomize=True)
@given(groups(claims=True, equal=True))
def test_with_equal_subscriptions_everybody_keeps_what_it_claims_up_to_its_share(group):
    shared = sticky(group)
    assert list(level(group, shared)) == []
    for member in group.members:
        mine = {p for p in member.owned if p[0] in member.topics}
        assert mine <= shared[member.id] or shared[member.id] <= mine


@settings(max_examples=40, deadline=None, derandomize=True)
@given(groups(claims=True))
def test_in_the_round_after_nothing_moves_that_did_not_have_to(group):
    again = claiming(group, sticky(group), 2)
    assert moves(again, sticky(again)) == {}


@settings(max_examples=40, deadline=None, derandomize=True)
@given(groups(claims=True, racks=True))
def test_under_cooperation_nothing_is_handed_over_in_one_round_and_what_waits_is_claimed(group):
    shared = cooperative_sticky(group)
    assert [
        *valid(group, shared),
        *complete(group, shared, may_wait=True),
        *handed_over(group, shared),
    ] == []


@settings(max_examples=40, deadline=None, derandomize=True)
@given(groups(claims=True))
def test_two_cooperative_rounds_reach_what_is_complete_and_balanced(group):
    """Of members that let go of what they no longer subscribe to before they join, as Java's
    consumers do (KIP-429).
    """
    group = evolve(
        group,
        members=[evolve(m, owned=[p for p in m.owned if p[0] in m.topics]) for m in group.members],
    )
    after = claiming(group, cooperative_sticky(group), 2)
    shared = cooperative_sticky(after)
    assert [*valid(after, shared), *complete(after, shared), *locally_balanced(after, shared)] == []


def test_a_claim_to_what_is_not_subscribed_to_may_take_a_third_round():
    """u-5 waits for a member that does not want it; once it is given, t-2 is one too many for its
    owner.
    """
    members = [
        Member("0", "t", {"u": [5]}, 1),
        Member("1", "tu", (), 1),
        Member("00", "tu", {"t": [1, 2]}, 1),
    ]
    group, left = Group({"t": 3, "u": 6}, members), []
    for generation in (2, 3, 4):
        shared = cooperative_sticky(group)
        left.append(len(list(complete(group, shared))))
        group = claiming(group, shared, generation)
    assert left == [2, 1, 0]
