"""From runs to a report: verdicts, schedules that can be played again, ways that the model has."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from attrs import evolve

from groupcheck.model.engine import UserError
from groupcheck.oracles.command_line.cli import run as groupcheck
from groupcheck.oracles.judge.client import command
from groupcheck.oracles.judge.client import events as said
from groupcheck.oracles.judge.client.command import _schedules
from groupcheck.oracles.judge.client.differences import Difference
from groupcheck.oracles.judge.client.harm import Confirmation
from groupcheck.oracles.judge.client.judging import Differing, Finding, Shortest, Trials
from groupcheck.oracles.judge.client.machine_time import MachineTime
from groupcheck.oracles.judge.client.moves import FOLLOWS, SETTINGS, STATIC, Licence, Move, Step
from groupcheck.oracles.judge.client.record import App, Asked, Ended, Moved, Record, Told
from groupcheck.oracles.judge.client.reporting import judgement
from groupcheck.oracles.judge.client.rules import RULES, Case
from groupcheck.oracles.judge.client.session import MoveResult
from groupcheck.oracles.judge.client.targets import Target, targets
from groupcheck.oracles.judge.client.transcript import transcript
from groupcheck.oracles.judge.client.trying import Run
from groupcheck.oracles.judge.client.ways import shortest_way
from groupcheck.oracles.judge.report.document import as_document
from groupcheck.oracles.judge.report.page import page
from groupcheck.oracles.judge.report.verdicts import EXIT_CODES

EVICTED = Shortest(FOLLOWS, Move("Heartbeat", (Step.EXPIRE,), code=25))
OFFSETS = {("t", 0): 7}
EVENTS = (
    Asked(1.0, 1, 2, 2, "Heartbeat", member="m", generation=1),
    Moved(1.1, "move", "the client's session ends"),
    Told(1.2, 1, 25),
    App(1.25, said.Delivered(("t", 0), 5, 6)),
    App(1.26, said.Delivered(("t", 0), 7, 8)),
    Asked(1.3, 2, 2, 2, "OffsetCommit", offsets=OFFSETS),
)
RULE = next(rule for rule in RULES if rule.name == "never_commits_from_outside")


def found(again: int, control: str | None = None) -> Trials:
    """A finding that was tried three times again, and has shown so often."""
    record = Record(EVENTS, {"t": 1}, 3000, 5000)
    assert EVICTED.move is not None
    run = Run(FOLLOWS, (MoveResult(EVICTED.move, True, True, 0.9),), record, True)
    case = Case(1.3, "it commits t-0 with generation -1")
    told = Trials(runs=[run])
    told.occasions[RULE.name] = 4
    told.findings[RULE.name] = Finding(RULE, {EVICTED: (run, case)}, 1)
    shows = {RULE.name: case}
    told.tries[EVICTED] = [(run, shows if k < again else {}) for k in range(3)]
    if control is not None:
        told.controls[EVICTED] = {RULE.name: Case(1.0, control)} if control else {}
    return told


@pytest.mark.parametrize(
    ("again", "control", "verdict", "exit_code"),
    [
        (3, "", "breaks", 1),
        (3, None, "breaks", 1),
        (2, "", "unsteady", 3),
        (0, "", "unsteady", 3),
        (3, "it does so, too", "unsteady", 3),
    ],
)
def test_what_showed_three_times_breaks_unless_the_control_did_it(
    again: int, control: str | None, verdict: str, exit_code: int
) -> None:
    told = judgement(found(again, control), "c")
    became = {one.rule.name: one.became for one in told.rules}
    assert became[RULE.name] == verdict and told.exit_code == exit_code
    assert {v for name, v in became.items() if name != RULE.name} == {"not_judged"}


def test_fewer_tries_than_are_wanted_decide_nothing() -> None:
    told = found(3)
    del told.tries[EVICTED][1:]
    assert judgement(told, "c").exit_code == 3


def test_harm_on_kafka_decides_and_is_told() -> None:
    harm = Confirmation("sets_back", "4.3.0", True, "it is 5", frozenset({RULE.name}))
    told = judgement(found(1), "c", harms=[harm])
    assert told.exit_code == 1
    assert told.remarks[0].detail.endswith("On Apache Kafka 4.3.0: it is 5")


def test_events_that_were_not_kept_are_told() -> None:
    told = found(3)
    assert "dropped" not in dict(judgement(told, "c").facts)
    record = evolve(told.runs[0].record, dropped=1_234)
    told.runs.append(evolve(told.runs[0], record=record))
    assert dict(judgement(told, "c").facts)["dropped"].startswith("1,234 events")


@pytest.mark.parametrize(("late", "said"), [(0.1, ""), (4.0, "8 of 20 s of the runs")])
def test_a_run_most_of_which_did_not_count_is_told(late: float, said: str) -> None:
    told, clock = found(3), MachineTime()
    clock.stalled(5.0, late)
    record = Record((Ended(clock(20.0), 0),), {}, 3000, 5000, clock=clock)
    told.runs[:] = [evolve(told.runs[0], record=record)]
    assert dict(judgement(told, "c").facts).get("stalls", "").partition(" do not")[0] == said


def test_what_is_known_keeps_the_exit_code_at_0() -> None:
    told = judgement(found(3), "c", accepted={RULE.name: "by design"})
    assert told.exit_code == 0 and told.remarks[0].known == "by design"


@pytest.mark.parametrize(("again", "exit_code"), [(3, 1), (0, 3)])
def test_the_exit_code_of_a_run_that_was_ended_early_is_its_verdicts(
    again: int, exit_code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    told = evolve(judgement(found(again), "c"), reason="interrupted")
    monkeypatch.setattr(command, "judged", lambda *_: told)
    arguments = ["judge", "client", "--no-control", "--json", "--", "true"]
    assert groupcheck(arguments) == EXIT_CODES[told.verdict] == exit_code
    assert json.loads(capsys.readouterr().out)["verdict"] == told.verdict


def test_a_report_can_be_played_again(tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    document = as_document("client", judgement(found(3), "c"))
    file.write_text(json.dumps(document))
    assert _schedules(file) == (EVICTED,)
    assert "client" in page("client", judgement(found(3), "c"))


def test_a_row_that_differs_informs_and_is_played_again_if_it_is_given_alone(
    tmp_path: Path,
) -> None:
    told = found(3)
    row = Difference(1.3, "no member: it sends OffsetCommit", "OffsetCommit", ("JoinGroup",), "it")
    told.differing[row.row, row.root] = Differing(row, told.runs[0], EVICTED)
    del told.findings[RULE.name]
    judged = judgement(told, "c")
    assert judged.exit_code == 0 and [one.became for one in judged.remarks] == ["informs"]
    assert "informs" in page("client", judged)
    file, document = tmp_path / "report.json", as_document("client", judged)
    file.write_text(json.dumps(document))
    with pytest.raises(UserError, match="has no schedules"):
        _schedules(file)
    file.write_text(json.dumps(document["differs"][0]))
    assert _schedules(file) == (EVICTED,)


@pytest.mark.parametrize("text", ["", "[]", '{"differs": [{"schedule": {"profile": "x"}}]}'])
def test_a_file_without_schedules_is_an_error(text: str, tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    file.write_text(text)
    with pytest.raises(UserError):
        _schedules(file)


def test_the_transcript_tells_what_counts_once() -> None:
    record = Record(EVENTS, {"t": 1}, 3000, 5000)
    assert [str(line) for line in transcript(record, 0.9, 1.3)] == [
        "1. client sends Heartbeat as m generation 1",
        "   at 1.10 s: the client's session ends",
        "   1 <- Heartbeat 25 UNKNOWN_MEMBER_ID",
        "   its application: gets records of t-0",
        "2. client sends OffsetCommit as nobody generation -1 t-0 7",
    ]


def test_the_shortest_way_is_the_models() -> None:
    commit = Target(FOLLOWS, Move("OffsetCommit", code=27))
    assert shortest_way(commit) == (
        "it sends JoinGroup without an id",
        "it sends JoinGroup",
        "initial delay",
        "it sends OffsetCommit with generation 1",
    )
    assert shortest_way(Target(STATIC, Move("Heartbeat", code=82)))[-1].startswith("it sends Heart")
    assert shortest_way(Target(FOLLOWS, Move("Heartbeat", code=30, put=True))) == ()


def test_only_hostile_runs_have_hostile_targets() -> None:
    for licence in Licence:
        worst = max(target.move.licence for target in targets(True, licence))
        assert worst == licence
    assert {target.setting.name for target in targets(False, Licence.KAFKA)} == set(SETTINGS)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "needs either a command or a library"),
        (["--library", "java", "--", "true"], "needs either a command or a library"),
        (["--library", "nobody"], "there is no adapter for 'nobody'"),
        (["--", "no-such-program-here"], "no program no-such-program-here is found"),
    ],
)
def test_bad_usage_is_one_line(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert groupcheck(["judge", "client", *arguments]) == 2
    error = capsys.readouterr().err
    assert words in error and "Traceback" not in error
