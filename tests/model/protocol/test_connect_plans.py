"""What Kafka Connect's assignor does that one would not expect, in the terms of the model."""

from __future__ import annotations

from groupcheck.model.protocol.connect.memory import Memory, Schedule
from groupcheck.model.protocol.connect.plans import Claim, Share, plans
from groupcheck.model.protocol.connect.scope import ConnectScope

SCOPE = ConnectScope(members=2, partitions=2)
T0, T1 = 1, 2


def test_a_candidate_gets_lost_work_and_has_to_stop_a_part_of_it_in_the_same_plan() -> None:
    """So that part is idle for one more round, although the delay is over."""
    memory = Memory(previous=T0 | T1, members=2, schedule=Schedule.OVER)
    claims = (Claim(0, known=True), Claim(0, known=True, candidate=True))
    made = plans(memory, True, claims, T0 | T1, SCOPE)
    assert {plan.chosen for plan in made} == {
        ((claims[0], Share(0)), (claims[1], Share(T1, stops=T0)))
    }
    assert not any(plan.delay for plan in made)


def test_a_leader_without_memory_may_stop_what_exists_and_keep_what_was_deleted() -> None:
    """It does not know what was deleted, and only balances what it sees."""
    claims = (Claim(T0), Claim(T1))
    made = plans(Memory(), False, claims, T0, SCOPE)
    assert {plan.chosen for plan in made} == {
        ((claims[0], Share(0, stops=T0)), (claims[1], Share(T1))),
        ((claims[0], Share(T0)), (claims[1], Share(0, stops=T1))),
    }


def test_after_a_plan_that_balanced_a_worker_that_leaves_with_nothing_begins_a_delay() -> None:
    memory = Memory(previous=T1, revoked=T0, members=2, balanced=True)
    (plan,) = plans(memory, True, (Claim(T1, known=True),), T0 | T1, SCOPE)
    assert plan.delay and plan.chosen == ((Claim(T1, known=True), Share(T0 | T1)),)
