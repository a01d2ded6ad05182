"""Rounds and timers of the classic coordinator: how a round starts, waits and completes, and what
ends without anybody asking.

Each test is a row of the protocol's tables 1.11 to 1.13; the letters in brackets name the schedule
that was run on the real coordinator.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from coordinator_driver import Group, round_of, stable

from groupcheck.model.protocol.classic.group import Phase
from groupcheck.model.protocol.codes import NONE, REBALANCE_IN_PROGRESS, UNKNOWN_MEMBER_ID


def preparing(members: int = 2, **scope: object) -> Group:
    """A round that has begun from Stable: member 0 has joined again, the others have not."""
    group = stable(members, **scope)
    group.join(0, 0, claimed=1)
    return group


# -- the initial delay


def test_the_first_round_waits_for_the_delay_even_if_everybody_has_joined() -> None:
    group = Group(2)
    group.enter(0)
    group.enter(1)
    assert (group.phase, group.core.generation) == (Phase.PREPARING, 0)
    assert group.initial_delay().codes == {0: NONE, 1: NONE}
    assert (group.phase, group.core.generation, group.leader) == (Phase.COMPLETING, 1, (0, 0))


def test_the_first_to_join_leads() -> None:
    group = Group(3)
    for member in (2, 0, 1):
        group.enter(member)
    group.initial_delay()
    assert group.leader == (2, 0)
    assert len(group.worlds) == 1


def test_the_first_member_does_not_extend_the_delay_a_later_one_may() -> None:  # [D1, D2]
    group = Group(2)
    group.enter(0)
    assert not group.core.extended
    group.enter(1)
    group.initial_delay(extended=True)
    assert (group.phase, group.core.extended) == (Phase.PREPARING, False)
    group.initial_delay()
    assert group.phase == Phase.COMPLETING


def test_the_delay_applies_again_to_a_group_that_has_become_empty() -> None:  # [D4]
    group = stable(1)
    group.leave(0)
    group.enter(0)
    assert (group.phase, group.core.initial, group.core.generation) == (Phase.PREPARING, True, 2)


def test_an_extension_not_taken_is_forgotten_with_the_round() -> None:
    """The real flag leaks into a later initial rebalance [D3]. Without clocks that cannot be seen:
    an extension is a timer not yet due.
    """
    group = Group(2)
    group.enter(0)
    group.enter(1)
    assert group.core.extended
    group.initial_delay()
    assert not group.core.extended


def test_a_pending_id_does_not_hold_up_the_initial_delay() -> None:
    group = Group(2)
    group.enter(0)
    group.join(1)
    assert group.initial_delay().codes == {0: NONE}
    assert group.core.pending == 1


# -- a round from Stable or CompletingRebalance


def test_a_pending_id_holds_up_a_round_until_it_joins() -> None:  # [T1]
    group = stable(2, 1)
    id = group.join(1).answers[1].id
    assert group.join(0, 0, claimed=1).codes == {}
    assert group.join(1, id).codes == {0: NONE, 1: NONE}


def test_a_lone_member_completes_its_round_at_once() -> None:  # [T4]
    group = stable(1)
    assert group.join(0, 0, claimed=1).code(0) == NONE
    assert (group.phase, group.core.generation) == (Phase.COMPLETING, 2)


def test_a_new_round_forgets_assignments_and_who_was_due() -> None:
    group = round_of(2)
    group.sync(0)
    group.append_commits()
    assert group.core.due == 1
    group.join(0, 0, claimed=1)
    assert (group.core.due, group.core.deadline, group.seat(0).share, group.seat(1).share) == (
        0,
        False,
        0,
        0,
    )


def test_when_the_round_times_out_members_that_have_not_joined_are_removed() -> None:  # [T2]
    group = preparing(3)
    group.join(1, 0, claimed=1)
    assert group.rebalance_timeout().codes == {0: NONE, 1: NONE}
    assert (group.seat(2), group.core.members, group.phase) == (None, 2, Phase.COMPLETING)


def test_if_the_leader_has_not_joined_any_who_has_leads() -> None:  # [T3]
    group = stable(3)
    for i in (1, 2):
        group.join(i, 0, claimed=1)
    group.rebalance_timeout(lambda w: w.leader == (1, 0))
    assert {w.leader for w in group.worlds} == {(1, 0), (2, 0)}


def test_if_nobody_has_joined_the_timeout_empties_the_group() -> None:
    group = stable(2)
    group.leave(1)
    assert group.phase == Phase.PREPARING
    group.rebalance_timeout()
    assert (group.phase, group.core.members, group.core.generation) == (Phase.EMPTY, 0, 2)


def test_the_last_member_leaves_while_an_id_is_pending_and_the_round_ends_at_once() -> None:  # [T5]
    group = stable(2, 1)
    id = group.join(1).answers[1].id
    group.leave(0)
    assert group.phase == Phase.PREPARING
    group.rebalance_timeout()
    assert (group.phase, group.core.generation, group.core.pending) == (Phase.EMPTY, 2, 1)
    assert group.is_pending(1, id)


def test_a_completed_round_makes_everybody_due() -> None:
    group = round_of(3)
    assert (group.core.due, group.core.deadline, group.core.parked) == (3, True, 0)
    assert not group.seat(0).new


# -- the session timer


def test_a_silent_member_of_a_stable_group_is_removed_and_a_round_starts() -> None:  # [T10]
    group = stable(2)
    group.session_expires(1)
    assert (group.phase, group.seat(1), group.core.members) == (Phase.PREPARING, None, 1)


def test_a_silent_member_is_removed_while_others_wait_for_the_sync() -> None:
    group = round_of(2)
    group.sync(0)
    assert group.session_expires(1).codes == {0: REBALANCE_IN_PROGRESS}


def test_the_last_silent_member_empties_the_group() -> None:  # [T10]
    group = stable(1)
    group.session_expires(0)
    assert (group.phase, group.core.generation) == (Phase.EMPTY, 2)


def test_the_last_one_missing_expires_and_the_round_completes() -> None:
    group = preparing()
    assert group.session_expires(1).codes == {0: NONE}


@pytest.mark.parametrize("begin", [round_of, preparing])
def test_a_member_whose_join_or_sync_is_parked_does_not_expire(
    begin: Callable[..., Group],
) -> None:  # [T8]
    group = begin(2)
    if group.phase == Phase.COMPLETING:
        group.sync(0)
    assert not group.can("session_timeout", 0)


def test_a_member_can_expire_again_once_its_sync_is_answered() -> None:  # [T8]
    group = stable(2)
    assert group.can("session_timeout", 0)


@pytest.mark.parametrize("begin", [round_of, stable])
def test_a_pending_id_that_expires_is_forgotten_without_a_round(
    begin: Callable[..., Group],
) -> None:
    group = begin(3, 2)
    id = group.join(2).answers[2].id
    before = group.phase
    group.session_expires(2, id)
    assert (group.phase, group.core.pending) == (before, 0)


def test_a_pending_id_that_expires_completes_a_round_that_waited_for_it() -> None:
    group = stable(2, 1)
    id = group.join(1).answers[1].id
    group.join(0, 0, claimed=1)
    assert group.session_expires(1, id).codes == {0: NONE}


def test_an_expiry_completes_even_the_initial_round_if_everybody_else_has_joined() -> None:  # [T6]
    group = Group(2)
    group.enter(0)
    id = group.join(1).answers[1].id
    assert group.session_expires(1, id).codes == {0: NONE}


# -- the timers of new members and of the sync


def test_a_new_member_is_removed_after_five_minutes_although_it_is_parked() -> None:  # [T7]
    group = stable(3, 2)
    group.enter(2)
    assert group.new_member_expires(2).code(2) == UNKNOWN_MEMBER_ID
    assert (group.seat(2), group.core.parked) == (None, 0)


def test_the_five_minutes_end_with_the_round() -> None:  # [T7]
    group = round_of(2)
    assert not group.can("new_member_timeout", 0)


def test_a_lone_new_member_that_is_removed_leaves_an_empty_group_in_a_new_generation() -> None:
    group = Group(1)
    group.enter(0)
    assert group.new_member_expires(0).code(0) == UNKNOWN_MEMBER_ID
    assert (group.phase, group.core.generation) == (Phase.EMPTY, 1)


def test_members_that_have_not_synced_in_time_are_removed_the_leader_too() -> None:  # [T9]
    group = round_of(3)
    group.sync(1)
    assert group.sync_timeout().codes == {1: REBALANCE_IN_PROGRESS}
    assert (group.phase, group.core.members, group.leader) == (Phase.PREPARING, 1, (1, 0))


def test_the_sync_timer_runs_in_a_stable_group_too() -> None:  # [T9]
    group = round_of(2)
    group.sync(0)
    group.append_commits()
    group.sync_timeout()
    assert (group.phase, group.seat(1), group.core.members) == (Phase.PREPARING, None, 1)


def test_when_nobody_has_synced_in_time_the_group_is_empty() -> None:
    group = round_of(2)
    group.sync_timeout()
    assert (group.phase, group.core.generation) == (Phase.EMPTY, 2)


# -- the edge of the scope


def test_after_the_last_generation_of_the_scope_a_round_does_not_complete() -> None:
    group = stable(1, generations=1)
    assert group.join(0, 0, claimed=1).codes == {}
    assert not group.can("rebalance_timeout")
