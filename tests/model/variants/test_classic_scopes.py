"""The classic model at small scopes: how many states, that both engines agree, that nobody gets
stuck, and what members may wrongly believe.
"""

from __future__ import annotations

from typing import Any

import pytest
from all_states import explore_all
from views import beliefs

from groupcheck.model.engine import reference
from groupcheck.model.engine.staged import explore
from groupcheck.model.protocol.classic.rules import spec
from groupcheck.model.protocol.classic.scope import Scope


def at(*faults: str, **scope: Any) -> Scope:
    return Scope(**{"faults": dict.fromkeys(faults, 1), **scope})


SIZES = [  # scope, states, transitions, levels
    (at(members=1), 9, 12, 9),
    (at(members=1, any_faults=1, faults={}), 161, 311, 15),
    (at(members=1, any_faults=2, generations=2, faults={}), 1393, 3444, 18),
    (at(), 142, 328, 16),
    (at(assignor="range"), 224, 470, 16),
    (at(assignor="range", partitions=3), 336, 705, 16),
    (at(records=2), 220, 556, 17),
    (at(autocommit=False), 162, 382, 16),
    (at(atomic_complete=False), 222, 602, 19),
    (at(two_step=False), 125, 288, 14),
    (at(max_size=1), 60, 116, 11),
    (at(protocols="range,sticky|sticky,range"), 142, 328, 16),
    (at("crash", generations=2), 1072, 2484, 20),
    (at("close", generations=2), 1561, 3665, 20),
    (at("poll_timeout", generations=2), 979, 2423, 19),
    (at("rebalance_timeout", generations=2), 398, 1040, 18),
    (at("sync_timeout", generations=2), 632, 1459, 20),
    (at("late_commit", "append_failure", generations=2), 380, 840, 23),
    (at("fail_over", generations=1), 405, 1014, 18),
]
LARGER = [
    (at(members=3), 3179, 9477, 23),
    (at("session_timeout", generations=2), 1425, 3735, 20),
    (at(any_faults=1, faults={}), 6684, 19072, 22),
    (at("session_timeout", members=3), 55298, 201249, 28),
]


def name(value: Any) -> str:
    """Only what differs from the default."""
    default = Scope()
    if not isinstance(value, Scope):
        return str(value)
    return (
        ",".join(
            f"{k}={getattr(value, k)}"
            for k in Scope.__annotations__
            if getattr(value, k) != getattr(default, k)
        )
        or "default"
    )


@pytest.mark.parametrize(("scope", "states", "transitions", "levels"), SIZES, ids=name)
def test_a_small_scope_has_its_states_in_both_engines_and_nobody_is_stuck(
    scope: Scope, states: int, transitions: int, levels: int
) -> None:
    slow, fast = reference.explore(spec(scope)), explore(spec(scope))
    assert (slow.states, slow.transitions, slow.depth) == (states, transitions, levels)
    assert (fast.states, fast.transitions, fast.depth) == (states, transitions, levels)
    assert slow.rules == fast.rules
    assert slow.violations == fast.violations == (), (
        "no invariants: a deadlock would be the only one"
    )


@pytest.mark.parametrize(("scope", "states", "transitions", "levels"), LARGER, ids=name)
def test_a_larger_scope_has_its_states_and_nobody_is_stuck(
    scope: Scope, states: int, transitions: int, levels: int
) -> None:
    fast = explore(spec(scope))
    assert (fast.states, fast.transitions, fast.depth) == (states, transitions, levels)
    assert fast.violations == ()


def two_owners(*faults: str) -> set[tuple[Any, ...]]:
    """Beliefs in which both members own the partition, without the offsets."""
    return {
        (a[2:], b[2:])
        for _, _, _, a, b in beliefs(explore_all(spec(at(*faults, generations=2))))
        if a[0] & b[0]
    }


CURRENT, OUTDATED, REMOVED = (True, True), (True, False), (False, False)


@pytest.mark.parametrize("fault", ["session_timeout", "rebalance_timeout", "poll_timeout"])
def test_a_member_that_was_removed_believes_in_its_partition_while_the_new_owner_has_it(
    fault: str,
) -> None:
    assert two_owners(fault) == {(CURRENT, REMOVED), (REMOVED, CURRENT)}


@pytest.mark.parametrize(
    "faults",
    [
        (),
        ("crash",),
        ("lose_response",),
        ("disconnect",),
        ("late_commit",),
        ("append_failure",),
        ("fail_over",),
    ],
)
def test_without_a_removal_that_a_member_does_not_hear_of_nobody_believes_in_anothers_partition(
    faults: tuple[str, ...],
) -> None:
    assert two_owners(*faults) == set()


def test_a_late_join_keeps_a_member_in_the_group_that_has_not_revoked() -> None:
    """Its old JoinGroup arrives in a round that the leader has begun: a member of the group, of an
    older generation, and it still believes.

    With a session timeout instead it cannot be: whoever is left then leads, and a leader that has
    not heard of the round assigns nothing.
    """
    assert (OUTDATED, CURRENT) in two_owners("delay_request", "disconnect")
    assert (OUTDATED, CURRENT) not in two_owners("delay_request", "session_timeout")


@pytest.mark.parametrize(
    ("faults", "twice"),
    [
        ((), False),
        (("late_commit",), True),
        (("session_timeout",), True),
        (("crash", "session_timeout"), True),
    ],
)
def test_records_are_processed_twice_when_the_commit_before_the_hand_over_is_missing(
    faults: tuple[str, ...], twice: bool
) -> None:
    """A new owner starts below what has been processed: never lost, sometimes twice."""
    found = beliefs(explore_all(spec(at(*faults, generations=2))))
    below = [
        b
        for b in found
        for owned, position, *standing in b[3:]
        if owned and standing == [True, True] and 0 <= position < b[2]
    ]
    assert bool(below) == twice
    assert all(committed <= processed for _, committed, processed, *_ in found)
