"""Static members that come back (KIP-345; protocol.md 1.6.3): what the coordinator answers, phase
by phase, and the size of the whole model.
"""

from __future__ import annotations

import attrs
import pytest
from coordinator_driver import Group

from groupcheck.invariants.registry import for_families
from groupcheck.model.engine import ScopeError, reference
from groupcheck.model.engine.fast.explore import explore
from groupcheck.model.engine.verdict import HOLDS
from groupcheck.model.protocol.classic import rules
from groupcheck.model.protocol.classic.coordinator import join_group
from groupcheck.model.protocol.classic.group import Phase
from groupcheck.model.protocol.classic.static_rejoin import static_rejoin
from groupcheck.model.protocol.codes import (
    GROUP_MAX_SIZE_REACHED,
    NONE,
    REBALANCE_IN_PROGRESS,
    UNKNOWN_MEMBER_ID,
)
from groupcheck.model.protocol.feature import outcomes_changed, rebuilt
from groupcheck.model.variants import load

STATIC = load("static_rejoin")


def stable(members: int = 2, **scope: object) -> Group:
    """A Stable group in generation 1 of static members, led by member 0."""
    group = Group(members, variant=STATIC, **scope)
    for member in range(members):
        group.join(member)
    group.initial_delay()
    for member in range(members):
        group.sync(member, pick=lambda world: not world.core.recorded)
    group.append_commits()
    return group


def test_a_static_member_joins_in_one_step() -> None:
    group = Group(1, variant=STATIC)
    assert group.join(0).answers == {} and group.is_member(0)
    group.initial_delay()
    assert group.now.answers[0].id == 0


@pytest.mark.parametrize("member", [0, 1])
def test_in_a_stable_group_it_has_its_share_again_without_a_round(member: int) -> None:
    group = stable()
    share = group.seat(member).share
    group.reconnects(member)
    answer = group.join(member).answers[member]
    assert (answer.code, answer.id, answer.generation) == (NONE, 1, 1)
    assert (group.phase, group.core.generation) == (Phase.STABLE, 1)
    assert group.seat(member) is None and group.leader == (0, 1 - member)
    assert group.sync(member, id=1).answers[member].share == share
    assert group.heartbeat(1 - member, id=0).code(1 - member) == NONE


def test_the_id_that_was_replaced_is_unknown() -> None:
    group = stable()
    group.reconnects(1)
    group.join(1)
    assert group.heartbeat(1, id=0).code(1) == UNKNOWN_MEMBER_ID
    assert group.heartbeat(1, id=1).code(1) == NONE


def test_the_new_id_is_what_a_fail_over_loads() -> None:
    group = stable(fail_over=True)
    group.reconnects(0)
    group.join(0)
    group.fails_over()
    assert (group.phase, group.leader) == (Phase.STABLE, (0, 1))
    assert group.is_member(0, 1) and not group.is_member(0, 0)


def test_while_a_round_runs_it_waits_and_counts_once() -> None:
    group = stable()
    group.session_expires(1)
    group.join(0, 0)
    assert group.phase == Phase.COMPLETING  # alone in generation 2
    group.join(1)
    assert (group.phase, group.core.parked, group.core.members) == (Phase.PREPARING, 1, 2)
    group.reconnects(1)
    world = group.join(1)
    assert world.labels[0] == "join_group:replaced_and_parked"
    assert (group.core.parked, group.core.members) == (1, 2)
    assert group.join(0, 0).codes == {0: NONE, 1: NONE}


def test_while_members_synchronise_a_round_starts_and_the_others_are_sent_back() -> None:
    group = Group(2, variant=STATIC)
    for member in (0, 1):
        group.join(member)
    group.initial_delay()
    group.sync(1)
    group.reconnects(0)
    world = group.join(0)
    assert world.labels[0] == "join_group:replaced_and_restarted"
    assert world.codes == {1: REBALANCE_IN_PROGRESS}
    assert (group.phase, group.leader) == (Phase.PREPARING, (0, 1))


def test_a_full_group_turns_away_a_member_that_it_knows() -> None:
    """Kafka looks whether it knows the member id, which is empty."""
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
    assert explore(static_rejoin(first)).rules["join_group:added"] == 0


@pytest.mark.parametrize(
    ("fields", "states", "transitions", "depth"),
    [
        ({"members": 1, "generations": 2, "any_faults": 2}, 369, 978, 14),
        ({"members": 2, "generations": 2, "any_faults": 1}, 2_824, 8_023, 21),
        ({"members": 2, "generations": 2, "faults": {"crash": 2}}, 2_461, 7_064, 18),
    ],
)
def test_the_size_of_the_model(
    fields: dict[str, object], states: int, transitions: int, depth: int
) -> None:
    promises = for_families(STATIC.families)
    spec = STATIC.spec(STATIC.scope_type(**fields))
    spec = attrs.evolve(spec, invariants=promises.invariants, views=promises.views)
    for verdict in (explore(spec), reference.explore(spec)):
        assert (verdict.verdict, verdict.states, verdict.transitions) == (
            HOLDS,
            states,
            transitions,
        )
        assert verdict.depth == depth
