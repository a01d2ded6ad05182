"""Sequences of rebalances: what moves against what has to, and cooperative rounds that come to
rest.
"""

from __future__ import annotations

from attrs import evolve

from groupcheck.model.assignors import (
    Group,
    Member,
    NoAssignment,
    cooperative_sticky,
    round_robin,
    sticky,
    uniform,
)
from groupcheck.oracles.assignment.rounds import Step, follow, life, restless

THREE = Group({"t": 6, "u": 2}, [Member("A", "t"), Member("B", "t"), Member("C", "t")])


def words(changes):
    return [change.words for change in changes]


def test_a_life_is_joins_growth_a_new_subscription_and_a_leave():
    assert [step.words for step in life(THREE)] == [
        "A joins",
        "B joins",
        "C joins",
        "t grows to 7 partitions",
        "C subscribes to all",
        "A leaves",
        "C is restarted",
    ]
    assert list(life(Group({"t": 1}, []))) == []


def test_a_change_takes_an_eager_group_one_round_and_a_cooperative_one_two_if_something_moves():
    assert [len(change.rounds) for change in follow(sticky, life(THREE), cooperative=False)] == [
        1
    ] * 7
    rounds = {
        change.words: len(change.rounds)
        for change in follow(cooperative_sticky, life(THREE), cooperative=True)
    }
    assert rounds["A joins"] == 1 and rounds["B joins"] == rounds["C joins"] == 2
    assert max(rounds.values()) == 2


def test_sticky_moves_what_has_to_move_and_round_robin_more():
    of_sticky = [
        (change.moves, change.fewest) for change in follow(sticky, life(THREE), cooperative=False)
    ]
    assert of_sticky[:4] == [(0, 0), (3, 3), (2, 2), (0, 0)]
    of_round_robin = list(follow(round_robin, life(THREE), cooperative=False))
    assert sum(c.moves for c in of_round_robin) > sum(c.fewest for c in of_round_robin)


def test_what_a_cooperative_group_moves_in_the_end_is_what_has_to_move():
    changes = list(follow(cooperative_sticky, life(THREE), cooperative=True))
    assert all(change.at_rest for change in changes)
    assert [(change.moves, change.fewest) for change in changes][:4] == [
        (0, 0),
        (3, 3),
        (2, 2),
        (0, 0),
    ]


def test_kafkas_assignors_are_never_restless():
    assert list(restless(cooperative_sticky, THREE, "cooperative-sticky")) == []
    assert list(restless(sticky, THREE, "sticky")) == []
    assert list(restless(uniform, THREE, "uniform")) == []


def test_an_eager_assignor_under_cooperation_gives_what_was_not_let_go_of():
    told = [violation.words for violation in restless(round_robin, THREE, "cooperative-sticky")]
    assert told == ["B joins, round 1: t-1 goes from A to B in one round: A has not let go of it"]


def test_a_sequence_shows_the_rounds_in_which_more_is_lost_than_with_kafkas_own():
    def deals_anew(group):
        """Balanced each time, and the first member has what the last one had."""
        given = list(
            sticky(evolve(group, members=[Member(m.id, m.topics) for m in group.members])).values()
        )
        turned = given[len(group.members) % 2 :] + given[: len(group.members) % 2]
        return {m.id: turned[k] for k, m in enumerate(group.members)}

    (violation,) = restless(deals_anew, THREE, "sticky")
    assert violation.words.startswith("C joins, round 1: ")
    assert "claimed partitions are lost" in violation.words
    assert "where Kafka's own loses 2, and 2 would do for balance" in violation.words
    ((group, given),) = violation.rounds
    assert len(group.members) == 3 and given == deals_anew(group)


def test_a_sequence_ends_where_the_assignor_throws():
    def throws(group):
        return NoAssignment("Error", "no") if len(group.members) == 2 else round_robin(group)

    assert words(follow(throws, life(THREE), cooperative=False)) == ["A joins", "B joins"]
    assert [v.words for v in restless(throws, THREE, "sticky")] == [
        "B joins, round 1: throws Error: no"
    ]


def test_what_a_newcomer_claims_is_not_looked_at():
    stray = Group({"t": 2}, [Member("A", "t", {"t": [0, 1]}, 7), Member("B", "t")])
    (change,) = follow(sticky, [Step("both join", stray)], cooperative=False)
    assert [(m.owned, m.generation) for m in change.rounds[0].group.members] == [
        (frozenset(), -1)
    ] * 2
    assert (change.moves, change.fewest) == (0, 0)
