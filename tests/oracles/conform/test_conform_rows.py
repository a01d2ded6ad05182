"""The rows of the coordinator at a scope: what they are, and that they are all there."""

from __future__ import annotations

from groupcheck.model.protocol.classic.rules import COORDINATOR, spec
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.model.protocol.messages import (
    NO_ID,
    Heartbeat,
    JoinGroup,
    LeaveGroup,
    OffsetCommit,
    SyncGroup,
)
from groupcheck.model.variants import load
from groupcheck.oracles.conform.row import STRANGER, Asks, Fires, Memory
from groupcheck.oracles.conform.rows import Rows

FAULTS = load("classic").coordinator_faults


def rows_of(members: int = 1, generations: int = 1, faults: tuple[str, ...] = ()) -> Rows:
    scope = Scope(
        members=members, generations=generations, faults=dict.fromkeys(faults, 99), assignor="range"
    )
    return Rows(scope, spec(scope), COORDINATOR)


def everything(rows: Rows) -> tuple[list[Memory], int]:
    """Memories in the order of their discovery, and the number of rows."""
    found, count = [rows.start()], 0
    for memory in found:
        for given in rows.inputs(memory):
            outcomes = rows.outcomes(memory, given)
            count += bool(outcomes)
            found += [o.after for o in outcomes if o.after not in found]
    return found, count


def step(rows: Rows, memory: Memory, given: Asks | Fires) -> Memory:
    (outcome,) = rows.outcomes(memory, given)
    return outcome.after


def test_nobody_can_do_anything_but_join_an_empty_group_or_be_a_stranger():
    rows = rows_of()
    asked = [given.request for given in rows.inputs(rows.start()) if isinstance(given, Asks)]
    assert asked[0] == JoinGroup(NO_ID)
    assert {r.id for r in asked[1:]} == {STRANGER}
    assert {type(r) for r in asked} == {JoinGroup, SyncGroup, Heartbeat, OffsetCommit, LeaveGroup}


def test_a_parked_join_is_answered_by_the_initial_delay_and_a_request_beside_it_at_once():
    rows = rows_of()
    named = step(rows, rows.start(), Asks(0, JoinGroup(NO_ID)))
    parked = step(rows, named, Asks(0, JoinGroup(0)))
    (left,) = rows.outcomes(parked, Asks(0, LeaveGroup(0)))
    assert [(t.parked, t.answer.code) for t in left.told] == [(True, 25), (False, 0)]
    (begun,) = rows.outcomes(parked, Fires("initial_delay"))
    assert [(t.parked, t.answer.code, t.answer.generation) for t in begun.told] == [(True, 0, 1)]


def test_a_fault_that_the_scope_leaves_out_is_no_row():
    assert not {
        o
        for memory in everything(rows_of())[0]
        for o in rows_of().outcomes(memory, Fires("session_timeout", 0, 0))
    }
    with_it = rows_of(faults=("session_timeout",))
    named = step(with_it, with_it.start(), Asks(0, JoinGroup(NO_ID)))
    assert step(with_it, named, Fires("session_timeout", 0, 0)) == with_it.start()


def test_the_rows_are_finite_although_faults_have_no_budget_and_stop_behind_the_last_generation():
    memories, _ = everything(rows_of(faults=FAULTS))
    assert max(m.core.generation for m in memories) == 2
    assert not [given for m in memories if m.core.generation == 2 for given in rows_of().inputs(m)]


def test_the_number_of_rows_of_one_member_in_one_generation():
    assert [
        (len(m), n) for m, n in (everything(rows_of()), everything(rows_of(faults=FAULTS)))
    ] == [(38, 443), (69, 818)]
