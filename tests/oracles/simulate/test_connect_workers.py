"""Kafka Connect under the clock: lost work waits for the delay and a round, and workers that keep
their work do not pause.
"""

from __future__ import annotations

import pytest

from groupcheck.oracles.simulate import Setup, simulate, sizes
from groupcheck.oracles.simulate.running import Group
from groupcheck.oracles.simulate.scenarios import SCENARIOS, Action, Course, Scenario

SMALL = Setup(variant="connect", members=12, partitions=24)
SESSION_MS = SMALL.assumptions.session_timeout_ms
BEAT_MS = SMALL.assumptions.heartbeat_interval_ms
ROUND_MS = BEAT_MS + SMALL.assumptions.retry_backoff_ms + 200  # until all have heard and joined


@pytest.mark.parametrize("delay_ms", [1_000, 20_000, 300_000])
def test_lost_work_is_idle_for_the_delay_and_a_round(delay_ms: int) -> None:
    found = simulate(SMALL.with_(scenario="scale-in", rebalance_delay_ms=delay_ms))
    assert delay_ms < found.lag.stopped_longest_ms < delay_ms + ROUND_MS
    assert (found.rounds, found.lag.stopped_partitions, found.paused_members) == (2, 2, 0)


def test_without_a_delay_the_first_round_gives_lost_work_away() -> None:
    found = simulate(SMALL.with_(scenario="scale-in", rebalance_delay_ms=0))
    assert found.lag.stopped_longest_ms < ROUND_MS
    assert found.rounds == 1


def test_the_work_of_a_crashed_worker_waits_for_its_session_first() -> None:
    found = simulate(SMALL.with_(scenario="crash", rebalance_delay_ms=20_000))
    noticed = found.lag.stopped_longest_ms - 20_000
    assert SESSION_MS - BEAT_MS - 100 < noticed < SESSION_MS + ROUND_MS


def test_a_worker_that_is_back_gets_its_work_again_when_the_delay_is_over() -> None:
    found = simulate(SMALL.with_(scenario="bounce", rebalance_delay_ms=60_000))
    assert found.moved_partitions == 0 and found.rounds == 2
    assert found.lag.stopped_longest_ms > 60_000
    assert found.settled_ms == pytest.approx(found.lag.stopped_longest_ms)


def test_a_new_worker_gets_its_share_in_two_rounds_and_nobody_pauses() -> None:
    found = simulate(SMALL.with_(scenario="scale-out"))
    assert (found.rounds, found.moved_partitions, found.paused_members) == (2, 2, 0)
    assert found.settled_ms is not None and found.settled_ms < 2 * ROUND_MS


def test_a_leader_that_revokes_twice_in_a_row_waits_for_40_ms(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """ExponentialBackoff of IncrementalCooperativeAssignor; each worker waits as long from its
    answer on, which comes an append later.
    """
    starts = Course(12, (Action(0, "start", 12), Action(4_000, "start", 13)))
    two = Scenario("two-starts", "Two workers start shortly after each other.", lambda *_: starts)
    monkeypatch.setitem(SCENARIOS, two.name, two)
    fired: dict[str, list[float]] = {}

    def watch(group: Group, rule: str, index: int) -> None:
        fired.setdefault(rule, []).append(group.clock.now)

    found = simulate(SMALL.with_(members=14, partitions=28, scenario=two.name), watch)
    (over,) = fired["delay_over"]
    assert len(fired["scheduled_rejoin"]) == 14
    assert all(over < time < over + 40 for time in fired["scheduled_rejoin"])
    answered = max(time for time in fired["answer_joins"] if time < over)
    assert over - answered == pytest.approx(40, abs=1)
    assert found.rounds == 4


def test_a_worker_says_what_it_runs_as_kafka_writes_it() -> None:
    """As IncrementalCooperativeConnectProtocol.serializeMetadata of Kafka 4.0.0 wrote it."""
    head = "00020018687474703a2f2f776f726b65722d303030303a383038332f0000000000000000"
    assert sizes.worker_state(0).hex() == head + "ffffffff"
    url = "0018687474703a2f2f776f726b65722d303030303a383038332f"
    told = f"00020000002e{'6d' * 46}{url}{'00' * 8}000000010014{'63' * 20}"
    tasks = "00000003000000000000000100000002"
    assert sizes.worker_state(3).hex() == f"{head}00000088{told}{tasks}{'00' * 8}"
