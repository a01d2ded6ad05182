"""Random specs combine every two features of the language, except those that cannot meet."""

from itertools import combinations, product

import pytest
from judge_progress import live_spec
from language_features import LIVE, PREDICATE, RULE, SPEC, STEP_INVARIANT, VIEW, Pair, met
from random_elements import random_elements
from random_specs import random_spec

EVERY = (*RULE, *STEP_INVARIANT, *VIEW, *PREDICATE, *SPEC)
ROLES = ("invariant", "goal", "end", "constraint")
OF_ARRAYS = (
    "single slot beside an array",
    "arrays at one index",
    "two elements of one array",
    "independent indexes into two arrays",
    "element beside a whole array",
    "whole array",
    "neighbour in a ring",
    "step invariant over several arrays",
    "step invariant over a single slot and an array",
)
OF_PLACES = (
    *VIEW,
    "predicate over slots",
    "predicate over views",
    "predicate over the whole state",
    "predicate at one index",
    "predicate at two indexes or more",
    "predicate of a neighbour",
    "predicate of a whole array",
    "quantified otherwise than usual",
)
TAKES_AN_ELEMENT = "predicate that takes an element"
PERMUTED = ("arrays that are permuted", "walk that symmetry allows")
# What cannot meet, and why.
NEVER = (
    ("one or two", ["rule that takes an index"], ["rule that takes two indexes"]),
    ("it touches no array", ["rule of single slots"], OF_ARRAYS),
    (
        "one index or several",
        ["arrays at one index"],
        ["independent indexes into two arrays"],
    ),
    (
        "one slot or several",
        ["step invariant over one slot"],
        [
            "step invariant over several arrays",
            "step invariant over a single slot and an array",
        ],
    ),
    ("it reads nothing", ["predicate over nothing"], OF_PLACES),
    (
        "one index or several",
        ["predicate at one index"],
        ["predicate at two indexes or more"],
    ),
    ("a spec takes a predicate as one of these", ROLES, ROLES),
    ("there is an end or none", ["end"], ["no end"]),
    (
        "symmetry is refused: it may tell indexes apart",
        PERMUTED,
        ["constraint", "refinement", "refinement of an array"],
    ),
    (
        "symmetry is refused for a walk beside stored indexes",
        ["walk that symmetry allows"],
        ["rule that takes an element", "view that takes an element", TAKES_AN_ELEMENT],
    ),
)
SEEDS = 2_000  # specs are written, not judged
LIVE_SEEDS = 300
ELEMENT_SEEDS = 20  # of specs that may be permuted although they store indexes


def possible(features: tuple[str, ...], with_: tuple[str, ...]) -> set[Pair]:
    every = {frozenset(pair) for pair in product(features, with_) if len({*pair}) == 2}
    return every - {frozenset(pair) for _, a, b in NEVER for pair in product(a, b)}


def told(pairs: set[Pair]) -> list[str]:
    return sorted(" + ".join(sorted(pair)) for pair in pairs)


@pytest.mark.night  # it asks what the tests' own specs are
def test_random_specs_combine_every_two_features_of_the_language():
    found: set[Pair] = set()
    for seed in range(SEEDS):
        found |= met(random_spec(seed, is_blind=seed % 8 == 7))
    for seed in range(ELEMENT_SEEDS):
        found |= met(random_elements(seed))
    assert told({frozenset(pair) for pair in combinations(EVERY, 2)} & found) == told(
        possible(EVERY, EVERY)
    )


@pytest.mark.night
def test_random_specs_with_promises_about_runs_combine_them_with_every_feature():
    """Without those that are about other promises: these specs have none."""
    others = {
        *("invariant", "no end", "quantified otherwise than usual", "one function in two roles"),
        *("refinement", "refinement of an array", "walk that symmetry allows"),
    }
    features = tuple(f for f in (*RULE, *VIEW, *PREDICATE, *SPEC, *LIVE) if f not in others)
    missing = possible(features, LIVE)
    for seed in range(LIVE_SEEDS):
        if not missing:
            break
        missing -= met(live_spec(seed))
    assert told(missing) == []
