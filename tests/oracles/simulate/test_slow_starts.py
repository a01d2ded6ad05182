"""What is measured where a member takes long to begin with a share, longer than until the next
round.
"""

from __future__ import annotations

import pytest

from groupcheck.oracles.simulate import Result, Setup, simulate

RESTART_MS, GAP_MS, RESUME_MS = 20_000.0, 5_000.0, 120_000.0
MEMBERS = 4
LAST_START_MS = (MEMBERS - 1) * (RESTART_MS + GAP_MS) + RESTART_MS


def rolling_restart(variant: str) -> Result:
    setup = Setup(variant=variant, scenario="rolling-restart", members=MEMBERS, partitions=MEMBERS)
    return simulate(
        setup.with_(
            resume_ms=RESUME_MS,
            restart_ms=RESTART_MS,
            restart_gap_ms=GAP_MS,
            changed_members=MEMBERS,
        )
    )


@pytest.fixture(scope="module")
def eager() -> Result:
    return rolling_restart("classic")


def test_who_gets_a_partition_again_begins_anew(eager: Result) -> None:
    """Each round takes all partitions away, so nobody works before the last one is over."""
    assert eager.lag.stopped_longest_ms > LAST_START_MS + RESUME_MS


def test_a_static_member_begins_once(eager: Result) -> None:
    static = rolling_restart("static_membership")
    assert static.lag.stopped_longest_ms == pytest.approx(RESTART_MS + RESUME_MS, rel=0.02)
    assert eager.rounds == 2 * MEMBERS and static.rounds == 0


def test_a_partition_moves_although_its_new_owner_has_not_begun(eager: Result) -> None:
    assert eager.moved_partitions > MEMBERS
    assert rolling_restart("static_membership").moved_partitions == 0


def test_a_pause_counts_although_the_scenario_ends_it(eager: Result) -> None:
    """Every member is stopped in the end, in the middle of a pause; but for the first."""
    assert eager.paused_members == MEMBERS - 1
    assert eager.longest_pause_ms == pytest.approx(LAST_START_MS - RESTART_MS, abs=5_000)
