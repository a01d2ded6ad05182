"""Sessions: what they ask for, what they say when it is not there, and that executors run this very
code.
"""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from groupcheck.model.engine import UserError
from groupcheck.oracles.spark.session import (
    OnDemand,
    checked_master,
    error_text,
    needed,
    packed_code,
    session,
)


@pytest.mark.parametrize(
    ("master", "taken"),
    [
        ("local", "local[1,4]"),
        ("local[2]", "local[2,4]"),
        ("local[*]", "local[*,4]"),
        ("local[3,1]", "local[3,1]"),
        ("spark://host:7077", "spark://host:7077"),
        ("yarn", "yarn"),
    ],
)
def test_a_local_master_gets_the_retries_that_a_cluster_has(master: str, taken: str) -> None:
    assert checked_master(master) == taken


@pytest.mark.parametrize("master", ["", "localhost", "local[x]", "http://host", "local[2]; rm"])
def test_what_is_no_master_is_refused_before_anything_starts(master: str) -> None:
    with pytest.raises(UserError, match="not a Spark master"), session(master):
        pass


def test_a_session_on_demand_starts_nothing_until_it_is_asked_for() -> None:
    with OnDemand("no master") as spark:
        assert not spark.started
        with pytest.raises(UserError, match="not a Spark master"):
            spark.session()


def test_a_missing_java_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UserError, match=r"needs Java 17 or newer; no java is on the PATH"):
        needed()


def test_the_zip_holds_the_package_and_can_be_imported_from(tmp_path: Path) -> None:
    with zipfile.ZipFile(packed_code(tmp_path)) as code:
        names = code.namelist()
    assert {
        "groupcheck/__init__.py",
        "groupcheck/model/engine/fast/kernels/search.py",
        "groupcheck/oracles/spark/daemon.py",
    } <= set(names)
    assert not [name for name in names if "__pycache__" in name or name.endswith(".java")]


def test_tasks_run_in_a_daemon_that_knows_the_engine_and_their_errors_are_told_in_a_line() -> None:
    def look(_: object) -> list[tuple[bool, int]]:
        import gc
        import sys

        there = {
            "groupcheck.model.engine.fast.explore",
            "groupcheck.model.engine.fast.shards.working",
        } <= set(sys.modules)
        return [(there, gc.get_freeze_count())]

    with session("local[2]") as spark:
        numbers = spark.sparkContext.parallelize(range(2), 2)
        for was_there, frozen in numbers.mapPartitions(look).collect():
            assert was_there and frozen > 10_000
        with pytest.raises(Exception) as failed:
            numbers.map(lambda n: [][n]).collect()
    assert error_text(failed.value) == "IndexError: list index out of range"
