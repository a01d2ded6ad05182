"""A sweep in this process: its table, what is kept and what is repeated, cells that fail, exit
codes, and the documents about it.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas
import pytest
from pyarrow import parquet

from groupcheck.model.engine import Limits
from groupcheck.oracles.command_line import cli
from groupcheck.oracles.processes import parallel
from groupcheck.oracles.show.parquet import schema
from groupcheck.oracles.sweep import rows, running
from groupcheck.oracles.sweep.cells import Question
from groupcheck.oracles.sweep.outcome import Outcome
from groupcheck.oracles.sweep.running import checked

DOCUMENT = (Path(__file__).parents[3] / "docs/sweep.md").read_text("utf-8")
BUG = '[[grid]]\nname = "a bug"\nvariant = "classic"\nmutation = "leader_forgotten"\n'
HEALTHY = '[[grid]]\nvariant = "classic"\nmembers = 1\ngenerations = 1\nfaults = {crash = [0, 1]}\n'
TIMES = {
    "seconds",
    "task_seconds",
    "forecast_seconds",
    "forecast_seconds_low",
    "forecast_seconds_high",
    "seconds_as_forecast",
    "bytes_per_state",
}

Sweeping = Callable[..., tuple[int, list[dict[str, Any]]]]


@pytest.fixture
def sweeping(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Sweeping:
    """Runs the command line on a text, in this process unless it is said; gives the exit code and
    the rows of the table.
    """

    def run(text: str, *options: str) -> tuple[int, list[dict[str, Any]]]:
        (tmp_path / "sweep.toml").write_text(text)
        given = options if "--workers" in options else ("--workers", "1", *options)
        code = cli.run(
            ["sweep", str(tmp_path / "sweep.toml"), "--out", str(tmp_path / "out"), *given]
        )
        table = tmp_path / "out" / "sweep.parquet"
        return code, parquet.read_table(table).to_pylist() if table.exists() else []

    return run


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Question]:
    """The questions that are really checked, in turn."""
    seen: list[Question] = []

    def watched(question: Question, slots: int = 1, workers: int = 1) -> tuple[Outcome, str]:
        seen.append(question)
        return checked(question, slots, workers)

    monkeypatch.setattr(running, "checked", watched)
    return seen


def test_a_sweep_ends_with_a_table_pages_and_the_exit_code_of_the_worst_cell(
    sweeping, tmp_path, capsys
):
    code, table = sweeping(HEALTHY + BUG)
    assert code == 1
    assert [
        (row["number"], row["verdict"], row["states"], row["as_expected"]) for row in table
    ] == [
        (1, "holds", 9, True),
        (2, "holds", 37, True),
        (3, "violated", 20, False),
    ]
    assert (table[2]["broken"], table[2]["steps"], table[2]["grid_name"]) == (
        ["leader_is_a_member"],
        5,
        "a bug",
    )
    assert "leader_is_a_member" in (tmp_path / "out" / table[2]["page"]).read_text()
    shown = capsys.readouterr().out
    assert (
        shown.splitlines()[0] == "violated  sweep  3 cells: 2 holds, 1 violated; 1 not as expected"
    )
    assert "with leader_forgotten (expected: holds): leader_is_a_member after 5 steps" in " ".join(
        shown.split()
    )


def test_the_number_of_processes_changes_no_figure(sweeping, tmp_path, monkeypatch):
    monkeypatch.setattr(parallel, "WORTH_S", 0.0)
    told: list[list[Any]] = []
    for workers in ("1", "2"):
        code, table = sweeping(HEALTHY + BUG, "--workers", workers)
        assert code == 1
        page = (tmp_path / "out" / table[2]["page"]).read_text()
        pictures = re.findall(r"<svg.*?</svg>", page, re.DOTALL)
        told.append(pictures)
        told[-1] += [{k: v for k, v in row.items() if k not in TIMES} for row in table]
        shutil.rmtree(tmp_path / "out")
    assert told[0] == told[1] and len(told[0]) > 3


def test_a_check_that_takes_its_process_with_it_is_reported(sweeping, monkeypatch):
    def dying(question: Question, slots: int = 1, workers: int = 1) -> tuple[Outcome, str]:
        if question.mutation and os.getpid() != here:
            os._exit(1)
        return checked(question, slots, workers)

    here = os.getpid()
    monkeypatch.setattr(parallel, "WORTH_S", 0.0)
    monkeypatch.setattr(running, "checked", dying)
    code, table = sweeping(HEALTHY + BUG, "--workers", "2")
    assert code == 3
    assert [row["verdict"] for row in table] == ["holds", "holds", "unknown"]
    assert table[2]["reason"].startswith("the process that ran it died")


def test_the_key_in_the_table_replays_the_counterexample(sweeping, capsys):
    key = sweeping(BUG)[1][0]["key"]
    capsys.readouterr()
    assert cli.run(["explain", "classic", key, "--mutation", "leader_forgotten"]) == 0
    assert "leader_is_a_member breaks after 5 steps" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (BUG + 'expect = "violated"\n', 0),
        (HEALTHY + 'expect = "violated"\n', 1),
        (BUG + 'expect = "unknown"\n', 1),
        (HEALTHY + "limits = {max_states = 1}\n", 3),
        (HEALTHY + 'expect = "unknown"\nlimits = {max_states = 1}\n', 0),
        (HEALTHY + "limits = {max_states = 1}\n" + BUG, 1),
    ],
)
def test_a_cell_counts_as_0_if_it_is_as_expected_and_violated_is_worse_than_unknown(
    sweeping, text, code
):
    assert sweeping(text)[0] == code


def test_limits_of_a_cell_are_honoured_and_said(sweeping):
    # A search that would not fit beside all that other tests left in this process is refused, so
    # the limit of memory is far above it.
    _, table = sweeping(
        '[[grid]]\nvariant = "classic"\nmembers = 3\nlimits = {max_states = 500, max_seconds = 50,'
        ' max_memory = "64G"}\n'
    )
    row = table[0]
    assert (
        row["verdict"],
        row["complete"],
        row["max_states"],
        row["max_seconds"],
        row["max_memory"],
    ) == (
        "unknown",
        False,
        500,
        50.0,
        64 << 30,
    )
    assert "stopped at the limit of 500 states" in row["reason"]


def test_what_is_done_is_not_repeated_and_a_file_that_has_grown_repeats_only_what_is_new(
    sweeping, asked
):
    first = sweeping(HEALTHY)[1]
    assert (len(asked), sweeping(HEALTHY, "--resume")) == (2, (0, first))
    assert len(asked) == 2
    code, table = sweeping(HEALTHY.replace("[0, 1]", "[0, 1, 2]") + BUG, "--resume")
    assert (code, len(table), len(asked)) == (1, 4, 4)
    sweeping(HEALTHY + "limits = {max_states = 1000}\n", "--resume")
    assert len(asked) == 6


@pytest.mark.parametrize("damage", ["cell", "half a cell", "page", "no page", "nothing in it"])
def test_a_torn_result_is_noticed_and_its_cell_repeated(sweeping, asked, tmp_path, damage):
    before = sweeping(HEALTHY + BUG)[1]
    file = tmp_path / "out" / "cells" / f"{before[2]['cell']}.json"
    page = tmp_path / "out" / before[2]["page"]
    if damage == "cell":
        file.write_text(file.read_text().replace('"states": 20', '"states": 21'))
    elif damage == "half a cell":
        file.write_bytes(file.read_bytes()[:100])
    elif damage == "page":
        page.write_bytes(page.read_bytes()[:-10])
    elif damage == "no page":
        page.unlink()
    else:
        file.write_bytes(b"")
    _, after = sweeping(HEALTHY + BUG, "--resume")
    assert [question.mutation for question in asked[3:]] == ["leader_forgotten"]
    assert [without_times(row) for row in after] == [without_times(row) for row in before]


def test_a_cell_that_fails_is_tried_three_times_and_takes_no_other_with_it(
    sweeping, monkeypatch, capsys
):
    tried: list[int] = []

    def failing(question: Question, slots: int = 1, workers: int = 1) -> tuple[Outcome, str]:
        if question.faults == {"crash": 1}:
            tried.append(1)
            raise MemoryError("no <b>room</b>\nat all")
        return checked(question, slots, workers)

    with monkeypatch.context() as patched:
        patched.setattr(running, "checked", failing)
        code, table = sweeping(HEALTHY + BUG + 'expect = "violated"')
    assert (code, len(tried)) == (3, 3)
    assert [row["verdict"] for row in table] == ["holds", "unknown", "violated"]
    assert (table[1]["failed"], table[1]["tries"], table[1]["states"]) == (True, 3, 0)
    assert table[1]["reason"] == "the check failed 3 times: MemoryError: no <b>room</b> at all"
    code, table = sweeping(HEALTHY + BUG + 'expect = "violated"', "--resume")
    assert (code, table[1]["verdict"]) == (0, "holds")


def test_a_failure_that_was_expected_to_be_unknown_is_still_a_failure(sweeping, monkeypatch):
    def failing(*_: Any, **__: Any) -> tuple[Outcome, str]:
        raise OSError("gone")

    monkeypatch.setattr(running, "checked", failing)
    assert sweeping(HEALTHY + 'expect = "unknown"')[0] == 3


def test_ctrl_c_keeps_what_is_done_and_resume_goes_on(sweeping, monkeypatch, capsys, tmp_path):
    def interrupted(question: Question, slots: int = 1, workers: int = 1) -> tuple[Outcome, str]:
        if question.mutation:
            raise KeyboardInterrupt
        return checked(question, slots, workers)

    with monkeypatch.context() as patched:
        patched.setattr(running, "checked", interrupted)
        code, table = sweeping(
            BUG.replace('"a bug"', '"x"') + HEALTHY.replace("members = 1", "members = 3")
        )
    told = capsys.readouterr()
    assert (code, table, told.out) == (3, [], "")
    assert "interrupted: 2 of 3 cells done; continue with --out" in told.err
    assert (
        sweeping(
            BUG.replace('"a bug"', '"x"') + HEALTHY.replace("members = 1", "members = 3"),
            "--resume",
        )[0]
        == 1
    )
    assert "2 of 3 cells done already" in capsys.readouterr().err


def test_ctrl_c_in_the_middle_of_a_search_ends_a_real_run_at_once(tmp_path):
    (tmp_path / "sweep.toml").write_text(
        '[[grid]]\nvariant = "classic"\nmembers = [1, 2, 3, 4, 5]\ngenerations = 1\nfaults = {crash'
        " = 1}\n"
    )
    out = tmp_path / "out"
    started = [
        sys.executable,
        "-c",
        "from groupcheck.oracles.command_line.cli import main; main()",
        "sweep",
        str(tmp_path / "sweep.toml"),
        "--out",
        str(out),
    ]
    with subprocess.Popen(started, stderr=subprocess.PIPE, text=True) as run:
        try:
            deadline = time.monotonic() + 120
            while len(list(out.glob("cells/*.json"))) < 3 and time.monotonic() < deadline:
                time.sleep(0.02)
            time.sleep(0.2)
            run.send_signal(signal.SIGINT)
            told = run.communicate(timeout=60)[1]
        finally:
            run.kill()
    assert run.returncode == 3
    assert (
        told.splitlines()[-1]
        == f"groupcheck: interrupted: 3 of 5 cells done; continue with --out {out} --resume"
    )


def test_a_search_that_ctrl_c_ends_is_no_result(monkeypatch):
    from groupcheck.oracles.sweep import running

    real = running.run

    def cut(*arguments: Any, **options: Any) -> Any:
        import attrs

        result = real(*arguments, **options)
        return attrs.evolve(
            result,
            verdict=attrs.evolve(
                result.verdict,
                verdict="unknown",
                reason="interrupted in level 3; 5 states were left",
            ),
        )

    monkeypatch.setattr(running, "run", cut)
    with pytest.raises(KeyboardInterrupt):
        checked(Question("classic", {"members": 1}, None, None, (), Limits()))


def test_small_scopes_come_first_and_the_forecast_of_the_next_is_told_and_checked(
    sweeping, asked, capsys
):
    text = (
        '[[grid]]\nvariant = "classic"\nmembers = 1\ngenerations = 2\nfaults = {close = [3, 2, 1,'
        " 0]}\n"
    )
    _, table = sweeping(text)
    assert dict(asked[-1].faults or {}) == {"close": 3}
    row = table[0]
    assert (row["states"], row["forecast_by"], row["states_as_forecast"]) == (
        241,
        "fault close 3",
        True,
    )
    assert row["forecast_states_low"] <= 241 <= row["forecast_states_high"]
    told = capsys.readouterr()
    assert "forecast of 1 larger scope from smaller ones" in told.err
    assert re.search(r"close 3: \d+ states \(\d+ to \d+\), [\d.]+ s", told.err)
    assert "1 of 1 forecasts of states held" in told.out
    assert sweeping(text, "--resume")[1] == table


def test_the_document_says_what_the_table_says(sweeping, capsys, tmp_path):
    code, table = sweeping(HEALTHY + BUG, "--json")
    told = json.loads(capsys.readouterr().out)
    assert (code, told["schema"], told["verdict"], told["unexpected"]) == (
        1,
        "groupcheck.sweep/1",
        "violated",
        1,
    )
    assert told["counts"] == {"holds": 2, "violated": 1, "unknown": 0}
    assert [{**row, "faults": list(row["faults"].items())} for row in told["cells"]] == table
    assert Path(told["table"]) == tmp_path / "out" / "sweep.parquet"
    assert {name for name in told if f"`{name}`" not in DOCUMENT} == {"schema"}


def test_every_column_is_documented_with_its_type():
    told: dict[str, str] = {}
    section = DOCUMENT.partition("\n## The table\n")[2].partition("\n## ")[0]
    for names, kind in re.findall(
        r"^\| (`[^|]*`) \| (string|bool|int32|int64|float64|list of string|map of string to"
        r" int32) \|",
        section,
        re.M,
    ):
        told |= dict.fromkeys(re.findall(r"`(\w+)`", names), kind.split()[0])
    assert told == rows.COLUMNS
    assert schema(rows.COLUMNS).names == list(rows.COLUMNS)


def test_the_queries_of_the_document_answer_their_questions(sweeping, tmp_path, monkeypatch):
    sweeping(
        '[[grid]]\nvariant = "classic"\nmembers = 1\ngenerations = [1, 2]\nfaults = {close = [0, 1,'
        " 2, 3]}\n" + BUG
    )
    (tmp_path / "out").rename(tmp_path / "results")
    monkeypatch.chdir(tmp_path)
    queries = re.findall(r"^```python\n(.*?)^```$", DOCUMENT, re.M | re.S)
    answers: dict[str, Any] = {}
    assert len(queries) == 3
    for query in queries:
        exec(query, answers)
    assert list(answers["surprises"].mutation) == ["leader_forgotten"]
    growth: pandas.DataFrame = answers["growth"]
    assert growth.loc["close 1", (1, 2)] == pytest.approx(44 / 9)
    assert len(answers["forecasts"]) == 2 and answers["forecasts"].off.between(0.5, 2).all()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--resume"], "--resume: there is nothing to resume (name the folder with --out)"),
        (["--workers", "0"], "Invalid value for '--workers': 0 is not in the range 1<=x<=1024"),
        (["--spark", "localhost", "--out", "{}"], "--spark: 'localhost' is not a Spark master"),
        (["--out", "{}/file"], "/file cannot be used: Not a directory"),
    ],
)
def test_bad_usage_is_one_line_and_exit_2(tmp_path, options, words, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sweep.toml").write_text(HEALTHY)
    (tmp_path / "file").write_text("")
    assert (
        cli.run(
            [
                "sweep",
                str(tmp_path / "sweep.toml"),
                *(option.format(tmp_path) for option in options),
            ]
        )
        == 2
    )
    told = capsys.readouterr()
    assert words in told.err and len(told.err.splitlines()) == 1 and told.out == ""


def test_results_of_another_sweep_are_not_mixed_in_by_accident(sweeping, capsys):
    assert sweeping(HEALTHY)[0] == 0
    capsys.readouterr()
    assert sweeping(HEALTHY)[0] == 2
    assert (
        "already holds results (continue them with --resume, or name another folder)"
        in capsys.readouterr().err
    )


def without_times(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in TIMES}


def test_a_cell_judges_progress(sweeping: Sweeping):
    text = '[[grid]]\nvariant = "classic"\nmembers = 1\nany_faults = 1\nprogress = true\n'
    code, (row,) = sweeping(text)
    assert (code, row["verdict"], row["progress"]) == (0, "holds", True)
    assert "group_settles" in row["invariants"]
    broken = text + 'mutation = "expelled_still_counted"\nexpect = "violated"\n'
    code, (row,) = sweeping(broken, "--resume")
    assert (code, row["as_expected"]) == (0, True)
    assert "group_settles" in row["broken"]
