"""What curves promise: losses and pauses make sessions expire as often as they must, and each
question has the answer that the rules give.
"""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from groupcheck.model.engine import UserError
from groupcheck.oracles.command_line import cli, cli_curve
from groupcheck.oracles.simulate import Setup, compare, simulate, with_settings
from groupcheck.oracles.simulate.uses import QUESTIONS, answered, plots
from groupcheck.oracles.simulate.uses.curves import DEAD, FOUND
from groupcheck.oracles.simulate.uses.tables import rows

LONELY = Setup(members=1, partitions=1, scenario="steady", seconds=40_000, until_rest=False)


def test_a_session_expires_as_often_as_so_many_heartbeats_are_lost_in_a_row() -> None:
    """Heartbeats every 3 s at a session of 7.5 s: two that are lost in a row end it."""
    share = 0.2
    found = simulate(
        LONELY.with_(loss=share, session_timeout_ms=7_500, retry_backoff_ms=0, network_ms=0)
    )
    # A chain of losses begins after one that arrives; what follows an expiry is a new join.
    beats = 40_000 / 3
    expected = beats * (1 - share) * share**2
    assert 0.8 * expected < found.false_expiries < 1.2 * expected


def test_without_loss_and_pauses_no_session_of_a_living_member_expires() -> None:
    found = simulate(LONELY.with_(session_timeout_ms=4_000))
    assert (found.false_expiries, found.rounds) == (0, 0)


def test_a_pause_that_is_longer_than_the_session_ends_it_and_a_shorter_one_does_not() -> None:
    each = LONELY.with_(pause_every_s=400, session_timeout_ms=10_000)
    assert simulate(each.with_(pause_ms=3_000)).false_expiries == 0
    assert simulate(each.with_(pause_ms=11_000)).false_expiries > 20


@pytest.mark.parametrize("variant", ["classic", "static_membership", "cooperative"])
def test_a_group_that_loses_messages_comes_back_to_work(variant: str) -> None:
    lossy = Setup(variant=variant, members=8, partitions=16, scenario="scale-out", seconds=600)
    for seed in range(3):
        assert simulate(lossy.with_(loss=0.05, seed=seed)).settled_ms is not None


def test_a_member_that_is_told_to_join_again_while_it_waits_for_its_share_does_so() -> None:
    """The answer leaves the member as it was; it must join again all the same."""
    lossy = Setup(members=6, partitions=6, scenario="steady", seconds=600, until_rest=False)
    found = simulate(lossy.with_(loss=0.1, session_timeout_ms=9_000))
    assert found.lag.stopped_longest_ms < 100_000


def test_false_expiries_fall_with_the_ratio() -> None:
    found = answered("session-ratio", members=4, values=(1.5, 3, 6), replications=1)
    rates = [found.interval(k, found.curve.measures[0]).mean for k in range(3)]
    assert rates[0] > 3 * rates[1] > 0 and rates[1] > rates[2]
    # The other half: a dead member is found by its session, which began with its last heartbeat.
    dead = found.places(FOUND)
    assert {found.curve.points[k].series for k in dead} == {DEAD} and len(dead) == 3
    for k, session in zip(dead, (4_500, 9_000, 18_000), strict=True):
        assert session - 3_000 < found.interval(k, FOUND).mean < session + 6_000
    told = plots.conclusion(found)
    assert "Most is gained from" in told and f"{DEAD} " in told
    assert {p["measure"] for p in rows(found) if p["series"] == DEAD} == {FOUND}


def test_a_rolling_restart_moves_partitions_of_dynamic_members_and_none_of_static_ones() -> None:
    found = answered("rolling-restart", members=8, values=(10_000, 60_000), replications=1)
    moved = {
        (p.series, p.x): found.interval(k, "moved_partitions").mean
        for k, p in enumerate(found.curve.points)
    }
    assert moved["static_membership", 10_000] == 0
    assert moved["classic", 10_000] > 8
    # A static member that is away for longer than its session is gone, too.
    assert moved["static_membership", 60_000] > 0


def test_a_message_that_takes_longer_than_the_poll_interval_costs_two_rounds() -> None:
    found = answered("poll-interval", members=6, values=(300_000, 420_000), replications=1)
    rounds = [found.interval(k, "rounds").mean for k in range(2)]
    assert rounds == [2, 0]


def test_without_an_initial_delay_a_cold_start_takes_several_rounds() -> None:
    found = answered("initial-delay", members=20, values=(0, 6_000), replications=1)
    first, second = (found.interval(k, "rounds").mean for k in range(2))
    assert first > second == 1


def test_equal_seeds_give_equal_curves_and_pictures(tmp_path: Path) -> None:
    one, two = (answered("initial-delay", members=3, values=(0, 500)) for _ in range(2))
    assert rows(one) == rows(two)
    assert plots.drawn(one, "svg") == plots.drawn(two, "svg")
    assert plots.drawn(one, "png").startswith(b"\x89PNG")


def test_the_command_writes_the_figures_in_every_form(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = {kind: tmp_path / f"c.{kind}" for kind in ("csv", "parquet", "svg", "html")}
    asked = ["curve", "initial-delay", "--members", "3", "--at", "500", "--json"]
    files = [f"--{o}={names[k]}" for o, k in (("csv", "csv"), ("parquet", "parquet"))]
    files += [f"--plot={names['svg']}", f"--html={names['html']}"]
    assert cli.run([*asked, *files]) == 0
    points = json.loads(capsys.readouterr().out)["points"]
    with names["csv"].open() as file:
        assert [float(row["mean"]) for row in csv.DictReader(file)] == [p["mean"] for p in points]
    from pyarrow import parquet

    assert parquet.read_table(names["parquet"]).to_pylist() == points
    page = names["html"].read_text()
    assert "<svg" in page and "default-src 'none'" in page and "<h1>Longest start of" in page


def test_bad_input_is_said_before_anything_runs(capsys: pytest.CaptureFixture[str]) -> None:
    for wrong in (["--plot", "a.gif"], ["--set", "los=1"], ["--set", "loss=1"], ["--at", "0.5"]):
        assert cli.run(["curve", "session-ratio", *wrong]) == 2
        assert "Traceback" not in capsys.readouterr().err


def test_the_command_line_offers_the_curves_that_there_are() -> None:
    assert tuple(QUESTIONS) == cli_curve.CURVES
    with pytest.raises(UserError):
        answered("speed")


def test_a_loss_does_not_change_what_a_group_without_loss_draws() -> None:
    plain = Setup(members=6, partitions=6)
    changed = plain.with_(pause_ms=7)
    first, second = compare([plain, changed]).rows
    assert first.results[0].measures == second.results[0].measures
    assert with_settings({"loss": 0.1}).loss == 0.1


def test_every_process_of_a_rolling_restart_is_back_in_the_group() -> None:
    """Also one that closed behind a parked request, or had to wait with its LeaveGroup."""
    quick = Setup(members=24, partitions=24, scenario="rolling-restart", seconds=600)
    found = simulate(quick.with_(changed_members=24, restart_ms=2_000, restart_gap_ms=500))
    assert found.settled_ms is not None
