"""The plans of a cooperative leader: what no cooperative assignor may do, and what Kafka's does."""

from __future__ import annotations

from itertools import product

import pytest

from groupcheck.model.protocol.classic.features.cooperative import CooperativeScope
from groupcheck.model.protocol.classic.plans import CONTESTED, FREE, owners, plans


def every_plan(claims: list[tuple[int, int, int]], partitions: int, assignor: str) -> set[tuple]:
    scope = CooperativeScope(members=len(claims), partitions=partitions, assignor=assignor)
    return {
        tuple(share for _, share in chosen)
        for chosen in plans(claims, scope.partitions_of(0), scope)
    }


def test_the_claim_of_the_highest_generation_counts_and_equal_ones_cancel_each_other() -> None:
    assert owners([(1, 0b111, 0), (2, 0b001, 0), (2, 0b010, 0), (2, 0b010, 0)], 4) == [
        1,
        CONTESTED,
        0,
        FREE,
    ]


@pytest.mark.parametrize("assignor", ["any", "sticky"])
@pytest.mark.parametrize("partitions", [1, 2, 3])
def test_no_plan_takes_a_partition_from_its_owner_and_gives_it_away(
    assignor: str, partitions: int
) -> None:
    masks = range(1 << partitions)
    for a, b in product(masks, masks):
        claims = sorted([(1, a, 0), (2, b, 0)])
        held = owners(claims, partitions)
        given = every_plan(claims, partitions, assignor)
        assert given
        for shares in given:
            assert not shares[0] & shares[1]
            for p, owner in enumerate(held):
                now = [k for k, share in enumerate(shares) if share >> p & 1]
                assert now in ([], [owner]) if owner >= 0 else now != [] or owner == CONTESTED
                assert owner != CONTESTED or now == []


def test_a_sticky_plan_is_balanced_once_what_is_withheld_is_given_away() -> None:
    # The owner of all four keeps two; the other two are withheld for the newcomer.
    given = every_plan([(-1, 0, 0), (1, 0b1111, 0)], 4, "sticky")
    assert {(shares[0], shares[1].bit_count()) for shares in given} == {(0, 2)}
    # What is free is dealt so that sizes differ by at most one.
    given = every_plan([(-1, 0, 0), (2, 0b1, 0)], 3, "sticky")
    assert given == {(0b110, 0b001), (0b100, 0b011), (0b010, 0b101)}


def test_a_single_member_gets_everything_but_what_it_cannot_get() -> None:
    assert every_plan([(1, 0b01, 0)], 2, "any") == {(0b11,)}
