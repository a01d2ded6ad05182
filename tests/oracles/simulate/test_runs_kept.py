"""Runs that are done are kept in a file (`--resume`), and not done again."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from groupcheck.oracles.command_line import cli
from groupcheck.oracles.simulate import (
    Setup,
    compare,
    replications,
    run_cache,
    sensitivity,
    simulate,
)
from groupcheck.oracles.simulate.progress import progress_line
from groupcheck.oracles.simulate.run_cache import FIRST, RunCache
from groupcheck.oracles.simulate.simulation import lasting
from groupcheck.oracles.simulate.uses import advice
from groupcheck.oracles.simulate.uses.advice_group import DEFAULTS, Alternative

SMALL = [Setup(variant=v, members=3, partitions=3) for v in ("classic", "cooperative")]


class Runs:
    """In place of `results`: counts the runs, and after `most` there is Ctrl-C."""

    def __init__(self, most: int = 1_000) -> None:
        self.done, self.most = 0, most

    def __call__(
        self, run: Any, tasks: Sequence[Setup], workers: int, here: Any
    ) -> Iterator[tuple[int, Any]]:
        for k, task in enumerate(tasks):
            if self.done >= self.most:
                raise KeyboardInterrupt
            self.done += 1
            yield k, run(task)


@pytest.fixture
def few_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two assumptions vary, and two alternatives are compared: more are kept in the same way."""
    asked = sensitivity._asked
    monkeypatch.setattr(sensitivity, "_asked", lambda *given: islice(asked(*given), 4))
    two = [DEFAULTS, Alternative("cooperative")]
    monkeypatch.setattr(advice, "alternatives", lambda _: (two, ()))


@pytest.mark.usefixtures("few_runs")
@pytest.mark.parametrize(
    ("command", "first"),
    [
        (
            "simulate --scenario crash --members 3 --compare classic,async_server --replications 2"
            " --sensitivity",
            3,
        ),
        ("curve initial-delay --members 2 --at 0s --at 3s --replications 2", 3),
        ("advise --members 2 --replications 3", -3),
    ],
)
def test_a_command_that_was_stopped_goes_on_to_the_same_answer(
    command: str,
    first: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def answer(*more: str, most: int = 1_000, exit_code: int = 0) -> tuple[str, int]:
        runs = Runs(most)
        monkeypatch.setattr(replications, "results", runs)
        assert cli.run([*command.split(), "--json", *more]) == exit_code
        return capsys.readouterr().out, runs.done

    file = str(tmp_path / "runs")
    whole, every = answer()
    first %= every
    stopped, done = answer("--resume", file, most=first, exit_code=3)
    assert done == first and json.loads(stopped)["verdict"] == "unknown"
    again, done = answer("--resume", file)
    assert again == whole and done <= every - first  # --sensitivity begins with those of before
    assert answer("--resume", file) == (whole, 0)


def test_a_run_is_kept_as_it_is(tmp_path: Path) -> None:
    setup = Setup(members=4, partitions=4, scenario="crash", seconds=9.0)
    found = simulate(setup)
    mine = RunCache.opened(tmp_path / "runs")
    assert mine is not None
    mine.keep(setup, found)
    again = RunCache.opened(tmp_path / "runs")
    assert again is not None and again.found([setup]) == {0: found}
    assert found.setup == lasting(setup) and repr(again.found([setup])[0]) == repr(found)
    assert again.found([setup.with_(seed=1), setup.with_(restart_ms=1.0)]) == {}


def test_a_torn_line_or_another_source_is_a_run_that_was_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "runs"
    found = compare(SMALL, 2, kept=RunCache.opened(file))
    file.write_bytes(file.read_bytes()[:-9])
    runs = Runs()
    monkeypatch.setattr(replications, "results", runs)
    assert compare(SMALL, 2, kept=RunCache.opened(file)) == found and runs.done == 1
    assert compare(SMALL, 2, kept=RunCache.opened(file)) == found and runs.done == 1
    monkeypatch.setattr(run_cache, "digest_of_sources", lambda functions: "another")
    assert compare(SMALL, 2, kept=RunCache.opened(file)) == found and runs.done == 5


@pytest.mark.parametrize(
    "told", ["", "[" * 5_000, "[]", "{}", '{"rounds": [], "lag": 1}', "1" * 5_000]
)
def test_a_line_that_somebody_else_made_is_a_run_that_was_not_kept(
    told: str, tmp_path: Path
) -> None:
    file, setup = tmp_path / "runs", SMALL[0]
    mine = RunCache.opened(file)
    assert mine is not None
    mine.keep(setup, simulate(setup))
    _, key, _ = file.read_text().splitlines()[1].split(" ", 2)
    digest = hashlib.blake2b(f"{key} {told}".encode(), digest_size=16).hexdigest()
    file.write_text(f"{FIRST.decode()}{digest} {key} {told}\n")
    again = RunCache.opened(file)
    assert again is not None and again.found([setup]) == {}


def test_a_run_that_was_cut_is_not_kept(tmp_path: Path) -> None:
    file = tmp_path / "runs"
    long = Setup(members=20, partitions=20, scenario="rolling-restart")
    mine = RunCache.opened(file)
    assert mine is not None
    cut = simulate(long, report=lambda part: part > 0)
    assert cut.cut
    mine.keep(long, cut)
    assert file.read_bytes() == FIRST


@pytest.mark.parametrize("content", [b"[]\n", b"groupcheck.runs/2\n", b"\xff" * 40])
def test_another_file_stays_as_it_is(
    content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "table.csv"
    file.write_bytes(content)
    assert cli.run(["simulate", "--members", "2", "--resume", str(file)]) == 2
    assert "holds something else than runs of simulations" in capsys.readouterr().err
    assert file.read_bytes() == content
    assert cli.run(["simulate", "--members", "2", "--resume", str(file / "x")]) == 2
    same = ["--resume", str(file), "--csv", str(file)]
    assert cli.run(["simulate", "--members", "2", *same]) == 2


@pytest.mark.parametrize(
    "command",
    ["simulate --compare classic,classic", "curve initial-delay --set x=1", "advise --set x=1"],
)
def test_a_command_that_is_refused_makes_no_file(command: str, tmp_path: Path) -> None:
    assert cli.run([*command.split(), "--resume", str(tmp_path / "runs")]) == 2
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_ordinary_file_is_not_read(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["simulate", "--members", "2", "--resume", "/dev/full"]) == 2
    said = "--resume: /dev/full cannot be used: it is no ordinary file"
    assert said in capsys.readouterr().err


def test_a_full_disk_costs_no_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    mine = RunCache.opened(tmp_path / "runs")
    shutil.rmtree(tmp_path)
    assert compare(SMALL, 2, kept=mine).replications == 2
    assert capsys.readouterr().err.count("runs are not kept any more") == 1


def test_the_time_left_is_that_of_runs_that_take_time() -> None:
    assert progress_line(7, 9, 10.0, known=5) == "run 8 of 9, about 10 s left"
    assert progress_line(5, 9, 10.0, known=5) == "run 6 of 9"
