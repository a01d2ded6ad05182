"""Coordinator fail-over (protocol.md 1.14): what the log holds is loaded, everything else is
forgotten.

The letters in brackets name the schedule that was run on the real coordinator (4.0.0 to 4.3.0).
"""

from __future__ import annotations

from coordinator_driver import Group

from groupcheck.model.protocol.classic.group import Phase
from groupcheck.model.protocol.codes import (
    ILLEGAL_GENERATION,
    INCONSISTENT_GROUP_PROTOCOL,
    NONE,
    UNKNOWN_MEMBER_ID,
)


def completing(members: int = 2) -> Group:
    group = Group(members, fail_over=True)
    for i in range(members):
        group.enter(i)
    group.initial_delay()
    return group


def stable(members: int = 2) -> Group:
    group = completing(members)
    for i in range(members):
        group.sync(i, pick=lambda w: not w.core.recorded)
    group.append_commits()
    return group


def test_a_stable_group_is_loaded_as_it_was() -> None:  # [F1]
    group = stable(2)
    shares = [group.seat(i).share for i in (0, 1)]
    group.fails_over()
    assert (group.phase, group.core.generation, group.leader, group.core.members) == (
        Phase.STABLE,
        1,
        (0, 0),
        2,
    )
    assert [group.seat(i).share for i in (0, 1)] == shares
    assert group.heartbeat(1).code(1) == NONE
    assert group.can("session_timeout", 0)


def test_a_round_that_ran_is_forgotten_and_its_members_are_those_of_the_record() -> None:  # [F1]
    group = stable(2)
    group.join(0, 0, claimed=1)
    group.leave(1)
    assert group.phase == Phase.COMPLETING
    group.fails_over()
    assert (group.phase, group.core.generation, group.core.members) == (Phase.STABLE, 1, 2)


def test_pending_ids_are_forgotten() -> None:  # [F1]
    group = stable(2)
    id = group.join(1, elsewhere=True).seats[1].ids[-1][0]
    group.fails_over()
    assert group.core.pending == 0
    assert group.join(1, id).code(1) == UNKNOWN_MEMBER_ID


# [K8]
def test_a_first_round_that_was_never_written_is_forgotten_and_its_number_given_again() -> None:
    group = completing(2)
    assert group.core.generation == 1
    group.fails_over()
    assert (group.phase, group.core.generation, group.core.members) == (Phase.EMPTY, 0, 0)
    group.enter(1)
    group.initial_delay()
    assert (group.core.generation, group.core.members) == (1, 1)


def test_a_member_of_a_forgotten_generation_is_told_that_it_is_the_wrong_one() -> None:  # 1.14
    group = stable(2)
    for i in (0, 1):
        group.join(i, 0, claimed=1)
    assert group.core.generation == 2
    group.fails_over()
    assert group.sync(0, generation=2).code(0) == ILLEGAL_GENERATION


# [K9, Y5]
def test_an_overtaken_assignment_that_was_written_is_loaded_for_members_of_its_generation() -> None:
    group = completing(2)
    group.sync(0, pick=lambda w: w.core.recorded)
    group.join(1, 0, claimed=1)
    assert group.phase == Phase.PREPARING
    group.fails_over()
    assert (group.phase, group.core.generation) == (Phase.STABLE, 1)
    assert group.heartbeat(0, generation=1).code(0) == NONE
    assert group.sync(1, generation=1).code(1) == NONE


def test_an_assignment_whose_append_was_given_up_may_be_loaded_after_all() -> None:  # [Y6]
    group = completing(2)
    group.sync(0, pick=lambda w: w.core.recorded)
    group.append_fails()
    group.fails_over()
    assert (group.phase, group.core.generation, group.core.members) == (Phase.STABLE, 1, 2)


def test_an_assignment_in_flight_may_also_be_lost() -> None:
    group = completing(2)
    group.sync(0, pick=lambda w: not w.core.recorded)
    group.fails_over()
    assert (group.phase, group.core.generation) == (Phase.EMPTY, 0)


def test_a_group_that_has_become_empty_is_loaded_empty_in_its_generation() -> None:
    group = stable(1)
    group.leave(0, pick=lambda w: w.core.durable[0] == 2)
    group.fails_over()
    assert (group.phase, group.core.generation, group.core.members) == (Phase.EMPTY, 2, 0)


# [X2]
def test_a_member_that_left_is_loaded_again_if_the_empty_groups_record_was_not_written() -> None:
    group = stable(2)
    group.leave(1)
    group.leave(0, pick=lambda w: w.core.durable[0] == 1)
    assert (group.phase, group.core.generation) == (Phase.EMPTY, 2)
    group.fails_over()
    assert (group.phase, group.core.generation, group.core.members, group.leader) == (
        Phase.STABLE,
        1,
        2,
        (0, 0),
    )


def test_a_commit_that_was_answered_survives() -> None:  # [F5]
    group = stable(2)
    group.commit(0, 1)
    group.fails_over()
    assert group.offsets.committed == 1


def listing(protocols: str, members: int) -> Group:
    """A Stable group of the first two members, written, with lists of assignors."""
    group = Group(members, fail_over=True, protocols=protocols)
    for i in (0, 1):
        group.enter(i)
    group.initial_delay(pick=lambda w: w.core.assignor == 0)
    for i in (0, 1):
        group.sync(i, pick=lambda w: not w.core.recorded)
    group.append_commits()
    return group


# [K10]
def test_a_follower_with_two_assignors_that_joins_again_after_a_fail_over_counts_as_changed() -> (
    None
):
    group = listing("range,sticky|range,sticky", 2)
    assert group.join(1, 0).labels == ("join_group:unchanged",)
    group.fails_over()
    assert group.join(1, 0).labels[0] == "join_group:restarted"


def test_a_follower_with_one_assignor_that_joins_again_after_a_fail_over_is_unchanged() -> None:
    group = listing("range|range", 2)
    group.fails_over()
    assert group.join(1, 0).labels == ("join_group:unchanged",)


def test_after_a_fail_over_a_newcomer_must_list_the_assignor_that_was_chosen() -> None:  # [K10]
    group = listing("range,sticky|range,sticky|sticky", 3)
    assert group.join(2, elsewhere=True).labels == ("join_group:id_required",)
    group.fails_over()
    assert group.join(2).code(2) == INCONSISTENT_GROUP_PROTOCOL


# [F3]: answered 16, the member connects anew
def test_requests_that_were_waiting_break_off_with_their_connections() -> None:
    group = completing(2)
    group.sync(1)
    group.fails_over()
    assert group.now.codes == {}
    assert group.link(1).idle
