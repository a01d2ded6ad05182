"""What a scope leaves no room for, from the smallest needs."""

from __future__ import annotations

import pytest
from reaching import FOREVER, Reaching, smallest, within

from groupcheck.invariants.reach import NEEDS
from groupcheck.invariants.reach.needs import Needs, words
from groupcheck.model.protocol.scope import Scope

LITTLE = Needs(
    {
        "free": [("", 1, 1)],
        "expelled": [("session_timeout", 2, 1), ("crash crash", 1, 2)],
        "dead": [],
    },
    {"one_step": {"free": [("crash", 1, 1)]}, "capped": {"dead": [("", 2, 1)]}},
    {
        "one_step": lambda s: None if s.two_step else 0,
        "capped": lambda s: None if s.max_size is None else s.max_size - 1,
    },
)


@pytest.mark.parametrize(
    ("scope", "impossible"),
    [
        (Scope(members=1), {"expelled", "dead"}),
        (Scope(members=2, faults={"session_timeout": 1}), {"dead"}),
        (Scope(members=1, faults={"session_timeout": 1}), {"expelled", "dead"}),
        (Scope(members=1, faults={"crash": 2}, generations=1), {"expelled", "dead"}),
        (Scope(members=1, faults={"crash": 2}, generations=2), {"dead"}),
        (Scope(members=1, any_faults=1), {"expelled", "dead"}),
        (Scope(members=1, any_faults=2), {"dead"}),
        (Scope(members=2, any_faults=1), {"dead"}),
        (Scope(members=2, any_faults=1, two_step=False), {"dead"}),
        (Scope(members=2, two_step=False), {"free", "expelled", "dead"}),
        (Scope(members=2, any_faults=1, max_size=1), set()),
        (Scope(members=2, any_faults=1, max_size=2), {"dead"}),
        (Scope(members=3, any_faults=1, max_size=2), set()),
    ],
    ids=lambda value: str(sorted(value) if isinstance(value, set) else value),
)
def test_a_scope_excludes_what_it_has_too_few_faults_members_or_generations_for(
    scope: Scope, impossible: set[str]
) -> None:
    assert set(LITTLE.cannot(scope)) == impossible


def test_the_reason_names_what_is_missing() -> None:
    why = LITTLE.cannot(Scope(members=1))
    assert why["expelled"] == "needs session_timeout with 2 members, or 2 crash with 2 generations"
    assert why["dead"] == "no scope with these options that was ever explored reaches it"
    assert words(("", 1, 1)) == "other options"


def test_what_needs_the_edge_of_the_scope_has_an_upper_bound() -> None:
    edge = Needs({"waits": [("crash", 1, 1, 2)]}, {}, {})
    assert [edge.possible("waits", Scope(generations=g, any_faults=1)) for g in (1, 2, 3)] == [
        True,
        True,
        False,
    ]
    assert edge.cannot(Scope(generations=3)) == {"waits": "needs crash with at most 2 generations"}


def test_smaller_needs_make_larger_ones_superfluous() -> None:
    assert within(("crash",), ("close", "crash"))
    assert not within(("crash", "crash"), ("close", "crash"))
    both, crash = ("close", "crash"), ("crash",)
    rows = [
        (crash, 2, 1, FOREVER),
        (both, 2, 1, FOREVER),
        (both, 1, 1, FOREVER),
        (crash, 2, 2, 2),
        (crash, 1, 1, 1),
    ]
    assert smallest(rows) == ((crash, 1, 1, 1), (crash, 2, 1, FOREVER), (both, 1, 1, FOREVER))


@pytest.mark.parametrize("generations", [1, 2])
def test_the_table_is_what_a_fresh_search_finds_where_that_is_quick(generations: int) -> None:
    fresh = Reaching({"members": 1, "generations": generations}, 2).run().least
    for name in set(NEEDS.least) - ONLY_WITH_A_BUDGET:
        rows = [
            row
            for row in NEEDS.least[name]
            if row[1] == 1 and row[2] <= generations <= (row[3] if len(row) > 3 else FOREVER)
        ]
        least = {tuple(row[0].split()) for row in rows if len(row[0].split()) <= 2}
        assert {
            few for few in least if not any(within(other, few) for other in least - {few})
        } == set(fresh.get(name, ())), name


ONLY_WITH_A_BUDGET = {
    "record_plan",
    "close_books",
    "forget",
}  # a search over all sets of faults at once does not see these
