"""The yardsticks give their known numbers; where the obvious engine is quick enough, both give the
same ones, rule by rule.
"""

import pytest
from ring_election import ring_election
from small_group import small_group
from termination_detection import termination_detection
from two_phase_commit import two_phase_commit

from groupcheck.model.engine import reference
from groupcheck.model.engine.fast import explore


def numbers(verdict):
    return verdict.states, verdict.transitions, verdict.depth


@pytest.mark.parametrize(
    ("managers", "expected"),
    [
        (3, (288, 1_145, 11)),
        (5, (8_832, 58_145, 17)),
        (7, (296_448, 2_744_705, 23)),
        pytest.param(8, (1_745_408, 18_507_777, 26), marks=pytest.mark.night),
    ],
)
def test_two_phase_commit_has_its_known_numbers(managers, expected):
    verdict = explore.explore(two_phase_commit(managers))
    assert verdict.verdict == "holds"
    assert numbers(verdict) == expected


@pytest.mark.parametrize(
    ("identities", "expected"),
    # What TLC counts for ChangRoberts; it counts initial states as generated, too.
    [
        ((2, 3, 1), (137, 219, 10)),
        ((3, 2, 4, 1), (747, 1_570, 14)),
        ((3, 5, 2, 4, 1), (4_391, 11_600, 19)),
    ],
)
def test_the_ring_election_has_the_numbers_of_tlc(identities, expected):
    verdict = explore.explore(ring_election(identities))
    assert verdict.verdict == "holds" and not verdict.goals_not_met
    assert numbers(verdict) == expected


@pytest.mark.parametrize(("nodes", "expected"), [(3, (302, 9)), (4, (1_566, 12)), (5, (7_742, 15))])
def test_termination_detection_has_the_numbers_of_tlc(nodes, expected):
    """Transitions are not compared: TLC counts a step once for each disjunct that allows it."""
    verdict = explore.explore(termination_detection(nodes))
    assert verdict.verdict == "holds" and not verdict.goals_not_met
    assert (verdict.states, verdict.depth) == expected


@pytest.mark.parametrize(
    ("scope", "expected"),
    [
        ((2, 2, 4, 2, 1), (114_418, 356_815, 57)),
        ((3, 3, 3, 1, 0), (252_061, 760_672, 54)),
        ((3, 3, 3, 1, 1), (3_512_597, 14_352_596, 58)),
    ],
)
def test_the_small_group_has_its_known_numbers(scope, expected):
    verdict = explore.explore(small_group(*scope))
    assert verdict.verdict == "holds"
    assert numbers(verdict) == expected
    assert verdict.bytes_per_state < 150


@pytest.mark.parametrize(
    "spec",
    [
        two_phase_commit(3),
        two_phase_commit(4),
        small_group(2, 2, 2, 1, 1),
        small_group(3, 1, 1, 1, 0),
        ring_election((3, 2, 4, 1)),
        termination_detection(3),
    ],
)
def test_both_engines_count_the_same_for_every_rule(spec):
    fast, slow = explore.explore(spec), reference.explore(spec)
    assert numbers(fast) == numbers(slow)
    assert (fast.rules, fast.goals, fast.verdict, fast.reason) == (
        slow.rules,
        slow.goals,
        slow.verdict,
        slow.reason,
    )
    assert sum(fast.rules.values()) == fast.transitions


def test_rules_are_called_once_for_each_combination_of_their_own_arguments():
    """Not for each state: each manager's rules see their own phase and the network, never the other
    managers.
    """
    verdict = explore.explore(two_phase_commit(7))
    assert verdict.rule_calls < verdict.states / 5
