"""Static members (KIP-345, KIP-814; protocol.md 1.6.3): what the coordinator answers, phase by
phase, and the size of the whole model.
"""

from __future__ import annotations

import attrs
import pytest
from coordinator_driver import Group, World

from groupcheck.invariants.registry import for_families
from groupcheck.model.engine import ScopeError, reference
from groupcheck.model.engine.fast.explore import explore
from groupcheck.model.engine.verdict import HOLDS
from groupcheck.model.protocol.classic import rules
from groupcheck.model.protocol.classic.coordinator import join_group
from groupcheck.model.protocol.classic.features.static import static_membership
from groupcheck.model.protocol.classic.group import Phase
from groupcheck.model.protocol.codes import (
    COORDINATOR_NOT_AVAILABLE,
    FENCED_INSTANCE_ID,
    GROUP_MAX_SIZE_REACHED,
    NONE,
    REBALANCE_IN_PROGRESS,
    UNKNOWN_MEMBER_ID,
)
from groupcheck.model.protocol.messages import NO_ID
from groupcheck.model.protocol.transform import outcomes_changed, rebuilt
from groupcheck.model.variants import load

STATIC = load("static_membership")


def in_a_round(members: int = 2, **scope: object) -> Group:
    """A group of static members in CompletingRebalance, generation 1, led by member 0."""
    group = Group(members, variant=STATIC, **scope)
    for member in range(members):
        group.join(member)
    group.initial_delay()
    return group


def late(world: World) -> bool:
    """A fail-over finds what is written only once its append is committed."""
    return not world.core.recorded


def stable(members: int = 2, synced: int | None = None, **scope: object) -> Group:
    """A Stable group in generation 1, led by member 0; the first `synced` members have synced."""
    group = in_a_round(members, **scope)
    for member in range(members if synced is None else synced):
        group.sync(member, pick=late)
    group.append_commits()
    return group


def restarts(group: Group, member: int) -> World:
    """The process of a member is replaced by another one with the same instance id, which joins."""
    group.reconnects(member)
    return group.join(
        member,
        pick=lambda world: (
            not world.seats[member].durable
            or bool(world.core.unlogged or world.core.phase != Phase.STABLE)
        ),
    )


def test_a_static_member_joins_in_one_step() -> None:
    group = Group(1, variant=STATIC)
    assert group.join(0).answers == {} and group.is_member(0)
    group.initial_delay()
    assert group.now.answers[0].id == 0


@pytest.mark.parametrize("member", [0, 1])
def test_in_a_stable_group_it_has_its_share_again_without_a_round(member: int) -> None:
    group = stable()
    share = group.seat(member).share
    assert restarts(group, member).answers == {}
    answer = group.fire("takeover_committed", member).answers[member]
    assert (answer.code, answer.id, answer.generation) == (NONE, 1, 1)
    assert (group.phase, group.core.generation) == (Phase.STABLE, 1)
    assert group.seat(member) is None and group.leader == (0, 1 - member)
    assert group.sync(member, id=1).answers[member].share == share
    assert group.heartbeat(1 - member, id=0).code(1 - member) == NONE


def test_the_id_that_was_replaced_is_fenced_whatever_it_asks() -> None:
    group = stable()
    restarts(group, 1)
    before = group.now
    asks = (group.heartbeat, group.sync, group.commit, group.leave, group.join)
    group.fire("takeover_committed", 1)
    for ask in asks:
        assert ask(1, id=0).code(1) == FENCED_INSTANCE_ID
    assert group.heartbeat(1, id=1).code(1) == NONE
    assert before.core.phase == group.phase == Phase.STABLE


def test_once_the_instance_is_gone_its_ids_are_unknown() -> None:
    group = stable()
    restarts(group, 1)
    group.fire("takeover_committed", 1)
    group.session_expires(1, id=1)
    assert group.heartbeat(1, id=0).code(1) == UNKNOWN_MEMBER_ID


def test_a_takeover_is_answered_in_the_old_generation_although_a_round_has_begun() -> None:
    group = stable(3)
    restarts(group, 1)
    group.session_expires(2)
    assert (group.phase, group.core.parked, group.core.members) == (Phase.PREPARING, 1, 2)
    answer = group.fire("takeover_committed", 1).answers[1]
    assert (answer.code, answer.generation, group.core.parked) == (NONE, 1, 0)
    assert group.sync(1, id=1).code(1) == REBALANCE_IN_PROGRESS


def test_a_leader_that_takes_over_while_a_round_begins_waits_for_the_round() -> None:
    """Kafka fails to list the members in PreparingRebalance, so it does not answer."""
    group = stable(3)
    restarts(group, 0)
    group.session_expires(2)
    assert group.fire("takeover_committed", 0).answers == {}
    assert (group.phase, group.core.parked) == (Phase.PREPARING, 1)
    assert group.join(1, 0).codes == {0: NONE, 1: NONE}


def test_a_round_that_completes_answers_a_takeover_in_flight() -> None:
    group = stable()
    restarts(group, 1)
    assert group.session_expires(0).code(1) == NONE
    assert (group.phase, group.core.generation, group.leader) == (Phase.COMPLETING, 2, (1, 1))


def test_a_takeover_whose_append_fails_gives_the_old_id_back() -> None:
    group = stable(2, synced=1)
    restarts(group, 1)
    assert (group.seat(1, 1).owed, group.core.due) == (0, 1)
    world = group.fire("takeover_failed", 1)
    assert (world.code(1), group.core.parked) == (COORDINATOR_NOT_AVAILABLE, 0)
    assert group.seat(1, 1) is None and group.seat(1, 0).due and group.core.due == 1
    assert group.heartbeat(1, id=0).code(1) == NONE


def test_the_new_id_is_what_a_fail_over_loads() -> None:
    group = stable(fail_over=True)
    restarts(group, 0)
    group.fire("takeover_committed", 0)
    group.fails_over()
    assert (group.phase, group.leader) == (Phase.STABLE, (0, 1))
    assert group.is_member(0, 1) and not group.is_member(0, 0)


@pytest.mark.parametrize("found", [True, False])
def test_a_fail_over_may_find_a_takeover_that_was_never_answered_and_may_not(found: bool) -> None:
    group = stable(fail_over=True)
    group.reconnects(0)
    group.join(0, pick=lambda world: (world.core.unlogged == 0) == found)
    group.fails_over()
    assert group.is_member(0, int(found)) and not group.is_member(0, int(not found))


def test_while_a_round_runs_it_waits_counts_once_and_fences_the_old_request() -> None:
    group = stable()
    group.session_expires(1)
    group.join(0, 0)
    assert group.phase == Phase.COMPLETING  # alone in generation 2
    group.join(1)
    assert (group.phase, group.core.parked, group.core.members) == (Phase.PREPARING, 1, 2)
    world = group.join(1, elsewhere=True)
    assert world.labels[0] == "join_group:replaced_and_parked"
    assert (group.core.parked, group.core.members) == (1, 2)
    assert world.codes == {1: FENCED_INSTANCE_ID}
    assert group.join(0, 0).codes == {0: NONE}  # nobody reads the other answer


def test_while_members_synchronise_a_round_starts_and_the_others_are_sent_back() -> None:
    group = in_a_round()
    group.sync(1)
    group.sync(0, pick=late)
    world = group.join(0, elsewhere=True)
    assert world.labels[0] == "join_group:replaced_and_restarted"
    assert world.codes == {0: FENCED_INSTANCE_ID, 1: REBALANCE_IN_PROGRESS}
    assert (group.phase, group.leader) == (Phase.PREPARING, (0, 100))


def test_a_round_keeps_a_member_that_has_not_joined_and_another_one_leads() -> None:
    group = stable(3)
    group.session_expires(2)
    group.join(1, 0)
    group.rebalance_timeout()
    assert (group.phase, group.core.members, group.core.due) == (Phase.COMPLETING, 2, 2)
    assert group.leader == (1, 0) and group.is_member(0)


def test_a_round_in_which_nobody_has_joined_goes_on() -> None:
    group = stable(3)
    group.session_expires(2)
    before = group.now
    assert group.rebalance_timeout().labels == ("rebalance_timeout:postponed",)
    assert (group.core, group.now.seats) == (before.core, before.seats)


def test_an_administrator_removes_a_member_by_its_instance_id() -> None:
    group = stable()
    world = group.leave(1, id=NO_ID, elsewhere=True)
    assert world.labels[0] == "leave_group:removed"
    assert (group.phase, group.core.members) == (Phase.PREPARING, 1)
    assert group.leave(1, id=NO_ID).code(1) == UNKNOWN_MEMBER_ID


def test_who_waits_in_a_round_hears_that_an_administrator_has_removed_it() -> None:
    group = stable(3)
    group.session_expires(2)
    group.join(1, 0)
    assert group.leave(1, id=NO_ID, elsewhere=True).code(1) == UNKNOWN_MEMBER_ID


@pytest.mark.parametrize("syncs", [False, True])
def test_the_sync_timer_waits_for_the_id_that_was_replaced(syncs: bool) -> None:
    """K7: a round starts that nobody needs, even if the new id has synced, and removes nobody."""
    group = stable(2, synced=1)
    restarts(group, 1)
    group.fire("takeover_committed", 1)
    if syncs:
        assert group.sync(1, id=1).code(1) == NONE
    assert group.core.deadline
    group.sync_timeout()
    assert (group.phase, group.core.members) == (Phase.PREPARING, 2)


def test_a_full_group_turns_away_a_member_that_it_knows() -> None:
    """K6: Kafka looks whether it knows the member id, which is empty."""
    group = stable(max_size=2)
    group.reconnects(1)
    assert group.join(1).code(1) == GROUP_MAX_SIZE_REACHED


def test_different_assignors_are_refused() -> None:
    with pytest.raises(ScopeError, match="different assignors are left out"):
        STATIC.spec(STATIC.scope_type(protocols="range|sticky"))


def test_what_an_earlier_feature_has_made_of_join_group_stays() -> None:
    scope = STATIC.scope_type(members=1, generations=1)
    nobody = outcomes_changed(
        join_group, lambda before, label, after: None if label == "added" else after
    )
    first = rebuilt(rules.spec(scope), [nobody])
    assert explore(static_membership(first)).rules["join_group:added"] == 0


@pytest.mark.parametrize(
    ("fields", "states", "transitions", "depth"),
    [
        ({"members": 1, "generations": 2, "any_faults": 2}, 988, 2_866, 16),
        pytest.param(
            {"members": 2, "generations": 2, "any_faults": 1},
            5_287,
            15_422,
            21,
            marks=pytest.mark.night,
        ),
        ({"members": 2, "generations": 2, "faults": {"crash": 2}}, 3_495, 9_728, 19),
    ],
)
def test_the_size_of_the_model(
    fields: dict[str, object], states: int, transitions: int, depth: int
) -> None:
    promises = for_families(STATIC.families)
    spec = STATIC.spec(STATIC.scope_type(**fields))
    spec = attrs.evolve(spec, invariants=promises.invariants, views=promises.views)
    for verdict in (explore(spec), reference.explore(spec)):
        assert verdict.verdict == HOLDS
        assert (verdict.states, verdict.transitions, verdict.depth) == (states, transitions, depth)
