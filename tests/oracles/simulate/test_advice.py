"""What `advise` recommends follows from what the described group's week consists of."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from groupcheck.model.engine import UserError
from groupcheck.oracles import cli, cli_advise
from groupcheck.oracles.simulate import with_settings
from groupcheck.oracles.simulate.uses import advice_document
from groupcheck.oracles.simulate.uses.advice import (
    COSTS,
    STATIC,
    Advice,
    Described,
    Week,
    advised,
)

NOTHING = Week(deploys=0, bounces=0, crashes=0)
OFTEN = 10.0


def advice(by: str = "stopped", replications: int = 3, **group: Any) -> Advice:
    given = {"members": 4, "partitions": 4, "restart_ms": 20_000.0} | group
    return advised(Described(**given), by=by, replications=replications)


@pytest.fixture(scope="module")
def usual() -> Advice:
    return advice()


def cost(found: Advice, variant: str, session_ms: float) -> float:
    return next(
        c.mean
        for c in found.costed
        if (c.alternative.variant, c.alternative.session_timeout_ms) == (variant, session_ms)
    )


def test_if_processes_die_for_good_a_short_session_wins() -> None:
    found = advice(week=Week(deploys=0, bounces=0, crashes=OFTEN))
    assert found.recommended.alternative.session_timeout_ms == 10_000
    assert found.recommended.alternative.variant not in STATIC


def test_if_members_must_not_pause_in_deploys_they_are_static_with_a_session_above_a_restart() -> (
    None
):
    found = advice(by="paused", week=Week(deploys=OFTEN, bounces=0, crashes=0))
    mine = found.recommended.alternative
    assert mine.variant in STATIC or mine.variant == "cooperative"
    assert cost(found, "classic", 45_000) > 0 == cost(found, "static_membership", 45_000)
    assert cost(found, "static_membership", 10_000) > 0


def test_if_a_share_is_costly_to_begin_static_members_win() -> None:
    """As in an application that restores state: `resume_ms` is long."""
    costly = with_settings({"resume_ms": 120_000})
    week = Week(deploys=OFTEN, bounces=0, crashes=0)
    found = advice(week=week, assumptions=costly)
    assert found.recommended.alternative.variant in STATIC
    assert found.recommended.alternative.session_timeout_ms > 20_000


def test_a_slow_message_rules_out_a_shorter_poll_interval() -> None:
    found = advice(slow_ms=400_000.0, week=Week(slow=1))
    assert {c.alternative.max_poll_interval_ms for c in found.costed} == {480_000}
    assert found.default is None
    assert any("max.poll.interval.ms must be longer" in note for note in found.notes)


def test_a_hang_asks_for_a_shorter_poll_interval_if_messages_are_quick() -> None:
    week = Week(deploys=0, bounces=0, crashes=0, hangs=OFTEN)
    found = advice(slow_ms=20_000.0, week=week, replications=2)
    assert found.recommended.alternative.max_poll_interval_ms == 60_000


def test_lost_heartbeats_ask_for_a_session_of_several() -> None:
    lossy = with_settings({"loss": 0.1})
    found = advice(week=NOTHING, assumptions=lossy, replications=2)
    assert found.recommended.alternative.session_timeout_ms > 10_000
    assert {e.name: e.per_week for e in found.events}["steady hour"] == 168


def test_a_cost_is_linear_in_how_often_an_event_happens() -> None:
    once = advice(week=Week(deploys=0, bounces=1, crashes=0), replications=2)
    often = advice(week=Week(deploys=0, bounces=7, crashes=0), replications=2)
    for a, b in zip(once.costed, often.costed, strict=True):
        assert a.alternative == b.alternative and b.mean == pytest.approx(7 * a.mean)


def test_beyond_a_threshold_the_other_alternative_is_recommended(usual: Advice) -> None:
    assert usual.thresholds
    for t in usual.thresholds:
        field = {"deploy": "deploys", "bounce": "bounces", "crash": "crashes"}[t.event]
        for factor, expected in ((1.01, t.instead), (0.99, usual.recommended.alternative)):
            rate = t.per_week * (factor if t.more else 2 - factor)
            week = Week(**{field: rate})
            assert advice(week=week).recommended.alternative == expected, (t, rate)


def test_the_recommended_one_is_the_simplest_of_those_that_are_as_good(usual: Advice) -> None:
    assert usual.best in usual.equals and usual.recommended in usual.equals
    least = min(c.alternative.changes for c in usual.equals)
    assert usual.recommended.alternative.changes == least


def test_a_restart_that_no_session_can_bridge_is_said() -> None:
    found = advice(
        members=2,
        restart_ms=1_790_000.0,
        replications=2,
        week=Week(deploys=0, bounces=1, crashes=0),
    )
    assert any("group.max.session.timeout.ms" in note for note in found.notes)
    assert max(c.alternative.session_timeout_ms for c in found.costed) == 45_000


@pytest.mark.parametrize(
    ("group", "words"),
    [
        ({"members": 1}, "1 members"),
        ({"members": 100_000}, "100000 members"),
        ({"week": Week(deploys=-1)}, "-1 deploys"),
        ({"week": Week(slow=3)}, "a slow message needs its length"),
    ],
)
def test_what_makes_no_sense_is_refused(group: dict[str, Any], words: str) -> None:
    with pytest.raises(UserError, match=words):
        advice(**group)


def test_one_replication_is_refused() -> None:
    with pytest.raises(UserError, match="1 replication"):
        advice(replications=1)


def test_the_command_lists_the_costs_that_there_are() -> None:
    assert (*COSTS,) == cli_advise.COSTS


def test_the_command_gives_the_same_document_again_and_writes_a_page(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    page, picture = tmp_path / "a.html", tmp_path / "a.png"
    small = ["advise", "--members", "3", "--restart", "10s", "--replications", "2"]
    assert cli.run([*small, "--json"]) == 0
    first = capsys.readouterr().out
    assert cli.run([*small, "--json", "--html", str(page), "--plot", str(picture)]) == 0
    assert capsys.readouterr().out == first
    told = json.loads(first)
    assert told["recommended"]["variant"] in {a["variant"] for a in told["alternatives"]}
    assert page.read_text("utf-8").count("<tr>") == 1 + len(told["alternatives"])
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_people_read_settings_that_they_can_copy(capsys: pytest.CaptureFixture[str]) -> None:
    small = ["advise", "--members", "3", "--restart", "10s", "--replications", "2"]
    assert cli.run(small) == 0
    shown = capsys.readouterr().out
    assert "\n  session.timeout.ms=" in shown and "\n  heartbeat.interval.ms=" in shown


@pytest.mark.parametrize("time", ["30", "-1s", "1d", "s", "1e9s"])
def test_a_time_needs_a_unit(time: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["advise", "--restart", time]) == 2
    assert "is not a duration such as" in capsys.readouterr().err


def test_every_alternative_has_a_name_of_its_own(usual: Advice) -> None:
    names = [advice_document.named(c.alternative) for c in usual.costed]
    assert len(set(names)) == len(names)
