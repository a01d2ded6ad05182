"""An archive on Spark: rows equal to the one-process replay, whatever is killed; the documented
questions are answered.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import threading
from pathlib import Path

import pandas
import pytest
from archive_jobs import family, logs, unfinished, wait_for
from archived import compared, table, tables

from groupcheck.oracles.archive.on_spark import replay_on
from groupcheck.oracles.archive.pipeline import update
from groupcheck.oracles.archive.tables import TABLES
from groupcheck.oracles.command_line import cli
from groupcheck.oracles.spark.session import OnDemand

ROOT = Path(__file__).parents[3]
DOCUMENT = (ROOT / "docs/archive.md").read_text("utf-8")


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


def test_generated_logs_of_every_dialect_have_the_rows_of_the_one_process_replay(
    archive: Path, generated: Path
) -> None:
    assert compared(archive, logs(generated)) == 26


def workers() -> list[int]:
    """Python workers of Spark: processes that were forked from a daemon of ours."""
    mine = family(os.getpid())
    daemons = {
        pid for pid, (_, command) in mine.items() if "groupcheck.oracles.spark.daemon" in command
    }
    return [pid for pid, (parent, _) in mine.items() if parent in daemons]


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


@pytest.mark.night
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
    # A coordinator of KIP-848 names no client: a member goes by its id.
    named = {"client-0", "client-1", "client-2"}
    by_id = {row["member"] for row in table(archive, "members") if row["client"] == row["member"]}
    clients = set(found["answer"].reset_index()["client"])
    assert clients & named == named and clients <= named | by_id
