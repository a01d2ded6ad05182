"""What a scope refuses: at once, in one sentence, and nothing that can be explored."""

from __future__ import annotations

from typing import Any

import pytest

from groupcheck.model.engine import ScopeError, reference
from groupcheck.model.protocol.classic.assignment import (
    Assign,
    WriteRecord,
    answer_syncs,
    record_plan,
)
from groupcheck.model.protocol.classic.group import Seat, Seats, Walk
from groupcheck.model.protocol.classic.rules import spec
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.model.protocol.link import Link


@pytest.mark.parametrize("field", ["two_step", "autocommit", "atomic_complete"])
@pytest.mark.parametrize("value", ["no", 2, 1, 0, None])
def test_a_truth_value_is_true_or_false(field: str, value: Any) -> None:
    with pytest.raises(ScopeError, match=f"{field} is {value!r}, neither True nor False"):
        Scope(**{field: value})


def test_any_refuses_more_assignments_than_a_rule_may_choose_between() -> None:
    with pytest.raises(
        ScopeError, match="between 1,073,741,824 shares of 30 partitions, more than 65,535"
    ):
        Scope(members=3, partitions=30, assignor="any")
    with pytest.raises(ScopeError, match="65,536 shares"):
        Scope(members=2, partitions=16, assignor="any")
    Scope(members=3, partitions=15, assignor="any")
    Scope(members=3, partitions=30)


@pytest.mark.parametrize("scope", [{"members": 1}, {"max_size": 1}, {"protocols": "a|b"}])
def test_any_takes_every_partition_where_no_two_members_meet(scope: dict[str, Any]) -> None:
    one, many = (
        reference.explore(spec(Scope(partitions=n, assignor="any", generations=1, **scope)))
        for n in (1, 30)
    )
    assert one.states == many.states > 1


def shared_out(left: int, partitions: int) -> tuple[list[Any], list[Any]]:
    """What the two rules choose between for a process that has two members among those that are
    left.
    """
    scope = Scope(members=3, partitions=partitions, assignor="any")
    begun = {"members": 3, "left": left, "free": (1 << partitions) - 1}
    seats = Seats(((0, Seat(True)), (1, Seat(True))))
    assign = Walk(0, Assign(again=False, keeps=(), **begun))
    return list(answer_syncs.call(assign, seats, Link(), scope)), list(
        record_plan.call(Walk(0, WriteRecord(**begun)), seats, scope)
    )


@pytest.mark.parametrize(("left", "each"), [(2, 2), (3, 3)])
def test_the_shares_of_a_process_with_two_members_are_counted_before_they_are_made(
    left: int, each: int
) -> None:
    assert [len(plans) for plans in shared_out(left, 5)] == [each**5] * 2
    if each == 3:
        with pytest.raises(ScopeError, match="between 531,441 shares of 12 partitions"):
            shared_out(left, 12)
