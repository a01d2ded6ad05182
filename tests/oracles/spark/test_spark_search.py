"""One search over Spark: embedded and on a cluster of separate processes, with executors and
drivers killed in the middle.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from kills import FAULTS, alone, counted, search_with_kills
from standalone import Cluster, standalone

from groupcheck import check
from groupcheck.model.engine import UserError
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


def test_a_driver_that_is_killed_goes_on_from_its_store(
    expected: dict[str, Any], tmp_path: Path, misfits: Callable[[Any], list[str]]
) -> None:
    store = tmp_path / "store"
    command = [
        Path(sys.executable).parent / "groupcheck",
        "check",
        "classic",
        *SCOPE,
        "--spark",
        "local[2]",
        "--hand-over",
        "200",
        "--shards",
        "3",
    ]
    driver = subprocess.Popen(
        [*command, "--store", str(store)], stdout=subprocess.DEVNULL, start_new_session=True
    )
    until = time.monotonic() + 300
    while not list(store.glob("*/level-00012/dealt-*")):
        assert driver.poll() is None, "it has ended, and level 12 was not seen"
        assert time.monotonic() < until, "there is no level 12"
        time.sleep(0.005)
    os.killpg(driver.pid, signal.SIGKILL)
    driver.wait(30)
    told = groupcheck(
        "check", "classic", *SCOPE, "--spark", "local[2]", "--resume", str(store), "--json"
    )
    assert told.returncode == 0 and not told.stderr, told.stderr
    document = json.loads(told.stdout)
    assert counted(document) == expected and misfits(document) == []
    spread = document["distribution"]
    assert spread["levels"][0]["level"] < 12 < spread["levels"][-1]["level"] == expected["depth"]
    assert (
        spread["shards"] == 3
        and sum(spread["states_per_shard"]) == expected["states"]
        and spread["bytes_exchanged"] > 1_000_000
    )


def test_an_executor_that_is_killed_in_the_middle_changes_no_count(
    cluster: Cluster, tmp_path: Path, expected: dict[str, Any]
) -> None:
    found, _ = search_with_kills(cluster, tmp_path / "store", [14], seed=1)
    assert found == expected


def test_a_cluster_without_a_store_is_refused_at_once() -> None:
    with pytest.raises(UserError, match=r"need a store that they all reach .*--store"):
        check("classic", members=1, spark="spark://127.0.0.1:7077")


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"workers": 2}, "cannot be combined with --engine"),
        ({"engine": "reference"}, "cannot be combined with --engine"),
        ({"shards": 0}, "shards is 0"),
    ],
)
def test_options_of_one_process_are_refused(more: dict[str, object], told: str) -> None:
    with pytest.raises(UserError, match=told):
        check("classic", members=1, spark="local[2]", **more)


def test_options_of_a_cluster_need_one() -> None:
    with pytest.raises(UserError, match="add --spark MASTER"):
        check("classic", members=1, store="x")


def test_a_store_that_cannot_be_written_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match=r"cannot be (listed|written)"):
        check(
            "classic",
            members=2,
            faults=FAULTS,
            spark="local[2]",
            hand_over=200,
            store=str(tmp_path / "file" / "x"),
        )


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
