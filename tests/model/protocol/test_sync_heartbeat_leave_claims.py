"""SyncGroup, Heartbeat and LeaveGroup at the classic coordinator.

Each test is a row of the protocol's tables; the letters in brackets name the schedule that was run
on the real coordinator (4.0.0 to 4.3.0).
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from coordinator_driver import Group, round_of, stable

from groupcheck.model.protocol.classic.group import Phase
from groupcheck.model.protocol.codes import (
    COORDINATOR_NOT_AVAILABLE,
    ILLEGAL_GENERATION,
    NONE,
    REBALANCE_IN_PROGRESS,
    UNKNOWN_MEMBER_ID,
)


def preparing(members: int = 2, **scope: object) -> Group:
    """A round that has begun from Stable: member 0 has joined again, the others have not."""
    group = stable(members, **scope)
    group.join(0, 0, claimed=1)
    assert group.phase == Phase.PREPARING
    return group


BEGUN = {
    "Empty": lambda: Group(1),
    "CompletingRebalance": lambda: round_of(2),
    "Stable": lambda: stable(2),
    "PreparingRebalance": preparing,
}
RUNNING = [name for name in BEGUN if name != "Empty"]


# -- SyncGroup


@pytest.mark.parametrize("phase", BEGUN)
def test_a_sync_of_an_id_that_is_no_member_is_refused_whatever_its_generation(
    phase: str,
) -> None:  # [Y1]
    group = BEGUN[phase]()
    member, id = group.scope.members - 1, 9
    for generation in (0, 1, 7):
        assert group.sync(member, generation, id).code(member) == UNKNOWN_MEMBER_ID


def test_a_sync_of_a_pending_id_is_refused() -> None:
    group = stable(2, 1)
    id = group.join(1).answers[1].id
    assert group.sync(1, 1, id).code(1) == UNKNOWN_MEMBER_ID


@pytest.mark.parametrize("phase", RUNNING)
@pytest.mark.parametrize("generation", [0, 2])
def test_a_sync_of_another_generation_is_refused(phase: str, generation: int) -> None:  # [Y1]
    group = BEGUN[phase]()
    before = group.core
    assert group.sync(1, generation).code(1) == ILLEGAL_GENERATION
    assert group.core == before


def test_a_sync_in_a_running_round_is_sent_back() -> None:  # [Y1]
    group = preparing()
    assert group.sync(1).code(1) == REBALANCE_IN_PROGRESS


def test_followers_wait_for_the_leader_and_its_append() -> None:  # [Y2]
    group = round_of(3)
    assert group.sync(1).codes == {}
    assert not group.core.appending
    assert group.sync(0).codes == {}
    assert group.core.appending
    assert group.phase == Phase.COMPLETING
    told = group.append_commits()
    assert told.codes == {0: NONE, 1: NONE}, "2 has not asked yet"
    assert group.phase == Phase.STABLE
    assert group.sync(2).code(2) == NONE


def test_the_assignment_gives_every_partition_to_one_member() -> None:
    group = stable(3, partitions=5)
    shares = [group.seat(i).share for i in range(3)]
    assert shares == [0b00011, 0b01100, 0b10000], "range: intervals, the larger ones first"


def test_under_any_assignor_every_complete_assignment_is_possible() -> None:
    group = round_of(2, assignor="any", partitions=2)
    group.sync(0)
    group.append_commits(pick=lambda w: w.seats[0][0].share == 0b11)
    assert {(w.seats[0][0].share, w.seats[1][0].share) for w in group.worlds} == {
        (0, 3),
        (1, 2),
        (2, 1),
        (3, 0),
    }


def test_in_a_stable_group_a_sync_is_answered_at_once_with_the_stored_share() -> None:  # [Y4]
    group = stable(2)
    told = group.sync(1)
    assert (told.code(1), told.answers[1].share) == (NONE, group.seat(1).share)
    assert group.sync(1).answers[1].share == told.answers[1].share


def test_when_the_append_fails_everybody_is_told_and_a_round_starts() -> None:  # [Y3]
    group = round_of(2)
    group.sync(0)
    group.sync(1)
    assert group.append_fails().codes == {
        0: COORDINATOR_NOT_AVAILABLE,
        1: COORDINATOR_NOT_AVAILABLE,
    }
    assert (group.phase, group.core.parked, group.seat(0).share, group.seat(1).share) == (
        Phase.PREPARING,
        0,
        0,
        0,
    )


def test_an_append_that_a_new_round_overtakes_changes_nothing() -> None:  # [Y5]
    group = round_of(2)
    group.sync(0)
    assert group.join(1, 0, claimed=1).codes == {0: REBALANCE_IN_PROGRESS}
    assert not group.can("append_committed")
    assert group.phase == Phase.PREPARING


# [K11]
def test_a_second_sync_of_a_parked_member_replaces_the_first_which_is_never_answered() -> None:
    group = round_of(2)
    group.sync(1)
    group.sync(1, elsewhere=True)
    group.sync(0)
    assert group.append_commits().codes == {0: NONE}
    assert group.link(1).orphaned


def test_the_sync_timer_stops_when_everybody_has_synced() -> None:
    group = round_of(2)
    assert group.can("sync_timeout")
    group.sync(0)
    assert group.can("sync_timeout")
    group.sync(1)
    assert not group.can("sync_timeout")


def test_in_a_stable_group_the_last_sync_stops_the_timer() -> None:
    group = round_of(2)
    group.sync(0)
    group.append_commits()
    assert group.can("sync_timeout")
    group.sync(1)
    assert not group.can("sync_timeout")


# -- Heartbeat


@pytest.mark.parametrize("phase", BEGUN)
def test_a_heartbeat_of_an_id_that_is_no_member_is_refused(phase: str) -> None:  # [H1]
    group = BEGUN[phase]()
    member = group.scope.members - 1
    assert group.heartbeat(member, id=9).code(member) == UNKNOWN_MEMBER_ID


def test_a_heartbeat_of_a_pending_id_is_refused() -> None:  # [H1]
    group = stable(2, 1)
    assert group.heartbeat(1, id=group.join(1).answers[1].id).code(1) == UNKNOWN_MEMBER_ID


@pytest.mark.parametrize("phase", RUNNING)
def test_a_heartbeat_of_another_generation_is_refused(phase: str) -> None:  # [H1]
    group = BEGUN[phase]()
    assert group.heartbeat(1, generation=0).code(1) == ILLEGAL_GENERATION


@pytest.mark.parametrize(
    ("phase", "code"),
    [
        ("CompletingRebalance", NONE),
        ("Stable", NONE),
        ("PreparingRebalance", REBALANCE_IN_PROGRESS),
    ],
)
def test_a_heartbeat_of_a_member_hears_only_of_a_running_round(
    phase: str, code: int
) -> None:  # [H1]
    group = BEGUN[phase]()
    before = group.core
    assert group.heartbeat(1).code(1) == code
    assert group.core == before


# -- LeaveGroup


@pytest.mark.parametrize("phase", BEGUN)
def test_the_leaving_of_an_id_that_nobody_knows_is_refused_and_changes_nothing(
    phase: str,
) -> None:  # [L1]
    group = BEGUN[phase]()
    member, before = group.scope.members - 1, group.core
    assert group.leave(member, 9).code(member) == UNKNOWN_MEMBER_ID
    assert group.core == before


@pytest.mark.parametrize("begin", [round_of, stable])
def test_a_member_that_leaves_is_removed_and_a_round_starts(
    begin: Callable[..., Group],
) -> None:  # [L1]
    group = begin(3)
    assert group.leave(1).code(1) == NONE
    assert (group.phase, group.core.members, group.seat(1)) == (Phase.PREPARING, 2, None)


def test_the_last_one_missing_leaves_and_the_round_completes() -> None:
    group = preparing()
    assert group.leave(1).codes == {0: NONE, 1: NONE}
    assert (group.phase, group.core.members, group.core.generation) == (Phase.COMPLETING, 1, 2)


@pytest.mark.parametrize("begin", [round_of, stable])
def test_a_leave_of_a_pending_id_starts_a_round_in_a_group_that_runs(
    begin: Callable[..., Group],
) -> None:  # [L2]
    group = begin(3, 2)
    id = group.join(2).answers[2].id
    assert group.leave(2, id).code(2) == NONE
    assert (group.phase, group.core.members, group.core.pending) == (Phase.PREPARING, 2, 0)


def test_a_leave_of_a_pending_id_completes_a_round_that_waited_for_it() -> None:  # [T1]
    group = stable(2, 1)
    id = group.join(1).answers[1].id
    group.join(0, 0, claimed=1)
    assert group.phase == Phase.PREPARING
    assert group.leave(1, id).codes == {0: NONE, 1: NONE}


def test_a_leave_of_a_pending_id_does_not_shorten_the_initial_delay() -> None:  # [T6b]
    group = Group(2)
    group.enter(0)
    id = group.join(1).answers[1].id
    assert group.leave(1, id).codes == {1: NONE}
    assert (group.phase, group.core.initial) == (Phase.PREPARING, True)


def test_a_leave_of_a_pending_id_leaves_an_empty_group_empty() -> None:
    group = Group(1)
    id = group.join(0).answers[0].id
    assert group.leave(0, id).code(0) == NONE
    assert (group.phase, group.core.generation) == (Phase.EMPTY, 0)


def test_the_parked_join_of_a_member_that_leaves_is_answered() -> None:  # [L3]
    group = preparing(3)
    assert group.leave(0, elsewhere=True, pick=lambda w: w.leader == (1, 0)).codes == {
        0: UNKNOWN_MEMBER_ID
    }
    assert group.core.parked == 0


def test_the_parked_sync_of_a_member_that_leaves_is_never_answered() -> None:  # [L3]
    group = round_of(2)
    group.sync(1)
    group.sync(0)
    assert group.leave(1, elsewhere=True).codes == {0: REBALANCE_IN_PROGRESS}
    assert group.link(1).orphaned


def test_when_the_leader_leaves_another_member_leads_at_once() -> None:  # [L4]
    group = stable(3)
    group.leave(0, pick=lambda w: w.leader == (1, 0))
    assert {w.leader for w in group.worlds} == {(1, 0), (2, 0)}


def test_who_joins_after_the_leader_has_gone_does_not_lead() -> None:
    group = stable(3, 2)
    group.leave(0)
    group.enter(2)
    group.join(1, 0, claimed=1)
    assert group.leader == (1, 0)


def test_the_last_member_to_leave_empties_the_group_in_a_new_generation() -> None:  # [L4]
    group = stable(1)
    assert group.leave(0).code(0) == NONE
    assert (group.phase, group.core.generation, group.leader) == (Phase.EMPTY, 2, None)
