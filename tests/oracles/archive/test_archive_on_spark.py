"""An archive on Spark: rows equal to the one-process replay, whatever is killed; the documented
questions are answered.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pandas
import pytest
from archived import compared, table, tables

from groupcheck.oracles import cli
from groupcheck.oracles.archive.on_spark import replay_on
from groupcheck.oracles.archive.pipeline import update
from groupcheck.oracles.archive.tables import TABLES
from groupcheck.oracles.generate.dialects import DIALECTS
from groupcheck.oracles.generate.files import Order, generate
from groupcheck.oracles.spark.session import OnDemand

PATIENCE_S = 300.0
ROOT = Path(__file__).parents[3]
DOCUMENT = (ROOT / "docs/archive.md").read_text("utf-8")


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Logs in every dialect, some packed."""
    folder = tmp_path_factory.mktemp("generated")
    brokers = tuple(name for name in DIALECTS if name != "requests")
    generate(folder / "plain", Order(groups=24, size=3 << 20, files=12, dialects=brokers, runs=1))
    generate(
        folder / "packed",
        Order(
            groups=2,
            size=200_000,
            files=2,
            dialects=("requests", "java-4"),
            seed=1,
            packed=True,
            runs=1,
        ),
    )
    return folder


def logs(folder: Path) -> list[Path]:
    return sorted(p for p in folder.rglob("*.log*"))


def test_the_command_gives_the_rows_of_the_one_process_replay_and_a_second_time_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [str(ROOT / "tests/data/replay"), str(ROOT / "tests/data/requests/live-zombie.log.gz")]
    command = ["replay", "--spark", "local[2]", "--out", str(tmp_path / "a"), *given, "--json"]
    assert cli.run(command) == 3
    first = json.loads(capsys.readouterr().out)
    paths = [*sorted((ROOT / "tests/data/replay").iterdir()), Path(given[1])]
    assert (
        compared(tmp_path / "a", paths)
        == sum(first["groups"].values())
        == first["rows_added"]["verdicts"]
    )
    assert first["files"]["new"] == first["files"]["found"] == len(paths)
    assert cli.run(command) == 3
    second = json.loads(capsys.readouterr().out)
    assert second["files"]["new"] == 0 and set(second["rows_added"].values()) == {0}
    assert (second["groups"], second["verdict"], second["reason"]) == (
        first["groups"],
        first["verdict"],
        first["reason"],
    )
    assert cli.run([*command[:5], given[1]]) == 0  # the worst of what was asked for
    assert "1 known before" in capsys.readouterr().out


@pytest.fixture(scope="module")
def spark() -> Iterator[OnDemand]:
    with OnDemand("local[2]") as late:
        yield late


@pytest.fixture(scope="module")
def archive(spark: OnDemand, generated: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The generated logs, replayed undisturbed."""
    folder = tmp_path_factory.mktemp("archive")
    update(str(folder), [generated], replay_on(spark, str(folder)))
    return folder


def test_generated_logs_of_every_dialect_have_the_rows_of_the_one_process_replay(
    archive: Path, generated: Path
) -> None:
    assert compared(archive, logs(generated)) == 26


def family(root: int) -> dict[int, tuple[int, str]]:
    """Of a process and all that descend from it: process id -> (parent, command line)."""
    told: dict[int, tuple[int, str]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            told[int(stat.parent.name)] = (
                int(stat.read_text().rpartition(")")[2].split()[1]),
                (stat.parent / "cmdline").read_text(),
            )
    found = [root]
    for pid in found:
        found += [child for child, (parent, _) in told.items() if parent == pid]
    return {pid: told[pid] for pid in found}


def workers() -> list[int]:
    """Python workers of Spark: processes that were forked from a daemon of ours."""
    mine = family(os.getpid())
    daemons = {
        pid for pid, (_, command) in mine.items() if "groupcheck.oracles.spark.daemon" in command
    }
    return [pid for pid, (parent, _) in mine.items() if parent in daemons]


def unfinished(folder: Path) -> list[Path]:
    return (
        list((folder / "_unfinished").glob("events-*")) if (folder / "_unfinished").is_dir() else []
    )


def wait_for(there: Callable[[], object], has_ended: Callable[[], bool]) -> None:
    """Until what is only there for a while has been seen; somebody must still be at work on it."""
    until = time.monotonic() + PATIENCE_S
    while not there():
        assert not has_ended(), "it has ended, and what comes in the middle was not seen"
        assert time.monotonic() < until, "what comes in the middle did not come"
        time.sleep(0.005)


def failed_tasks(spark: OnDemand) -> int:
    """Tasks of all jobs so far that were not carried out to their end."""
    tracker = spark.session().sparkContext.statusTracker()
    stages = [
        stage
        for job in tracker.getJobIdsForGroup(None)
        if (info := tracker.getJobInfo(job))
        for stage in info.stageIds
    ]
    return sum(info.numFailedTasks for stage in stages if (info := tracker.getStageInfo(stage)))


def test_killed_workers_cost_nothing_but_time(
    spark: OnDemand, archive: Path, generated: Path, tmp_path: Path
) -> None:
    before, over, problems = failed_tasks(spark), threading.Event(), []

    def kill() -> None:
        """All workers, once; again where none of them was at work."""
        try:
            for _ in range(3):
                wait_for(lambda: unfinished(tmp_path / "a"), over.is_set)
                for pid in workers():
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
                if not over.wait(1) and failed_tasks(spark) > before:
                    return
        except AssertionError as error:
            problems.append(error)

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        update(str(tmp_path / "a"), [generated], replay_on(spark, str(tmp_path / "a")))
    finally:
        over.set()
        killer.join()
    assert failed_tasks(spark) > before, problems  # a worker that was at work
    assert tables(tmp_path / "a") == tables(archive)
    assert not [row["error"] for row in table(tmp_path / "a", "files") if row["error"]]


@contextlib.contextmanager
def driver(archive: Path, logs: Path) -> Iterator[subprocess.Popen[str]]:
    """The command, which commits every three packs, in a process group of its own, killed at the
    end.
    """
    script = (
        "import sys;"
        " from groupcheck.oracles.archive import pipeline; pipeline.WAVE_PACKS = 3;"
        " from groupcheck.oracles.cli import main; main()"
    )
    command = [
        sys.executable,
        "-c",
        script,
        "replay",
        "--spark",
        "local[2]",
        "--out",
        str(archive),
        str(logs),
    ]
    process = subprocess.Popen(
        command, start_new_session=True, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def wait_for_parts(folder: Path, process: subprocess.Popen[str]) -> None:
    wait_for(lambda: unfinished(folder), lambda: process.poll() is not None)


def wait_for_wave(folder: Path, process: subprocess.Popen[str]) -> None:
    """The first wave is in place, the next on its way."""
    wait_for(lambda: list((folder / "verdicts").glob("0*")), lambda: process.poll() is not None)
    wait_for_parts(folder, process)


def test_a_killed_driver_is_taken_up_by_the_next_run(
    spark: OnDemand, archive: Path, generated: Path, tmp_path: Path
) -> None:
    with driver(tmp_path / "a", generated) as process:
        wait_for_wave(tmp_path / "a", process)
    before = tables(tmp_path / "a")
    there = {row["file"] for row in before["files"]}
    complete = {str(path) for path in logs(generated)} & there
    assert 0 < len(complete) < len(logs(generated))
    assert (
        {row["file"] for row in before["verdicts"]}
        == {row["file"] for row in before["events"]}
        == complete
    )
    outcome = update(str(tmp_path / "a"), [generated], replay_on(spark, str(tmp_path / "a")))
    assert 0 < outcome.new < len(outcome.known)
    assert tables(tmp_path / "a") == tables(
        archive
    )  # a task that outlived its driver may still write aside; nobody reads that


def test_ctrl_c_in_the_middle_of_a_job_is_one_line(generated: Path, tmp_path: Path) -> None:
    with driver(tmp_path / "a", generated) as process:
        wait_for_parts(tmp_path / "a", process)
        os.killpg(process.pid, signal.SIGINT)  # a terminal sends it to everybody
        out, err = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, out) == (3, "")
    assert re.fullmatch(
        r"groupcheck: interrupted: \d+ of \d+ tasks are in the archive;"
        r" run the same command to continue\n",
        err,
    )


def test_a_jvm_that_dies_is_no_fault_of_the_logs(generated: Path, tmp_path: Path) -> None:
    with driver(tmp_path / "a", generated) as process:
        wait_for_parts(tmp_path / "a", process)
        (jvm,) = [
            pid for pid, (_, command) in family(process.pid).items() if "SparkSubmit" in command
        ]
        os.kill(jvm, signal.SIGKILL)
        out, err = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, out) == (3, ""), err
    assert re.fullmatch(
        r"groupcheck: error: --spark: Spark has gone away:"
        r" .* \(run it again; what was committed stays\)\n",
        err,
    ), err


def test_the_questions_of_the_document_are_answered(
    spark: OnDemand, archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = spark.session()
    session.conf.set("spark.sql.shuffle.partitions", "2")
    for name in TABLES:
        session.read.parquet(str(archive / name)).createOrReplaceTempView(name)
    storms, settings = (
        session.sql(query).toPandas() for query in re.findall(r"```sql\n(.*?)```", DOCUMENT, re.S)
    )
    rows = table(archive, "rebalances")
    assert storms["group"][0] in {row["group"] for row in rows} and storms["rebalances"].min() >= 10
    assert {"session.timeout.ms", "group.instance.id"} <= set(settings["setting"]) and settings[
        "rebalances"
    ].sum() == len(rows)
    (code,) = re.findall(r"```python\n(.*?)```", DOCUMENT, re.S)
    monkeypatch.chdir(archive.parent)
    found: dict[str, pandas.DataFrame] = {}
    exec(code.replace('"archive/', f'"{archive.name}/'), found)
    assert len(found["answer"]) > 0 and found["answer"]["sum"].is_monotonic_decreasing
    assert set(found["answer"].reset_index()["client"]) <= {"client-0", "client-1", "client-2"}
