"""Where `fewest moves` is asked of sticky by default, Kafka's own sticky keeps it: on random
groups, each as its premises say and with one of them broken.
"""

from __future__ import annotations

from random import Random

import pytest

from groupcheck.model.assignors import Group, Member, NoAssignment, sticky
from groupcheck.oracles.assignment import moves
from groupcheck.oracles.assignment.optimum import optimum
from groupcheck.oracles.assignment.promises import keeps_most


def drawn(random, broken):
    sizes = {t: random.randint(1, 5) for t in "tuv"[: random.randint(1, 3)]}
    names, wanted = "ABCDE"[: random.randint(2, 5)], sorted(sizes)[: random.randint(1, len(sizes))]
    there = [
        (t, p)
        for t, size in sizes.items()
        for p in range(size + (broken == "a claim to what there is not"))
    ]
    generations = {name: random.choice([1, 2]) for name in names}
    owned = {name: set() for name in names}
    for partition in there:
        for generation in (1, 2) if broken != "claimed twice" else (1, 2, 1, 2):
            able = [n for n in names if generations[n] == generation]
            if able and random.random() < 0.6:
                owned[random.choice(able)].add(partition)
    racks = {name: random.choice("xy") if broken == "racks" else None for name in names}
    told = {
        name: random.choice([None, -1]) if broken == "a generation is not told" else None
        for name in names
    }
    topics = {
        name: sorted(sizes)
        if broken == "subscriptions differ" and random.random() < 0.5
        else wanted
        for name in names
    }
    members = [
        Member(
            n,
            topics[n],
            owned[n],
            generations[n] if owned[n] else -1,
            told=told[n] if owned[n] else None,
            rack=racks[n],
        )
        for n in names
    ]
    return Group(
        sizes,
        members,
        {t: [[random.choice("xy")] for _ in range(n)] for t, n in sizes.items()}
        if broken == "racks"
        else {},
    )


def extra_moves(group):
    try:
        return len(moves(group, sticky(group))) - optimum(group).moves
    except NoAssignment:
        return 0


def test_kafkas_sticky_makes_the_fewest_moves_where_it_is_asked_to():
    random = Random(1)
    groups = [group for group in (drawn(random, "") for _ in range(300)) if keeps_most(group)]
    assert len(groups) == 300 and [group for group in groups if extra_moves(group) > 0] == []


@pytest.mark.parametrize(
    "broken",
    [
        "subscriptions differ",
        "racks",
        "claimed twice",
        "a claim to what there is not",
        "a generation is not told",
    ],
)
def test_without_any_of_the_premises_it_does_not_always(broken):
    random = Random(1)
    extra = [
        group for group in (drawn(random, broken) for _ in range(400)) if extra_moves(group) > 0
    ]
    assert extra and not any(map(keeps_most, extra))
