"""What a rebalance of KIP-848 costs: cases computed by hand, and its pace."""

from __future__ import annotations

import json

import pytest

from groupcheck.model.engine import UserError
from groupcheck.oracles.command_line import cli
from groupcheck.oracles.simulate import Action, Course, Setup, simulate, with_settings
from groupcheck.oracles.simulate.streams import Streams

# One way of a message, an append, a commit before a revocation, the first record: all known.
N, A, R, S = 10, 20, 30, 40
BEAT = 5_000
KNOWN = with_settings(
    {
        "network_ms": N,
        "append_ms": A,
        "revoke_ms": R,
        "resume_ms": S,
        "service_ms": 0,
        "assign_ms_per_partition": 0,
        "records_per_s": 0,  # an application that has nothing to do is always in poll
    }
)
TWO = Setup(variant="consumer", members=2, partitions=2, assumptions=KNOWN)


def first_beat(seed: int) -> float:
    """When the member that is there sends its next heartbeat."""
    return BEAT * (1 - Streams(TWO.with_(seed=seed).draws)("heartbeat", 0).random())


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_new_member_waits_for_one_heartbeat_of_the_other_and_for_its_own_next_one(
    seed: int,
) -> None:
    """It joins at 0. The answer comes after N + A + N, and the new member acknowledges that it has
    nothing: its next heartbeat leaves BEAT later. Meanwhile the other one hears of the new target,
    stops, commits and gives up a partition. Nobody has that one until the next heartbeat of the new
    member is answered.
    """
    stops = first_beat(seed) + N + A + N
    assert stops + R + N < BEAT, "given up before the new member asks"
    begins = (N + A + N) + BEAT + (N + A + N) + S
    found = simulate(TWO.with_(seed=seed))
    assert found.longest_start_ms == pytest.approx(begins)
    assert found.lag.stopped_partitions == 1
    assert found.lag.stopped_longest_ms == pytest.approx(begins - stops)
    assert (found.paused_members, found.rounds, found.moved_partitions) == (0, 1, 1)


def test_a_member_that_is_fenced_stands_still_for_a_heartbeat_interval() -> None:
    """It hears that it is out, joins, and gets its share with its next heartbeat."""
    found = simulate(TWO.with_(scenario="outage", pause_ms=60_000))
    assert (found.paused_members, found.false_expiries, found.rounds) == (1, 1, 2)
    assert found.longest_pause_ms == pytest.approx((N + A + N) + BEAT + (N + A + N) + S)


def test_a_member_for_which_nothing_is_left_knows_it_with_its_first_answer() -> None:
    found = simulate(Setup(variant="consumer", members=2, partitions=1, assumptions=KNOWN))
    assert found.longest_start_ms == pytest.approx(N + A + N)
    assert (found.moved_partitions, found.lag.stopped_partitions) == (0, 0)


def test_joins_within_the_assignment_interval_wait_for_it_together() -> None:
    """The second and the third come after the target of the first one, and share the next one."""
    course = Course(1, tuple(Action(100 * k, "start", 1 + k) for k in range(3)))
    setup = Setup(variant="consumer", members=4, partitions=4, course=course, assumptions=KNOWN)
    assert simulate(setup).rounds == 2
    assert simulate(setup.with_(consumer_assignment_interval_ms=0)).rounds == 3


def test_only_the_settings_of_the_broker_pace_a_consumer_group() -> None:
    setup = Setup(variant="consumer", members=12, partitions=24)
    usual = simulate(setup)
    assert simulate(setup.with_(heartbeat_interval_ms=2_000)).requests == usual.requests
    faster = with_settings({"group.consumer.heartbeat.interval.ms": "1s"})
    assert simulate(setup.with_(assumptions=faster)).longest_start_ms < 0.5 * usual.longest_start_ms


def test_a_dead_process_is_missed_after_the_session_of_the_broker() -> None:
    setup = Setup(variant="consumer", members=12, partitions=24, scenario="crash")
    found = simulate(setup.with_(consumer_session_timeout_ms=20_000))
    assert found.settled_ms is not None
    assert 20_000 - BEAT < found.settled_ms < 20_000 + 2 * BEAT
    assert found.paused_members == 0 and found.lag.stopped_partitions == 2


def test_a_sick_host_holds_up_nobody_but_its_own_partitions() -> None:
    setup = Setup(variant="consumer", members=12, partitions=24, scenario="sick-host")
    found = simulate(setup)
    assert found.paused_members == 0 and found.settled_ms is not None
    # It leaves after max.poll.interval.ms; then the others hear of it.
    assert 300_000 < found.lag.stopped_longest_ms < 300_000 + 2 * BEAT


def test_the_protocols_stand_side_by_side(capsys: pytest.CaptureFixture[str]) -> None:
    command = "simulate --members 8 --replications 2 --json --compare"
    assert cli.run([*command.split(), "classic,cooperative,consumer,async_server"]) == 0
    told = json.loads(capsys.readouterr().out)
    rows = {row["variant"]: row for row in told["variants"]}
    assert [*rows] == ["classic", "cooperative", "consumer", "async_server"]


def restarted(rule: str, away_ms: float, *, static: bool = True) -> Setup:
    """One of two members stops after 10 s, and comes back after this time."""
    at = 10_000.0
    course = Course(2, (Action(at, rule, 1), Action(at + away_ms, "start", 1)))
    return TWO.with_(static=static, course=course, seconds=200)


@pytest.mark.parametrize(
    ("rule", "away_s", "static", "rounds"),
    [
        ("close", 20, True, 0),
        ("close", 60, True, 2),  # its session ends after 45 s
        ("close", 20, False, 2),
        ("crash", 60, True, 2),
        ("crash", 20, False, 2),
    ],
)
def test_a_static_member_that_is_back_before_its_session_ends_begins_no_round(
    rule: str, away_s: int, static: bool, rounds: int
) -> None:
    assert simulate(restarted(rule, away_s * 1_000, static=static)).rounds == rounds


def test_a_static_member_that_died_is_refused_as_long_as_its_session_lasts() -> None:
    """It comes back after 20 s, is refused (UNRELEASED_INSTANCE_ID), and its process is started
    again every 7 s, until the session of the one before is over.
    """
    told: list[tuple[str, int]] = []
    # With this seed it comes back more than an assignment interval after the end of its session.
    setup = restarted("crash", 20_000).with_(restart_ms=7_000, seed=1)
    found = simulate(setup, lambda group, rule, index: told.append((rule, index)))
    refused = told.count(("hear_answer:fatal", 1))
    session_over = 45_000 - 20_000  # about: the last heartbeat came before the crash
    assert session_over // 7_100 - 1 <= refused <= session_over // 7_000 + 1
    assert found.rounds == 2 and found.settled_ms is not None


def test_static_members_of_the_classic_protocol_are_a_variant_of_their_own() -> None:
    with pytest.raises(UserError, match="variant of their own"):
        simulate(Setup(static=True))
