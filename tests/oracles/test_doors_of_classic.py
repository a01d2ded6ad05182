"""The doors before the real protocol: the commands as a shell runs them. (That every known bug is
told, drawn and exported, `tests/mutations` shows.)
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import groupcheck
from groupcheck.model.engine import Progress
from groupcheck.model.variants import every_name, load
from groupcheck.oracles.command_line import cli

PROGRAM = Path(sys.executable).with_name("groupcheck")


def test_a_shell_sees_verdict_exit_code_and_files(tmp_path):
    exported = tmp_path / "test_exported.py"
    command = [
        PROGRAM,
        "check",
        "classic",
        "--mutation",
        "size_cap_off_by_one",
        "--json",
        "--pytest",
        exported,
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert done.returncode == 1, done.stderr
    assert [v["invariant"] for v in json.loads(done.stdout)["violations"]] == ["size_cap"]
    rerun = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "--rootdir",
            tmp_path,
            exported,
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert rerun.returncode == 0, rerun.stdout
    assert "1 passed" in rerun.stdout


def test_a_limit_makes_the_answer_unknown(capsys):
    assert cli.run(["check", "classic", "--max-states", "100", "--json"]) == 3
    told = json.loads(capsys.readouterr().out)
    assert told["verdict"] == "unknown"
    assert "limit of 100 states" in told["reason"]


def test_a_run_that_reached_its_limit_goes_on_from_its_checkpoint_to_the_same_numbers(
    tmp_path, capsys
):
    question = ["check", "classic", "--fault", "crash=1", "--json"]
    assert cli.run([*question, "--max-states", "300", "--checkpoint", str(tmp_path)]) == 3
    capsys.readouterr()
    cli.run(question)
    whole = json.loads(capsys.readouterr().out)
    cli.run([*question, "--resume", str(tmp_path)])
    resumed = json.loads(capsys.readouterr().out)
    same = ("verdict", "reason", "states", "transitions", "depth", "rules", "goals")
    assert [resumed[field] for field in same] == [whole[field] for field in same]
    assert cli.run([*question, "--members", "1", "--resume", str(tmp_path)]) == 2
    assert "belongs to another scope" in capsys.readouterr().err


def test_an_interrupt_answers_unknown_with_what_was_seen():
    def interrupt(progress: Progress) -> None:
        if progress.level >= 5:
            signal.raise_signal(signal.SIGINT)

    result = groupcheck.check("classic", members=2, any_faults=2, progress=interrupt)
    assert (result.unknown, result.exit_code) == (True, 3)
    assert "interrupted in level" in result.document()["reason"]
    assert result.verdict.states > 10


@pytest.mark.parametrize("kind", cli.KINDS)
def test_every_list_has_rows_with_a_name_and_an_explanation(kind, capsys):
    assert cli.run(["list", kind, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert rows
    for row in rows:
        assert row.get("name") or row.get("id")
        assert any(row.get(text) for text in ("doc", "statement", "title")), row
    assert cli.run(["list", kind]) == 0
    names = {row.get("name") or row["id"] for row in rows}
    assert len(capsys.readouterr().out.splitlines()) >= 2 * len(names)


def test_a_fault_that_several_variants_have_is_listed_once_with_all_of_them(capsys):
    assert cli.run(["list", "faults"]) == 0
    out = capsys.readouterr().out
    heads = [line for line in out.splitlines() if not line.startswith(" ")]
    told = " ".join(out.split())
    for fault in ("crash", "close"):
        of = {name: load(name).faults.get(fault) for name in every_name()}
        having = ", ".join(name for name in of if of[name] == of["classic"])
        assert having.count(",") > 10 and f" {fault} variant {having} A member" in f" {told}"
    assert len({line.split()[0] for line in heads}) == len(heads)
