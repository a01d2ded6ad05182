"""JoinGroup at the classic coordinator: the size rule (KIP-389), ids in two steps and in one
(KIP-394), known members.

Each test is a row of the protocol's tables; the letters in brackets name the schedule that was run
on the real coordinator (4.0.0 to 4.3.0).
"""

from __future__ import annotations

import pytest
from coordinator_driver import Group, round_of, stable

from groupcheck.model.protocol.classic.group import Phase
from groupcheck.model.protocol.codes import (
    GROUP_MAX_SIZE_REACHED,
    INCONSISTENT_GROUP_PROTOCOL,
    MEMBER_ID_REQUIRED,
    NONE,
    REBALANCE_IN_PROGRESS,
    UNKNOWN_MEMBER_ID,
)

ALL = tuple(Phase)


def in_phase(phase: Phase, members: int = 3, **scope: object) -> Group:
    """A group of members 0 and 1 in a given state, the last one still outside; in
    PreparingRebalance nobody has joined yet.
    """
    if phase == Phase.EMPTY:
        return Group(members, **scope)
    if phase == Phase.COMPLETING:
        return round_of(members, members - 1, **scope)
    group = stable(members, members - 1, **scope)
    if phase == Phase.PREPARING:
        newcomer = group.join(members - 1).answers[members - 1].id
        group.leave(members - 1, newcomer)
    assert group.phase == phase
    return group


# -- the size rule


@pytest.mark.parametrize("phase", [Phase.COMPLETING, Phase.STABLE])
def test_at_the_cap_a_newcomer_is_refused_and_a_known_member_passes(phase: Phase) -> None:  # [S1]
    group = in_phase(phase, max_size=2)
    assert group.join(2).code(2) == GROUP_MAX_SIZE_REACHED
    assert not group.now.seats[2].ids
    assert group.join(1, 0).code(1) == NONE


def test_pending_ids_do_not_count_and_the_cap_is_checked_again_at_the_second_join() -> None:  # [S2]
    group = stable(4, 1, max_size=2)
    ids = [group.join(i).answers[i].id for i in (1, 2, 3)]
    assert group.core.pending == 3
    group.join(1, ids[0])
    group.join(0, 0, claimed=1)
    assert group.phase == Phase.PREPARING
    assert group.core.parked == 2
    assert group.join(2, ids[1]).code(2) == GROUP_MAX_SIZE_REACHED
    assert group.seat(2) is None


def test_an_empty_group_accepts_whatever_its_size_would_be() -> None:
    group = Group(1, max_size=1)
    assert group.join(0).code(0) == MEMBER_ID_REQUIRED


# [S4]
def test_a_known_member_that_comes_to_a_full_round_is_dropped_and_only_the_timer_ends_it() -> None:
    group = stable(3, 2, max_size=2)
    group.leave(1)
    group.enter(1)
    group.enter(2)
    assert (
        group.join(0, 0, claimed=1, pick=lambda w: w.leader == (2, 0)).code(0)
        == GROUP_MAX_SIZE_REACHED
    )
    assert group.seat(0) is None
    assert (group.phase, group.core.all_joined) == (Phase.PREPARING, True)
    assert group.rebalance_timeout().codes == {1: NONE, 2: NONE}
    assert group.phase == Phase.COMPLETING


def test_a_member_that_is_parked_already_is_accepted_again_in_a_full_round() -> None:
    group = stable(3, max_size=2, joining=2)
    group.leave(1)
    group.enter(1)
    group.enter(2)
    assert group.core.parked == 2
    group.reconnects(1)
    assert group.join(1, 0).labels == ("join_group:parked",)
    assert (group.core.parked, group.core.members) == (2, 3)


def test_the_leader_that_is_dropped_for_the_cap_is_followed_by_one_who_is_there() -> None:
    group = stable(3, 2, max_size=2)
    group.leave(1)
    group.enter(1)
    group.enter(2)
    group.join(0, 0, claimed=1, pick=lambda w: w.leader == (2, 0))
    assert {w.leader for w in group.worlds} == {(1, group.now.seats[1].ids[0][0]), (2, 0)}
    group.rebalance_timeout()
    assert group.leader == (2, 0)


# -- without an id


@pytest.mark.parametrize("phase", ALL)
def test_a_newcomer_without_an_id_is_given_one_and_nothing_else_changes(
    phase: Phase,
) -> None:  # [J1]
    group = in_phase(phase)
    before = group.core
    answer = group.join(2)
    assert answer.code(2) == MEMBER_ID_REQUIRED
    assert group.is_pending(2, answer.answers[2].id)
    assert (group.phase, group.core.members, group.core.generation) == (
        before.phase,
        before.members,
        before.generation,
    )
    assert group.core.pending == before.pending + 1
    assert group.can("session_timeout", 2), "the id's own timer runs"


def test_in_one_step_the_first_member_starts_the_initial_delay() -> None:  # [J1]
    group = Group(2, two_step=False)
    assert group.join(0).codes == {}
    assert (group.phase, group.core.initial, group.core.extended) == (Phase.PREPARING, True, False)
    assert group.seat(0).new
    group.join(1)
    assert group.core.extended, "newMemberAdded"


def test_in_one_step_a_join_in_completing_rebalance_sends_everybody_back() -> None:  # [J2]
    group = round_of(3, 2, two_step=False)
    group.sync(1)
    assert group.join(2).codes == {1: REBALANCE_IN_PROGRESS}
    assert (group.phase, group.core.initial, group.core.parked) == (Phase.PREPARING, False, 1)


def test_in_one_step_a_join_in_a_stable_group_starts_a_round() -> None:  # [J2]
    group = stable(3, 2, two_step=False)
    group.join(2)
    assert (group.phase, group.core.parked, group.core.members) == (Phase.PREPARING, 1, 3)


def test_in_one_step_a_join_completes_a_round_that_waits_for_nobody_else() -> None:
    group = stable(3, 2, two_step=False)
    pending = round_of(2, 2, two_step=False)
    pending.leave(0)
    assert pending.join(0).codes == {}
    assert pending.join(1, 0, claimed=1).codes == {0: NONE, 1: NONE}
    group.leave(0)
    group.leave(1)
    assert (group.phase, group.core.generation) == (Phase.EMPTY, 2)
    group.join(2)
    assert group.core.initial
    assert group.initial_delay().codes == {2: NONE}


# KIP-394's reason
def test_in_one_step_every_retry_makes_another_member_that_nobody_will_ever_be() -> None:
    group = Group(1, two_step=False)
    group.join(0)
    group.reconnects(0)
    group.join(0)
    assert group.core.members == group.core.parked == 2


# -- with an id


@pytest.mark.parametrize("phase", ALL)
def test_a_pending_id_that_joins_becomes_a_member_and_is_parked(phase: Phase) -> None:
    group = in_phase(phase)
    id = group.join(2).answers[2].id
    group.join(2, id)
    assert group.is_member(2, id)
    assert (group.seat(2, id).join, group.seat(2, id).new, group.core.pending) == (True, True, 0)
    assert group.phase == Phase.PREPARING
    assert group.core.initial == (phase == Phase.EMPTY)


@pytest.mark.parametrize("phase", ALL)
def test_an_id_that_is_no_member_is_refused(phase: Phase) -> None:  # [J3]
    group = in_phase(phase)
    before = group.core
    assert group.join(2, 7).code(2) == UNKNOWN_MEMBER_ID
    assert group.core == before


def test_a_member_joins_a_running_round_and_waits() -> None:  # [J4]
    group = in_phase(Phase.PREPARING)
    assert group.join(0, 0, claimed=1).codes == {}
    assert (group.seat(0).join, group.core.parked, group.phase) == (True, 1, Phase.PREPARING)


def test_the_last_member_to_join_a_running_round_completes_it_and_the_leader_stays() -> None:
    group = in_phase(Phase.PREPARING)
    group.join(1, 0, claimed=1)
    assert group.join(0, 0, claimed=1).codes == {0: NONE, 1: NONE}
    assert (group.phase, group.core.generation, group.leader) == (Phase.COMPLETING, 2, (0, 0))
    assert {a.generation for a in group.now.answers.values()} == {2}


@pytest.mark.parametrize("member", [0, 1])
def test_an_unchanged_join_in_completing_rebalance_is_answered_at_once(member: int) -> None:  # [J5]
    group = round_of(2)
    before = group.now.state
    told = group.join(member, 0)
    assert (told.code(member), told.answers[member].generation, told.answers[member].id) == (
        NONE,
        1,
        0,
    )
    assert group.now.state == before


@pytest.mark.parametrize("member", [0, 1])
def test_a_changed_join_in_completing_rebalance_starts_a_round_and_sends_the_others_back(
    member: int,
) -> None:  # [J5]
    group = round_of(2)
    other = 1 - member
    group.sync(other)
    assert group.join(member, 0, claimed=1).codes == {other: REBALANCE_IN_PROGRESS}
    assert (group.phase, group.core.parked, group.core.appending) == (Phase.PREPARING, 1, False)


def test_the_leader_of_a_stable_group_starts_a_round_even_if_nothing_changed() -> None:  # [J6]
    group = stable(2)
    assert group.join(0, 0).codes == {}
    assert (group.phase, group.core.parked, group.core.leader_parked) == (Phase.PREPARING, 1, True)


def test_an_unchanged_follower_of_a_stable_group_is_answered_at_once() -> None:  # [J6]
    group = stable(2)
    before = group.now.state
    assert (group.join(1, 0).code(1), group.now.answers[1].generation) == (NONE, 1)
    assert group.now.state == before


def test_a_changed_follower_of_a_stable_group_starts_a_round() -> None:  # [J6]
    group = stable(2)
    assert group.join(1, 0, claimed=1).codes == {}
    assert (group.phase, group.core.parked) == (Phase.PREPARING, 1)


# [K11]
def test_a_second_join_of_a_parked_member_replaces_the_first_which_is_never_answered() -> None:
    group = in_phase(Phase.PREPARING)
    group.join(0, 0, claimed=1)
    group.join(0, 0, claimed=1, elsewhere=True)
    assert group.core.parked == 1
    assert group.join(1, 0, claimed=1).codes == {1: NONE}
    assert group.link(0).orphaned


def test_a_join_over_a_new_connection_is_the_one_that_is_answered() -> None:  # [K11]
    group = in_phase(Phase.PREPARING)
    group.join(0, 0, claimed=1)
    group.reconnects(0)
    group.join(0, 0, claimed=1)
    assert group.core.parked == 1
    assert group.join(1, 0, claimed=1).codes == {0: NONE, 1: NONE}


def test_a_member_that_was_in_a_group_which_is_empty_now_is_unknown() -> None:  # [J3]
    group = stable(1)
    group.leave(0)
    assert group.phase == Phase.EMPTY
    assert group.join(0, 0, claimed=1).code(0) == UNKNOWN_MEMBER_ID


def test_numbers_of_ids_are_used_again_only_when_nobody_can_mean_the_old_one() -> None:
    group = stable(1)
    group.leave(0)
    assert group.join(0).answers[0].id == 0, "no seat, message or record carries it"
    ghost = group.join(0, elsewhere=True).core
    assert ghost.pending == 2
    assert [id for id, _ in group.now.seats[0]] == [
        0,
        100,
    ], "an id that nobody was told has a number of its own"


# -- the protocol rule and the vote


def test_a_member_with_no_common_assignor_is_refused() -> None:  # [P1]
    group = Group(2, protocols="range|sticky")
    group.enter(0)
    assert group.join(1).code(1) == INCONSISTENT_GROUP_PROTOCOL


def test_an_empty_group_takes_any_list() -> None:  # [P1]
    group = Group(2, protocols="range|sticky")
    group.enter(0)
    group.initial_delay()
    group.stabilise()
    group.leave(0)
    assert group.phase == Phase.EMPTY
    assert group.join(1).code(1) == MEMBER_ID_REQUIRED
    assert group.join(1, 0).labels[0] == "join_group:added"


def test_each_member_votes_for_its_first_candidate_and_most_votes_win() -> None:  # [P2]
    group = Group(3, protocols="range,sticky|sticky,range|sticky,range")
    for i in range(3):
        group.enter(i)
    group.initial_delay()
    assert group.scope.assignors_listed[group.core.assignor] == "sticky"


def test_a_vote_counts_only_for_what_all_members_support() -> None:  # [P2]
    group = Group(3, protocols="a,c|a,c|b,c")
    for i in range(3):
        group.enter(i)
    group.initial_delay()
    assert group.scope.assignors_listed[group.core.assignor] == "c"


@pytest.mark.parametrize(
    ("one", "other", "elected"),
    [
        ("range", "roundrobin", {"range"}),
        ("range", "sticky", {"sticky"}),
        ("a", "p", {"p"}),  # "p" is in bucket 0, "a" in bucket 1
        ("a", "q", {"a", "q"}),  # both are in bucket 1: the first that got a vote
    ],
)
def test_a_tie_goes_to_the_first_in_hash_order(one: str, other: str, elected: set[str]) -> None:
    group = Group(2, protocols=f"{one},{other}|{other},{one}")
    group.enter(0)
    group.enter(1)
    listed = group.scope.assignors_listed
    group.initial_delay(pick=lambda w: listed[w.core.assignor] == min(elected))
    assert {listed[w.core.assignor] for w in group.worlds} == elected
