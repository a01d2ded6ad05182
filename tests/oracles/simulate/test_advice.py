"""What `advise` recommends follows from what the described group's week consists of."""

from __future__ import annotations

import json
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import attrs
import pytest

from groupcheck.model.engine import UserError
from groupcheck.oracles.command_line import cli, cli_advise
from groupcheck.oracles.simulate import replications, with_settings
from groupcheck.oracles.simulate.setup import Result, Setup
from groupcheck.oracles.simulate.simulation import simulate
from groupcheck.oracles.simulate.uses import (
    advice_document,
    advice_group,
    advice_page,
    advice_versions,
    advice_week,
)
from groupcheck.oracles.simulate.uses.advice import COSTS, Advice, advised, expected_seconds
from groupcheck.oracles.simulate.uses.advice_group import (
    MOST_TIMEOUT_MS,
    PROTOCOLS,
    STATIC,
    Alternative,
    GroupDescription,
    Week,
    given,
)

NOTHING = Week(deploys=0, bounces=0, crashes=0, outages=0)
OFTEN = 10.0


def advice(by: str = "stopped", replications: int = 3, **group: Any) -> Advice:
    given = {"members": 4, "partitions": 4, "restart_ms": 20_000.0} | group
    return advised(GroupDescription(**given), by=by, replications=replications)


def only(**happens: float) -> Week:
    """A week in which nothing else happens."""
    return attrs.evolve(NOTHING, **happens)


def at(found: Advice, **happens: float) -> Advice:
    """The same simulations in a week in which something happens so often."""
    events = tuple(attrs.evolve(e, per_week=happens.get(e.name, e.per_week)) for e in found.events)
    return attrs.evolve(
        found, events=events, costed=tuple(attrs.evolve(c, events=events) for c in found.costed)
    )


@pytest.fixture(scope="module", autouse=True)
def each_once() -> Iterator[None]:
    """Most groups here differ in their week alone: of each simulation the result is kept."""
    known: dict[Setup, Result] = {}

    def once(setup: Setup, **more: Any) -> Result:
        if setup not in known:
            known[setup] = simulate(setup, **more)
        return known[setup]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(replications, "simulate", once)
        yield


@pytest.fixture(scope="module")
def usual(each_once: None) -> Advice:
    return advice()


def cost(found: Advice, variant: str, session_ms: float) -> float:
    return next(
        c.mean
        for c in found.costed
        if (c.alternative.variant, c.alternative.session_timeout_ms) == (variant, session_ms)
    )


def test_if_processes_die_for_good_a_short_session_wins() -> None:
    found = advice(week=only(crashes=OFTEN))
    assert found.recommended.alternative.session_timeout_ms == 10_000
    assert found.recommended.alternative.variant not in STATIC


def test_if_members_must_not_pause_in_deploys_they_are_static_with_a_session_above_a_restart() -> (
    None
):
    found = advice(by="paused", week=only(deploys=OFTEN), replications=4)
    mine = found.recommended.alternative
    assert mine.variant in STATIC or mine.variant == "cooperative"
    assert cost(found, "classic", 45_000) > 0 == cost(found, "static_membership", 45_000)
    assert cost(found, "static_membership", 10_000) > 0
    assert not any("usually advised" in told for told in advice_document.sentences(found))


def test_it_is_said_where_the_answer_is_not_what_is_usually_advised_for_restarts(
    usual: Advice,
) -> None:
    assert usual.recommended.alternative.variant not in STATIC
    [told] = [s for s in advice_document.sentences(usual) if "usually advised" in s]
    bridging = (c for c in usual.costed if c.alternative.session_timeout_ms > 20_000)
    static = next(c for c in bridging if c.alternative.variant in STATIC)
    assert f"costs {advice_document.amount(usual, static.of_week)}" in told


@pytest.mark.night
def test_if_a_share_is_costly_to_begin_static_members_win() -> None:
    """As in an application that restores state: `resume_ms` is long."""
    costly = with_settings({"resume_ms": 120_000})
    week = only(deploys=OFTEN)
    found = advice(week=week, assumptions=costly, replications=2)
    assert found.recommended.alternative.variant in STATIC
    assert found.recommended.alternative.session_timeout_ms > 20_000


def test_a_slow_message_rules_out_a_shorter_poll_interval() -> None:
    found = advice(slow_ms=400_000.0, week=Week(slow=1), replications=2)
    assert {c.alternative.max_poll_interval_ms for c in found.costed} == {480_000}
    assert found.default is None
    assert any("max.poll.interval.ms must be longer" in note for note in found.notes)


@pytest.mark.night
def test_a_hang_asks_for_a_shorter_poll_interval_if_messages_are_quick(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """For one protocol, with a heartbeat in nine seconds: a hang is an hour of heartbeats."""
    monkeypatch.setattr(advice_group, "CLASSIC", {"eager": "classic"})
    monkeypatch.setattr(advice_group, "DEFAULT_HEARTBEAT_MS", 9_000.0)
    week = only(hangs=OFTEN)
    found = advice(slow_ms=20_000.0, week=week, replications=2)
    assert {c.alternative.max_poll_interval_ms for c in found.costed} == {60_000, 300_000}
    assert found.recommended.alternative.max_poll_interval_ms == 60_000


@pytest.mark.night
def test_lost_heartbeats_ask_for_a_session_of_several() -> None:
    lossy = with_settings({"loss": 0.1})
    found = advice(members=2, partitions=2, week=NOTHING, assumptions=lossy, replications=2)
    assert found.recommended.alternative.session_timeout_ms > 10_000
    assert {e.name: e.per_week for e in found.events}["steady hour"] == 168


def test_a_cost_is_linear_in_how_often_an_event_happens_that_meets_no_other() -> None:
    once = advice(week=only(bounces=1), replications=2)
    often = advice(week=only(bounces=7), replications=2)
    for a, b in zip(once.costed, often.costed, strict=True):
        assert a.alternative == b.alternative and b.mean == pytest.approx(7 * a.mean, rel=0.01)


def test_beyond_a_threshold_the_other_alternative_is_recommended(usual: Advice) -> None:
    assert usual.thresholds
    for t in usual.thresholds[:2]:
        field = {"crash": "crashes"}.get(t.event, f"{t.event}s")
        for factor, expected in ((1.01, t.instead), (0.99, usual.recommended.alternative)):
            rate = t.per_week * (factor if t.more else 2 - factor)
            week = Week(**{field: rate})
            assert advice(week=week).recommended.alternative == expected, (t, rate)


def test_the_recommended_one_is_the_simplest_of_those_that_are_as_good(usual: Advice) -> None:
    assert usual.best in usual.equals and usual.recommended in usual.equals
    base = usual.described.base
    least = min(c.alternative.changes(base) for c in usual.equals)
    assert usual.recommended.alternative.changes(base) == least


def test_a_restart_that_no_session_can_bridge_is_said() -> None:
    found = advice(
        members=2,
        restart_ms=1_790_000.0,
        replications=2,
        week=only(bounces=1),
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
        ({"partitions": 100_000}, "100000 partitions"),
        ({"slow_ms": 2_000 * 3.6e6}, "2,000 hours are too long to simulate"),
        ({"outage_ms": 25 * 3.6e6}, "25 hours are too long to simulate"),
        ({"now": Alternative(max_poll_interval_ms=2.0**31)}, "no value that Kafka takes"),
        ({"now": Alternative(session_timeout_ms=20_000.5)}, "no value that Kafka takes"),
        ({"now": Alternative(session_timeout_ms=1e9)}, "a session of 278 hours is too long"),
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
    assert (*PROTOCOLS,) == cli_advise.PROTOCOLS


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
    rows = 2 + len(told["alternatives"]) + len(told["events"])
    assert page.read_text("utf-8").count("<tr>") == rows
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


# -- what the group has now


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("restart_ms=600000", "use --restart"),
        ("stall_ms=600000", "use --slow-message"),
        ("changed_members=2", "changed_members is part of the description"),
        ("start_spread_ms=1", "no event of `advise` depends on start_spread_ms"),
        (
            "consumer_session_timeout_ms=1",
            "no event of `advise` depends on consumer_session_timeout_ms",
        ),
        ("pause_ms=1000", "add --set pause_every_s=SECONDS"),
        ("session_timeout_ms=2000", "session_timeout_ms 2000 is no longer"),
    ],
)
def test_a_setting_without_effect_is_refused(
    setting: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(["advise", "--set", setting]) == 2
    assert words in capsys.readouterr().err


def test_timeouts_that_are_set_are_what_the_group_has_now() -> None:
    assumptions, now = given({"session_timeout_ms": "20000"}, None)
    assert now == Alternative(session_timeout_ms=20_000)
    assert assumptions.session_timeout_ms == 20_000
    assert given({"loss": "0.1"}, None)[1] is None
    assert given({}, "eager-static")[1] == Alternative("static_membership")


def test_what_the_group_has_now_is_one_of_the_alternatives_and_compared() -> None:
    now = Alternative("cooperative", 20_000, 2_000)
    found = advice(now=now, replications=2, week=only(crashes=OFTEN))
    assert found.now is not None and found.now.alternative == now
    assert [c.alternative for c in found.costed].count(now) == 1
    assert any(s.startswith("What you have now costs") for s in advice_document.sentences(found))
    told = advice_document.document(found)
    assert told["now"]["settings"]["session.timeout.ms"] == "20000"
    assert [a["now"] for a in told["alternatives"]].count(True) == 1
    assert any("session 20 s, heartbeat 2 s *" in row[0] for row in rows(found))
    assert advice_document.events_table(found)[0][-1] == "now, week"


def test_a_group_of_kip_848_that_there_is_now_needs_its_brokers_and_has_their_timeouts() -> None:
    of_broker = {"group.consumer.session.timeout.ms": "60s", "max_poll_interval_ms": "120000"}
    _, now = given(of_broker, "consumer-static", "4.3.1")
    assert now == Alternative("consumer+static", 60_000, 5_000, 120_000)
    for kafka in (None, "3.9.0"):
        with pytest.raises(UserError, match=r"brokers of Kafka 4\.0 or newer"):
            given({}, "consumer", kafka)
    with pytest.raises(UserError, match="set consumer_session_timeout_ms"):
        given({"session_timeout_ms": "9000"}, "consumer", "4.3.1")
    assert not any("needs brokers" in told for told in advice_versions.needs("4.3.1", has_it=True))


def rows(found: Advice) -> list[tuple[str, ...]]:
    return advice_document.alternatives_table(found)[1]


def test_what_the_group_has_now_stays_if_nothing_is_better() -> None:
    now = Alternative("cooperative_static", 20_000)
    found = advice(now=now, replications=2, week=NOTHING)
    assert found.recommended is found.now
    assert "The recommended one is what you have now." in advice_document.sentences(found)


@pytest.mark.night
def test_too_short_a_poll_interval_is_no_alternative_even_if_the_group_has_it() -> None:
    found = advice(
        now=Alternative(max_poll_interval_ms=60_000), slow_ms=90_000.0, replications=2, week=NOTHING
    )
    assert found.now is None
    assert any("What you have now is no alternative" in note for note in found.notes)


def test_no_alternative_has_a_value_that_kafka_refuses() -> None:
    found = advice(slow_ms=4 * 3.6e6, replications=2, members=2, partitions=2, week=NOTHING)
    polls = {c.alternative.max_poll_interval_ms for c in found.costed}
    assert polls == {17_280_000} and max(polls) <= MOST_TIMEOUT_MS


# -- what a short session costs


def test_outages_ask_for_a_session_that_outlasts_them() -> None:
    found = advice(week=only(outages=OFTEN, crashes=0.2))
    assert found.recommended.alternative.session_timeout_ms > 30_000
    assert cost(found, "classic", 10_000) > 2 * cost(found, "classic", 45_000)


def test_a_short_session_is_recommended_with_what_it_rests_on() -> None:
    found = advice(week=only(crashes=OFTEN), replications=2)
    assert found.recommended.alternative.session_timeout_ms == 10_000
    [told] = [s for s in advice_document.sentences(found) if "shorter than Kafka's default" in s]
    assert "KIP-735" in told and "0 outages of 30.0 s a week" in told


def test_of_a_session_that_is_not_shorter_nothing_is_said() -> None:
    found = advice(week=NOTHING, replications=2)
    assert not any("shorter than" in s for s in advice_document.sentences(found))


# -- thresholds that mean something


def test_a_week_in_which_nothing_happens_has_no_thresholds() -> None:
    found = advice(week=NOTHING, replications=2)
    assert found.idle and found.thresholds == ()
    assert "Nothing that was described costs anything" in " ".join(advice_document.sentences(found))


def test_a_threshold_next_to_the_given_frequency_says_that_the_answer_is_not_stable(
    usual: Advice,
) -> None:
    found = next(t for t in usual.thresholds if t.more)
    almost = at(usual, **{found.event: found.per_week * 0.97})
    almost = attrs.evolve(almost, costed=tuple(sorted(almost.costed, key=lambda c: c.mean)))
    assert [t.near for t in almost.thresholds if t.event == found.event and t.more] == [True]
    assert any(
        s.startswith("The answer is not stable at") and "With slightly more, the" in s
        for s in advice_document.sentences(almost)
    )


def test_one_of_something_is_no_plural(usual: Advice) -> None:
    assert "1 bounce," in advice_document.description(usual)
    assert "0.2 crashes," in advice_document.description(usual)


# -- the page


def test_the_page_says_all_that_the_terminal_says(usual: Advice, tmp_path: Path) -> None:
    page = tmp_path / "a.html"
    advice_page.write_html(usual, page)
    written = page.read_text("utf-8")
    texts = [
        advice_document.description(usual),
        advice_document.cost_words(usual),
        advice_document.assumed(usual),
        *advice_document.sentences(usual),
        *(cell for row in advice_document.alternatives_table(usual)[1] for cell in row),
        *(cell for row in advice_document.events_table(usual)[1] for cell in row),
    ]
    assert [text for text in texts if text not in unescape(written)] == []
    assert "-&gt; " in written and "<script" not in written


def test_the_page_escapes_what_it_is_told(usual: Advice, tmp_path: Path) -> None:
    page = tmp_path / "a.html"
    advice_page.write_html(attrs.evolve(usual, notes=("<script>alert(1)</script>",)), page)
    assert "<script" not in page.read_text("utf-8")


# -- how long it takes


def test_a_long_restart_is_simulated_until_nothing_changes_any_more() -> None:
    short, long = (
        GroupDescription(members=3, partitions=3, restart_ms=hours * 3.6e6) for hours in (1, 1_000)
    )
    mine = Alternative("static_membership", 10_000)
    deploy = advice_week.events(long)[0]
    setup = advice_week.setup(long, mine, deploy)
    assert setup == advice_week.setup(short, mine, deploy)
    assert setup.assumptions.restart_ms == 2_710_000
    result = simulate(setup)
    assert result.settled_ms is not None and result.rounds >= 3
    assert expected_seconds(long, 2) == expected_seconds(short, 2)


def test_who_asks_for_much_is_told_how_long_it_takes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from groupcheck.oracles.simulate.uses import advise_command

    monkeypatch.setattr(advise_command, "LONG_S", 0.0)
    assert cli.run(["advise", "--members", "2", "--replications", "2"]) == 0
    assert "min of simulations; fewer --members" in capsys.readouterr().err


def test_a_group_that_is_larger_is_expected_to_take_longer() -> None:
    small, large = (
        expected_seconds(GroupDescription(members=n, partitions=n), 2) for n in (10, 100)
    )
    assert 0 < 10 * small < large
