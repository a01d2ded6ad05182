"""OffsetCommit at the classic coordinator (the table of section 1.10, as far as members of the
group send them).
"""

from __future__ import annotations

import pytest
from coordinator_driver import round_of, stable

from groupcheck.model.protocol.classic.group import Phase
from groupcheck.model.protocol.codes import (
    ILLEGAL_GENERATION,
    NONE,
    REBALANCE_IN_PROGRESS,
    UNKNOWN_MEMBER_ID,
)


def test_a_commit_of_a_member_of_the_current_generation_is_stored() -> None:  # [O1]
    group = stable(2)
    assert group.commit(1, 1).code(1) == NONE
    assert group.offsets.committed == 1


def test_a_commit_is_stored_even_if_the_member_does_not_own_the_partition() -> None:
    group = stable(2, partitions=1)
    assert group.seat(1).share == 0
    assert group.commit(1, 1).code(1) == NONE


def test_a_commit_while_a_round_runs_is_stored() -> None:  # [O1]
    group = stable(2)
    group.join(0, 0, claimed=1)
    assert group.phase == Phase.PREPARING
    assert group.commit(1, 1).code(1) == NONE
    assert group.offsets.committed == 1


def test_a_commit_between_join_and_sync_is_refused() -> None:  # [O1]
    group = round_of(2)
    assert group.commit(1, 1).code(1) == REBALANCE_IN_PROGRESS
    assert group.offsets.committed == 0


@pytest.mark.parametrize("generation", [0, 2])
def test_a_commit_of_another_generation_is_refused(generation: int) -> None:  # [O1]
    group = stable(2)
    assert group.commit(1, 1, generation).code(1) == ILLEGAL_GENERATION
    assert group.offsets.committed == 0


def test_while_the_new_generation_syncs_the_old_one_is_told_so_and_not_that_a_round_runs() -> None:
    group = stable(2)
    for i in (0, 1):
        group.join(i, 0, claimed=1)
    assert (group.phase, group.core.generation) == (Phase.COMPLETING, 2)
    assert group.commit(1, 1, generation=1).code(1) == ILLEGAL_GENERATION


def test_a_commit_of_a_removed_member_is_refused() -> None:  # [O1]
    group = stable(2)
    group.session_expires(1)
    assert group.commit(1, 1).code(1) == UNKNOWN_MEMBER_ID
    assert group.offsets.committed == 0


def test_a_commit_of_a_pending_id_is_refused() -> None:
    group = stable(2, 1)
    assert group.commit(1, 1, id=group.join(1).answers[1].id).code(1) == UNKNOWN_MEMBER_ID


# [O1]
def test_a_commit_with_a_generation_to_an_empty_group_names_the_member_not_the_generation() -> None:
    group = stable(1)
    group.leave(0)
    assert group.commit(0, 1, generation=1).code(0) == UNKNOWN_MEMBER_ID


def test_offsets_may_go_backwards() -> None:  # [O2]
    group = stable(1, records=2)
    group.commit(0, 2)
    assert group.commit(0, 1).labels[-1] == "store_offset:backwards"
    assert group.offsets.committed == 1


def test_a_commit_behind_a_parked_join_is_read_after_the_joins_answer_and_then_is_too_old() -> None:
    """Seen live: a valid commit, 0.7 s behind a JoinGroup on its connection, is refused with 22."""
    group = stable(2)
    group.join(0, 0, claimed=1)
    assert group.commit(0, 1, generation=1).codes == {}
    group.join(1, 0, claimed=1)
    assert group.reads_next(0).code(0) == ILLEGAL_GENERATION
    assert group.offsets.committed == 0
