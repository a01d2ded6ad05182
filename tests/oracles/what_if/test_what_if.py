"""`replay --what-if`: which rebalances of a log would not have happened. Logs are those of real
groups, or are written here, so that what must come out follows from the protocol.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import attrs
import pytest
from written_log import CLOSED, SLOW, Log, uuid

from groupcheck.model.engine import UserError
from groupcheck.oracles.command_line import cli
from groupcheck.oracles.replay.report import replay
from groupcheck.oracles.replay.what_if.answer import WhatIf, what_if
from groupcheck.oracles.replay.what_if.change import changes
from groupcheck.oracles.replay.what_if.outside import outside
from groupcheck.oracles.replay.what_if.plot import write_html
from groupcheck.oracles.replay.what_if.protocols import VARIANTS, WORDS, Kind
from groupcheck.oracles.replay.what_if.view import view
from groupcheck.oracles.show.text import as_plain
from groupcheck.oracles.simulate import with_settings
from groupcheck.traces.findings.report import GroupReport

DATA = Path(__file__).parents[2] / "data"
SETTINGS = {
    "heartbeat_interval_ms": 3_000.0,
    "session_timeout_ms": 45_000.0,
    "max_poll_interval_ms": 300_000.0,
    "restart_ms": 10_000.0,
}


def asked(report: GroupReport, *change: str, **more: Any) -> WhatIf:
    return what_if(report, "server.log", changes(change), **{"replications": 4, **more})


def happens(found: WhatIf) -> list[bool]:
    return [row.avoided <= 0.5 for row in found.rows]


def test_a_restart_of_a_static_member_begins_no_round(restarts: GroupReport) -> None:
    found = asked(restarts, "static")
    assert found.trusted and found.reproduced == 4
    assert (found.baseline[0], found.changed[0]) == ("classic", "static_membership")
    assert happens(found) == [True, True, False, False]
    a = next(s for s in found.stood if s.names == ("a",))
    assert a.saved.low is not None and a.saved.low > 0


def test_a_session_shorter_than_the_restart_makes_it_begin_rounds_again(
    restarts: GroupReport,
) -> None:
    found = asked(restarts, "static", "session.timeout.ms=10000")
    assert happens(found) == [True] * 4


def test_a_cooperative_group_has_more_rounds_and_stands_still_less(restarts: GroupReport) -> None:
    found = asked(restarts, "cooperative", partitions=4)
    assert happens(found) == [True] * 4
    assert all(then > was for was, then in zip(found.rounds[0], found.rounds[1]))
    a = next(s for s in found.stood if s.names == ("a",))
    assert min(a.baseline) > 0 and max(a.changed) < min(a.baseline)


def test_a_longer_poll_interval_keeps_a_slow_member(tmp_path: Path) -> None:
    log = Log()
    a = log.joins(0, "a", 3.0)
    b = log.joins(30, "b", 2.0, a)
    log.leaves(400, b, a, 2.0, SLOW)
    log.joins(450, "b", 2.0, a)
    report = log.report(tmp_path)
    found = asked(report, "max.poll.interval.ms=600000")
    assert found.trusted and happens(found) == [True, True, False, False]
    (stall,) = [h for h in found.outside.happenings if h.what == "stall"]
    assert stall.until is not None and stall.until - stall.at == pytest.approx(350_000, abs=100)
    # A restart of a static member would not have helped: it is no restart.
    assert happens(asked(report, "static"))[:2] == [True, True]


def test_who_dies_and_is_back_within_a_longer_session(tmp_path: Path) -> None:
    """The process dies 10 s before its session ends, and its successor joins at once."""
    log = Log()
    a = log.joins(0, "a", 3.0)
    b = log.joins(60, "b", 2.0, a)
    log.joins(105, "b", 5.0, a)
    log.expires(145, b, a, 2.0)
    events = outside(log.report(tmp_path), SETTINGS)
    assert [p.names for p in events.processes] == [["a"], ["b"]]
    assert [(h.what, h.process) for h in events.happenings] == [
        ("start", 0),
        ("start", 1),
        ("crash", 1),
        ("start", 1),
    ]
    crash = events.happenings[2]
    assert crash.slack == SETTINGS["heartbeat_interval_ms"] and crash.round == 3


def test_another_name_that_follows_is_the_same_process_and_said_so(tmp_path: Path) -> None:
    log = Log()
    a = log.joins(0, "a", 3.0)
    b = log.joins(60, "pod-1", 2.0, a)
    log.leaves(120, b, a, 2.0, CLOSED)
    log.joins(140, "pod-2", 2.0, a)
    found = asked(log.report(tmp_path), "static")
    assert [s.names for s in found.stood] == [("a",), ("pod-1", "pod-2")]
    assert found.outside.renamed[0][:2] == ("pod-1", "pod-2")
    assert happens(found) == [True, True, False, False]


def test_a_baseline_that_is_not_the_log_is_unknown(tmp_path: Path) -> None:
    """Rounds that the leader begins by itself cannot be simulated."""
    log = Log()
    a = log.joins(0, "a", 3.0)
    for at in (60, 90, 120, 150):
        log.rebalance(at, f"Leader {a} re-joining group during Stable; client reason: not provided")
        log.settles(at + 1, a)
    found = asked(log.report(tmp_path), "static")
    assert found.verdict == "unknown" and not found.trusted
    assert [row.simulated for row in found.rows] == [True, False, False, False, False]


def test_a_log_with_too_many_members_is_refused(
    restarts: GroupReport, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("groupcheck.oracles.replay.what_if.accepted_changes.MOST_EVENTS", 3)
    with pytest.raises(UserError, match="at most 3 are simulated"):
        asked(restarts, "static")


def test_a_count_of_members_that_no_line_names_takes_no_memory(
    restarts: GroupReport, tmp_path: Path
) -> None:
    """A line may print any number; each counted member would be a process."""
    log = tmp_path / "server.log"
    log.write_text(log.read_text().replace("with 1 members", "with 999999999999 members"))
    (file,) = replay([log])
    with pytest.raises(UserError, match="has 999,999,999,999 members"):
        asked(file.groups[0], "static")


def test_a_log_that_contradicts_itself_is_refused(restarts: GroupReport, tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_text(log.read_text().replace("has 2 members", "has 4 members"))
    (file,) = replay([log])
    with pytest.raises(UserError, match="says violated: line 8: 4 members are printed"):
        asked(file.groups[0], "static")


def test_equal_seeds_give_equal_answers(restarts: GroupReport) -> None:
    assert asked(restarts, "cooperative", seed=3) == asked(restarts, "cooperative", seed=3)


def test_settings_of_the_log_hold_in_the_baseline() -> None:
    (file,) = replay([DATA / "requests/live-static_bounce.log.gz"])
    (group,) = file.groups
    found = asked(group, "dynamic")
    assert found.baseline[0] == "static_membership"
    assert found.baseline[1].session_timeout_ms == 4_000
    assert found.baseline[1].heartbeat_interval_ms == pytest.approx(500, abs=5)
    assert set(found.settings.told) == {"session_timeout_ms", "max_poll_interval_ms"}
    assert found.assumed == ("heartbeat_interval_ms", "initial_rebalance_delay_ms")
    assert found.trusted and "session_timeout_ms" not in found.assumed
    # A bounce that was not even a rebalance is two as a dynamic member.
    assert min(found.rounds[1]) >= max(found.rounds[0]) + 2


def test_a_process_that_comes_back_with_its_old_id_was_only_paused() -> None:
    """`a` was stopped for 6 s, and its session is 3 s: with 10 s nobody would have noticed."""
    (file,) = replay([DATA / "requests/live-zombie.log.gz"])
    (group,) = file.groups
    found = asked(group, "session.timeout.ms=10000")
    assert found.trusted and happens(found)[2:4] == [False, False]
    (pause,) = [h for h in found.outside.happenings if h.what == "pause"]
    assert pause.until is not None and pause.until - pause.at == 6023
    assert (pause.round, pause.round_after) == (2, 3)
    # 5 s are too short.
    assert happens(asked(group, "session.timeout.ms=5000"))[2:4] == [True, True]


def test_a_static_member_that_is_replaced_was_restarted() -> None:
    """A broker prints only its old id. Recorded: each was away for 1.7 s."""
    (file,) = replay([DATA / "replay/live-rolling_static.log"])
    events = outside(file.groups[0], {**SETTINGS, "restart_ms": 1_700.0})
    assert [p.names for p in events.processes] == [["i-a"], ["i-b"], ["i-c"]]
    for process in range(3):
        mine = [h for h in events.happenings if h.process == process]
        assert [h.what for h in mine] == ["start", "close", "start"]
        assert mine[2].at - mine[1].at == 1_700


def test_a_replaced_member_closed_after_the_log_last_shows_it() -> None:
    (file,) = replay([DATA / "replay/live-rolling_static.log"])
    (group,) = file.groups
    events = outside(group, SETTINGS)
    generation = group.timeline.rounds[0].joined_at
    closed = [h.at for h in events.happenings if h.what == "close"]
    assert generation is not None and min(closed) > (generation.time or 0)
    (file,) = replay([DATA / "requests/live-static_bounce.log.gz"])
    close = next(h for h in outside(file.groups[0], SETTINGS).happenings if h.what == "close")
    # Its last request; it was stopped at 470429.
    assert close.at % 1_000_000 == 470_436 and close.slack == SETTINGS["heartbeat_interval_ms"]


def test_a_replaced_member_is_no_other_process_where_its_new_id_is_never_named() -> None:
    (file,) = replay([DATA / "replay/live-static_bounce.log"])
    told = {"session_timeout_ms": "4000", "heartbeat_interval_ms": "500"}
    found = asked(file.groups[0], "session.timeout.ms=8000", given=told)
    assert [s.names for s in found.stood] == [("i-a",), ("i-b",), ("i-c",)]
    assert found.trusted and happens(found) == [True, True, False, False]


def test_the_new_id_of_a_replaced_member_belongs_to_its_process(tmp_path: Path) -> None:
    log = Log()
    a, b, c = f"i-a-{uuid(1)}", f"i-b-{uuid(2)}", f"i-b-{uuid(3)}"
    log.added(0, "i-a", a, "Empty")
    log.size = 1
    log.settles(3, a)
    log.added(60, "i-b", b, "Stable")
    log.size = 2
    log.settles(62, a)
    log.line(
        90,
        "Static member with groupInstanceId=i-b and unknown member id joins group g in Stable"
        f" state. Replacing previously mapped member {b} with this groupInstanceId.",
    )
    log.expires(150, c, a, 2.0)
    events = outside(log.report(tmp_path), SETTINGS)
    assert [p.names for p in events.processes] == [["i-a"], ["i-b"]]
    mine = [h for h in events.happenings if h.process == 1]
    assert [h.what for h in mine] == ["start", "close", "start", "crash"]
    assert [h.line for h in mine[:3]] == [5, 9, 9]


def test_a_recorded_rolling_restart_of_static_members_would_have_begun_no_round() -> None:
    """So it was when the same restarts were recorded with static members: no generation after the
    first. The client ids change with each restart here.
    """
    (file,) = replay([DATA / "what_if/rolling-restart.requests.log.gz"])
    (group,) = file.groups
    found = asked(group, "static")
    assert found.trusted and happens(found)[1:7] == [False] * 6
    assert [len(s.names) for s in found.stood] == [2, 2, 2]
    (static,) = replay([DATA / "replay/live-rolling_static.log"])
    assert len(static.groups[0].timeline.rounds) == 1


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (["statik"], "did you mean static"),
        (["session.timeout=3"], "did you mean session.timeout.ms?"),
        (["session_timeout=3"], "did you mean session_timeout_ms?"),
        (["static", "dynamic"], "contradicts"),
        (["consumer", "static", "eager"], "contradicts"),
        (["classic"], "rebalance eagerly or cooperatively"),
        (["session.timeout.ms=1", "session_timeout_ms=2"], "given twice"),
        (["loss=2"], "below 1"),
        (["heartbeat.interval.ms=soon"], "not a number"),
        ([], "is empty"),
    ],
)
def test_a_change_that_means_nothing_is_refused(given: list[str], says: str) -> None:
    with pytest.raises(UserError, match=says):
        changes(given)


def test_kafkas_names_are_understood() -> None:
    found = changes(["group.initial.rebalance.delay.ms=0", "rebalance.timeout.ms=9000"])
    assert dict(found.settings) == {
        "initial_rebalance_delay_ms": "0",
        "max_poll_interval_ms": "9000",
    }
    assert with_settings(found.settings).max_poll_interval_ms == 9000


def test_words_reach_every_variant() -> None:
    reached = {Kind("eager", False).changed((a, b)).variant for a in WORDS for b in WORDS}
    assert reached == {*VARIANTS.values()}


def test_the_command_prints_the_document_and_writes_the_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], misfits: Any, restarts: GroupReport
) -> None:
    log, page = str(tmp_path / "server.log"), tmp_path / "page.html"
    command = ["replay", log, "--what-if", "static", "--replications", "2"]
    assert cli.run([*command, "--json", "--html", str(page)]) == 0
    told = json.loads(capsys.readouterr().out)
    assert misfits(told) == []
    (group,) = told["groups"]
    assert group["avoided"] == 2 and [r["line"] for r in group["rebalances"]] == [2, 6, 10, 14]
    assert "<svg" in page.read_text() and "would not have happened" in page.read_text()
    assert cli.run(command) == 0
    assert "2 rebalances would not have happened" in capsys.readouterr().out


def test_options_of_what_if_need_it(capsys: pytest.CaptureFixture[str]) -> None:
    log = str(DATA / "replay/live-rolling_static.log")
    for option in (["--seed", "1"], ["--set", "loss=0"], ["--partitions", "3"]):
        assert cli.run(["replay", log, *option]) == 2
        assert "is only for --what-if" in capsys.readouterr().err
    assert cli.run(["replay", log, "--what-if", "static", "--fail-on", "broken"]) == 2
    assert "cannot be combined" in capsys.readouterr().err


def test_of_many_rebalances_a_screenful_is_shown_and_the_rest_is_folded(
    restarts: GroupReport, tmp_path: Path
) -> None:
    found = asked(restarts, "static")
    many = attrs.evolve(found, rows=found.rows * 10)
    assert len(many.rows) == 40
    told = as_plain(view([many])).splitlines()
    assert sum("of 4" in line for line in told) == 24
    (rest,) = [line for line in told if line.startswith("... and")]
    assert rest == (
        "... and 16 more rebalances: 8 would not have happened (--json and --html have all)"
    )
    write_html([many], tmp_path / "page.html")
    shown, _, folded = (tmp_path / "page.html").read_text().partition("<summary>16 more rows")
    row = 'data-name="started"'
    assert (shown.count(row), folded.count(row)) == (24, 16)
