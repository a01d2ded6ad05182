"""Sweeps on Spark: the same table as in one process, whatever raises, dies or is interrupted on the
way. One session serves all tests.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest
from pyarrow import parquet
from pyspark import TaskContext, cloudpickle
from pyspark.sql import SparkSession

from groupcheck.oracles.command_line import cli
from groupcheck.oracles.sweep import on_spark
from groupcheck.oracles.sweep.cells import Cell
from groupcheck.oracles.sweep.growing import grown
from groupcheck.oracles.sweep.on_spark import check_on, run_tasks, sweep_session, tries
from groupcheck.oracles.sweep.outcome import TRIES, Outcome

MASTER = "local[2]"
TIMES = (
    {"seconds", "task_seconds", "tries", "bytes_per_state"}
    | {f"forecast_seconds{end}" for end in ("", "_low", "_high")}
    | {"seconds_as_forecast"}
)
FILE = """
[[grid]]
variant = "classic"
members = [1, 2]
generations = [1, 2]
faults = [{}, {crash = 1}, {close = 1}]
[[grid]]
variant = "classic"
members = 1
generations = 2
faults = {close = [2, 3]}
[[grid]]
variant = "classic"
mutation = ["leader_forgotten", "size_cap_off_by_one"]
expect = "violated"
"""


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    with sweep_session(MASTER) as session:
        yield session


@pytest.fixture
def lent(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command line is given the session that there is."""

    @contextlib.contextmanager
    def lend(master: str) -> Iterator[SparkSession]:
        yield spark

    monkeypatch.setattr(on_spark, "sweep_session", lend)


def swept(folder: Path, *options: str) -> tuple[int, list[dict[str, Any]]]:
    (folder / "sweep.toml").write_text(FILE)
    out = folder / f"out{len(list(folder.iterdir()))}"
    code = cli.run(["sweep", str(folder / "sweep.toml"), "--out", str(out), *options])
    return code, [
        {k: v for k, v in row.items() if k not in TIMES}
        for row in parquet.read_table(out / "sweep.parquet").to_pylist()
    ]


def cells(**grid: Any) -> list[Cell]:
    return list(
        grown(
            {"grid": [{"variant": "classic", "members": 1, "generations": 1, **grid}]}, "file"
        ).cells
    )


def found(spark: SparkSession, asked: list[Cell]) -> dict[int, Outcome]:
    outcomes: dict[int, Outcome] = {}

    def keep(cell: Cell, outcome: Outcome, page: str) -> None:
        assert cell.number not in outcomes
        outcomes[cell.number] = outcome

    check_on(spark, MASTER, asked, 1, keep)
    return outcomes


def workers() -> list[int]:
    """Ids of Spark's Python workers below this process: children of the daemon."""
    parent = {}
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            parent[int(entry.name)] = int(
                (entry / "stat").read_text().rpartition(") ")[2].split()[1]
            )

    def is_ours(pid: int) -> bool:
        while pid in parent and pid != os.getpid():
            pid = parent[pid]
        return pid == os.getpid()

    def is_daemon(pid: int) -> bool:
        with contextlib.suppress(OSError):
            return b"groupcheck.oracles.spark.daemon" in Path(f"/proc/{pid}/cmdline").read_bytes()
        return False

    return [pid for pid in parent if is_ours(pid) and is_daemon(pid) and is_daemon(parent[pid])]


def test_the_table_is_that_of_one_process_and_spark_reads_it(
    lent: None, spark: SparkSession, tmp_path: Path
) -> None:
    code, table = swept(tmp_path, "--spark", MASTER)
    assert (code, table) == swept(tmp_path)
    assert (code, len(table)) == (0, 16)
    assert [row["states_as_forecast"] for row in table if row["forecast_by"]] == [True]
    read = spark.read.parquet(str(tmp_path / "out1" / "sweep.parquet"))
    assert (
        read.filter("as_expected and faults['crash'] = 1").selectExpr("sum(states)").collect()[0][0]
        == 37 + 37 + 740 + 1072
    )


@pytest.mark.night  # a cell whose process dies is tried in every run, just below
def test_a_worker_that_is_killed_in_the_middle_costs_no_row(
    lent: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed: list[int] = []
    real = on_spark.check_on

    def killing(*arguments: Any, finish: Any, **options: Any) -> None:
        def kill(*result: Any) -> None:
            finish(*result)
            for worker in [] if killed else workers():
                with contextlib.suppress(ProcessLookupError):  # it may have ended meanwhile
                    os.kill(worker, signal.SIGKILL)
                    killed.append(worker)

        real(*arguments, finish=kill, **options)

    expected = swept(tmp_path)
    monkeypatch.setattr(on_spark, "check_on", killing)
    assert swept(tmp_path, "--spark", MASTER) == expected
    assert killed


def deadly(tasks: Any, runs: int, **rest: Any) -> None:
    """The second cell's process dies whenever it is run."""
    asked = list(tasks)
    if asked[0][0] == 2 and TaskContext.get().attemptNumber() < runs:
        os.kill(os.getpid(), signal.SIGKILL)
    run_tasks(asked, runs=runs, **rest)


def always_deadly(tasks: Any, **rest: Any) -> None:
    """The second cell's process dies, and nothing stops it."""
    asked = list(tasks)
    if asked[0][0] == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    run_tasks(asked, **rest)


@pytest.fixture
def by_value() -> Iterator[None]:
    """Executors do not know this file: its functions travel whole."""
    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    yield
    cloudpickle.unregister_pickle_by_value(sys.modules[__name__])


@pytest.mark.parametrize(
    ("tasks", "words"),
    [
        (deadly, "the process that ran it died or was lost 3 times"),
        pytest.param(always_deadly, "Spark gave up the cell: ", marks=pytest.mark.night),
    ],
)
def test_a_cell_that_kills_its_process_is_unknown_and_alone(
    spark, by_value, monkeypatch, tasks, words
):
    monkeypatch.setattr(on_spark, "run_tasks", tasks)
    outcomes = found(spark, cells(faults={"crash": [0, 1, 2, 3]}))
    assert [outcomes[n].states for n in (1, 3, 4)] == [9, 106, 263]
    assert (outcomes[2].verdict, outcomes[2].failed) == ("unknown", True)
    assert outcomes[2].reason.startswith(words)


def test_a_cell_that_raises_is_tried_again_and_reported_with_what_it_said(spark):
    asked = cells(faults={"crash": [0, 1, 2]})
    broken = attrs.evolve(asked[1], question=attrs.evolve(asked[1].question, variant="clasic"))
    outcomes = found(spark, [asked[0], broken, asked[2]])
    assert [outcomes[n].states for n in (1, 3)] == [9, 106]
    assert (outcomes[2].failed, outcomes[2].tries) == (True, TRIES)
    assert (
        outcomes[2].reason
        == "the check failed 3 times: UserError: unknown variant 'clasic' (did you mean classic?)"
    )


@pytest.mark.parametrize(
    ("master", "times"),
    [
        ("local[2]", 3),
        ("local[2,1]", 1),
        ("local[*,2]", 1),
        ("local[2,9]", 3),
        ("spark://host:1", 3),
    ],
)
def test_a_cell_is_run_once_less_than_spark_would_so_that_the_job_goes_on(master, times):
    assert tries(master) == times


def test_ctrl_c_keeps_what_has_come_and_resume_goes_on(
    lent: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    real = on_spark.check_on

    def interrupted(*arguments: Any, finish: Any, **options: Any) -> None:
        def interrupt(*result: Any) -> None:
            finish(*result)
            if not raised:
                raised.append(1)
                raise KeyboardInterrupt

        real(*arguments, finish=interrupt, **options)

    raised: list[int] = []
    few = '[[grid]]\nvariant = "classic"\nmembers = 1\nfaults = {crash = [0, 1, 2, 3, 4, 5]}\n'
    (tmp_path / "sweep.toml").write_text(few)
    asked = [
        "sweep",
        str(tmp_path / "sweep.toml"),
        "--out",
        str(tmp_path / "out"),
        "--spark",
        MASTER,
    ]
    with monkeypatch.context() as patched:
        patched.setattr(on_spark, "check_on", interrupted)
        assert cli.run(asked) == 3
    kept = len(list((tmp_path / "out" / "cells").iterdir()))
    assert 1 <= kept < 6 and not (tmp_path / "out" / "sweep.parquet").exists()
    capsys.readouterr()
    assert cli.run([*asked, "--resume"]) == 0
    assert f"{kept} of 6 cells done already" in capsys.readouterr().err


def test_results_stream_in_as_cells_end(spark, by_value, monkeypatch, tmp_path):
    """The first cell ends only when the driver has heard of another."""
    heard, in_vain = tmp_path / "heard", tmp_path / "in vain"

    def held(tasks: Any, **rest: Any) -> None:
        asked, until = list(tasks), time.monotonic() + 100
        while asked[0][0] == 1 and not heard.exists() and not in_vain.exists():
            time.sleep(0.02)
            if time.monotonic() > until:
                in_vain.touch()
        run_tasks(asked, **rest)

    def hear(cell: Cell, outcome: Outcome, page: str) -> None:
        seen.append((cell.number, outcome.states))
        heard.touch()

    seen: list[tuple[int, int]] = []
    monkeypatch.setattr(on_spark, "run_tasks", held)
    check_on(spark, MASTER, cells(faults={"crash": [0, 1, 2]}), 1, hear)
    assert sorted(seen) == [(1, 9), (2, 37), (3, 106)] and seen[0][0] != 1
    assert not in_vain.exists()


def test_simulations_say_the_same_on_spark(lent: None, tmp_path: Path) -> None:
    (tmp_path / "sweep.toml").write_text(
        '[[simulate]]\nvariant = ["classic", "static_membership"]\nscenario = "crash"\n'
        "members = 4\nreplications = 2\n"
    )
    tables = []
    for out, options in (("here", []), ("spark", ["--spark", MASTER])):
        command = ["sweep", str(tmp_path / "sweep.toml"), "--out", str(tmp_path / out), *options]
        assert cli.run(command) == 0
        tables.append(parquet.read_table(tmp_path / out / "simulations.parquet").to_pylist())
    assert tables[0] == tables[1] and len(tables[0]) == 2 * 17
