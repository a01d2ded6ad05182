"""Offsets in full (protocol.md 1.10, 1.15): who may commit, what transactions leave behind, what an
administrator may take away, and the numbers of its states.
"""

from __future__ import annotations

from typing import Any

import attrs
import pytest
from coordinator_driver import Group

from groupcheck.model.engine import ScopeError, Spec, evolve, reference
from groupcheck.model.engine.fast.explore import explore
from groupcheck.model.engine.verdict import HOLDS
from groupcheck.model.protocol.classic import rules
from groupcheck.model.protocol.classic.features.full_offsets.commits import txn_offset_commit
from groupcheck.model.protocol.classic.features.full_offsets.feature import full_offsets
from groupcheck.model.protocol.classic.features.full_offsets.kept import (
    NO_OFFSET,
    VOID,
    Fetched,
    OffsetStore,
    Txn,
    ranked,
)
from groupcheck.model.protocol.classic.features.full_offsets.scope import FullOffsetsScope
from groupcheck.model.protocol.classic.features.static import static_membership
from groupcheck.model.protocol.classic.group import Phase
from groupcheck.model.protocol.codes import (
    FENCED_INSTANCE_ID,
    GROUP_ID_NOT_FOUND,
    ILLEGAL_GENERATION,
    NONE,
    UNKNOWN_MEMBER_ID,
    UNSTABLE_OFFSET_COMMIT,
)
from groupcheck.model.protocol.messages import (
    NO_GENERATION,
    NO_ID,
    OffsetFetch,
    TxnOffsetCommit,
)
from groupcheck.model.protocol.transform import composed
from groupcheck.model.variants import load

VARIANT = load("offsets")


def stable(members: int = 1, **scope: Any) -> Group:
    """A Stable group of generation 1, in which nothing is committed."""
    group = Group(members, variant=VARIANT, **scope)
    for i in range(members):
        group.enter(i)
    group.initial_delay(pick=lambda w: w.leader == (0, 0))
    return group.stabilise()


def emptied() -> Group:
    """A group of generation 2 that is Empty again, with offset 1."""
    group = stable()
    group.commit(0)
    group.leave(0)
    assert (group.phase, group.core.generation) == (Phase.EMPTY, 2)
    return group


def commit(group: Group, member: int = 0, offset: int = 2, **given: int) -> int:
    """A transactional commit; its code."""
    request = TxnOffsetCommit(
        given.get("id", 0), given.get("generation", group.core.generation), offset
    )
    return group.send(member, request).code(member)


def end(group: Group, member: int = 0, committed: bool = True) -> str:
    """The marker arrives; what becomes of the offset."""
    at = group.see.at["txn", member]
    state = group.now.state
    decided = evolve(state[at], decided=committed)
    group.now = group._world((), {}, (*state[:at], decided, *state[at + 1 :]))
    return group.fire("write_marker", member).labels[0].partition(":")[2]


def fetch(group: Group, stable: bool = True) -> tuple[int, int]:
    """What a fetch is answered: code and offset."""
    answer = group.send(0, OffsetFetch(stable=stable)).answers[0]
    assert isinstance(answer, Fetched)
    return answer.code, answer.offset


def asked(group: Group, rule: str) -> str:
    """A request from outside, or the sweep; its label."""
    return group.fire(rule).labels[0].partition(":")[2]


def kept(group: Group) -> OffsetStore:
    assert isinstance(group.offsets, OffsetStore)
    return group.offsets


# -- commits


def test_a_commit_of_a_member_of_a_group_that_is_not_there_is_refused() -> None:  # [O2]
    group = Group(1, variant=VARIANT)
    assert group.commit(0).code(0) == GROUP_ID_NOT_FOUND
    assert commit(group) == ILLEGAL_GENERATION
    assert not kept(group).there


def test_a_commit_from_outside_makes_the_group_and_counts_only_while_it_is_empty() -> None:
    group = Group(1, variant=VARIANT)
    assert asked(group, "reset_offsets") == "accepted"
    assert kept(group).there and fetch(group) == (NONE, 0)
    group.enter(0)
    assert asked(group, "reset_offsets") == "refused"


def test_a_group_that_is_there_and_empty_knows_no_member() -> None:
    group = emptied()
    assert group.commit(0, generation=2).code(0) == UNKNOWN_MEMBER_ID
    assert commit(group, generation=2) == UNKNOWN_MEMBER_ID
    assert commit(group, generation=NO_GENERATION) == NONE


@pytest.mark.parametrize(("generation", "code"), [(1, NONE), (0, 22), (2, 22)])
def test_a_transaction_commits_in_the_generation_of_its_member(generation: int, code: int) -> None:
    assert commit(stable(), generation=generation) == code


def test_unlike_a_commit_of_its_own_a_transaction_commits_before_the_member_has_its_share() -> None:
    group = Group(1, variant=VARIANT)
    group.enter(0)
    group.initial_delay()
    assert group.phase == Phase.COMPLETING
    assert group.commit(0).code(0) == 27
    assert commit(group) == NONE


def test_without_id_and_generation_anybody_commits_in_a_transaction_in_every_state() -> None:
    group = stable(2)
    assert commit(group, 1, id=NO_ID, generation=NO_GENERATION) == NONE
    assert commit(group, 1, id=7, generation=1) == UNKNOWN_MEMBER_ID


# -- transactions


def test_an_offset_counts_once_its_transaction_is_committed_and_a_stable_fetch_waits() -> None:
    group = stable()
    group.commit(0, 1)
    commit(group, offset=2)
    assert fetch(group) == (UNSTABLE_OFFSET_COMMIT, NO_OFFSET)
    assert fetch(group, stable=False) == (NONE, 1)
    assert end(group) == "committed"
    assert fetch(group) == (NONE, 2)


def test_an_aborted_offset_never_shows() -> None:
    group = stable()
    commit(group)
    assert end(group, committed=False) == "aborted"
    assert fetch(group) == (NONE, NO_OFFSET)


def test_a_commit_that_came_later_wins_over_the_end_of_a_transaction() -> None:
    group = stable()
    commit(group, offset=2)
    group.commit(0, 1)
    assert end(group) == "superseded"
    assert fetch(group) == (NONE, 1)


def test_of_a_transaction_that_commits_again_the_last_offset_counts_and_is_newer() -> None:
    group = stable()
    commit(group, offset=2)
    group.commit(0, 1)
    commit(group, offset=3)
    assert kept(group).pending == 1
    assert end(group) == "committed"
    assert fetch(group) == (NONE, 3)


@pytest.mark.parametrize(("first", "last"), [((0, 1), 3), ((1, 0), 3)])
def test_of_two_transactions_the_record_that_was_written_later_wins(
    first: tuple[int, int], last: int
) -> None:
    group = stable(2)
    commit(group, 0, 2)
    commit(group, 1, 3)
    assert [end(group, member) for member in first] == [
        "committed",
        "committed" if first == (0, 1) else "superseded",
    ]
    assert fetch(group) == (NONE, last)
    assert (kept(group).top, kept(group).place) == (0, 0)


def test_places_are_numbered_anew_in_their_order() -> None:
    first, last, deleted = Txn(offset=2, place=5), Txn(offset=3, place=9), Txn(offset=VOID)
    some = OffsetStore(pending=2, top=12, place=7)
    kept, txns = ranked(some, (last, deleted, first))
    assert [txn.place for txn in txns] == [3, 0, 1]
    assert (kept.place, kept.top) == (2, 3)
    before_all, _ = ranked(evolve(some, place=0), (last, deleted, first))
    assert (before_all.place, before_all.top) == (0, 2)


def test_offsets_and_open_transactions_survive_a_fail_over() -> None:
    group = Group(1, variant=VARIANT, fail_over=True)
    asked(group, "reset_offsets")
    commit(group, id=NO_ID, generation=NO_GENERATION)
    group.fails_over()
    assert fetch(group, stable=False) == (NONE, 0)
    assert fetch(group) == (UNSTABLE_OFFSET_COMMIT, NO_OFFSET)
    assert end(group) == "committed"


# -- from outside


def test_offsets_to_which_members_subscribe_are_not_deleted() -> None:
    group = stable()
    group.commit(0)
    assert asked(group, "delete_offsets") == "subscribed"
    assert fetch(group) == (NONE, 1)


def test_before_the_first_generation_a_group_counts_as_subscribed() -> None:
    group = Group(1, variant=VARIANT)
    asked(group, "reset_offsets")
    group.enter(0)
    assert asked(group, "delete_offsets") == "subscribed"


def test_members_that_join_an_emptied_group_lose_the_offset_all_the_same() -> None:
    group = emptied()
    group.enter(0)
    assert asked(group, "delete_offsets") == "deleted"
    assert kept(group).committed == NO_OFFSET


def test_a_deleted_offset_is_void_for_the_transaction_that_is_open() -> None:
    group = emptied()
    commit(group, generation=NO_GENERATION)
    assert asked(group, "delete_offsets") == "deleted"
    assert fetch(group) == (NONE, NO_OFFSET)
    assert end(group) == "void"
    assert fetch(group) == (NONE, NO_OFFSET)


def test_a_group_with_members_is_not_deleted_and_the_other_one_is() -> None:
    group = stable()
    group.commit(0)
    before = group.core
    assert kept(group).other
    assert asked(group, "delete_groups") == "non_empty"
    assert (group.core, fetch(group), kept(group).other) == (before, (NONE, 1), False)


def test_a_deleted_group_has_no_offset_and_begins_with_generation_0() -> None:
    group = emptied()
    group.join(0)  # an id that was handed out goes, too
    assert asked(group, "delete_groups") == "deleted"
    assert (group.core.generation, group.core.pending, group.seat(0)) == (0, 0, None)
    assert asked(group, "delete_groups") == "no_group"
    group.enter(0)
    assert kept(group).there and kept(group).committed == NO_OFFSET


def test_offsets_expire_with_an_empty_group_that_has_no_open_transaction() -> None:
    group = stable()
    group.commit(0)
    assert asked(group, "expire_offsets") == "spared"
    group = emptied()
    commit(group, generation=NO_GENERATION)
    assert asked(group, "expire_offsets") == "spared"
    end(group, committed=False)
    assert asked(group, "expire_offsets") == "deleted"
    assert not kept(group).there
    assert not group.can("expire_offsets")


# -- the scope, and the feature with others


@pytest.mark.parametrize("field", ["reset", "commits"])
def test_a_policy_that_does_not_exist_is_refused_with_those_that_do(field: str) -> None:
    with pytest.raises(ScopeError, match=f"{field} is 'never'"):
        FullOffsetsScope(**{field: "never"})


class StaticFullOffsetsScope(FullOffsetsScope):
    static = True


def static_spec(scope: Any) -> Spec:
    return composed(rules.spec(scope), [static_membership, full_offsets])


STATIC = attrs.evolve(
    load("static_membership"),
    scope_type=StaticFullOffsetsScope,
    spec=static_spec,
    faults={},
    coordinator=load("static_membership").coordinator | VARIANT.coordinator,
)


def test_who_uses_an_id_that_a_static_member_has_replaced_is_fenced_in_its_transaction() -> None:
    group = Group(1, variant=STATIC)
    group.join(0)
    group.initial_delay()
    group.sync(0)
    group.append_commits()
    assert commit(group, id=0) == NONE
    group.join(0)  # it comes back without its id
    group.fire("takeover_committed", 0)
    assert commit(group, id=0) == FENCED_INSTANCE_ID
    assert group.commit(0, id=0).code(0) == FENCED_INSTANCE_ID
    assert commit(group, id=1) == NONE


def test_only_static_members_are_fenced() -> None:
    assert "fenced" not in txn_offset_commit.labels


SIZES = [
    ({}, 142, 328),
    ({"members": 1, "any_faults": 1}, 181, 374),
    ({"members": 1, "any_faults": 1, "commits": "transactions"}, 296, 705),
    (
        {
            "members": 3,
            "generations": 1,
            "commits": "transactions",
            "faults": {"rebalance_timeout": 1},
        },
        2465,
        7368,
    ),
]
LARGER = [
    ({"generations": 2, "commits": "transactions", "faults": {"session_timeout": 1}}, 4003, 12317),
    (
        {
            "generations": 2,
            "faults": {"session_timeout": 1, "expire_offsets": 1, "delete_groups": 1},
        },
        7122,
        24827,
    ),
    ({"generations": 2, "commits": "anonymous", "any_faults": 1}, 16249, 55523),
]


@pytest.mark.parametrize(("scope", "states", "transitions"), [*SIZES, *LARGER])
def test_how_many_states_there_are(scope: dict[str, Any], states: int, transitions: int) -> None:
    verdict = explore(VARIANT.spec(VARIANT.scope_type(**scope)))
    assert (verdict.verdict, verdict.states, verdict.transitions) == (HOLDS, states, transitions)


@pytest.mark.parametrize(("scope", "states", "transitions"), SIZES[:3])
def test_the_obvious_engine_agrees(scope: dict[str, Any], states: int, transitions: int) -> None:
    verdict = reference.explore(VARIANT.spec(VARIANT.scope_type(**scope)))
    assert (verdict.states, verdict.transitions) == (states, transitions)
