"""A replica of the offsets that lags, compaction, and pinned counts."""

from __future__ import annotations

from typing import Any

import pytest

from groupcheck.model.engine.staged import explore
from groupcheck.model.engine.verdict import HOLDS, Verdict
from groupcheck.model.protocol.classic.features.full_offsets.kept import NO_OFFSET, OffsetStore
from groupcheck.model.protocol.classic.features.replicas import (
    Copy,
    append,
    catch_up,
    clean_tombstone,
    loaded,
)
from groupcheck.oracles.explain.subject import subject

EXPIRES = {"replica_lags": 1, "session_timeout": 1, "expire_offsets": 1}


def checked(**fields: Any) -> Verdict:
    return explore(subject("offsets+replicas", **fields).spec)


@pytest.mark.parametrize(
    ("fields", "states", "transitions"),
    [
        ({"members": 1, "generations": 1, "any_faults": 1}, 157, 338),
        ({"members": 1, "generations": 2, "faults": EXPIRES}, 357, 870),
        (
            {"members": 1, "generations": 1, "faults": {"replica_lags": 1, "fail_over": 1}},
            77,
            184,
        ),
    ],
)
def test_all_promises_hold(fields: dict[str, Any], states: int, transitions: int) -> None:
    verdict = checked(**fields)
    assert (verdict.verdict, verdict.states, verdict.transitions) == (HOLDS, states, transitions)


def test_a_replica_in_sync_has_the_record_before_anybody_hears_of_it_and_another_one_has_not() -> (
    None
):
    commits = OffsetStore(committed=3, logged=3, there=True)
    for in_sync, held in ((True, 3), (False, 1)):
        ((_, copy),) = append.call(commits, Copy(in_sync=in_sync, held=1, led=1))
        assert copy == Copy(in_sync=in_sync, held=held, led=3)


def test_what_was_removed_is_never_fetched() -> None:
    late = Copy(in_sync=False, held=1, tombstone=True)
    assert [c.held for c in catch_up.call(late)] == [NO_OFFSET]
    assert [c.held for c in catch_up.call(Copy(in_sync=False, held=1))] == [1]


def test_a_tombstone_stays_until_every_replica_has_seen_it() -> None:
    assert [*clean_tombstone.call(Copy(in_sync=False, held=1, tombstone=True))] == []
    assert [*clean_tombstone.call(Copy(tombstone=True))] == [Copy()]


def test_a_replica_that_is_elected_brings_its_own_offset_and_with_it_the_group() -> None:
    found = loaded(OffsetStore(), Copy(in_sync=True, held=1))
    assert (found.committed, found.logged, found.there) == (1, 1, True)


def test_the_dangerous_situations_are_met_and_nothing_breaks() -> None:
    verdict = checked(members=1, generations=2, faults=EXPIRES)
    assert verdict.verdict == HOLDS
    met = {"old_offset_behind_a_tombstone", "commit_without_a_replica"}
    assert not met & {*verdict.goals_not_met}
