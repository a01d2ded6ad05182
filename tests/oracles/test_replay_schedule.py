"""The schedule of a log as a test: it runs, it passes, and it fails if the model is another."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from groupcheck.oracles.command_line import cli
from groupcheck.oracles.pytest_plugin import Checker
from groupcheck.traces.broker import phase_steps as steps

DATA = Path(__file__).parent.parent / "data"
LOGS = {
    "an old coordinator": "replay/live-coop_join_kill.log",
    "a new coordinator": "replay/kafka41-console-group-scale.log",
    "a request log": "requests/live-zombie.log.gz",
}


def exported(log: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert cli.run(["replay", str(DATA / log), "--pytest"]) == 0
    return capsys.readouterr().out


def functions_of(text: str) -> list[Callable[[Checker], None]]:
    space: dict[str, Any] = {}
    exec(text, space)
    return [test for name, test in space.items() if name.startswith("test_")]


@pytest.mark.parametrize("log", LOGS.values(), ids=LOGS)
def test_the_exported_test_passes_and_fails_if_the_rounds_are_others(
    log: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text = exported(log, capsys)
    checker = Checker("here", None)
    for test in functions_of(text):
        test(checker)
    broken = re.sub(r"(rounds=\(\s+)\(\w+, (\d+),", r"\1(0, 77\2,", text)
    with pytest.raises(AssertionError, match="the rebalances are"):
        functions_of(broken)[0](checker)


def test_another_model_fails_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (*_, last) = functions_of(exported(LOGS["a new coordinator"], capsys))
    monkeypatch.setattr(steps, "end_round", lambda world, anybody: None)
    with pytest.raises(AssertionError):
        last(Checker("here", None))


@pytest.mark.parametrize("other", ["--html page.html", "--markdown page.md", "--json"])
def test_no_other_output_is_promised_beside_it(other: str, capsys: pytest.CaptureFixture[str]):
    log = str(DATA / LOGS["a new coordinator"])
    assert cli.run(["replay", log, "--pytest", "-", *other.split()]) == 2
    assert f"{other.split()[0]}: cannot be combined with --pytest" in capsys.readouterr().err


def test_pytest_runs_it_with_the_fixture(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "test_schedule.py"
    file.write_text(exported(LOGS["a request log"], capsys), encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(file)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "1 passed" in done.stdout, done.stdout


@pytest.mark.parametrize("log", ["clients/poll_timeout.b.log.gz"])
def test_a_log_without_a_schedule_is_refused(log: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["replay", str(DATA / log), "--pytest"]) == 2
    told = capsys.readouterr().err
    assert "no group in these logs has a schedule" in told and "server.log" in told


def test_no_file_of_somebody_else_is_written_over(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_bytes((DATA / LOGS["a new coordinator"]).read_bytes())
    before = log.read_bytes()
    assert cli.run(["replay", str(DATA / LOGS["a new coordinator"]), "--pytest", str(log)]) == 2
    assert log.read_bytes() == before
