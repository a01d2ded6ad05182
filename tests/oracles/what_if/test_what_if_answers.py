"""`replay --what-if`: which groups and changes are refused, what is called avoided, what a change
costs, and the words of the answer.
"""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pytest
from attrs import evolve
from test_what_if import DATA, asked
from written_log import CLOSED, Log

from groupcheck.model.engine import UserError
from groupcheck.oracles.command_line import cli
from groupcheck.oracles.replay.report import replay
from groupcheck.oracles.replay.what_if.answer import Stood
from groupcheck.oracles.replay.what_if.change import EFFECTIVE, changes
from groupcheck.oracles.replay.what_if.document import generations, sentences
from groupcheck.oracles.replay.what_if.merged_rounds import effects
from groupcheck.oracles.replay.what_if.runs import running, stopped_ms
from groupcheck.oracles.replay.what_if.schedule import Instant, TimedCourse
from groupcheck.oracles.replay.what_if.view import by_client, stood_cells
from groupcheck.oracles.simulate import Course, documented, with_settings
from groupcheck.traces.findings.report import GroupReport


def compared(said: str, word: str) -> tuple[float, float, float]:
    """How long members stand still more or less, with its interval."""
    found = re.search(
        rf"stand still ([\d.]+) s {word} than .*? difference: (-?[\d.]+) to (-?[\d.]+) s\)", said
    )
    assert found is not None, said
    mean, low, high = map(float, found.groups())
    return mean, low, high


# -- which groups are answered


def replaced(path: Path, texts: dict[str, str], to: Path) -> str:
    """A copy of a packed log with some texts replaced."""
    text = gzip.decompress(path.read_bytes()).decode()
    for old, new in texts.items():
        assert old in text
        text = text.replace(old, new)
    to.write_text(text)
    return str(to)


@pytest.mark.parametrize(
    ("kind", "assignor", "says"),
    [
        ("connect", "sessioned", "a group of the connect protocol"),
        ("sr", "v0", "a group of the sr protocol"),
        ("consumer", "stream", "a group of the stream protocol"),
    ],
)
def test_groups_that_are_not_of_consumers_are_refused(
    kind: str, assignor: str, says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = {
        '"protocolType":"consumer"': f'"protocolType":"{kind}"',
        '"name":"range"': f'"name":"{assignor}"',
        '"protocolName":"range"': f'"protocolName":"{assignor}"',
    }
    log = replaced(DATA / "what_if/rolling-restart.requests.log.gz", texts, tmp_path / "g.log")
    assert cli.run(["replay", log, "--what-if", "static"]) == 2
    assert says in capsys.readouterr().err


def test_the_protocols_in_a_brokers_log_tell_connect(capsys: pytest.CaptureFixture[str]) -> None:
    log = str(DATA / "replay/connect-cluster-48-rebalances.log")
    assert cli.run(["replay", log, "--what-if", "static"]) == 2
    assert "Kafka Connect (protocol sessioned)" in capsys.readouterr().err


def test_the_client_ids_in_a_brokers_log_tell_connect(tmp_path: Path) -> None:
    log = Log()
    a = log.joins(0, "connect-1", 3.0)
    log.joins(60, "connect-2", 2.0, a)
    with pytest.raises(UserError, match="client ids of workers of Kafka Connect"):
        asked(log.report(tmp_path), "static")


# -- what is called avoided


def test_a_round_that_serves_two_events_avoids_none(tmp_path: Path) -> None:
    """Two static members close for good, 2 s apart. When the first session ends, the round waits
    for the other member until that session ends, too.
    """
    log = Log()
    a = log.joins(0, "a", 3.0)
    b = log.joins(60, "b", 0.1, a)
    c = log.joins(120, "c", 0.1, a)
    log.leaves(180, c, a, 0.2, CLOSED)
    log.leaves(182, b, a, 0.2, CLOSED)
    found = asked(log.report(tmp_path), "static")
    last = found.rows[-1]
    assert last.reproduced and last.changed == (0, 0, 0, 0) and last.merged == (True,) * 4
    assert last.avoided == 0 and last.merges and not found.avoided
    assert "1 rebalance would have been one with another: that of" in " ".join(sentences(found))


def test_a_row_is_avoided_only_without_a_round_that_serves_it(restarts: GroupReport) -> None:
    row = asked(restarts, "dynamic").rows[-1]
    row = evolve(row, baseline=(1, 1, 1, 1), changed=(0, 0, 0, 0), merged=(True,) * 4)
    assert row.avoided == 0 and row.merges
    row = evolve(row, merged=(True, False, False, False))
    assert row.avoided == 0.75 and not row.merges


ASSUMED = with_settings({"session_timeout_ms": 10_000, "max_poll_interval_ms": 60_000})


@pytest.mark.parametrize(
    ("course", "static", "heard"),
    [
        ([("close", 0), ("start", 5_000)], False, {0: 0, 1: 5_000}),
        ([("close", 0), ("start", 5_000)], True, {}),
        ([("close", 0), ("start", 15_000)], True, {0: 10_000, 1: 15_000}),
        ([("close", 0)], True, {0: 10_000}),
        ([("crash", 0), ("start", 5_000)], False, {0: 10_000, 1: 5_000}),
        ([("crash", 0), ("start", 5_000)], True, {}),
        ([("stall", 0), ("resume", 50_000)], False, {}),
        ([("stall", 0), ("resume", 70_000)], False, {0: 60_000, 1: 70_000}),
    ],
)
def test_when_a_group_hears_of_an_event(
    course: list[tuple[str, float]], static: bool, heard: dict[int, float]
) -> None:
    mine = [Instant(at, what, None, number) for number, (what, at) in enumerate(course)]
    assert effects(mine, static, ASSUMED) == heard


# -- partitions without a reader


def test_partitions_stand_without_a_reader_only_while_a_process_runs() -> None:
    """One process is there, dies at 4 s, and another starts at 6 s and closes at 9 s."""
    mine = [Instant(4_000, "crash", None, 0)]
    other = [Instant(6_000, "start", None, 1), Instant(9_000, "close", None, 2)]
    course = TimedCourse(Course(1, ()), [mine, other], 2, 20)
    assert running(course, 20_000) == [(0, 4_000), (6_000, 9_000)]
    turns = [(3_000.0, 0, False), (3_500.0, 1, False), (7_000.0, 1, True), (9_000.0, 1, False)]
    assert stopped_ms(turns, course, 20_000) == (1_000 + 3_000) + (500 + 1_000)


def test_a_longer_session_costs_time_without_a_reader(tmp_path: Path) -> None:
    """A process dies for good 35 s before its session of 45 s ends; another joins long after."""
    log = Log()
    a = log.joins(0, "a", 3.0)
    b = log.joins(60, "b", 2.0, a)
    log.expires(165, b, a, 2.0)
    log.joins(600, "c", 2.0, a)
    report = log.report(tmp_path)
    found = asked(report, "session.timeout.ms=300000", partitions=2)
    more = [after - before for before, after in zip(*found.stopped)]
    assert all(ms == pytest.approx(255_000, abs=4_000) for ms in more)
    said = " ".join(sentences(found))
    assert "s more than the 4" in said
    assert "missed after up to 300 s instead of 45 s" in said and "ends before" not in said
    said = " ".join(sentences(asked(report, "session.timeout.ms=1800000")))
    assert "The log ends before that" in said


# -- settings


def test_a_session_outside_of_the_brokers_bounds_is_warned_of(restarts: GroupReport) -> None:
    for value, warned in (("5999", True), ("6000", False), ("1800000", False), ("1800001", True)):
        change = (f"session.timeout.ms={value}", "heartbeat.interval.ms=1000")
        said = " ".join(sentences(asked(restarts, *change, replications=1)))
        assert ("Brokers refuse a session.timeout.ms" in said) == warned, value


def test_a_change_is_checked_against_the_settings_of_the_log() -> None:
    """In the log, heartbeats come every second, and sessions last 5 s."""
    (file,) = replay([DATA / "what_if/rolling-restart.requests.log.gz"])
    (group,) = file.groups
    found = asked(group, "session.timeout.ms=2000", replications=1)
    assert found.changed[1].session_timeout_ms == 2_000
    with pytest.raises(UserError, match=r"is 50000, and session.timeout.ms 5000 \(from the log"):
        asked(group, "heartbeat.interval.ms=50000")


@pytest.mark.parametrize("name", sorted(set(documented()) - set(EFFECTIVE)))
def test_a_setting_without_an_effect_is_refused(name: str) -> None:
    with pytest.raises(UserError, match="has no effect on the events of a log"):
        changes([f"{name}=3"])


def test_settings_with_an_effect_are_accepted() -> None:
    for name in EFFECTIVE:
        assert list(changes([f"{name}={0.5 if name == 'loss' else 2}"]).settings) == [name]


# -- words


def test_words_and_signs_agree() -> None:
    (file,) = replay([DATA / "what_if/rolling-restart.requests.log.gz"])
    said = " ".join(sentences(asked(file.groups[0], "static")))
    mean, low, high = compared(said, "less")
    assert low <= mean <= high and mean > 0
    assert "6 rebalances would not have happened" in said
    (file,) = replay([DATA / "requests/live-static_bounce.log.gz"])
    said = " ".join(sentences(asked(file.groups[0], "dynamic")))
    found = re.search(r"stand still about as long .* difference: (-[\d.]+) to ([\d.]+) s", said)
    assert found is not None and "members stand still" not in said.split(".")[0]
    assert re.search(r"The change adds rebalances: \d\.\d more on average", said)
    assert "would still have happened." in said and "0 rebalances" not in said


@pytest.mark.parametrize(
    ("stood", "stopped", "says"),
    [
        ((9_000, 1_000), (5_000, 5_000), "The change helps: members stand still 8.0 s less."),
        ((1_000, 9_000), (5_000, 5_000), "The change makes things worse: members stand"),
        ((9_000, 1_000), (0, 60_000), "s less, but partitions stand without a reader 60.0 s more."),
        ((5_000, 5_010), (5_000, 5_000), "The change makes no difference that can be told"),
    ],
)
def test_the_first_sentence_is_a_conclusion(
    stood: tuple[float, float],
    stopped: tuple[float, float],
    says: str,
    restarts: GroupReport,
) -> None:
    found = asked(restarts, "session.timeout.ms=50000")
    one = evolve(found.stood[0], baseline=(stood[0],) * 4, changed=(stood[1],) * 4)
    sides = ((stopped[0],) * 4, (stopped[1],) * 4)
    found = evolve(found, stood=(one,), stopped=sides)
    assert says in next(sentences(found))


def test_a_difference_that_may_be_none_is_not_said(restarts: GroupReport) -> None:
    found = asked(restarts, "session.timeout.ms=50000")
    one = evolve(found.stood[0], baseline=(1_000.0,) * 4, changed=(0.0, 30_000.0, 0.0, 2_000.0))
    said = " ".join(sentences(evolve(found, stood=(one,))))
    assert "stand still about as long as in the baseline, 1.0 s (95 % t interval" in said
    assert "members stand still" not in next(sentences(found))


def test_a_baseline_with_many_more_rounds_does_not_fit_the_log(restarts: GroupReport) -> None:
    found = asked(restarts, "static")
    rows = (evolve(found.rows[0], baseline=(4,) * 4), *found.rows[1:])
    found = evolve(found, rows=rows, rounds=((7,) * 4, (2,) * 4))
    assert found.verdict == "unknown"
    said = list(sentences(found))
    assert "does not fit the log" in said[0]
    assert "the events of generation 0 to 1 begin 4.0)" in said[0]
    assert not [one for one in said if "stand still" in one]


def test_many_processes_of_one_client_are_one_row() -> None:
    few = [Stood((f"c{k}",), (1.0, 3.0), (0.0, 0.0)) for k in range(3)]
    ghosts = [Stood(("ghost",), (float(k), 1.0), (0.0, 2.0)) for k in range(20)]
    assert by_client(few) == few
    *others, ghost = by_client([*few, *ghosts])
    assert others == few
    assert ghost.names == ("ghost (20 processes, each on average)",)
    assert (ghost.baseline, ghost.changed) == ((9.5, 1.0), (0.0, 2.0))


def test_no_time_has_a_minus_before_a_zero() -> None:
    assert stood_cells(Stood(("a",), (1.0, 1.0), (2.0, 1.0)))[-1] == "0.00 ± 0.01 s"


def test_a_generation_that_the_log_does_not_tell_is_not_called_none() -> None:
    (file,) = replay([DATA / "replay/t2-two-groups-failed-members.log"])
    for group in file.groups:
        assert not [r for r in group.timeline.rounds if "None" in generations(r)]
    assert generations(file.groups[0].timeline.rounds[0]) == "3 to none"


def test_an_unknown_answer_says_what_is_amiss(restarts: GroupReport) -> None:
    found = asked(restarts, "static")
    found = evolve(found, rounds=((13,) * 4, found.rounds[1]))
    (text,) = [s for s in sentences(found) if s.startswith("Unknown")]
    assert "9.0 rounds happen on average that the log does not have" in text
    assert "only" not in text
    few = [evolve(row, baseline=(0,) * 4) for row in found.rows[:3]] + [*found.rows[3:]]
    found = evolve(found, rows=tuple(few), rounds=((1,) * 4, (0,) * 4))
    (text,) = [s for s in sentences(found) if s.startswith("Unknown")]
    assert "only 1 of its 4 rebalances happens" in text and "on average" not in text


def test_what_the_log_does_not_tell_is_listed(restarts: GroupReport) -> None:
    found = asked(restarts, "static", replications=1)
    assert "protocol" in found.assumed and found.partitions_guessed
    said = " ".join(sentences(found))
    assert "protocol=eager" in said
    assert "The log does not tell the partitions: 2 are assumed" in said
    assert not asked(restarts, "static", replications=1, partitions=6).partitions_guessed
    (file,) = replay([DATA / "what_if/rolling-restart.requests.log.gz"])
    found = asked(file.groups[0], "static", replications=1)
    assert "protocol" not in found.assumed and not found.partitions_guessed


# -- how long it takes


def test_fewer_replications_are_run_where_they_take_long(restarts: GroupReport) -> None:
    found = asked(restarts, "static", replications=None, budget_s=0)
    assert found.replications == 2
    assert "2 of 8 replications were run" in " ".join(sentences(found))
    assert asked(restarts, "static", replications=2).rows == found.rows
    asked_for = asked(restarts, "static", replications=3, budget_s=0)
    assert asked_for.replications == 3 and "were run" not in " ".join(sentences(asked_for))


def test_each_simulation_is_reported(restarts: GroupReport) -> None:
    told: list[tuple[int, int]] = []
    asked(restarts, "static", replications=2, watch=lambda *report: told.append(report))
    assert told == [(done, 4) for done in range(5)]


def test_too_long_a_run_is_refused(restarts: GroupReport, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("groupcheck.oracles.replay.what_if.answer.MOST_MEMBER_SECONDS", 5_000)
    with pytest.raises(UserError, match="more than 5,000"):
        asked(restarts, "static", replications=50)
