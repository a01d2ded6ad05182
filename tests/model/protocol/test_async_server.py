"""The asynchronous rebalance: the source's example, which readings are safe, and how many states
there are.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import attrs
import pytest

from groupcheck.invariants.registry import for_families
from groupcheck.model.engine import ScopeError, evolve, reference
from groupcheck.model.engine.fast.explore import explore
from groupcheck.model.engine.step import State
from groupcheck.model.engine.verdict import HOLDS, VIOLATED, Verdict
from groupcheck.model.mutations.async_server import READINGS
from groupcheck.model.protocol.async_server.group import Core, Seat, Seats
from groupcheck.model.protocol.async_server.messages import Commit, Report
from groupcheck.model.protocol.async_server.plans import any_, sticky
from groupcheck.model.protocol.async_server.rules import COORDINATOR, spec
from groupcheck.model.protocol.async_server.scope import AsyncScope
from groupcheck.model.protocol.classic.group import Phase
from groupcheck.model.protocol.codes import (
    ILLEGAL_GENERATION,
    MEMBER_ID_REQUIRED,
    NONE,
    REBALANCE_IN_PROGRESS,
    UNKNOWN_MEMBER_ID,
)
from groupcheck.model.protocol.driven import Driven, Reaction
from groupcheck.model.protocol.family import ASYNC_SERVER
from groupcheck.model.protocol.link import Link
from groupcheck.model.protocol.messages import NO_ID, Heartbeat, JoinGroup, LeaveGroup

PROMISES = for_families((ASYNC_SERVER,))


def mask(*numbers: int) -> int:
    """Partitions as the source counts them, from 1 on."""
    return sum(1 << (p - 1) for p in numbers)


def check(**fields: Any) -> Verdict:
    return checked(AsyncScope(**fields))


@cache
def checked(scope: AsyncScope) -> Verdict:
    """What several readings are compared with is searched once."""
    bare = spec(scope)
    return explore(attrs.evolve(bare, invariants=PROMISES.invariants, views=PROMISES.views))


# -- the example of the source: C1 {1, 3, 4}, C2 {2, 5}, and C3 joins

C1, C2, C3 = 0, 1, 2
EXAMPLE = Driven(spec(AsyncScope(members=3, partitions=5)), COORDINATOR)


def two_members() -> State:
    """C1 owns 1, 3 and 4, C2 owns 2 and 5, since generation 1."""
    shares = (mask(1, 3, 4), mask(2, 5))
    seats = [Seats(ids=((0, Seat(epoch=1, owned=share, share=share)),)) for share in shares]
    core = Core(phase=Phase.STABLE, generation=1, members=2)
    return EXAMPLE.state(core=core, seats=(*seats, Seats()))


def asked(state: State, member: int, request: Any) -> list[Reaction]:
    """All that the coordinator may do; requests that wait keep waiting."""
    return list(EXAMPLE.ask(state, member, request))


def waiting(reaction: Reaction) -> State:
    """The state, in which answers were received."""
    values = list(reaction.state)
    for k in EXAMPLE.links:
        values[k] = evolve(values[k], answer=None)
    return tuple(values)


def core_of(state: State) -> Core:
    core = EXAMPLE.see.named(state)["core"]
    assert isinstance(core, Core)
    return core


def test_the_example_of_the_source() -> None:
    (told,) = asked(two_members(), C3, JoinGroup(NO_ID))
    assert told.own is not None and (told.own.code, told.own.id) == (MEMBER_ID_REQUIRED, 0)
    # (1) The group is PreparingRebalance, and members report with their next heartbeats.
    (joins,) = asked(waiting(told), C3, JoinGroup(0))
    assert joins.own is None and core_of(joins.state).phase == Phase.PREPARING
    (first,) = asked(waiting(joins), C1, Report(0, 1, mask(1, 3, 4)))
    assert first.own is not None and first.own.code == NONE
    assert core_of(first.state).phase == Phase.PREPARING
    # (2) When all are in, the coordinator makes one of three plans: C1 gives one to C3.
    plans = asked(waiting(first), C2, Report(0, 1, mask(2, 5)))
    assert {given(plan.state) for plan in plans} == {
        (mask(3, 4), mask(2, 5), mask(1)),
        (mask(1, 4), mask(2, 5), mask(3)),
        (mask(1, 3), mask(2, 5), mask(4)),
    }
    for plan in plans:
        carried_out(plan, given(plan.state))


def given(state: State) -> tuple[int, ...]:
    """The shares of the plan."""
    return tuple(seat.share for seats in EXAMPLE.see.named(state)["seats"] for _, seat in seats)


def carried_out(plan: Reaction, shares: tuple[int, ...]) -> None:
    """Only C1 and C3 take part in it."""
    state = waiting(plan)
    assert plan.own is not None and plan.own.code == NONE
    seats = EXAMPLE.see.named(state)["seats"]
    assert [seat.marked for s in seats for _, seat in s] == [True, False, False]
    assert core_of(state).phase == Phase.COMPLETING and plan.told == ()
    # (3) Only C1 is told, on its next heartbeat; C2 never notices.
    (unaffected,) = asked(state, C2, Report(0, 1, mask(2, 5)))
    (marked,) = asked(waiting(unaffected), C1, Report(0, 1, mask(1, 3, 4)))
    assert unaffected.own is not None and unaffected.own.code == NONE
    assert marked.own is not None and marked.own.code == REBALANCE_IN_PROGRESS
    # (4) Only C1 stops and re-joins. (5) The answers carry the new shares, in generation 2.
    (rejoins,) = asked(waiting(marked), C1, JoinGroup(0, 1))
    answers = [rejoins.own, *(answer for _, answer in rejoins.told)]
    assert [(a.code, a.generation, a.share) for a in answers if a is not None] == [
        (NONE, 2, shares[C1]),
        (NONE, 2, shares[C3]),
    ]
    end = waiting(rejoins)
    assert core_of(end).phase == Phase.STABLE
    (still,) = asked(end, C2, Report(0, 1, mask(2, 5)))
    assert still.own is not None and still.own.code == NONE
    (commits,) = asked(end, C2, Commit(0, 1, 0, mask(2, 5)))
    assert commits.own is not None and commits.own.code == NONE


def test_no_run_of_the_example_stops_a_member_whose_share_does_not_change() -> None:
    verdict = check(members=3, partitions=5, generations=2)
    assert (verdict.verdict, verdict.states) == (HOLDS, 2046)


# -- answers, one by one


def one(state: State, member: int, request: Any) -> int | None:
    """The code with which the coordinator answers; None if the request is parked."""
    codes = {None if r.own is None else r.own.code for r in asked(state, member, request)}
    (code,) = codes
    return code


def test_a_stranger_is_told_that_it_is_no_member() -> None:
    state = two_members()
    for request in (Report(7, 1, 1), Commit(7, 1, 0, 1), LeaveGroup(7), JoinGroup(7, 1)):
        assert one(state, C1, request) == UNKNOWN_MEMBER_ID


def test_another_generation_than_its_own_is_refused() -> None:
    state = two_members()
    for request in (Report(0, 2, 1), Heartbeat(0, 0), Commit(0, 0, 0, 1)):
        assert one(state, C1, request) == ILLEGAL_GENERATION


def test_a_member_whose_answer_was_lost_is_answered_with_the_same_share() -> None:
    (again,) = asked(two_members(), C1, JoinGroup(0, 0))
    assert again.own is not None
    assert (again.own.generation, again.own.share) == (1, mask(1, 3, 4))
    assert EXAMPLE.memory(again.state) == EXAMPLE.memory(two_members())


def test_a_member_that_leaves_begins_a_round_with_the_others() -> None:
    (left,) = asked(two_members(), C1, LeaveGroup(0))
    core = core_of(left.state)
    assert (core.phase, core.members, core.missing) == (Phase.PREPARING, 1, 1)
    (alone,) = asked(waiting(left), C2, Report(0, 1, mask(2, 5)))
    assert EXAMPLE.see.named(alone.state)["seats"][C2][0].marked


# -- plans


@pytest.mark.parametrize(
    ("owned", "partitions", "shares"),
    [
        ((0, 0b11), 2, {(0b01, 0b10), (0b10, 0b01)}),
        ((0b01, 0b10), 2, {(0b01, 0b10)}),
        ((0b011, 0b100), 3, {(0b011, 0b100)}),
        ((0b111, 0, 0), 2, {(0b01, 0b10, 0), (0b10, 0b01, 0), (0b01, 0, 0b10), (0b10, 0, 0b01)}),
        ((0b011, 0b011), 2, {(0b01, 0b10), (0b10, 0b01)}),
    ],
)
def test_a_sticky_plan_is_even_and_moves_as_little_as_possible(
    owned: tuple[int, ...], partitions: int, shares: set[tuple[int, ...]]
) -> None:
    assert sticky(owned, partitions) == shares


def test_any_assignor_may_give_each_partition_to_anybody() -> None:
    assert len(any_((0, 0, 0), 2)) == 9


# -- readings

# The mutation of each unsafe reading, the smallest scope that shows it, and what breaks there.
UNSAFE = [(m.id, dict(m.scope), m.invariant) for m in READINGS]
SAFE_TOO = {("joins", "wait"), ("collect", "loaded")}
VALUES = {
    "share_before_revocation": ("handover", "at_once"),
    "plan_taken_for_owned": ("basis", "plan"),
    "old_report_believed": ("stale", "believed"),
    "mark_told_once": ("mark", "once"),
    "late_rejoin_believed": ("rejoin", "believed"),
    "generation_moves_with_mark": ("epochs", "mark"),
    "generation_of_the_group": ("epochs", "group"),
    "commit_by_id_alone": ("commits", "by_id"),
    "share_of_the_dead_lost": ("removal", "goes_on"),
    "logged_plan_trusted": ("load", "trusts"),
    "logged_members_without_generations": ("record", "members"),
    "told_before_plan_is_logged": ("logged", "later"),
    "old_client_counts_as_idle": ("old", "nothing"),
    "old_client_goes_by_the_log": ("old", "stored"),
}


def every_reading() -> set[tuple[str, str]]:
    """All values that are no defaults."""
    return {
        (f.name, value) for f in attrs.fields(AsyncScope) for value in f.metadata.get("others", ())
    }


def test_each_reading_is_shown_to_be_unsafe_or_is_safe() -> None:
    assert {*VALUES} == {id for id, _, _ in UNSAFE}
    assert every_reading() == {*VALUES.values()} | SAFE_TOO


@pytest.mark.parametrize(("id", "scope", "invariant"), UNSAFE)
def test_no_rule_of_the_safe_set_can_be_dropped(
    id: str, scope: dict[str, Any], invariant: str
) -> None:
    """With all rules the scope holds; with all but this one a promise breaks."""
    field, value = VALUES[id]
    assert check(**scope).verdict == HOLDS
    verdict = check(**scope, **{field: value})
    assert [v.invariant for v in verdict.violations] == [invariant]


@pytest.mark.parametrize(("field", "value"), sorted(SAFE_TOO))
def test_another_reading_is_safe_too(field: str, value: str) -> None:
    verdict = check(members=2, any_faults=2, old_clients=1, **{field: value})
    assert verdict.verdict == HOLDS


def test_the_safe_set_is_safe_with_three_members_and_any_two_faults() -> None:
    verdict = check(members=3, any_faults=2)
    assert (verdict.verdict, verdict.states, verdict.transitions, verdict.depth) == (
        HOLDS,
        539_170,
        2_553_264,
        24,
    )


@pytest.mark.parametrize("old", [1, 2])
def test_it_is_safe_with_old_clients_too(old: int) -> None:
    assert check(members=2, any_faults=2, old_clients=old).verdict == HOLDS


def test_a_mark_that_nobody_hears_of_gets_the_group_stuck() -> None:
    """Without invariants: the coordinator waits for ever."""
    scope = AsyncScope(mark="once", generations=2, faults={"lose_response": 1})
    verdict = explore(spec(scope))
    assert verdict.verdict == VIOLATED
    assert [v.invariant for v in verdict.violations] == ["deadlock"]


SIZES: list[tuple[dict[str, Any], int, int, int]] = [
    ({"members": 1, "generations": 1}, 4, 5, 4),
    ({"members": 2}, 25, 62, 9),
    ({"members": 2, "partitions": 3}, 39, 114, 9),
    ({"members": 2, "old_clients": 1}, 23, 57, 8),
    ({"members": 2, "any_faults": 1}, 657, 2055, 15),
    ({"members": 2, "faults": {"session_timeout": 1, "fail_over": 1}}, 1759, 4983, 17),
]
LARGER: list[tuple[dict[str, Any], int, int, int]] = [
    ({"members": 3}, 399, 1455, 16),
    ({"members": 2, "any_faults": 2}, 12_382, 43_700, 19),
    ({"members": 3, "any_faults": 1}, 19_767, 80_349, 21),
    ({"members": 3, "any_faults": 1, "partitions": 3}, 30_370, 153_375, 20),
]


@pytest.mark.parametrize(("fields", "states", "transitions", "levels"), SIZES)
def test_a_small_scope_has_its_states_in_both_engines_and_nobody_is_stuck(
    fields: dict[str, Any], states: int, transitions: int, levels: int
) -> None:
    slow, fast = reference.explore(spec(AsyncScope(**fields))), explore(spec(AsyncScope(**fields)))
    assert (slow.states, slow.transitions, slow.depth) == (states, transitions, levels)
    assert (fast.states, fast.transitions, fast.depth) == (states, transitions, levels)
    assert slow.rules == fast.rules
    assert slow.violations == fast.violations == ()


@pytest.mark.parametrize(("fields", "states", "transitions", "levels"), LARGER)
def test_a_larger_scope_has_its_states_and_keeps_all_promises(
    fields: dict[str, Any], states: int, transitions: int, levels: int
) -> None:
    fast = check(**fields)
    assert (fast.states, fast.transitions, fast.depth) == (states, transitions, levels)
    assert fast.violations == ()


# -- the scope


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"handover": "never"}, "handover is 'never'"),
        ({"faults": {"crash": 1}, "any_faults": 1}, "exclude each other"),
        ({"faults": {"poll_timeout": 1}}, "unknown fault 'poll_timeout'"),
        ({"assignor": "range"}, "unknown assignor 'range'"),
        ({"old_clients": 3}, "old_clients is 3, more than there are members"),
        ({"members": 16, "partitions": 9, "assignor": "any"}, "assignor any has"),
    ],
)
def test_a_scope_that_makes_no_sense_is_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ScopeError, match=message):
        AsyncScope(**fields)


def test_a_link_of_the_example_waits() -> None:
    """`waiting` takes answers off and leaves parked requests where they are."""
    (joins,) = asked(two_members(), C3, JoinGroup(0))
    link = waiting(joins)[EXAMPLE.links[C3]]
    assert isinstance(link, Link) and link.parked == JoinGroup(0)
