"""One search over Spark: embedded and on a cluster of separate processes, with executors and
drivers killed in the middle.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from kills import FAULTS, alone
from pyspark.sql import SparkSession
from standalone import standalone

from groupcheck import check
from groupcheck.model.engine import UserError
from groupcheck.model.engine.fast.shards.distribute import UNWRITTEN
from groupcheck.model.engine.verdict import Progress

SCOPE = ["--members", "2", *(f"--fault={name}={n}" for name, n in FAULTS.items())]


@pytest.fixture(scope="module")
def expected() -> dict[str, Any]:
    return alone()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> object:
    with standalone(tmp_path_factory.mktemp("cluster")) as there:
        yield there


def groupcheck(*arguments: str, **more: object) -> subprocess.CompletedProcess[str]:
    program = Path(sys.executable).parent / "groupcheck"
    return subprocess.run(
        [program, *arguments], capture_output=True, text=True, timeout=300, **more
    )


def test_a_cluster_without_a_store_is_refused_at_once() -> None:
    with pytest.raises(UserError, match=r"need a store that they all reach .*--store"):
        check("classic", members=1, spark="spark://127.0.0.1:7077")


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"workers": 2}, "cannot be combined with --engine"),
        ({"engine": "reference"}, "cannot be combined with --engine"),
        ({"shards": 0}, "shards is 0"),
        ({"progress": True}, "needs the graph of all states in one process"),
        ({"walks": True}, "walks keep no states, so there is nothing to spread"),
        ({"max_depth": 3}, "executors expand a level in the step in which they find it"),
        ({"conformed": True}, "--conformed, which looks at all states in this process"),
    ],
)
def test_options_of_one_process_are_refused_before_spark_starts(
    more: dict[str, object], told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(SparkSession, "builder")
    with pytest.raises(UserError, match=told):
        check("classic", members=1, spark="local[2]", **more)


def test_options_of_a_cluster_need_one() -> None:
    with pytest.raises(UserError, match="add --spark MASTER"):
        check("classic", members=1, store="s3://bucket/search")


def test_a_store_that_cannot_be_written_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    heard: list[Progress] = []
    with pytest.raises(UserError, match=r"cannot be (listed|written)"):
        check(
            "classic",
            members=2,
            faults=FAULTS,
            spark="local[2]",
            hand_over=200,
            store=str(tmp_path / "file" / "x"),
            progress=heard.append,
        )
    assert not heard


def test_executors_that_cannot_write_to_the_store_cost_no_answer(tmp_path: Path) -> None:
    store = tmp_path / "store"

    def fills(progress: Progress) -> None:
        for level in store.glob("*/level-00012"):
            (level.parent / "level-00013").touch()  # no folder can be made there

    found = check(
        "classic",
        members=2,
        faults=FAULTS,
        spark="local[2]",
        hand_over=200,
        store=str(store),
        progress=fills,
    ).verdict
    assert found.verdict == "unknown" and found.reason.startswith(UNWRITTEN)
    assert re.search(r"level-00013/\S+ cannot be written", str(found.unsaved))
    assert found.states > 200 and found.transitions > found.states


@pytest.mark.night  # the error reaches the driver as that of the test above does
def test_a_store_that_vanishes_under_the_executors_is_one_clear_error(tmp_path: Path) -> None:
    store = tmp_path / "store"

    def vanish(progress: Progress) -> None:
        if progress.level >= 12:
            for block in store.glob("*/level-*/dealt-*"):
                block.unlink()

    with pytest.raises(UserError, match=r"dealt-\S+ is missing"):
        check(
            "classic",
            members=2,
            faults=FAULTS,
            spark="local[2]",
            hand_over=200,
            store=str(store),
            progress=vanish,
        )
