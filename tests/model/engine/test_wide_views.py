"""Views of many bits, and predicates over many bits of views: what is known of some values is never
taken for what is said of others, and stays known while the fields of a state grow.
"""

from typing import Any

import pytest

from groupcheck.model.engine import Spec, array, goal, invariant, reference, rule, single, view
from groupcheck.model.engine.fast import explore

PLACES = 4096  # of a dial: twelve bits
FACTORS = (1, 3, 5, 7, 9, 11)  # odd: a dial stands in as many different places as it is turned


def places(turns: int, dials: int) -> tuple[int, ...]:
    """Where dials stand after so many turns."""
    return tuple(turns * k % PLACES for k in FACTORS[:dials])


@rule
def turn_all(dials: "dial[:]"):
    if dials[0] < PLACES - 1:
        yield places(dials[0] + 1, len(dials))


@view
def opposite(dial):
    return PLACES - dial


def is_at(turns: int) -> Any:
    def met(opposites: "opposite[:]", lamp):
        return opposites[0] == PLACES - turns

    met.__name__ = f"at_{turns}"
    return goal(met)


def test_a_predicate_of_more_bits_of_views_than_a_key_has_is_asked_for_each_of_them():
    """Five views fill a word but for four bits, and the lamp one more than a key has: rows are
    found by words, and many are tried before the one that is looked for.
    """
    looked_for = range(3500, PLACES, 20)
    spec = Spec(
        "dials",
        {"dial": array(5, 0), "lamp": single(0), "shade": single(0)},
        [turn_all],
        views=[opposite],
        goals=map(is_at, looked_for),
        deadlock=False,
    )
    assert explore.explore(spec).goals == {f"at_{n}": n for n in looked_for}


@rule
def turn(a, b, c, d, e, f):
    if a < 600:
        yield places(a + 1, 6)


@rule
def wait(waits, a):
    if not a and waits < 30:
        yield waits + 1, a


@view
def sum_of_three(a, b, c):
    return a + b + c


@invariant
def as_the_first_says(sum_of_three, a):
    return sum_of_three == sum(places(a, 3))


@pytest.mark.parametrize("engine", [explore, reference])
def test_a_view_of_many_bits_says_the_same_after_states_have_grown_by_a_word(engine):
    """Those who waited stand where others stood when a state had a word less."""
    spec = Spec(
        "dials",
        {name: single(0) for name in (*"abcdef", "waits")},
        [turn, wait],
        views=[sum_of_three],
        invariants=[as_the_first_says],
        deadlock=False,
    )
    verdict = engine.explore(spec)
    assert (verdict.verdict, verdict.states) == ("holds", 31 * 601)
