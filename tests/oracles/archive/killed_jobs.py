"""Jobs over an archive that somebody kills or interrupts. `make nightly` runs this file;
`test_archive_on_spark.py` kills workers alone.
"""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path

from archive_jobs import PATIENCE_S, driver, family, logs, wait_for_parts, wait_for_wave
from archived import tables

from groupcheck.oracles.archive.on_spark import replay_on
from groupcheck.oracles.archive.pipeline import update
from groupcheck.oracles.spark.session import OnDemand


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
