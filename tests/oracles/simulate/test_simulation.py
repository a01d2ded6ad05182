"""What a simulation promises: equal seeds give equal numbers, variants do not touch each other, and
each figure is what it says.
"""

from __future__ import annotations

import json
import math

import attrs
import cattrs
import pytest

from groupcheck.model.engine import UserError, reference, values
from groupcheck.model.protocol.messages import NO_GENERATION
from groupcheck.model.variants import load
from groupcheck.model.variants.registry import names
from groupcheck.oracles.check.run import check
from groupcheck.oracles.command_line import cli, cli_simulate
from groupcheck.oracles.simulate import (
    SCENARIOS,
    Action,
    Assumptions,
    Course,
    Setup,
    compare,
    document,
    documented,
    simulate,
    sizes,
    with_settings,
)
from groupcheck.oracles.simulate.drives import undriven
from groupcheck.oracles.simulate.protocol import heartbeats_go_on, simulated
from groupcheck.oracles.simulate.running import Group
from groupcheck.traces.messages.consumer_protocol import subscription

SIMULATED = (
    "async_server",
    "classic",
    "connect",
    "consumer",
    "cooperative",
    "cooperative_mixed",
    "cooperative_rounds",
    "cooperative_static",
    "cooperative_triggers",
    "mixed_membership",
    "static_membership",
    "triggers",
)
SMALL = Setup(members=12, partitions=24)


def test_equal_setups_give_equal_results_and_other_seeds_other_ones() -> None:
    first = simulate(SMALL)
    assert simulate(SMALL) == first
    assert simulate(SMALL.with_(seed=1)).longest_pause_ms != first.longest_pause_ms


@pytest.mark.parametrize(("length_ms", "rounds"), [(30_000, 0), (60_000, 2)])
def test_a_paused_process_is_removed_once_its_session_is_over(
    length_ms: float, rounds: int
) -> None:
    """It neither polls nor sends heartbeats, and joins again when it goes on."""
    course = Course(4, (Action(0, "pause", 0, length_ms),))
    setup = Setup(members=4, partitions=8, course=course)
    found = simulate(setup)
    assert found.rounds == rounds and found.settled_ms is not None
    assert found.false_expiries == (rounds > 0)


def memories() -> list[Any]:
    """What remembers results: of changes to the fields of values, and of functions."""
    of_values = [m for changes in values._classes.values() for m in changes.memories.values()]
    return [*of_values, *values._functions]


@pytest.mark.parametrize("variant", ["classic", "cooperative", "async_server"])
def test_what_ran_before_in_the_process_changes_nothing(variant: str) -> None:
    """Neither another simulation nor a search, which remembers values; and a simulation remembers
    none, so that those of thousands of members do not stay.
    """
    setup = SMALL.with_(variant=variant, answer_ms=1, seed=7)
    first = simulate(setup)
    simulate(setup.with_(members=3, seed=8))
    check(variant, members=2, generations=1)
    spared, results = [m.spared for m in memories()], sum(len(m.made or ()) for m in memories())
    assert any(spared) and simulate(setup) == first
    assert [m.spared for m in memories()] == spared
    assert sum(len(m.made or ()) for m in memories()) <= results


def test_a_variant_has_the_same_numbers_whatever_it_is_compared_with() -> None:
    there = [SMALL.with_(variant=name) for name in ("classic", "async_server", "cooperative")]
    forwards = compare(there, replications=2, seed=5)
    backwards = compare(there[::-1], replications=2, seed=5)
    assert forwards.rows == backwards.rows[::-1]


def test_a_scenario_does_the_same_to_every_variant() -> None:
    """The sick host leaves at the same moment, whatever else the group does meanwhile."""
    left = set()
    for name in ("classic", "cooperative", "mixed_membership"):

        def watch(group: Group, rule: str, index: int) -> None:
            if rule.startswith("poll_timeout"):
                left.add((index, round(group.clock.now)))

        simulate(SMALL.with_(variant=name, scenario="sick-host", seed=3), watch)
    assert left == {(next(iter(left))[0], 300_000)}


def test_an_eager_group_stops_as_a_whole_and_others_do_not() -> None:
    setups = [SMALL.with_(variant=v) for v in ("classic", "cooperative", "async_server")]
    eager, cooperative, server = (row.results[0] for row in compare(setups).rows)
    assert eager.paused_members == 11 and eager.lag.stopped_partitions == 24
    assert cooperative.paused_members == 0 and cooperative.rounds == 2
    assert 0 < server.paused_members < 4
    assert eager.longest_pause_ms > 100 * server.longest_pause_ms


def test_the_pause_of_an_eager_group_is_about_a_heartbeat_interval() -> None:
    for beat in (1_000, 6_000):
        found = simulate(Setup(members=40, partitions=40).with_(heartbeat_interval_ms=beat))
        assert 0.7 * beat < found.longest_pause_ms < beat + 1_500


def test_a_sick_host_holds_up_an_eager_group_until_it_has_to_leave() -> None:
    found = simulate(SMALL.with_(scenario="sick-host"))
    # The others stop at 10 s, and max.poll.interval.ms is over at 300 s.
    assert found.longest_pause_ms == pytest.approx(290_000, abs=2_000)
    assert found.rounds == 2
    assert found.requests["LeaveGroup"] == 1


def test_a_static_member_that_is_back_in_time_costs_nobody_a_pause() -> None:
    setup = SMALL.with_(scenario="bounce", variant="static_membership")
    static, dynamic = simulate(setup), simulate(attrs.evolve(setup, variant="classic"))
    assert (static.rounds, static.paused_members, static.moved_partitions) == (0, 0, 0)
    # The ghost of the first process holds up the round until its session ends.
    assert dynamic.longest_pause_ms > 30_000


def test_a_crash_is_noticed_after_the_session_timeout() -> None:
    for timeout in (10_000, 20_000):
        found = simulate(SMALL.with_(scenario="crash", session_timeout_ms=timeout))
        assert found.settled_ms is not None
        # Since the last heartbeat; then the others have to hear of the round.
        assert timeout - 3_100 <= found.settled_ms <= timeout + 4_500


def test_an_outage_costs_an_eager_group_two_rounds_unless_the_session_outlasts_it() -> None:
    outage = SMALL.with_(scenario="outage", pause_ms=30_000, session_timeout_ms=45_000)
    calm = simulate(outage)
    assert (calm.rounds, calm.false_expiries, calm.lag.stopped_partitions) == (0, 0, 0)
    short = simulate(outage.with_(session_timeout_ms=10_000))
    assert (short.rounds, short.false_expiries) == (2, 1)
    assert short.paused_members == outage.members and short.settled_ms > 30_000


def test_a_cold_start_waits_for_the_initial_delay() -> None:
    found = simulate(SMALL.with_(scenario="cold-start", start_spread_ms=0))
    assert found.longest_start_ms == pytest.approx(6_000, abs=100)  # it is extended once
    assert found.rounds == 1
    none = simulate(
        SMALL.with_(scenario="cold-start", start_spread_ms=0, initial_rebalance_delay_ms=0)
    )
    assert none.longest_start_ms < 6_000


def test_new_partitions_wait_until_the_leader_looks_at_the_topics() -> None:
    setup = SMALL.with_(variant="triggers", scenario="partitions-added", added_partitions=3)
    found = simulate(setup)
    assert found.rounds == 1 and found.lag.stopped_partitions == 24
    assert 3_000 < found.lag.stopped_longest_ms < 305_000
    keeps = simulate(setup.with_(variant="cooperative_triggers"))
    assert keeps.rounds == 1 and keeps.lag.stopped_partitions == 3
    sooner = simulate(setup.with_(metadata_max_age_ms=1_000))
    assert sooner.lag.stopped_longest_ms < 6_000


def test_a_group_that_shares_a_busy_coordinator_waits_for_it() -> None:
    lonely = simulate(SMALL.with_(variant="async_server"))
    crowded = simulate(SMALL.with_(variant="async_server", other_requests_per_s=9_000))
    assert crowded.longest_pause_ms > lonely.longest_pause_ms


def test_heartbeats_that_go_on_change_no_state() -> None:
    variant = load("classic")
    spec = variant.spec(variant.scope_type(members=2, generations=2, faults={"close": 1}))
    usual, changed = (reference.explore(s) for s in (spec, heartbeats_go_on(spec)))
    assert changed.states == usual.states > 100


@pytest.mark.parametrize("name", SIMULATED)
def test_every_rule_of_a_simulated_variant_is_driven(name: str) -> None:
    assert undriven(simulated(load(name), 2, 2)) == []


def test_a_variant_with_rules_that_nothing_drives_is_an_error() -> None:
    with pytest.raises(UserError, match="callback"):
        simulate(SMALL.with_(variant="callbacks"))
    assert {*SIMULATED} < {*names()}


def test_a_result_goes_through_json_and_back() -> None:
    result = simulate(SMALL)
    told = json.loads(json.dumps(cattrs.unstructure(result)))
    assert cattrs.structure(told, type(result)) == result


def test_the_leaders_answer_grows_with_the_group_and_is_written_as_kafka_writes_it() -> None:
    told = subscription(sizes.subscription(3))
    assert (told.version, len(told.owned), told.generation) == (3, 3, NO_GENERATION)
    assert sizes.entry_bytes(3, False, 0) - sizes.entry_bytes(1, False, 0) == 8
    small, large = (simulate(Setup(members=n, partitions=n)).join_answer_bytes for n in (10, 20))
    entry = sizes.entry_bytes(0, False, 0)
    assert large - small == 10 * (entry + sizes.empty_bytes())


@pytest.mark.parametrize(
    "given, words",
    [
        ({"hearbeat_interval_ms": "1"}, "did you mean heartbeat_interval_ms"),
        ({"network_ms": "gauss:1,1"}, "unknown distribution"),
        ({"heartbeat_interval_ms": "60000"}, "Kafka's client refuses"),
        ({"consumer_heartbeat_interval_ms": "60000"}, "Kafka's broker refuses"),
        ({"records_per_s": "100"}, "grow for ever"),
        ({"records_per_s": "x"}, "not a number"),
        ({"capacity_per_s": "nan"}, "neither 0 nor a number from 1e-09 to 1e\\+15"),
        ({"changed_members": "0"}, "whole number"),
        ({"changed_members": "0.5"}, "changed_members is 0.5, not a whole number from 1"),
        ({"changed_members": "1.7"}, "whole number"),
        ({"added_partitions": "1.5"}, "whole number"),
        ({"heartbeat_interval_ms": "1e-9", "retry_backoff_ms": "0"}, "less than 1 ms"),
        ({"metadata_max_age_ms": "0"}, "less than 1 ms"),
        ({"new_member_timeout_ms": "0"}, "less than 1 ms"),
        ({"metadata_bytes": "1e9"}, "at most 104,857,600"),
        ({"pause_every_s": "0.01"}, "at least 0.1"),
        ({"other_requests_per_s": "1e14"}, "at most 100,000"),
    ],
)
def test_an_assumption_that_cannot_be_is_an_error_of_the_user(
    given: dict[str, str], words: str
) -> None:
    with pytest.raises(UserError, match=words):
        with_settings(given)


def test_every_assumption_is_documented() -> None:
    assert [*documented()] == [f.name for f in attrs.fields(Assumptions)]
    assert all(text.endswith(".") for text in documented().values())
    assert tuple(SCENARIOS) == cli_simulate.SCENARIOS


@pytest.mark.parametrize(
    "options",
    [
        "--compare classic,nobody",
        "--compare classic,classic",
        "--sensitivity",
        "--members 1",
        "--scenario crash --members 3 --set changed_members=3",
        "callbacks",
        "twins",
        "--set network_ms",
        "--scenario partitions-added",
        "triggers --scenario partitions-added --set added_partitions=100",
    ],
)
def test_bad_usage_of_the_command_is_an_error_with_exit_code_2(
    options: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(["simulate", *options.split()]) == 2
    assert "Traceback" not in capsys.readouterr().err


def test_the_command_prints_the_seed_and_the_same_again(
    capsys: pytest.CaptureFixture[str],
) -> None:
    command = "simulate --members 8 --compare classic,async_server --replications 3 --seed 9"
    said = []
    for _ in range(2):
        assert cli.run([*command.split(), "--json"]) == 0
        said.append(capsys.readouterr().out)
    assert said[0] == said[1]
    document = json.loads(said[0])
    assert (document["seed"], document["replications"]) == (9, 3)
    assert {*document["assumptions"]} == {*documented()}
    pause = next(r for r in document["ratios"] if r["measure"] == "longest_pause_ms")["ratio"]
    assert 1 < pause["low"] < pause["mean"] < pause["high"]
    assert cli.run(command.split()) == 0
    text = capsys.readouterr().out
    assert "seed 9" in text and "times that with async_server" in text


def test_a_group_that_cannot_rest_at_first_is_an_error_of_the_user() -> None:
    hasty = SMALL.with_(heartbeat_interval_ms=1, session_timeout_ms=1.5, max_poll_interval_ms=1)
    with pytest.raises(UserError, match="does not even come to rest"):
        simulate(hasty)


def test_no_figure_is_negative_zero() -> None:
    figures = [document.number(-1e-9), with_settings({"loss": "-0.0"}).loss]
    figures += with_settings({"network_ms": "-0.0"}).network_ms.parameters
    assert [math.copysign(1, value or 0.0) for value in figures] == [1, 1, 1]
