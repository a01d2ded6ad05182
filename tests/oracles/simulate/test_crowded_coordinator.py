"""What several things at once cost: a join during SyncGroup, and two groups on one coordinator."""

from __future__ import annotations

from collections import Counter

import pytest

from groupcheck.model.engine import UserError
from groupcheck.oracles.simulate import Setup, simulate, with_settings

SLOW_SYNC = with_settings({"append_ms": 1_000, "assign_ms_per_partition": 20})
EIGHT = Setup(scenario="late-join", members=8, partitions=8, assumptions=SLOW_SYNC)


def fired(setup: Setup) -> tuple[Counter[str], float]:
    seen: Counter[str] = Counter()
    found = simulate(setup, lambda group, rule, index: seen.update([rule]))
    assert found.settled_ms is not None
    return seen, found.longest_pause_ms


def test_a_join_during_sync_group_makes_all_join_again_without_another_heartbeat() -> None:
    """The late member joins while the leader makes its plan. The seven others are told so by the
    answer to SyncGroup (27), and join again at once. The first plan is never appended, so nobody
    works in between; but no heartbeat is waited for, either.
    """
    late, pause = fired(EIGHT)
    usual, once = fired(Setup(members=8, partitions=8, assumptions=SLOW_SYNC))
    assert simulate(EIGHT).rounds == 2
    assert (late["sync_answer:retry"], usual["sync_answer:retry"]) == (7, 0)
    assert late["append_committed"] == usual["append_committed"] == 2  # of the first group, too
    assert pause < once + 1_000 < once + 3_000


@pytest.mark.parametrize("variant", ["cooperative", "consumer", "async_server", "connect"])
def test_a_late_member_gets_its_share_with_every_protocol(variant: str) -> None:
    setup = Setup(variant=variant, scenario="late-join", members=8, partitions=8)
    found = simulate(setup)
    assert found.settled_ms is not None and found.rounds >= 2


def test_two_groups_wait_for_one_thread() -> None:
    """Each has n members and each JoinGroup takes b * n: the thread is done with both after
    2 * n * n * b, with one of them after half of that.
    """
    n, b = 20, 40.0
    alone = Setup(members=n, partitions=n).with_(join_ms_per_member=b)
    both = alone.with_(other_group_members=n)
    longest = [simulate(setup).longest_pause_ms for setup in (alone, both)]
    assert longest[0] == pytest.approx(n * n * b, rel=0.1)
    assert 1.7 * n * n * b < longest[1] < 2.2 * n * n * b


@pytest.mark.parametrize("variant", ["classic", "consumer", "async_server"])
def test_another_group_changes_nothing_of_the_protocol(variant: str) -> None:
    """It is another group: this one's members, rounds and moves are the same, and so are its draws
    where the thread takes no time.
    """
    setup = Setup(variant=variant, members=6, partitions=6).with_(service_ms=0, answer_ms=0)
    setup = setup.with_(assign_ms_per_partition=0)
    alone, beside = simulate(setup), simulate(setup.with_(other_group_members=9))
    assert alone.measures == beside.measures


def test_another_group_has_whole_members() -> None:
    with pytest.raises(UserError, match="not a whole number"):
        with_settings({"other_group_members": 1.5})
    with pytest.raises(UserError, match="members is"):
        simulate(Setup(members=3, partitions=3).with_(other_group_members=1))
