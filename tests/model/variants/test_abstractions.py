"""Every abstraction of the classic model beside the model without it (see `variations`): nothing
that anybody could see is lost.

Two members. Memories are compared whatever the numbers of ids, and where the abstraction drops dead
values, without those.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
import variations
from all_states import Space, explore_all
from views import beliefs, fired, live_memories, memories

from groupcheck.model.engine import Spec, evolve
from groupcheck.model.protocol.classic import client, client_faults
from groupcheck.model.protocol.classic.client import Client, Member, Prepare
from groupcheck.model.protocol.classic.rules import spec
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.model.protocol.faults import CLASSIC_FAULTS


def at(*faults: str, generations: int = 2, **scope: Any) -> Scope:
    return Scope(
        **{
            "assignor": "any",
            "generations": generations,
            "faults": dict.fromkeys(faults, 1),
            **scope,
        }
    )


@cache
def model_at(scope: Scope) -> Space:
    """The states of the model, which several abstractions are compared with."""
    return explore_all(spec(scope))


def ids(faults: tuple[str, ...]) -> str:
    return "+".join(faults) or "none"


def beside(without: Callable[[Scope], Spec], scope: Scope) -> tuple[Space, Space]:
    """The model and the one without the abstraction; the latter is larger, or the comparison shows
    nothing.
    """
    model, larger = model_at(scope), explore_all(without(scope))
    assert len(larger.states) > len(model.states)
    return model, larger


MANY = [
    (),
    ("session_timeout",),
    ("crash",),
    ("session_timeout", "disconnect"),
    ("rebalance_timeout", "close"),
    ("append_failure", "poll_timeout"),
]


@pytest.mark.parametrize("faults", [*MANY, ("fail_over",)], ids=ids)
def test_on_join_complete_in_the_step_of_the_sync_answer_loses_nothing(
    faults: tuple[str, ...],
) -> None:
    model, larger = (
        model_at(at(*faults)),
        explore_all(spec(at(*faults, atomic_complete=False))),
    )
    assert len(larger.states) > len(model.states)
    assert (memories(larger), beliefs(larger)) == (memories(model), beliefs(model))
    assert fired(larger) == fired(model) | {"join_complete"}


@pytest.mark.parametrize(
    ("generations", "faults"),
    [
        (2, ("session_timeout",)),
        (2, ("delay_request", "session_timeout")),
        (2, ("lose_response",)),
        (1, ("fail_over", "crash")),
    ],
)
def test_numbers_of_ids_that_are_used_again_lose_nothing(
    generations: int, faults: tuple[str, ...]
) -> None:
    scope = at(*faults, generations=generations)
    model, larger = (
        model_at(scope),
        explore_all(variations.with_ids_never_used_again(scope)),
    )
    assert (memories(larger), beliefs(larger), fired(larger)) == (
        memories(model),
        beliefs(model),
        fired(model),
    )


@pytest.mark.parametrize(
    "faults", [*MANY, ("fail_over",), ("sync_timeout",), ("new_member_timeout",)], ids=ids
)
def test_what_is_forgotten_because_no_fault_can_read_it_any_more_is_missed_by_nobody(
    faults: tuple[str, ...],
) -> None:
    model, larger = beside(variations.with_nothing_forgotten, at(*faults))
    assert (live_memories(larger), beliefs(larger)) == (live_memories(model), beliefs(model))
    assert fired(larger) - fired(model) <= {"record_plan"}


@pytest.mark.parametrize("faults", [*MANY, ("sync_timeout",)], ids=ids)
def test_old_assignments_and_claims_that_a_new_round_clears_are_missed_by_nobody(
    faults: tuple[str, ...],
) -> None:
    model, larger = (
        model_at(at(*faults)),
        explore_all(variations.with_old_assignments_kept(at(*faults))),
    )
    assert (live_memories(larger), beliefs(larger), fired(larger)) == (
        live_memories(model),
        beliefs(model),
        fired(model),
    )
    assert memories(larger) != memories(model)


@pytest.mark.parametrize(
    "faults", [("session_timeout",), ("close",), ("sync_timeout", "new_member_timeout")], ids=ids
)
def test_an_extension_of_the_initial_delay_that_leaks_into_a_later_round_cannot_be_seen(
    faults: tuple[str, ...],
) -> None:
    model, larger = beside(variations.with_a_leaking_flag, at(*faults))
    assert (live_memories(larger), beliefs(larger), fired(larger)) == (
        live_memories(model),
        beliefs(model),
        fired(model),
    )


@pytest.mark.parametrize(
    "faults",
    [(), ("append_failure",), ("session_timeout",), ("sync_timeout", "disconnect")],
    ids=ids,
)
def test_an_assignment_chosen_when_its_append_commits_loses_nothing(
    faults: tuple[str, ...],
) -> None:
    model, larger = beside(variations.with_an_early_plan, at(*faults))
    assert (live_memories(larger), beliefs(larger)) == (live_memories(model), beliefs(model))
    assert fired(larger) - {"record_plan"} == fired(model) - {"forget"}


@pytest.mark.parametrize("faults", [("crash",), ("close",), ("crash", "session_timeout")], ids=ids)
def test_a_process_that_is_down_is_one_that_has_not_joined_yet(faults: tuple[str, ...]) -> None:
    model, larger = beside(variations.with_processes_that_are_down, at(*faults))
    assert (memories(larger), beliefs(larger)) == (memories(model), beliefs(model))
    assert fired(larger) == fired(model) | {"start"}


@pytest.mark.parametrize(
    "faults",
    [(), ("session_timeout",), ("lose_response",), ("crash", "poll_timeout"), ("fail_over",)],
    ids=ids,
)
def test_commits_of_what_is_committed_already_change_nothing(
    faults: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = model_at(at(*faults))

    def must_commit_first(member: Client, scope: Scope) -> bool:
        return (
            scope.autocommit
            and member.state == Member.STABLE
            and member.prepare == Prepare.NEEDED
            and member.position >= 0
        )

    def can_commit(member: Client) -> bool:
        return client_can_commit(evolve(member, dirty=True))

    client_can_commit = client.can_commit
    for module in (client, client_faults):
        monkeypatch.setattr(module, "must_commit_first", must_commit_first)
        monkeypatch.setattr(module, "can_commit", can_commit)
    larger = explore_all(variations.with_commits_of_what_is_committed(at(*faults)))
    assert (memories(larger), beliefs(larger)) == (memories(model), beliefs(model))
    assert fired(larger) - fired(model) <= {
        "store_offset:again",
        "commit_answer:refused",
        "offset_commit:unknown",
    }


def of_partition(p: int, space: Space) -> set[tuple[Any, ...]]:
    """The beliefs about one partition in a model of all."""
    digit = variations.digit
    found = set()
    for _, committed, processed, *own in beliefs(space):
        members = [
            (owned, digit(position, p) - 1, member, current)
            for owned, position, member, current in own
        ]
        found.add((p, digit(committed, p), digit(processed, p), *members))
    return found


@pytest.mark.parametrize(
    "faults",
    [(), ("session_timeout",), ("poll_timeout",), ("rebalance_timeout",), ("lose_request",)],
    ids=ids,
)
def test_watching_one_partition_after_the_other_shows_what_all_of_them_together_do(
    faults: tuple[str, ...],
) -> None:
    scope = at(*faults, assignor="range", partitions=2)
    model, larger = beside(variations.with_all_partitions, scope)
    assert memories(larger) == memories(model)
    assert of_partition(0, larger) | of_partition(1, larger) == beliefs(model)


def test_any_one_fault_is_every_single_fault_and_nothing_else() -> None:
    any_one = explore_all(spec(Scope(assignor="any", generations=1, any_faults=1)))
    single = [explore_all(spec(at(fault, generations=1))) for fault in CLASSIC_FAULTS]
    assert live_memories(any_one) == set().union(*map(live_memories, single))
    assert beliefs(any_one) == set().union(*map(beliefs, single))
    assert fired(any_one) - {"record_plan"} == set().union(*map(fired, single)) - {"record_plan"}
