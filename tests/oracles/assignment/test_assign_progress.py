"""`groupcheck assign` shows on a terminal what it is doing, on stderr, and nothing elsewhere."""

from __future__ import annotations

import json
from pathlib import Path

from groupcheck.oracles.assignment.judge.judging import judge
from groupcheck.oracles.assignment.judge.question import question
from groupcheck.oracles.assignment.judge.sequence import judge_sequence, sequence
from groupcheck.oracles.command_line import cli

DATA = Path(__file__).parents[2] / "data" / "assign"


def read(name):
    return json.loads((DATA / name).read_text("utf-8"))


def test_each_stage_is_told_before_it_begins():
    stages = []
    judge(question(read("roundrobin.json") | {"assignment": None}), stages.append)
    assert stages == [
        "roundrobin answers",
        "looking for the fewest moves",
        "judging 3 promises",
        "looking for an assignment that is right",
    ]
    given = sequence(read("sequence.json"))
    stages.clear()
    judge_sequence(given, stages.append)
    count = len(given.steps)
    assert stages == [f"change {k} of {count}" for k in range(1, count + 1)]


def test_what_is_being_done_is_shown_on_a_terminal_only(capsys, monkeypatch):
    cli.run(["assign", str(DATA / "sticky.json"), "--json"])
    assert capsys.readouterr().err == ""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    cli.run(["assign", str(DATA / "sticky.json"), "--json"])
    out, err = capsys.readouterr()
    assert json.loads(out)["verdict"] == "right" and " s" in err
